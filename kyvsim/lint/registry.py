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
from kyvsim.lint.check import Check, CheckCode, CheckSubject
from kyvsim.lint.runs import IMPOSSIBLE_CALL, RUN_CHECKS, UNUSED_BINDING
from kyvsim.model.diagnostic import Diagnostic

CHECKS: Final = (
    Check(
        (CheckCode("KV202", "validationFailureAction: Enforce"),),
        CheckSubject.RULES,
        fields.deprecated_fields,
    ),
    Check(
        (CheckCode("KV201", "operator: Equal"),),
        CheckSubject.RULES,
        expressions.deprecated_operators,
    ),
    Check((CheckCode("KV204", "name: owners"),), CheckSubject.RULES, expressions.unread_entries),
    Check(
        (CheckCode("KV209", "list: request.object.spec.containers["),),
        CheckSubject.RULES,
        expressions.unreadable_queries,
    ),
    Check((IMPOSSIBLE_CALL,), CheckSubject.RULES, expressions.impossible_calls),
    Check((CheckCode("KV206", "kinds: [ConfigMap]"),), CheckSubject.RULES, rules.never_matches),
    Check(
        (CheckCode("KV222", "key: request.object.metadata.name"),),
        CheckSubject.RULES,
        expressions.constant_conditions,
    ),
    Check(
        (CheckCode("KV223", 'key: "{{ request.operation }}"'),),
        CheckSubject.RULES,
        expressions.exclusive_conditions,
    ),
    Check(
        (CheckCode("KV224", "policies.kyverno.io/titel: Teams"),),
        CheckSubject.RULES,
        fields.misspelt_annotations,
    ),
    Check((CheckCode("KV207", "kinds: [Pod, Service]"),), CheckSubject.RULES, rules.autogen_off),
    Check(
        (
            CheckCode("KV250", "kind: ValidatingPolicy"),
            CheckCode("KV255", "objectSelector:"),
        ),
        CheckSubject.CEL,
        cel_matching.no_constraints,
    ),
    Check(
        (CheckCode("KV256", "kind: DeletingPolicy"),), CheckSubject.CEL, cel_matching.no_conditions
    ),
    Check(
        (
            CheckCode(
                "KV247", "expression: oldObject == null || object.spec.type == oldObject.spec.type"
            ),
        ),
        CheckSubject.CEL,
        cel_validations.null_objects,
    ),
    Check(
        (CheckCode("KV241", "expression: object.metadata.name != 'web'"),),
        CheckSubject.CEL,
        cel_validations.unreached_validations,
    ),
    Check(
        (CheckCode("KV249", "message: A Service needs a team."),),
        CheckSubject.CEL,
        cel_validations.unshown_messages,
    ),
    Check(
        (
            CheckCode("KV245", "resources: [pods, pods/ephemeralcontainers]"),
            CheckCode("KV246", "autogen: {podControllers: {controllers: [deployment]}}"),
        ),
        CheckSubject.CEL,
        cel_matching.controllers_left_out,
    ),
    Check(
        (CheckCode("KV243", "expression: object['spec'].?hostNetwork.orValue(false) == false"),),
        CheckSubject.CEL,
        cel_matching.controllers_spec,
    ),
    Check(
        (CheckCode("KV244", "expression: object.metadata.name != 'web'"),),
        CheckSubject.CEL,
        cel_matching.controllers_metadata,
    ),
    Check(
        (CheckCode("KV253", 'Object{metadata: Object.metadata{labels: {"team": "shop"}}}'),),
        CheckSubject.CEL,
        cel_matching.metadata_of_templates,
    ),
    Check(
        (CheckCode("KV254", 'JSONPatch{op: "add", path: "/metadata/labels/team", value: "shop"}'),),
        CheckSubject.CEL,
        cel_matching.unmoved_patches,
    ),
    Check(
        (CheckCode("KV251", "expression: request.userInfo.username != 'robot'"),),
        CheckSubject.CEL,
        cel_matching.scanned_users,
    ),
    Check(
        (CheckCode("KV263", "namespace: ((object.metadata.name))"),),
        CheckSubject.CEL,
        cel_mutations.unfilled_templates,
    ),
    Check(
        (CheckCode("KV248", "expression: oldObject.spec.type != 'LoadBalancer'"),),
        CheckSubject.EXPRESSIONS,
        cel_validations.absent_objects,
    ),
    Check(
        (CheckCode("KV240", 'expression: "true"'),),
        CheckSubject.EXPRESSIONS,
        cel_validations.constant_tests,
    ),
    Check(
        (CheckCode("KV242", "name: team"),),
        CheckSubject.EXPRESSIONS,
        cel_validations.unread_variables,
    ),
    Check(
        (CheckCode("KV252", "expression: object.spec.replicas * 2 <= 6"),),
        CheckSubject.EXPRESSIONS,
        cel_validations.number_arithmetic,
    ),
    Check(
        (
            CheckCode(
                "KV257",
                "expression: \"object.spec.containers.all(c, c.image.startsWith('ghcr.io/'))\"",
            ),
        ),
        CheckSubject.EXPRESSIONS,
        cel_validations.only_containers,
    ),
    Check(
        (CheckCode("KV264", "resources: [pods, pods/ephemeralcontainers]"),),
        CheckSubject.EXPRESSIONS,
        cel_validations.ephemeral_containers,
    ),
    Check(
        (CheckCode("KV262", "expression: namespaceObject.metadata.name != 'shop'"),),
        CheckSubject.EXPRESSIONS,
        cel_validations.unguarded_namespaces,
    ),
    Check(
        (CheckCode("KV258", 'Object{spec: Object.spec{selector: {"app": "web"}}}'),),
        CheckSubject.EXPRESSIONS,
        cel_mutations.atomic_fields,
    ),
    Check(
        (CheckCode("KV259", 'Object{spec: Object.spec{sessionAfinity: "ClientIP"}}'),),
        CheckSubject.EXPRESSIONS,
        cel_mutations.undeclared_fields,
    ),
    Check(
        (CheckCode("KV260", 'path: "/spec/sessionAfinity"'),),
        CheckSubject.EXPRESSIONS,
        cel_mutations.unknown_paths,
    ),
    Check(
        (CheckCode("KV261", 'path: "/metadata/labels/team"'),),
        CheckSubject.EXPRESSIONS,
        cel_mutations.absent_parents,
    ),
    Check(
        (CheckCode("KV267", 'op: "replace"'),),
        CheckSubject.EXPRESSIONS,
        cel_mutations.added_by_replace,
    ),
    Check(
        (CheckCode("KV268", "resources: [deployments, daemonsets, statefulsets, replicasets]"),),
        CheckSubject.EXPRESSIONS,
        cel_matching.unseen_controllers,
    ),
    Check(
        (CheckCode("KV270", "excludeResourceRules:"),),
        CheckSubject.EXPRESSIONS,
        cel_matching.excluded_resources,
    ),
    Check(
        (CheckCode("KV203", "apiVersion: kyverno.io/v2beta1"),),
        CheckSubject.DOCUMENTS,
        lambda given: documents.deprecated_versions(given.documents),
    ),
    Check(
        (CheckCode("KV208", "name: example"),),
        CheckSubject.DOCUMENTS,
        lambda given: documents.duplicate_names(given.documents),
    ),
    Check(
        (CheckCode("KV219", 'expiresAt: "2024-01-31T00:00:00Z"'),),
        CheckSubject.DOCUMENTS,
        lambda given: documents.expired_exceptions(given.documents, given.now),
    ),
    *RUN_CHECKS,
    Check(
        (CheckCode("KV226", "policyName: example"),),
        CheckSubject.FILES,
        references.powerless_exceptions,
    ),
    Check(
        (
            UNUSED_BINDING,
            CheckCode("KV265", "name: other"),
            CheckCode("KV266", "validationActions: [Deny, Warn]"),
            CheckCode("KV269", "resources: [pods]"),
        ),
        CheckSubject.FILES,
        lambda given: references.binding_problems(given.bindings, given.policies),
    ),
    Check(
        (CheckCode("KV220", "name: b"),),
        CheckSubject.FILES,
        lambda given: rules.repeated_rules(given.policies),
    ),
    Check(
        (CheckCode("KV221", "restartPolicy: Never"),),
        CheckSubject.FILES,
        lambda given: rules.contradicting_rules(given.policies),
    ),
    Check(
        (CheckCode("KV225", "=(hostNetwrk): false"),),
        CheckSubject.FILES,
        lambda given: fields.unknown_pattern_fields(given.policies, given.kinds),
    ),
)


def run_checks(subjects: tuple[CheckSubject, ...], on: Any) -> Iterator[Diagnostic]:
    """Yield the diagnostics of the checks of some subjects; `on` is what their subjects need."""
    for check in CHECKS:
        if check.subject in subjects:
            yield from check.run(on)
