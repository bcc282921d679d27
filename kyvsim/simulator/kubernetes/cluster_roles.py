"""Aggregation of ClusterRoles: one that selects others has their rules.

Source of the rules: k8s.io/kubernetes pkg/controller/clusterroleaggregation.
"""

from collections.abc import Iterator, Sequence

from kyvsim.kubernetes.labels import SelectorError, compile_selector
from kyvsim.kubernetes.objects import Json, labels, object_key
from kyvsim.simulator.api_server import Change, Store
from kyvsim.simulator.kubernetes.users import CLUSTER_ROLE_AGGREGATION
from kyvsim.simulator.latency import NOTICE
from kyvsim.simulator.parts import Parts

_ROLE = ("rbac.authorization.k8s.io/v1", "ClusterRole")
_ACTOR = "clusterrole-aggregation-controller"


def aggregate_cluster_roles(parts: Parts) -> None:
    """Fill the roles that select others, now and whenever a role changes."""
    for role, rules in _outdated(parts.store):
        parts.store.put({**role, "rules": rules})

    def observe(change: Change) -> None:
        if change.key[:2] == _ROLE:
            parts.scheduler.after(NOTICE, _ACTOR, reconcile)

    def reconcile() -> None:
        for role, rules in _outdated(parts.store):
            parts.client(CLUSTER_ROLE_AGGREGATION).update({**role, "rules": rules})

    parts.store.watch(observe, {_ROLE})


def _outdated(store: Store) -> Iterator[tuple[Json, list[Json]]]:
    """Yield the roles whose rules are not those of the roles they select, with what they are."""
    roles = store.list(*_ROLE, "")
    for role in roles:
        selectors = (role.get("aggregationRule") or {}).get("clusterRoleSelectors")
        if selectors is None:
            continue
        rules = _aggregated(role, selectors, roles)
        if rules != (role.get("rules") or []):
            yield role, rules


def _aggregated(role: Json, selectors: list[Json], roles: Sequence[Json]) -> list[Json]:
    own = object_key(role).name
    rules: list[Json] = []
    for selector in selectors:
        try:
            fits = compile_selector(selector)
        except SelectorError:
            continue
        for other in roles:
            if object_key(other).name == own or not fits(labels(other)):
                continue
            rules += [rule for rule in other.get("rules") or () if rule not in rules]
    return rules
