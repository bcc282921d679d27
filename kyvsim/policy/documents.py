"""Documents of rules as Kyverno compares them and writes them into a policy's status."""

from collections.abc import Mapping
from typing import Final

from kyvsim.kubernetes.go_text import to_json
from kyvsim.kubernetes.objects import Json
from kyvsim.policy.rule import RuleNode

_MAY_CHANGE: Final = frozenset(
    {"data", "foreach", "generateExisting", "orphanDownstreamOnPolicyDelete", "synchronize"}
)


def text_of_section(rule: RuleNode, section: str) -> str:
    """Return a section of a rule as JSON, without what it denies."""
    body = rule.data[section]
    has_deny = section == "validate" and body.get("deny") is not None
    return to_json({**body, "deny": {}} if has_deny else body)


def fixed_generation(rule: RuleNode) -> str:
    """Return what must not change of what a rule generates, as JSON.

    upstream: pkg/validation/policy/generate.go
    """
    return to_json(_without(rule.data["generate"], _MAY_CHANGE))


def text_without(rule: RuleNode, *fields: str) -> str:
    """Return a rule as JSON, without some of its fields."""
    return to_json(_without(rule.data, frozenset(fields)))


def _without(data: Mapping[str, Json], names: frozenset[str]) -> dict[str, Json]:
    return {name: value for name, value in data.items() if name not in names}


def status_rule(rule: RuleNode) -> Json:
    """Return a rule with the empty fields that its type always writes.

    upstream: api/kyverno/v1
    """
    data = rule.data
    written = dict(data)
    for name in ("match", "exclude"):
        block = data.get(name)
        if block is not None:
            groups = {
                group: [{"resources": {}, **one} for one in block[group]]
                for group in ("any", "all")
                if block.get(group)
            }
            written[name] = {"resources": {}, **block, **groups}
    if data.get("context"):
        written["context"] = [
            entry
            if entry.get("apiCall") is None
            else {**entry, "apiCall": {"urlPath": "", **entry["apiCall"]}}
            for entry in data["context"]
        ]
    if data.get("verifyImages"):
        written["verifyImages"] = [{"validate": {}, **one} for one in data["verifyImages"]]
    return written


def admission_policy_fields(rule: RuleNode) -> dict[str, Json]:
    """Return what an admission policy takes of a rule in CEL, by the fields that it has there."""
    cel = rule.data["validate"]["cel"]
    return {
        "paramKind": cel.get("paramKind"),
        "variables": cel.get("variables"),
        "validations": cel.get("expressions"),
        "auditAnnotations": cel.get("auditAnnotations"),
        "matchConditions": rule.data.get("celPreconditions"),
    }


def without_checks(entry: Mapping[str, Json]) -> Json:
    """Return an entry of `verifyImages` without what waits for attestations.

    That is what it validates, and the conditions on attestations: their variables are filled later.
    """
    attestations = [
        _without(one, frozenset({"conditions"})) for one in entry.get("attestations") or ()
    ]
    bare = _without(entry, frozenset({"validate"}))
    return {**bare, "attestations": attestations} if attestations else bare
