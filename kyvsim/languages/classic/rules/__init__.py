"""Rule types, a module each; the table maps fields to them, and loads those needed.

Where a rule has the fields of several types, the first one listed takes it.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from types import MappingProxyType
from typing import Final, cast

from kyvsim.languages.classic.rule_type import RuleType
from kyvsim.policy.rule import RuleNode

_HOMES: Final[Mapping[tuple[str, ...], str]] = MappingProxyType(
    {
        ("validate", "manifests"): "validate_manifests.RULE_TYPE",
        ("validate", "podSecurity"): "validate_pod_security.RULE_TYPE",
        ("mutate", "targets"): "mutate_existing.RULE_TYPE",
        ("mutate", "foreach"): "mutate_foreach.RULE_TYPE",
        ("mutate", "patchStrategicMerge"): "mutate_resource.STRATEGIC_MERGE",
        ("mutate", "patchesJson6902"): "mutate_resource.JSON_PATCH",
        ("validate", "deny"): "validate_deny.RULE_TYPE",
        ("validate", "pattern"): "validate_pattern.PATTERN",
        ("validate", "anyPattern"): "validate_pattern.ANY_PATTERN",
        ("validate", "foreach"): "validate_foreach.RULE_TYPE",
        ("validate", "cel"): "validate_cel.RULE_TYPE",
        ("generate",): "generate.RULE_TYPE",
        ("verifyImages",): "verify_images.RULE_TYPE",
    }
)
"""The path of a type's body in a rule, as in `RuleType.field`, and the type's module and name."""

SECTIONS: Final = tuple(dict.fromkeys(field[0] for field in _HOMES))
"""The sections that define what a rule does; a rule has one of them."""


@lru_cache(maxsize=16)
def _type_at(field: tuple[str, ...]) -> RuleType:
    """Return the type with this field, from its module, which is loaded on first use."""
    module, name = _HOMES[field].split(".")
    return cast("RuleType", getattr(import_module(f"{__name__}.{module}"), name))


def rule_types_of(rule: RuleNode) -> Iterator[RuleType]:
    """Yield the types whose field a rule has; the first one takes it."""
    return (_type_at(field) for field in _HOMES if field in rule.bodies)


def rule_types() -> Iterator[RuleType]:
    """Yield all types, in their order."""
    return map(_type_at, _HOMES)
