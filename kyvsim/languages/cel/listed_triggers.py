"""Triggers that are there already, as lists of the kinds in `matchConstraints` have them.

Source of the rules: upstream pkg/policy/gpol.go (getGpolTriggers, triggerMatches).
"""

from collections.abc import Iterator, Sequence
from itertools import product

from kyvsim.kubernetes.discovery import (
    KindTable,
    kind_of_plural,
    preferred_version,
    served_versions,
)
from kyvsim.kubernetes.labels import SelectorError, compile_selector
from kyvsim.kubernetes.objects import Json, labels, object_key
from kyvsim.model.policy import Policy
from kyvsim.model.ports import ClusterView

_ANY = "*"


def listed_triggers(policy: Policy, cluster: ClusterView, kinds: KindTable) -> Iterator[Json]:
    """Give the objects that the constraints of a policy name; `kinds` are custom ones.

    There are none where a selector cannot be read: upstream's list of them fails.
    """
    written = policy.spec.get("matchConstraints") or {}
    try:
        selects = compile_selector(written.get("objectSelector") or {})
        compile_selector(written.get("namespaceSelector") or {})
    except SelectorError:
        return
    listed = [
        (rule.get("resourceNames"), place, obj)
        for rule in written.get("resourceRules") or ()
        for place, kind in _listed(rule, kinds)
        for obj in cluster.list("/".join(filter(None, place[:2])), kind, "")
    ]
    for names, place, obj in listed:
        named = not names or object_key(obj).name in names
        if named and selects(labels(obj)) and _is_meant(obj, place, policy, cluster):
            yield obj


def _listed(rule: Json, kinds: KindTable) -> Iterator[tuple[tuple[str, str, str], str]]:
    """Give group, version and resource of the kinds that a rule names, with their names.

    A wildcard for versions stands for the preferred one where it stands alone; others, and names of
    subresources, are no kinds.
    """
    for group, resource in product(rule.get("apiGroups") or (), rule.get("resources") or ()):
        kind = kind_of_plural(group, resource, kinds)
        for version in _versions(rule, group, kind, kinds) if kind else ():
            yield (group, version, resource), kind


def _versions(rule: Json, group: str, kind: str, kinds: KindTable) -> Sequence[str]:
    """Return the versions of a kind that a rule names, and that are served."""
    named = tuple(rule.get("apiVersions") or ())
    if named == (_ANY,):
        return (preferred_version(group, kind, kinds),)
    served = served_versions(group, kind, kinds)
    return [one for one in named if not served or one in served]


def _is_meant(obj: Json, place: tuple[str, str, str], policy: Policy, cluster: ClusterView) -> bool:
    """Return whether an object is neither excluded, nor in a namespace that is not meant."""
    written, key = policy.spec["matchConstraints"], object_key(obj)
    is_namespace = (key.api_version, key.kind) == ("v1", "Namespace")
    if policy.namespace:
        own = key.name if is_namespace else key.namespace
        if own != policy.namespace:
            return False
    for rule in written.get("excludeResourceRules") or ():
        lists = (rule.get(name) or () for name in ("apiGroups", "apiVersions", "resources"))
        names = rule.get("resourceNames")
        listed = all(one in some for one, some in zip(place, lists, strict=True))
        if listed and (not names or key.name in names):
            return False
    selector = written.get("namespaceSelector")
    if selector is None:
        return True
    if not is_namespace and cluster.get("v1", "Namespace", "", key.namespace) is None:
        return False
    marks = labels(obj) if is_namespace else cluster.namespace_labels(key.namespace)
    return bool(compile_selector(selector)(marks))
