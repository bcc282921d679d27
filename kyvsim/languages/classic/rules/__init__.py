"""Rule types: one file each; `RULE_TYPES` lists them.

Where a rule has the fields of several types, the first one listed takes it.
"""

from collections.abc import Iterator, Mapping

from kyvsim.kube.objects import Json
from kyvsim.languages.classic.rule_type import RuleType
from kyvsim.languages.classic.rules import (
    generate,
    mutate_existing,
    mutate_foreach,
    mutate_resource,
    validate_any_pattern,
    validate_cel,
    validate_deny,
    validate_foreach,
    validate_manifests,
    validate_pattern,
    validate_pod_security,
    verify_images,
)

RULE_TYPES: tuple[RuleType, ...] = (
    validate_manifests.RULE_TYPE,
    validate_pod_security.RULE_TYPE,
    mutate_existing.RULE_TYPE,
    mutate_foreach.RULE_TYPE,
    mutate_resource.STRATEGIC_MERGE,
    mutate_resource.JSON_PATCH,
    validate_deny.RULE_TYPE,
    validate_pattern.RULE_TYPE,
    validate_any_pattern.RULE_TYPE,
    validate_foreach.RULE_TYPE,
    validate_cel.RULE_TYPE,
    generate.RULE_TYPE,
    verify_images.RULE_TYPE,
)

SECTIONS = tuple(dict.fromkeys(one.section for one in RULE_TYPES))
"""The parts of a rule that say what it does; a rule has one of them."""


def rule_types_of(rule: Mapping[str, Json]) -> Iterator[RuleType]:
    """Yield the types whose field a rule has; the first one takes it."""
    return (one for one in RULE_TYPES if one.takes(rule))


__all__ = ["RULE_TYPES", "SECTIONS", "rule_types_of"]
