"""Rule types: one file each; `RULE_TYPES` lists them.

Where a rule has the fields of several types, the first one listed takes it.
"""

from kyvsim.rules import (
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
from kyvsim.rules.protocol import RuleType

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

__all__ = ["RULE_TYPES"]
