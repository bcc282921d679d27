"""What webhooks have in common: their settings, and the rules by which the API server asks them."""

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json
from kyvsim.simulator.api_server import Store
from kyvsim.simulator.kyverno.configuration import NAMESPACE, settings_of

# What all of Kyverno's webhooks have in common, and what its ConfigMap says of them.

TIMEOUT = 10
"""Seconds that the API server waits for an answer, where no policy says otherwise."""
_LONGEST = 30


class Selectors(NamedTuple):
    """What requests a webhook hears of; None where nothing is said."""

    namespace: Json = None
    object: Json = None


def installed_selectors(store: Store) -> Selectors:
    """Return what the ConfigMap selects for every webhook."""
    try:
        found = json.loads(settings_of(store).get("webhooks") or "{}")
        first: Mapping[str, Json] = found[0] if found.__class__ is list and found else found
        return Selectors(
            _plain(first.get("namespaceSelector")), _plain(first.get("objectSelector"))
        )
    except (ValueError, AttributeError):
        return Selectors()


def merged_selector(first: Json, second: Json) -> Json:
    """Return a selector that wants what both want; None is none.

    upstream: pkg/controllers/webhook/validating.go mergeLabelSelectors
    """
    if first is None or second is None:
        return second if first is None else first
    labels = {**(first.get("matchLabels") or {}), **(second.get("matchLabels") or {})}
    expressions = [*(first.get("matchExpressions") or ()), *(second.get("matchExpressions") or ())]
    both = {"matchExpressions": expressions, "matchLabels": labels}
    return _plain(both)


def webhook(name: str, path: str, **fields: Json) -> dict[str, Json]:
    """Return a webhook of Kyverno's service; fields that are None are left out."""
    service = {"name": "kyverno-svc", "namespace": NAMESPACE, "path": path, "port": 443}
    found = {
        "name": name,
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": service},
        "sideEffects": "NoneOnDryRun",
        "timeoutSeconds": TIMEOUT,
        **fields,
    }
    return {field: value for field, value in found.items() if value is not None}


def capped(timeout: int) -> int:
    """Return seconds to wait, no more than the API server allows."""
    return min(timeout, _LONGEST)


def _plain(selector: Json) -> Json:
    if selector is None:
        return None
    return {name: value for name, value in selector.items() if value}


# The rules of a webhook: which requests the API server asks it about.
#
# Source of the rules: upstream pkg/controllers/webhook/utils_webhook.go and utils.go.

ALL_SCOPES, NAMESPACED = "*", "Namespaced"
_ANY = "*"
_OPERATIONS = ("CREATE", "UPDATE", "DELETE", "CONNECT")
_POD_EXTRA = "pods/ephemeralcontainers"


class Entry(NamedTuple):
    """One operation on one resource that a policy is to be asked about."""

    group: str
    version: str
    resource: str
    """The name of a resource, or `*`."""
    subresource: str
    """"" for the resource itself."""
    scope: str
    operation: str


def rules_of(entries: Iterable[Entry]) -> list[Json]:
    """Return the rules for some entries, without those that a wider one has already.

    Most policies that come bring no entry that is new. Nobody may change what is returned.
    """
    return _rules_of(frozenset(entries))


@lru_cache(maxsize=64)
def _rules_of(known: frozenset[Entry]) -> list[Json]:
    places: dict[tuple[str, str, str], dict[str, set[str]]] = {}
    for one in known:
        if not _is_covered(one, known):
            named = f"{one.resource}/{one.subresource}" if one.subresource else one.resource
            some = places.setdefault((one.group, one.version, one.scope), {})
            some.setdefault(named, set()).add(one.operation)
    return in_order(
        _rule(place, resources, operations)
        for place, found in places.items()
        for operations, resources in _by_operations(found).items()
    )


def in_order(rules: Iterable[Json]) -> list[Json]:
    """Return rules as they are written: each once, its lists sorted, shorter ones before longer."""
    distinct = {_order(rule): _sorted(rule) for rule in rules}
    return [distinct[order] for order in sorted(distinct)]


def _sorted(rule: Json) -> Json:
    return {
        name: sorted(value) if value.__class__ is list else value for name, value in rule.items()
    }


def _order(rule: Json) -> tuple[object, ...]:
    lists = ("apiGroups", "apiVersions", "resources", "operations")
    found = (sorted(rule.get(name) or ()) for name in lists)
    parts = (part for one in found for part in (len(one), tuple(one)))
    return (*parts, rule.get("scope") or ALL_SCOPES)


def _by_operations(found: dict[str, set[str]]) -> dict[tuple[str, ...], list[str]]:
    grouped: dict[tuple[str, ...], list[str]] = {}
    for resource, operations in found.items():
        key = tuple(one for one in _OPERATIONS if one in operations)
        grouped.setdefault(key, []).append(resource)
    return grouped


def _rule(place: tuple[str, str, str], resources: list[str], operations: tuple[str, ...]) -> Json:
    group, version, scope = place
    takes_pods = "pods" in resources or _ANY in resources
    if takes_pods and group in {"", _ANY} and version in {"v1", _ANY}:
        resources = list(dict.fromkeys((*resources, _POD_EXTRA)))
    return {
        "apiGroups": [group],
        "apiVersions": [version],
        "operations": list(operations),
        "resources": resources,
        "scope": scope,
    }


def _is_covered(one: Entry, known: frozenset[Entry]) -> bool:
    wider = (
        Entry(
            group=group,
            version=version,
            resource=resource,
            subresource=subresource,
            scope=scope,
            operation=one.operation,
        )
        for scope, group, version, (resource, subresource) in product(
            {one.scope, ALL_SCOPES}, {one.group, _ANY}, {one.version, _ANY}, _wider_resources(one)
        )
    )
    return any(each != one and each in known for each in wider)


def _wider_resources(one: Entry) -> set[tuple[str, str]]:
    """Return the names that take a resource, its own among them; `pods` is none of `pods/*`."""
    resource, part = one.resource, one.subresource
    if not part:
        return {(resource, ""), (_ANY, ""), (_ANY, _ANY)}
    return {(resource, part), (resource, _ANY), (_ANY, part), (_ANY, _ANY)}
