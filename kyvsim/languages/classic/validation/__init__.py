"""Reasons for which upstream rejects policies that conform to their schema; lists all checks.

The order is upstream's, so the first error is upstream's reason; unlike upstream, the others are
reported too. upstream: pkg/validation/policy/validate.go, Validate
"""

from kyvsim.kubernetes.discovery import NO_KINDS, KindTable
from kyvsim.languages.classic.validation import (
    match_blocks,
    rule_bodies,
    rule_parts,
    rule_types,
    variables,
)
from kyvsim.languages.classic.validation import policy_settings as settings
from kyvsim.languages.classic.validation.rule_parts import PolicyCheck, RuleCheck, each_rule
from kyvsim.languages.classic.validation.rule_types import IsClusterWide
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy
from kyvsim.model.release import NEWEST, Release
from kyvsim.schema.kinds import is_cluster_scoped

VARIABLE_CHECKS: tuple[PolicyCheck, ...] = (
    variables.check_user_variables,
    each_rule(rule_bodies.check_forbidden_sections, variables.check_variables),
)
MODE_CHECKS: tuple[PolicyCheck, ...] = (settings.check_overrides, settings.check_modes)
LAST_CHECKS: tuple[RuleCheck, ...] = (
    rule_types.check_generate_data,
    rule_types.check_images,
    rule_bodies.check_metadata_text,
    variables.check_update_variables,
)


def body_checks(release: Release) -> tuple[RuleCheck, ...]:
    """Return the checks of the parts of a rule."""
    return (
        rule_bodies.check_json_patch,
        match_blocks.check_match_presence,
        rule_parts.check_conditions,
        variables.check_elements,
        rule_parts.context_check(release),
        rule_parts.check_image_extractors,
        match_blocks.check_kinds_present,
        rule_bodies.check_mutate,
        rule_bodies.check_validate,
        rule_bodies.check_patterns,
    )


def structure_checks(in_cluster: IsClusterWide) -> tuple[PolicyCheck, ...]:
    """Return the checks that upstream makes together; `in_cluster` returns the scope of kinds."""
    return (
        settings.check_identity,
        settings.check_deprecated_twins,
        settings.check_mutate_targets,
        settings.check_timeouts,
        rule_bodies.check_rule_names,
        each_rule(
            rule_bodies.check_operations,
            match_blocks.check_empty_match,
            match_blocks.check_match_blocks,
            rule_bodies.check_target_namespaces,
            rule_types.check_pod_security,
            rule_types.generate_check(in_cluster),
        ),
    )


def every_check(in_cluster: IsClusterWide, release: Release) -> tuple[PolicyCheck, ...]:
    """Return all checks in upstream's order; `in_cluster` returns the scope of kinds."""
    return (
        settings.check_match_conditions,
        *VARIABLE_CHECKS,
        *structure_checks(in_cluster),
        each_rule(rule_types.unknown_scope_check(in_cluster)),
        *MODE_CHECKS,
        each_rule(match_blocks.check_wildcard_kinds),
        each_rule(*body_checks(release), *LAST_CHECKS),
        rule_bodies.check_derived_bodies,
    )


def check_policy(
    policy: Policy,
    kinds: KindTable = NO_KINDS,
    *,
    simulated: bool = False,
    release: Release = NEWEST,
) -> tuple[Diagnostic, ...]:
    """Return all errors for which upstream rejects a policy; the first is upstream's reason.

    `kinds` are those of custom resource definitions. A `simulated` cluster evaluates expressions
    that only a cluster can.
    """
    checks = every_check(lambda kind: is_cluster_scoped(kind, kinds), release)
    # Commands without a cluster reject match conditions, since they cannot evaluate them.
    left_out = settings.check_match_conditions if simulated else None
    return tuple(found for check in checks if check is not left_out for found in check(policy))
