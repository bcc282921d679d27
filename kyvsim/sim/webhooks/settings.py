"""What all of Kyverno's webhooks have in common, and what its ConfigMap says of them."""

import json
from collections.abc import Mapping
from typing import NamedTuple

from kyvsim.kube.objects import Json
from kyvsim.sim.kyverno.configuration import settings_of
from kyvsim.sim.kyverno.users import NAMESPACE
from kyvsim.sim.server import Store

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
