"""Match and exclude blocks → the constraints of an admission policy of Kubernetes.

Of filters of one API group and version there is one rule, with the names and operations of the
first; of several filters the last one's selectors count. Source of the rules: upstream
pkg/admissionpolicy/builder.go.
"""

from collections.abc import Iterable, Iterator

from kyvsim.kube.objects import Json
from kyvsim.model.facts import Filter
from kyvsim.sim.server import Store
from kyvsim.sim.server.served_kinds import find_resources

_ANY = "*"
_OPERATIONS = ("CREATE", "UPDATE", "CONNECT", "DELETE")
_PODS, _PARTS = "pods", ("pods", "pods/ephemeralcontainers")
_NAMESPACE = "kubernetes.io/metadata.name"


class UnclearKindError(Exception):
    """A kind that names no resource, or more than one."""


def match_resources(match: Iterable[Filter], exclude: Iterable[Filter], store: Store) -> Json:
    """Return the constraints that say the same; raises UnclearKindError."""
    matched, excluded = tuple(match), tuple(exclude)
    found: dict[str, Json] = {}
    for one in matched:
        found |= _selectors(one)
    rules = _rules(matched, store, excludes=False)
    kept_out = _rules(excluded, store, excludes=True)
    written = {**found, "resourceRules": rules, "excludeResourceRules": kept_out}
    return {name: value for name, value in written.items() if value}


def _selectors(one: Filter) -> dict[str, Json]:
    names = one.resources.get("namespaces")
    selector = one.resources.get("namespaceSelector")
    if names:
        asked = {"key": _NAMESPACE, "operator": "In", "values": list(names)}
        selector = {"matchExpressions": [asked]}
    return {"namespaceSelector": selector, "objectSelector": one.resources.get("selector")}


def _rules(filters: Iterable[Filter], store: Store, *, excludes: bool) -> list[Json]:
    rules: list[Json] = []
    for one in filters:
        for kind in one.kinds:
            if kind == _ANY:
                rules.append(_rule(one, _ANY, _ANY, (_ANY,)))
                continue
            group, version, resources = _served(kind, store)
            known = next((rule for rule in rules if _is_of(rule, group, version)), None)
            if known is None:
                rules.append(_rule(one, group, version, resources))
            else:
                known["resources"] = sorted((*known["resources"], *resources))
        namespaces = one.resources.get("namespaces")
        if excludes and namespaces and not one.kinds:
            names = {"resourceNames": list(namespaces)}
            rules.append({**_rule(one, "", "v1", ("namespaces",)), **names})
    return rules


def _is_of(rule: Json, group: str, version: str) -> bool:
    return group in rule["apiGroups"] and version in rule["apiVersions"]


def _served(kind: str, store: Store) -> tuple[str, str, tuple[str, ...]]:
    """Return group, version and resources of a kind; raises UnclearKindError."""
    found = list(find_resources(kind, store))
    if len(found) != 1:
        raise UnclearKindError(f"no unique match for kind {kind}")
    (one,) = found
    resource = "/".join(filter(None, (one.resource, one.subresource)))
    return one.group, one.version, _PARTS if resource == _PODS else (resource,)


def _rule(one: Filter, group: str, version: str, resources: Iterable[str]) -> dict[str, Json]:
    named = {"resourceNames": one.names} if one.names else {}
    return {
        **named,
        "apiGroups": [group],
        "apiVersions": [version],
        "operations": list(_operations(one)),
        "resources": sorted(resources),
    }


def _operations(one: Filter) -> Iterator[str]:
    written = one.resources.get("operations") or ()
    yield from [name for name in written if name in _OPERATIONS] or _OPERATIONS
