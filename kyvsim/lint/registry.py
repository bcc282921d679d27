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
from kyvsim.lint.check import Check, CheckSubject
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
    Check("KV202", CheckSubject.RULES, deprecated_fields),
    Check("KV201", CheckSubject.RULES, deprecated_operators),
    Check("KV204", CheckSubject.RULES, unread_entries),
    Check("KV209", CheckSubject.RULES, unreadable_queries),
    Check("KV205", CheckSubject.RULES, impossible_calls),
    Check("KV206", CheckSubject.RULES, never_matches),
    Check("KV222", CheckSubject.RULES, constant_conditions),
    Check("KV223", CheckSubject.RULES, exclusive_conditions),
    Check("KV224", CheckSubject.RULES, misspelt_annotations),
    Check("KV207", CheckSubject.RULES, autogen_off),
    Check("KV250 KV255", CheckSubject.CEL, no_constraints),
    Check("KV256", CheckSubject.CEL, no_conditions),
    Check("KV247", CheckSubject.CEL, null_objects),
    Check("KV241", CheckSubject.CEL, unreached_validations),
    Check("KV249", CheckSubject.CEL, unshown_messages),
    Check("KV245 KV246", CheckSubject.CEL, controllers_left_out),
    Check("KV243", CheckSubject.CEL, controllers_spec),
    Check("KV244", CheckSubject.CEL, controllers_metadata),
    Check("KV253", CheckSubject.CEL, metadata_of_templates),
    Check("KV254", CheckSubject.CEL, unmoved_patches),
    Check("KV251", CheckSubject.CEL, scanned_users),
    Check("KV263", CheckSubject.CEL, unfilled_templates),
    Check("KV248", CheckSubject.EXPRESSIONS, absent_objects),
    Check("KV240", CheckSubject.EXPRESSIONS, constant_tests),
    Check("KV242", CheckSubject.EXPRESSIONS, unread_variables),
    Check("KV252", CheckSubject.EXPRESSIONS, number_arithmetic),
    Check("KV257", CheckSubject.EXPRESSIONS, only_containers),
    Check("KV264", CheckSubject.EXPRESSIONS, ephemeral_containers),
    Check("KV262", CheckSubject.EXPRESSIONS, unguarded_namespaces),
    Check("KV258", CheckSubject.EXPRESSIONS, atomic_fields),
    Check("KV259", CheckSubject.EXPRESSIONS, undeclared_fields),
    Check("KV260", CheckSubject.EXPRESSIONS, unknown_paths),
    Check("KV261", CheckSubject.EXPRESSIONS, absent_parents),
    Check("KV267", CheckSubject.EXPRESSIONS, added_by_replace),
    Check("KV268", CheckSubject.EXPRESSIONS, unseen_controllers),
    Check("KV270", CheckSubject.EXPRESSIONS, excluded_resources),
    Check("KV203", CheckSubject.DOCUMENTS, lambda given: deprecated_versions(given.documents)),
    Check("KV208", CheckSubject.DOCUMENTS, lambda given: duplicate_names(given.documents)),
    Check(
        "KV219",
        CheckSubject.DOCUMENTS,
        lambda given: expired_exceptions(given.documents, given.now),
    ),
    *RUN_CHECKS,
    Check("KV226", CheckSubject.FILES, powerless_exceptions),
    Check(
        "KV167 KV265 KV266 KV269",
        CheckSubject.FILES,
        lambda given: binding_problems(given.bindings, given.policies),
    ),
    Check("KV220", CheckSubject.FILES, lambda given: repeated_rules(given.policies)),
    Check("KV221", CheckSubject.FILES, lambda given: contradicting_rules(given.policies)),
    Check(
        "KV225",
        CheckSubject.FILES,
        lambda given: unknown_pattern_fields(given.policies, given.kinds),
    ),
)


def run_checks(subjects: tuple[CheckSubject, ...], on: Any) -> Iterator[Diagnostic]:
    """Yield the diagnostics of the checks of some subjects; `on` is what their subjects need."""
    for check in CHECKS:
        if check.subject in subjects:
            yield from check.run(on)
