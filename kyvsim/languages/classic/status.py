"""Rules as Kyverno writes them into a policy's status.

Its types write some fields though nothing is in them. Source of the fields: upstream
api/kyverno/v1.
"""

from collections.abc import Mapping

from kyvsim.kubernetes.objects import Json
from kyvsim.languages.classic.autogen import compute_rules
from kyvsim.model.policy import Policy

_DERIVED = "autogen-"


def derived_rules(policy: Policy) -> list[Json]:
    """Return the rules that autogen derived, as a status has them."""
    every = compute_rules(policy).every
    return [written_rule(rule.data) for rule in every if rule.name.startswith(_DERIVED)]


def written_rule(rule: Mapping[str, Json]) -> Json:
    """Return a rule with the empty fields that its type always writes."""
    written = dict(rule)
    for name in ("match", "exclude"):
        if rule.get(name) is not None:
            written[name] = _match(rule[name])
    if rule.get("context"):
        written["context"] = [_entry(one) for one in rule["context"]]
    if rule.get("verifyImages"):
        written["verifyImages"] = [{"validate": {}, **one} for one in rule["verifyImages"]]
    return written


def _match(block: Mapping[str, Json]) -> Json:
    filters = {
        name: [{"resources": {}, **one} for one in block[name]]
        for name in ("any", "all")
        if block.get(name)
    }
    return {"resources": {}, **block, **filters}


def _entry(entry: Mapping[str, Json]) -> Json:
    if entry.get("apiCall") is None:
        return entry
    return {**entry, "apiCall": {"urlPath": "", **entry["apiCall"]}}
