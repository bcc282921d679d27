"""Rule types → validations, one file for each; the table says which field is whose."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kyvsim.kube.objects import Json
from kyvsim.migrate.matching import WRITES
from kyvsim.migrate.rules import mutate_foreach, validate_foreach
from kyvsim.migrate.rules.draft import Entry, Given, Mutation, RuleType, Validation
from kyvsim.migrate.rules.mutate_resource import strategic_merge
from kyvsim.migrate.rules.validate_any_pattern import any_pattern
from kyvsim.migrate.rules.validate_cel import cel
from kyvsim.migrate.rules.validate_deny import deny
from kyvsim.migrate.rules.validate_pattern import pattern
from kyvsim.migrate.settings import actions_of

VALIDATING: Final = "ValidatingPolicy"
MUTATING: Final = "MutatingPolicy"
_WITHOUT_DELETE: Final = ("CREATE", "UPDATE")

RULE_TYPES: Final[Mapping[tuple[str, str], RuleType]] = MappingProxyType(
    {
        ("validate", "deny"): RuleType(deny, VALIDATING, WRITES, actions_of),
        ("validate", "pattern"): RuleType(pattern, VALIDATING, _WITHOUT_DELETE, actions_of),
        ("validate", "anyPattern"): RuleType(any_pattern, VALIDATING, _WITHOUT_DELETE, actions_of),
        ("validate", "foreach"): RuleType(validate_foreach.foreach, VALIDATING, WRITES, actions_of),
        ("validate", "cel"): RuleType(cel, VALIDATING, _WITHOUT_DELETE, actions_of),
        ("mutate", "foreach"): RuleType(mutate_foreach.foreach, MUTATING, _WITHOUT_DELETE),
        ("mutate", "patchStrategicMerge"): RuleType(strategic_merge, MUTATING, _WITHOUT_DELETE),
    }
)
"""By section and field of a rule, in the order in which one that has several is taken."""


def operations_of(rule_type: RuleType, body: Json) -> tuple[str, ...]:
    """Return the operations that a rule is asked for; patterns do not look at deleted objects."""
    if (
        rule_type.kind == VALIDATING
        and isinstance(body, list)
        and all("pattern" in one or "anyPattern" in one for one in body)
    ):
        return _WITHOUT_DELETE
    return rule_type.operations


def rule_type_of(rule: Mapping[str, Json]) -> tuple[tuple[str, str], RuleType] | None:
    """Return the type of a rule and where its body stands; None where there is no emitter."""
    for (section, field), found in RULE_TYPES.items():
        body = rule.get(section)
        if isinstance(body, dict) and body.get("targets"):
            return None
        if isinstance(body, dict) and body.get(field) is not None:
            return (section, field), found
    return None


__all__ = [
    "MUTATING",
    "VALIDATING",
    "Entry",
    "Given",
    "Mutation",
    "RuleType",
    "Validation",
    "operations_of",
    "rule_type_of",
]
