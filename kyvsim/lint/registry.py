"""All checks, in the order in which they run."""

from collections.abc import Iterator
from typing import Any, Final

from kyvsim.lint import (
    cel_matching,
    cel_mutations,
    cel_validations,
    documents,
    expressions,
    fields,
    references,
    rules,
)
from kyvsim.lint.check import Check, CheckSubject
from kyvsim.lint.runs import RUN_CHECKS
from kyvsim.model.diagnostic import Diagnostic

CHECKS: Final = (
    Check("KV202", CheckSubject.RULES, fields.deprecated_fields),
    Check("KV201", CheckSubject.RULES, expressions.deprecated_operators),
    Check("KV204", CheckSubject.RULES, expressions.unread_entries),
    Check("KV209", CheckSubject.RULES, expressions.unreadable_queries),
    Check("KV205", CheckSubject.RULES, expressions.impossible_calls),
    Check("KV206", CheckSubject.RULES, rules.never_matches),
    Check("KV222", CheckSubject.RULES, expressions.constant_conditions),
    Check("KV223", CheckSubject.RULES, expressions.exclusive_conditions),
    Check("KV224", CheckSubject.RULES, fields.misspelt_annotations),
    Check("KV207", CheckSubject.RULES, rules.autogen_off),
    Check("KV250 KV255", CheckSubject.CEL, cel_matching.no_constraints),
    Check("KV256", CheckSubject.CEL, cel_matching.no_conditions),
    Check("KV247", CheckSubject.CEL, cel_validations.null_objects),
    Check("KV241", CheckSubject.CEL, cel_validations.unreached_validations),
    Check("KV249", CheckSubject.CEL, cel_validations.unshown_messages),
    Check("KV245 KV246", CheckSubject.CEL, cel_matching.controllers_left_out),
    Check("KV243", CheckSubject.CEL, cel_matching.controllers_spec),
    Check("KV244", CheckSubject.CEL, cel_matching.controllers_metadata),
    Check("KV253", CheckSubject.CEL, cel_matching.metadata_of_templates),
    Check("KV254", CheckSubject.CEL, cel_matching.unmoved_patches),
    Check("KV251", CheckSubject.CEL, cel_matching.scanned_users),
    Check("KV263", CheckSubject.CEL, cel_mutations.unfilled_templates),
    Check("KV248", CheckSubject.EXPRESSIONS, cel_validations.absent_objects),
    Check("KV240", CheckSubject.EXPRESSIONS, cel_validations.constant_tests),
    Check("KV242", CheckSubject.EXPRESSIONS, cel_validations.unread_variables),
    Check("KV252", CheckSubject.EXPRESSIONS, cel_validations.number_arithmetic),
    Check("KV257", CheckSubject.EXPRESSIONS, cel_validations.only_containers),
    Check("KV264", CheckSubject.EXPRESSIONS, cel_validations.ephemeral_containers),
    Check("KV262", CheckSubject.EXPRESSIONS, cel_validations.unguarded_namespaces),
    Check("KV258", CheckSubject.EXPRESSIONS, cel_mutations.atomic_fields),
    Check("KV259", CheckSubject.EXPRESSIONS, cel_mutations.undeclared_fields),
    Check("KV260", CheckSubject.EXPRESSIONS, cel_mutations.unknown_paths),
    Check("KV261", CheckSubject.EXPRESSIONS, cel_mutations.absent_parents),
    Check("KV267", CheckSubject.EXPRESSIONS, cel_mutations.added_by_replace),
    Check("KV268", CheckSubject.EXPRESSIONS, cel_matching.unseen_controllers),
    Check("KV270", CheckSubject.EXPRESSIONS, cel_matching.excluded_resources),
    Check(
        "KV203",
        CheckSubject.DOCUMENTS,
        lambda given: documents.deprecated_versions(given.documents),
    ),
    Check(
        "KV208", CheckSubject.DOCUMENTS, lambda given: documents.duplicate_names(given.documents)
    ),
    Check(
        "KV219",
        CheckSubject.DOCUMENTS,
        lambda given: documents.expired_exceptions(given.documents, given.now),
    ),
    *RUN_CHECKS,
    Check("KV226", CheckSubject.FILES, references.powerless_exceptions),
    Check(
        "KV167 KV265 KV266 KV269",
        CheckSubject.FILES,
        lambda given: references.binding_problems(given.bindings, given.policies),
    ),
    Check("KV220", CheckSubject.FILES, lambda given: rules.repeated_rules(given.policies)),
    Check("KV221", CheckSubject.FILES, lambda given: rules.contradicting_rules(given.policies)),
    Check(
        "KV225",
        CheckSubject.FILES,
        lambda given: fields.unknown_pattern_fields(given.policies, given.kinds),
    ),
)


def run_checks(subjects: tuple[CheckSubject, ...], on: Any) -> Iterator[Diagnostic]:
    """Yield the diagnostics of the checks of some subjects; `on` is what their subjects need."""
    for check in CHECKS:
        if check.subject in subjects:
            yield from check.run(on)
