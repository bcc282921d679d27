"""All checks, in the order in which they run."""

from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from itertools import chain
from typing import Any, Final

from kyvsim.linting import (
    calls,
    cel_fields,
    cel_logic,
    cel_matching,
    cel_mutations,
    cel_types,
    cel_validations,
    descriptions,
    documents,
    expressions,
    fields,
    lookups,
    manifests,
    matching,
    patches,
    patterns,
    queries,
    query_types,
    references,
    renames,
    requests,
    rules,
    suites,
)
from kyvsim.linting.runs import (
    IMPOSSIBLE_CALL,
    RUN_CHECKS,
    UNUSED_BINDING,
    Check,
    CheckCode,
    CheckSubject,
    warning_check,
)
from kyvsim.model.diagnostic import Diagnostic, Severity

_rules = partial(warning_check, CheckSubject.RULES)
_cel = partial(warning_check, CheckSubject.CEL)
_expressions = partial(warning_check, CheckSubject.EXPRESSIONS)
_documents = partial(warning_check, CheckSubject.DOCUMENTS)
_files = partial(warning_check, CheckSubject.FILES)

_MISREAD: Mapping[str, str] = {
    "KV301": 'key: "{{ request.object.spec.type || none }}"',
    "KV302": 'key: "{{ request.object.spec.publishNotReadyAddresses || `true` }}"',
    "KV303": "key: '{{ request.object.spec.ports[?name == \"http\"] | length(@) }}'",
    "KV304": "key: \"{{ length(request.object.spec.ports) > '2' }}\"",
    "KV305": "key: \"{{ request.object.metadata.labels.example.team || '' }}\"",
}

_OTHER_MEANING = "app: \"{{ trim(request.object.metadata.name, 'shop-') }}\""

CHECKS: Final = (
    _rules(fields.deprecated_fields, KV202="validationFailureAction: Enforce"),
    _rules(expressions.deprecated_operators, KV201="operator: Equal"),
    _rules(expressions.unread_entries, KV204="name: owners"),
    _rules(expressions.later_entries, KV341="jmesPath: base"),
    _rules(expressions.unquoted_keys, KV305=_MISREAD["KV305"]),
    _rules(expressions.unreadable_queries, KV209="list: request.object.spec.containers["),
    _rules(expressions.impossible_calls, KV205=IMPOSSIBLE_CALL),
    _rules(rules.never_matches, KV206="kinds: [ConfigMap]"),
    _rules(
        expressions.constant_conditions,
        KV222="key: request.object.metadata.name",
        KV349="value: Nodeport",
        KV356='key: "{{ request.object.metadata.labels.team }}"',
    ),
    _rules(requests.optional_fields, KV373='key: "{{ request.object.spec.hostNetwork }}"'),
    _rules(requests.required_by_negations, KV374="hostNetwork: false"),
    _rules(expressions.exclusive_conditions, KV223='key: "{{ request.operation }}"'),
    _rules(queries.misread_queries, **_MISREAD),
    _rules(
        calls.call_problems,
        KV205=IMPOSSIBLE_CALL,
        KV309='=(externalName): "!\\\\*.example.com"',
        KV336="key: \"{{ regex_match(request.object.spec.type, '^Node.*') }}\"",
        KV339="key: \"{{ contains(request.object.spec.containers[].image, ':latest') }}\"",
        KV349="value: Nodeport",
        KV351=_OTHER_MEANING,
    ),
    _rules(calls.unanchored_searches, KV360="matches('Cluster.*')"),
    _rules(
        patterns.misread_patterns,
        KV306='healthCheckNodePort: "=> 30000"',
        KV307='storage: "<=10GB"',
        KV308='port: "9000-8000"',
        KV309='=(externalName): "!\\\\*.example.com"',
        KV310="pattern:",
        KV340="X(externalName): internal.example.com",
        KV360="matches('Cluster.*')",
    ),
    _rules(fields.misspelt_annotations, KV224="policies.kyverno.io/titel: Teams"),
    _rules(rules.empty_conditions, KV347="conditions: []"),
    _rules(
        lambda policy: (
            *rules.autogen_off(policy),
            *descriptions.controllers_left_out(policy),
        ),
        KV207="kinds: [Pod, Service]",
    ),
    _rules(descriptions.understated_rules, KV391="^(ports):"),
    _rules(rules.denials_without_admission, KV392="validationActions: [Deny]"),
    _cel(cel_matching.denials_without_admission, KV392="validationActions: [Deny]"),
    _cel(cel_matching.no_constraints, KV250="kind: ValidatingPolicy", KV255="objectSelector:"),
    _cel(cel_matching.no_conditions, KV256="kind: DeletingPolicy"),
    _cel(
        cel_validations.null_objects,
        KV247="expression: oldObject == null || object.spec.type == oldObject.spec.type",
    ),
    _cel(cel_validations.unreached_validations, KV241="expression: object.metadata.name != 'web'"),
    _expressions(
        cel_validations.swallowed_lines, KV241="expression: object.metadata.name != 'web'"
    ),
    _cel(cel_validations.unshown_messages, KV249="message: A Service needs a team."),
    _cel(
        cel_matching.controllers_left_out,
        KV245="resources: [pods, pods/ephemeralcontainers]",
        KV246="autogen: {podControllers: {controllers: [deployment]}}",
    ),
    _cel(
        cel_matching.controllers_spec,
        KV243="expression: object['spec'].?hostNetwork.orValue(false) == false",
    ),
    _cel(cel_matching.controllers_metadata, KV244="expression: object.metadata.name != 'web'"),
    _cel(
        cel_matching.metadata_of_templates,
        KV253='Object{metadata: Object.metadata{labels: {"team": "shop"}}}',
    ),
    _cel(
        cel_matching.unmoved_patches,
        KV254='JSONPatch{op: "add", path: "/metadata/labels/team", value: "shop"}',
    ),
    _cel(cel_matching.scanned_users, KV251="expression: request.userInfo.username != 'robot'"),
    Check(
        (CheckCode("KV162", 'globalContext.Get("names", "")', (Severity.ERROR, Severity.WARNING)),),
        CheckSubject.CEL,
        cel_validations.forbidden_variables,
    ),
    _cel(
        cel_mutations.generated_objects,
        KV215="kinds: [services]",
        KV225="=(hostNetwrk): false",
        KV327='healthCheckNodePort: "30000"',
    ),
    _cel(
        cel_mutations.misplaced_objects,
        KV314="namespaceSelector:",
        KV327='healthCheckNodePort: "30000"',
    ),
    _cel(lookups.arguments_of_signatures, KV350='key: "{{ request.object.spec.ports.port }}"'),
    _cel(cel_mutations.unfilled_templates, KV263="namespace: ((object.metadata.name))"),
    _expressions(
        cel_validations.absent_objects, KV248="expression: oldObject.spec.type != 'LoadBalancer'"
    ),
    _cel(
        cel_validations.old_objects_of_deletions,
        KV248="expression: oldObject.spec.type != 'LoadBalancer'",
    ),
    _expressions(cel_validations.constant_tests, KV240='expression: "true"'),
    _cel(descriptions.understated_cel_policies, KV391="^(ports):"),
    _expressions(
        cel_logic.impossible_texts,
        KV240='expression: "true"',
        KV309='=(externalName): "!\\\\*.example.com"',
        KV336="key: \"{{ regex_match(request.object.spec.type, '^Node.*') }}\"",
    ),
    _expressions(cel_logic.unreadable_texts, KV350='key: "{{ request.object.spec.ports.port }}"'),
    _expressions(
        cel_logic.texts_in_order,
        KV344="expression: object.spec.resources.requests.storage <= '10Gi'",
    ),
    _expressions(cel_logic.loose_texts, KV360="matches('Cluster.*')"),
    _expressions(cel_logic.opposite_defaults, KV361="orValue(false)"),
    _expressions(cel_validations.selecting_conditions, KV384="name: exclude-system"),
    _expressions(cel_validations.unread_variables, KV242="name: team"),
    _expressions(
        cel_validations.number_arithmetic, KV252="expression: object.spec.replicas * 2 <= 6"
    ),
    _expressions(
        cel_validations.only_containers,
        KV257="expression: \"object.spec.containers.all(c, c.image.startsWith('ghcr.io/'))\"",
    ),
    _expressions(
        cel_validations.ephemeral_containers, KV264="resources: [pods, pods/ephemeralcontainers]"
    ),
    _expressions(
        cel_validations.unguarded_namespaces,
        KV262="expression: namespaceObject.metadata.name != 'shop'",
    ),
    _expressions(
        cel_mutations.atomic_fields, KV258='Object{spec: Object.spec{selector: {"app": "web"}}}'
    ),
    _expressions(
        lambda policy: (
            *cel_mutations.undeclared_fields(policy),
            *cel_mutations.misplaced_types(policy),
        ),
        KV259='Object{spec: Object.spec{sessionAfinity: "ClientIP"}}',
    ),
    _expressions(
        cel_mutations.elements_without_keys,
        KV362='imagePullPolicy: "Always"',
    ),
    _expressions(cel_mutations.rejected_labels, KV327='healthCheckNodePort: "30000"'),
    _expressions(cel_mutations.unknown_paths, KV260='path: "/spec/sessionAfinity"'),
    _expressions(cel_mutations.absent_parents, KV261='path: "/metadata/labels/team"'),
    _expressions(cel_mutations.replaced_by_add, KV382='path: "/metadata/annotations"'),
    _expressions(cel_mutations.added_by_replace, KV267='op: "replace"'),
    _expressions(
        cel_matching.unseen_controllers,
        KV268="resources: [deployments, daemonsets, statefulsets, replicasets]",
    ),
    _expressions(cel_matching.never_applied, KV270="excludeResourceRules:"),
    _expressions(
        cel_fields.field_problems,
        KV323="expression: \"object.metadata.labels.team != ''\"",
        KV324="expression: \"object.spec.healthCheckNodePort != '30000'\"",
        KV325="expression: \"object.spec.tpye != 'NodePort'\"",
        KV329='key: "{{ request.object.spec.hostNetwork }}"',
    ),
    _expressions(
        cel_types.type_problems,
        KV324="expression: \"object.spec.healthCheckNodePort != '30000'\"",
        KV327='healthCheckNodePort: "30000"',
        KV394="has(object.spec.publishNotReadyAddresses)",
        KV350='key: "{{ request.object.spec.ports.port }}"',
    ),
    _expressions(cel_mutations.unknown_operations, KV326='op: "set"'),
    _documents(
        lambda given: documents.deprecated_versions(given.documents),
        KV203="apiVersion: kyverno.io/v2beta1",
    ),
    _documents(lambda given: documents.duplicate_names(given.documents), KV208="name: example"),
    _documents(
        lambda given: documents.expired_exceptions(given.documents, given.now),
        KV219='expiresAt: "2024-01-31T00:00:00Z"',
    ),
    _documents(
        lambda given: documents.unreadable_schedules(
            (*given.documents, *given.manifests), given.now
        ),
        KV234='schedule: "0 3 * *"',
        KV381='schedule: "* 3 * * *"',
    ),
    _documents(
        lambda given: lookups.entry_problems(given.documents),
        KV163="resources: [service]",
        KV335="urlPath: /api/v1/configmap",
    ),
    _documents(lambda given: documents.refused_contexts(given.documents), KV393="- name: settings"),
    *RUN_CHECKS,
    _files(
        lambda given: references.unread_allowances(given.cel_exceptions, given.policies),
        KV226="policyName: example",
    ),
    Check(
        (CheckCode("KV042", "results: []", (Severity.ERROR, Severity.WARNING)),),
        CheckSubject.FILES,
        lambda given: (
            *suites.row_problems(given.tests),
            *(suites.unknown_policies(given.tests, given.derive) if given.sound else ()),
        ),
    ),
    _files(lambda given: suites.values_of_tests(given.tests, given.derive), KV073="name: b"),
    _files(
        lambda given: references.binding_problems(given.bindings, given.policies),
        KV167=UNUSED_BINDING,
        KV265="name: other",
        KV266="validationActions: [Deny, Warn]",
        KV269="resources: [pods]",
    ),
    _files(lambda given: queries.misread_exceptions(given.exceptions), **_MISREAD),
    _files(
        lambda given: fields.mistyped_values(given.policies, given.kinds),
        KV225="=(hostNetwrk): false",
        KV327='healthCheckNodePort: "30000"',
    ),
    _files(
        lambda given: lookups.unknown_references(
            given.policies, (*given.documents, *given.manifests)
        ),
        KV387="globalContext.Get('allowed-host', '')",
    ),
    _files(
        lambda given: renames.lost_names(
            given.kustomized, given.policies, given.exceptions, given.cel_exceptions
        ),
        KV369="policyName: example",
    ),
    _files(
        lambda given: lookups.texts_for_lists(given.policies, given.manifests),
        KV372="allowed: web,worker",
    ),
    _files(
        lambda given: query_types.typed_expressions(
            given.policies, given.kinds, given.exceptions, given.documents
        ),
        KV303=_MISREAD["KV303"],
        KV307='storage: "<=10GB"',
        KV328='key: "{{ request.object.spec.tpye }}"',
        KV349="value: Nodeport",
        KV350='key: "{{ request.object.spec.ports.port }}"',
        KV351=_OTHER_MEANING,
        KV222="key: request.object.metadata.name",
    ),
    Check(
        (CheckCode("KV311", "imagePullPolicy: Always", (Severity.WARNING, Severity.INFO)),),
        CheckSubject.FILES,
        lambda given: patterns.replaced_lists(given.policies, given.kinds),
    ),
    _rules(matching.ineffective_exclusions, KV312="kinds: [Ingress]"),
    _rules(matching.impossible_names, KV313="namespaces: [kube_system]"),
    _files(
        lambda given: matching.ineffective_exceptions(given.exceptions),
        KV226="policyName: example",
        KV313="namespaces: [kube_system]",
        KV315="kinds: [PodExecOptions]",
    ),
    Check(
        (
            CheckCode("KV110", 'key: "{{ request.userInfo.username }}"', (Severity.ERROR,)),
            CheckCode("KV124", "kind: ServiceAccount", (Severity.ERROR,)),
            CheckCode("KV125", "selector:", (Severity.ERROR,)),
            CheckCode("KV128", "controlName: Capabilities", (Severity.ERROR,)),
        ),
        CheckSubject.FILES,
        lambda given: matching.refused_exceptions(given.exceptions),
    ),
    _rules(
        matching.namespaces_of_cluster_kinds,
        KV314="namespaceSelector:",
        KV383="namespaceSelector:",
    ),
    _cel(cel_matching.other_namespaces, KV383="namespaceSelector:"),
    _rules(matching.invalid_namespace_selectors, KV346="key: team, operator: Exists"),
    _rules(matching.kinds_never_requested, KV315="kinds: [PodExecOptions]"),
    _rules(
        requests.missing_namespaces, KV316='namespace: "{{ request.object.metadata.namespace }}"'
    ),
    _rules(
        requests.lost_metadata,
        KV317='message: "{{ request.object.metadata.name }} uses the host network."',
    ),
    _rules(
        lambda policy: (*requests.absent_objects(policy), *requests.old_objects(policy)),
        KV318='value: "{{ request.oldObject.spec.type }}"',
        KV342='key: "{{ request.object.metadata.labels.protected }}"',
    ),
    _rules(
        cel_validations.absent_objects_of_rules,
        KV248="expression: oldObject.spec.type != 'LoadBalancer'",
    ),
    _rules(patches.ascending_removals, KV319="- list: request.object.spec.ports"),
    _rules(requests.wildcard_selectors, KV320="selector:"),
    _rules(
        requests.lifetimes,
        KV321="cleanup.kyverno.io/ttl: 1h",
        KV345="cleanup.kyverno.io/ttl: tomorrow",
    ),
    _documents(
        lambda given: documents.manifest_problems(given.manifests),
        KV321="cleanup.kyverno.io/ttl: 1h",
        KV327='healthCheckNodePort: "30000"',
        KV345="cleanup.kyverno.io/ttl: tomorrow",
    ),
    _documents(
        lambda given: manifests.rejected_values(one for one in given.manifests if not one.folder),
        KV233="tier: 1",
    ),
    _documents(
        lambda given: (
            *manifests.ignored_rules(given.manifests),
            *manifests.unknown_role_resources(given.manifests),
            *manifests.ignored_settings(given.manifests),
        ),
        KV163="resources: [service]",
        KV364="egress:",
        KV368="resourceFilters:",
    ),
    _documents(
        lambda given: manifests.dangling_names(one for one in given.manifests if not one.folder),
        KV363="port: https",
    ),
    _files(
        lambda given: expressions.constant_exceptions(given.exceptions),
        KV222="key: request.object.metadata.name",
        KV349="value: Nodeport",
        KV356='key: "{{ request.object.metadata.labels.team }}"',
    ),
    _rules(lookups.unknown_names, KV328='key: "{{ request.object.spec.tpye }}"'),
    _rules(lookups.unknown_api_paths, KV335="urlPath: /api/v1/configmap"),
    _rules(lookups.bodies_of_calls, KV352="data:"),
    _rules(lookups.unusable_keys, KV353="publicKeys: cosign.pub"),
    _rules(lookups.unmatched_images, KV334="ghcr.io/example/web"),
    _rules(lookups.images_of_other_kinds, KV366='key: "{{ images.containers.*.tag }}"'),
    _rules(lookups.expressions_as_identities, KV309='=(externalName): "!\\\\*.example.com"'),
    _cel(
        lookups.unmatched_images_in_cel,
        KV325="expression: \"object.spec.tpye != 'NodePort'\"",
        KV334="ghcr.io/example/web",
    ),
    _cel(lookups.unreadable_keys, KV365="data: MFkwEwYH"),
    _cel(lookups.unknown_resources_in_cel, KV163="resources: [service]"),
    _cel(
        cel_validations.templates_in_messages, KV333='message: "{{ request.name }} is a NodePort."'
    ),
    _expressions(
        cel_validations.templates_in_texts, KV333='message: "{{ request.name }} is a NodePort."'
    ),
    _rules(
        cel_validations.templates_of_rules, KV333='message: "{{ request.name }} is a NodePort."'
    ),
    _expressions(lookups.removed_versions, KV315="kinds: [PodExecOptions]"),
    _expressions(cel_matching.versions_as_groups, KV332="apiGroups: [v1]"),
    _expressions(cel_matching.values_beside_wildcards, KV343="operations: ['*', CREATE]"),
    _rules(requests.fields_of_owners, KV329='key: "{{ request.object.spec.hostNetwork }}"'),
    _rules(requests.patterns_at_deletion, KV338="pattern:"),
    _rules(requests.requests_of_cleanup, KV337='key: "{{ request.object.metadata.name }}"'),
    _rules(patches.unreadable_json, KV348='patchesJson6902: "[{op: remove, path: /spec/type}]"'),
    _rules(patches.misread_paths, KV330="path: /metadata/labels/example.com/team"),
    _expressions(
        cel_mutations.misread_paths_in_cel, KV330="path: /metadata/labels/example.com/team"
    ),
    _rules(
        lambda policy: chain(
            fields.rejected_keys(policy),
            fields.incomplete_objects(policy),
            patches.moved_objects(policy),
        ),
        KV327='healthCheckNodePort: "30000"',
    ),
    _files(
        lambda given: patches.mistyped_patches(given.policies, given.kinds),
        KV225="=(hostNetwrk): false",
        KV327='healthCheckNodePort: "30000"',
        KV349="value: Nodeport",
        KV350='key: "{{ request.object.spec.ports.port }}"',
        KV382='path: "/metadata/annotations"',
    ),
    _rules(patches.indexes_of_other_lists, KV357="/spec/ports/{{elementIndex}}/name"),
    _rules(rules.loops_without_element, KV358="list: request.object.spec.ports"),
    _rules(
        lambda policy: (*patches.unknown_directives(policy), *patches.unknown_operations(policy)),
        KV326='op: "set"',
    ),
    _rules(patches.names_without_anchor, KV331='name: "*"'),
    _rules(patches.added_maps, KV367="+(labels):"),
    _rules(
        requests.targets_not_read,
        KV371="key: \"{{ request.object.metadata.labels.config || '' }}\"",
    ),
    _rules(requests.clones_of_themselves, KV354="clone:"),
    _rules(requests.broken_variables, KV355='owner: "{{ request.object.metadata.name }"'),
    _rules(requests.names_with_spaces, KV322='namespace: "{{ request.object.metadata.name }} "'),
    _files(lambda given: rules.repeated_rules(given.policies), KV220="name: b"),
    _files(lambda given: rules.contradicting_rules(given.policies), KV221="restartPolicy: Never"),
    _files(
        lambda given: fields.unfitting_patterns(given.policies, given.kinds),
        KV225="=(hostNetwrk): false",
        KV349="value: Nodeport",
        KV350='key: "{{ request.object.spec.ports.port }}"',
    ),
)


@lru_cache(maxsize=8)
def _checks_for(subjects: tuple[CheckSubject, ...]) -> tuple[Check, ...]:
    return tuple(check for check in CHECKS if check.subject in subjects)


def run_checks(subjects: tuple[CheckSubject, ...], on: Any) -> Iterator[Diagnostic]:
    """Yield the diagnostics of the checks for some subjects, with `on` as their argument."""
    for check in _checks_for(subjects):
        yield from check.run(on)
