"""All checks, in the order in which they run."""

from collections.abc import Iterator
from typing import Any, Final

from kyvsim.lint.cel_autogen import (
    controllers_left_out,
    controllers_metadata,
    controllers_spec,
    metadata_of_templates,
    unmoved_patches,
)
from kyvsim.lint.cel_matching import (
    excluded_resources,
    no_conditions,
    no_constraints,
    scanned_users,
    unseen_controllers,
)
from kyvsim.lint.cel_mutations import (
    absent_parents,
    added_by_replace,
    atomic_fields,
    undeclared_fields,
    unfilled_templates,
    unknown_paths,
)
from kyvsim.lint.cel_validations import (
    constant_tests,
    ephemeral_containers,
    only_containers,
    unreached_validations,
    unshown_messages,
)
from kyvsim.lint.cel_variables import (
    absent_objects,
    null_objects,
    number_arithmetic,
    unguarded_namespaces,
    unread_variables,
)
from kyvsim.lint.check import Check, Subject
from kyvsim.lint.conditions import constant_conditions, deprecated_operators, exclusive_conditions
from kyvsim.lint.documents import deprecated_versions, duplicate_names, expired_exceptions
from kyvsim.lint.expressions import impossible_calls, unread_entries, unreadable_queries
from kyvsim.lint.fields import deprecated_fields, misspelt_annotations
from kyvsim.lint.match_blocks import autogen_off, never_matches
from kyvsim.lint.pattern_fields import unknown_pattern_fields
from kyvsim.lint.references import binding_problems, powerless_exceptions
from kyvsim.lint.rule_pairs import contradicting_rules, repeated_rules
from kyvsim.lint.runs import RUN_CHECKS
from kyvsim.model.diagnostic import Diagnostic

CHECKS: Final = (
    Check("KV202", Subject.RULES, deprecated_fields),
    Check("KV201", Subject.RULES, deprecated_operators),
    Check("KV204", Subject.RULES, unread_entries),
    Check("KV209", Subject.RULES, unreadable_queries),
    Check("KV205", Subject.RULES, impossible_calls),
    Check("KV206", Subject.RULES, never_matches),
    Check("KV222", Subject.RULES, constant_conditions),
    Check("KV223", Subject.RULES, exclusive_conditions),
    Check("KV224", Subject.RULES, misspelt_annotations),
    Check("KV207", Subject.RULES, autogen_off),
    Check("KV250 KV255", Subject.CEL, no_constraints),
    Check("KV256", Subject.CEL, no_conditions),
    Check("KV247", Subject.CEL, null_objects),
    Check("KV241", Subject.CEL, unreached_validations),
    Check("KV249", Subject.CEL, unshown_messages),
    Check("KV245 KV246", Subject.CEL, controllers_left_out),
    Check("KV243", Subject.CEL, controllers_spec),
    Check("KV244", Subject.CEL, controllers_metadata),
    Check("KV253", Subject.CEL, metadata_of_templates),
    Check("KV254", Subject.CEL, unmoved_patches),
    Check("KV251", Subject.CEL, scanned_users),
    Check("KV263", Subject.CEL, unfilled_templates),
    Check("KV248", Subject.EXPRESSIONS, absent_objects),
    Check("KV240", Subject.EXPRESSIONS, constant_tests),
    Check("KV242", Subject.EXPRESSIONS, unread_variables),
    Check("KV252", Subject.EXPRESSIONS, number_arithmetic),
    Check("KV257", Subject.EXPRESSIONS, only_containers),
    Check("KV264", Subject.EXPRESSIONS, ephemeral_containers),
    Check("KV262", Subject.EXPRESSIONS, unguarded_namespaces),
    Check("KV258", Subject.EXPRESSIONS, atomic_fields),
    Check("KV259", Subject.EXPRESSIONS, undeclared_fields),
    Check("KV260", Subject.EXPRESSIONS, unknown_paths),
    Check("KV261", Subject.EXPRESSIONS, absent_parents),
    Check("KV267", Subject.EXPRESSIONS, added_by_replace),
    Check("KV268", Subject.EXPRESSIONS, unseen_controllers),
    Check("KV270", Subject.EXPRESSIONS, excluded_resources),
    Check("KV203", Subject.DOCUMENTS, lambda given: deprecated_versions(given.documents)),
    Check("KV208", Subject.DOCUMENTS, lambda given: duplicate_names(given.documents)),
    Check("KV219", Subject.DOCUMENTS, lambda given: expired_exceptions(given.documents, given.now)),
    *RUN_CHECKS,
    Check("KV226", Subject.FILES, powerless_exceptions),
    Check(
        "KV167 KV265 KV266 KV269",
        Subject.FILES,
        lambda given: binding_problems(given.bindings, given.policies),
    ),
    Check("KV220", Subject.FILES, lambda given: repeated_rules(given.policies)),
    Check("KV221", Subject.FILES, lambda given: contradicting_rules(given.policies)),
    Check(
        "KV225",
        Subject.FILES,
        lambda given: unknown_pattern_fields(given.policies, given.kinds),
    ),
)


def run_checks(subjects: tuple[Subject, ...], on: Any) -> Iterator[Diagnostic]:
    """Yield what the checks of some subjects report about `on`, which is as their subject says."""
    for check in CHECKS:
        if check.subject in subjects:
            yield from check.run(on)
