"""What upstream refuses in a policy whose shape is right: all checks are named here.

The order is upstream's, so the first error is the reason that upstream gives; unlike upstream, the
others are reported too. upstream: pkg/validation/policy/validate.go, Validate
"""

from kyvsim.kubernetes.discovery import NO_KINDS, KindTable
from kyvsim.languages.classic.validation import policy_settings as settings
from kyvsim.languages.classic.validation.conditions import (
    check_conditions,
    check_context,
    check_image_extractors,
)
from kyvsim.languages.classic.validation.match_blocks import (
    check_empty_match,
    check_kinds_present,
    check_match_blocks,
    check_match_presence,
    check_wildcard_kinds,
)
from kyvsim.languages.classic.validation.policy_settings import check_overrides
from kyvsim.languages.classic.validation.rule_bodies import (
    check_derived_bodies,
    check_forbidden_sections,
    check_json_patch,
    check_metadata_text,
    check_mutate,
    check_operations,
    check_patterns,
    check_rule_names,
    check_target_namespaces,
    check_validate,
)
from kyvsim.languages.classic.validation.rule_parts import PolicyCheck, RuleCheck, each_rule
from kyvsim.languages.classic.validation.rule_types import (
    IsClusterWide,
    check_generate_data,
    check_images,
    check_pod_security,
    generate_check,
    unknown_scope_check,
)
from kyvsim.languages.classic.validation.variables import (
    check_elements,
    check_update_variables,
    check_user_variables,
    check_variables,
)
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy
from kyvsim.schema.kinds import is_cluster_scoped

VARIABLE_CHECKS: tuple[PolicyCheck, ...] = (
    check_user_variables,
    each_rule(check_forbidden_sections, check_variables),
)
MODE_CHECKS: tuple[PolicyCheck, ...] = (check_overrides, settings.check_modes)
BODY_CHECKS: tuple[RuleCheck, ...] = (
    check_json_patch,
    check_match_presence,
    check_conditions,
    check_elements,
    check_context,
    check_image_extractors,
    check_kinds_present,
    check_mutate,
    check_validate,
    check_patterns,
)
LAST_CHECKS: tuple[RuleCheck, ...] = (
    check_generate_data,
    check_images,
    check_metadata_text,
    check_update_variables,
)


def structure_checks(in_cluster: IsClusterWide) -> tuple[PolicyCheck, ...]:
    """Return the checks that upstream makes together; `in_cluster` gives the scope of kinds."""
    return (
        settings.check_identity,
        settings.check_deprecated_twins,
        settings.check_mutate_targets,
        settings.check_timeouts,
        check_rule_names,
        each_rule(
            check_operations,
            check_empty_match,
            check_match_blocks,
            check_target_namespaces,
            check_pod_security,
            generate_check(in_cluster),
        ),
    )


def every_check(in_cluster: IsClusterWide) -> tuple[PolicyCheck, ...]:
    """Return all checks in upstream's order, where `in_cluster` gives the scope of kinds."""
    return (
        settings.check_match_conditions,
        *VARIABLE_CHECKS,
        *structure_checks(in_cluster),
        each_rule(unknown_scope_check(in_cluster)),
        *MODE_CHECKS,
        each_rule(check_wildcard_kinds),
        each_rule(*BODY_CHECKS, *LAST_CHECKS),
        check_derived_bodies,
    )


_EVALUATED_IN_CLUSTERS = frozenset({settings.check_match_conditions})
"""What commands without a cluster refuse, since they cannot evaluate it."""


def check_policy(
    policy: Policy, kinds: KindTable = NO_KINDS, *, simulated: bool = False
) -> tuple[Diagnostic, ...]:
    """Return everything for which upstream refuses a policy; the first is the reason it gives.

    `kinds` are those that definitions of custom resources describe. A `simulated` cluster evaluates
    what only a cluster can.
    """
    checks = every_check(lambda kind: is_cluster_scoped(kind, kinds))
    left_out = _EVALUATED_IN_CLUSTERS if simulated else frozenset[PolicyCheck]()
    return tuple(remark for check in checks if check not in left_out for remark in check(policy))
