"""What is in a cluster before anybody uses it: namespaces, roles, and Kyverno itself.

The table is package data (`installation.json`), made by tests/package_data/make_installation.py: it
has what the chart installs with its own values. Source of what other values change: upstream
charts/kyverno (templates/*/clusterrole.yaml, templates/config).
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType

from kyvsim.kubernetes.objects import Json, labels, object_key
from kyvsim.kubernetes.package_data import read_table
from kyvsim.model.simulation import Installation
from kyvsim.simulator.configuration import CONFIG_MAP, NAMESPACE

_RBAC = "rbac.authorization.k8s.io/v1"
_CONTROLLERS: Mapping[str, str] = MappingProxyType(
    {
        f"kyverno:{name}-controller:core": f"{name}Controller"
        for name in ("admission", "background", "cleanup", "reports")
    }
)
"""The values that each of the chart's roles depends on."""
_CORE_EXTRAS = (
    ("networking.k8s.io", "networkpolicies"),
    ("rbac.authorization.k8s.io", "rolebindings"),
    ("", "resourcequotas"),
    ("resource.k8s.io", "resourceclaims"),
)
"""Group and a resource of the rules that the background controller has by its own values."""
_WORDS = ("excludeGroups", "excludeUsernames", "excludeRoles", "excludeClusterRoles")
_TEXTS = ("generateSuccessEvents", "successEventActions", "updateRequestThreshold")
_FILTER = re.compile(r"\[[^\[\]]*\]")
_TEMPLATE = re.compile(r'\{\{-?\s*(?:template|include)\s+"kyverno\.([\w.-]+)"\s+[.$]\s*-?\}\}')
_OWN_FILTER = f"[*/*,{NAMESPACE},*]"


@lru_cache(maxsize=1)
def _table() -> tuple[Json, ...]:
    return tuple(read_table(__file__, "installation.json"))


def installed_objects(installation: Installation) -> Iterator[Json]:
    """Yield the objects as they are installed, without uid and time of creation."""
    for obj in _table():
        key = object_key(obj)
        if key == CONFIG_MAP:
            yield {**obj, "data": _configuration(obj["data"], installation)}
        elif key.kind == "ClusterRole" and key.name in _CONTROLLERS:
            yield from _roles(obj, _CONTROLLERS[key.name], installation)
        else:
            yield obj


def _roles(core: Json, controller: str, installation: Installation) -> Iterator[Json]:
    """Yield the role of a controller, and the one with what values add to its rights."""
    rules = core["rules"]
    given = installation.value(controller, "rbac", "coreClusterRole", "extraResources")
    if given is not None:
        rules = [*(rule for rule in rules if not _is_core_extra(rule)), *given]
    watches = installation.value(controller, "crdWatcher") or installation.value(
        "global", "crdWatcher"
    )
    if watches and controller == "admissionController":
        rules = [_watching(rule) for rule in rules]
    yield {**core, "rules": rules}
    extra = installation.value(controller, "rbac", "clusterRole", "extraResources")
    if extra:
        if controller == "reportsController":
            extra = [{**rule, "verbs": ["get", "list", "watch"]} for rule in extra]
        name = core["metadata"]["name"].removesuffix(":core")
        meta = {"name": f"{name}:additional", "labels": labels(core)}
        yield {"apiVersion": _RBAC, "kind": "ClusterRole", "metadata": meta, "rules": list(extra)}


def _is_core_extra(rule: Json) -> bool:
    writes = "create" in rule["verbs"]
    return writes and any(
        group in rule["apiGroups"] and resource in rule["resources"]
        for group, resource in _CORE_EXTRAS
    )


def _watching(rule: Json) -> Json:
    if rule["resources"] != ["customresourcedefinitions"]:
        return rule
    return {**rule, "verbs": ["get", "list", "watch"]}


def _configuration(data: Mapping[str, Json], installation: Installation) -> Json:
    """Return what Kyverno's ConfigMap says with the values of an installation."""
    given = installation.value("config") or {}
    found = {**data, "resourceFilters": " ".join(_filters(data["resourceFilters"], given))}
    for name in _WORDS:
        if given.get(name) is not None:
            found[name] = ",".join(map(str, given[name]))
    for name in _TEXTS:
        if given.get(name) is not None:
            value = given[name]
            found[name] = str(value).lower() if value.__class__ is bool else str(value)
    webhooks = given.get("webhooks", json.loads(data["webhooks"]))
    if isinstance(webhooks, Mapping):
        found["webhooks"] = json.dumps(_selecting(webhooks, given))
    return {name: value for name, value in found.items() if value != ""}


def _filters(own: str, given: Mapping[str, Json]) -> list[str]:
    usual = [one for one in _FILTER.findall(own) if one != _OWN_FILTER]
    filters = [*_expanded(given["resourceFilters"])] if "resourceFilters" in given else usual
    if given.get("excludeKyvernoNamespace") is not False:
        filters = [_OWN_FILTER, *filters]
    removed = set(_expanded(given.get("resourceFiltersExclude") or ()))
    places = [f",{one}," for one in given.get("resourceFiltersExcludeNamespaces") or ()]
    kept = [one for one in filters if one not in removed and not any(p in one for p in places)]
    added = [*_expanded(given.get("resourceFiltersInclude") or ())]
    further = [f"[*/*,{one},*]" for one in given.get("resourceFiltersIncludeNamespaces") or ()]
    return [*kept, *added, *further]


def _selecting(webhooks: Mapping[str, Json], given: Mapping[str, Json]) -> Json:
    """Return what selects requests for the webhooks; Kyverno's own namespace is none of them."""
    selector = webhooks.get("namespaceSelector") or {}
    own = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": [NAMESPACE]}
    tests = [one for one in selector.get("matchExpressions") or () if one != own]
    if given.get("excludeKyvernoNamespace") is not False:
        tests = [*tests, own]
    return {**webhooks, "namespaceSelector": {**selector, "matchExpressions": tests}}


def _expanded(filters: Iterable[Json]) -> Iterator[str]:
    """Yield filters with the values of the chart's templates filled in."""
    for one in filters:
        yield _TEMPLATE.sub(lambda found: _named(found[1]), str(one))


def _named(template: str) -> str:
    controller, _, part = template.rpartition(".")
    if template in {"namespace", "fullname", "config.configMapName"}:
        return "kyverno"
    if template == "config.metricsConfigMapName":
        return "kyverno-metrics"
    if part == "roleName":
        return f"kyverno:{controller}"
    if part == "serviceName" and controller == "admission-controller":
        return "kyverno-svc"
    return f"kyverno-{controller}"
