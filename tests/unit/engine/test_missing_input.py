"""Inputs that a rule reads and that were not given, in the notes of its results."""

import json

import pytest
import yaml

from kyvsim.api import ApplyInputs, open_application
from kyvsim.api.apply import render_document
from kyvsim.api.inputs import AS_GIVEN
from kyvsim.engine.missing_input import DEFAULTED, remedy_for
from kyvsim.equivalence.objects import KindName, smallest
from kyvsim.kubernetes.defaults import with_defaults
from kyvsim.kubernetes.discovery import every_kind, preferred_version
from kyvsim.load.files import Source
from kyvsim.load.values import named_user
from kyvsim.model.request import Operation
from kyvsim.policy.autogen import ANNOTATION
from kyvsim.report.formats import RUN_FORMATS
from kyvsim.report.style import RenderOptions

CLASSIC = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p, annotations: {pod-policies.kyverno.io/autogen-controllers: none}}
spec:
  background: false
  rules:
  - name: r
    match: {any: [{resources: {kinds: [Pod]}%s}]}
    %s
"""
IN_CEL = """
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}
  validations: [{expression: "%s"}]
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: shop}
spec: {containers: [{name: a, image: "nginx:1"}]}
"""
NAMESPACE = """
---
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {team: a}}
"""
USER = "missing input: no user is given, and the rule reads `%s`: pass --as USER or --userinfo FILE"
GROUPS = "`request.userInfo.groups`: pass --as USER --as-group GROUP or --userinfo FILE"
ROLES = "`request.userInfo.clusterRoles`: pass --userinfo FILE with `clusterRoles: [NAME]`"
OLD = "missing input: a CREATE request has no old object, and the rule reads `%s`: pass it with "
SPACE = "missing input: Namespace `shop` is not given, and the rule reads `%s`: add it to the "
SERVER = "missing input: the object has no `%s`, which a cluster sets, and the rule reads `%s`: add"
DEFAULT = "missing input: the result is `%s` with the defaults that an API server sets for `%s`: "


def deny(key, operator, value):
    condition = json.dumps({"key": key, "operator": operator, "value": value})
    return f"validate: {{message: x, deny: {{conditions: {{all: [{condition}]}}}}}}"


def classic(body, criteria=""):
    return CLASSIC % (criteria, body)


def result_for(policy, resources=POD, **what_if):
    inputs = ApplyInputs(
        (Source("p.yaml", policy),),
        (Source("r.yaml", resources),),
        what_if=AS_GIVEN._replace(**what_if),
    )
    run = open_application(inputs)
    return next(
        result
        for answer in run.responses
        for one in answer.responses
        for result in one.results
        if answer.trigger["kind"] == "Pod"
    )


USERNAME = "{{ request.userInfo.username }}"
IS_OLD = deny("{{ request.oldObject.metadata.labels.app }}", "Equals", "a")


@pytest.mark.parametrize(
    ("policy", "status", "note"),
    [
        (classic(deny(USERNAME, "NotEquals", "jane")), "error", USER % "request.userInfo.username"),
        (
            classic(deny("{{ request.userInfo.groups || `[]` }}", "AllNotIn", "admins")),
            "fail",
            GROUPS,
        ),
        (
            classic("validate: {message: x, deny: {}}", ", subjects: [{kind: User, name: dev}]"),
            "fail",
            USER % "request.userInfo.username",
        ),
        (
            classic("validate: {message: x, deny: {}}", ", clusterRoles: [admin]"),
            "fail",
            ROLES,
        ),
        (
            IN_CEL % "'admins' in request.userInfo.groups",
            "error",
            GROUPS,
        ),
        (
            classic(
                "generate: {apiVersion: v1, kind: ConfigMap, namespace: shop, data: {data: {a: b}},"
                " name: 'x-{{ request.userInfo.username }}'}"
            ),
            "pass",
            USER % "request.userInfo.username",
        ),
        (classic(IS_OLD), "error", OLD % "oldObject.metadata.labels.app"),
        (IN_CEL % "object.spec == oldObject.spec", "error", OLD % "oldObject.spec"),
        (
            IN_CEL % "namespaceObject.metadata.labels.team == 'a'",
            "error",
            SPACE % "namespaceObject.metadata.labels.team",
        ),
        (
            classic(deny("{{ request.object.metadata.generation }}", "Equals", 1)),
            "error",
            SERVER % ("metadata.generation", "metadata.generation"),
        ),
        (
            classic("validate: {message: x, pattern: {status: {phase: Running}}}"),
            "fail",
            SERVER % ("status", "status.phase"),
        ),
        (
            IN_CEL % "has(object.status) && object.status.phase == 'Running'",
            "fail",
            SERVER % ("status", "status.phase"),
        ),
        (
            classic(
                "validate: {message: x, pattern: {spec: {containers: [{imagePullPolicy: "
                "IfNotPresent}]}}}"
            ),
            "fail",
            DEFAULT % ("pass", "spec.containers[].imagePullPolicy"),
        ),
        (
            IN_CEL % "object.spec.serviceAccountName != 'default'",
            "error",
            DEFAULT % ("fail", "spec.serviceAccountName"),
        ),
    ],
)
def test_a_result_names_the_missing_input_and_the_option_that_provides_it(policy, status, note):
    result = result_for(policy)
    assert result.status.value == status
    assert note in result.note


_WITHOUT_NOTES = {"exceptions", "exceptions-json", "manifests"}
"""Formats of objects rather than results."""


@pytest.mark.parametrize("name", sorted(set(RUN_FORMATS) - _WITHOUT_NOTES))
def test_every_format_has_it(name):
    inputs = ApplyInputs(
        (Source("p.yaml", classic(deny(USERNAME, "NotEquals", "jane"))),), (Source("r.yaml", POD),)
    )
    run = open_application(inputs)
    text = "".join(render_document(RUN_FORMATS[name].write, run, RenderOptions()))
    assert "missing input: no user is given" in " ".join(text.split())


def test_an_expression_that_reads_an_absent_field_has_a_remedy():
    result = result_for(IN_CEL % "object.metadata.labels.app == 'a'")
    assert result.message == "error: no such key: labels"
    remedy = "test it with `has()`, or read `.?labels.orValue(…)`"
    assert result.note == f"there is no `labels`: {remedy}"


MUTATING = """
apiVersion: policies.kyverno.io/v1
kind: MutatingPolicy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  mutations: [{patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{%s}]'}}]
"""
GENERATE = "{apiVersion: v1, kind: ConfigMap, namespace: b, name: '%s', data: {data: {a: b}}}"
ABSENT = "{{ request.object.metadata.labels.a }}"
EMPTY = '{{ request.object.metadata.labels.a || "" }}'


@pytest.mark.parametrize(
    ("policy", "status", "remedy"),
    [
        (classic(deny(ABSENT, "Equals", "a")), "error", "there is no `labels`: check its spelling"),
        (
            classic(f"generate: {GENERATE % ABSENT}").replace("background: false", ""),
            "pass",
            "there is no `labels`: check its spelling",
        ),
        (
            classic(deny("{{ length(request.object.spec.volumes) }}", "Equals", 1)),
            "error",
            "the argument is null, as when a field is absent: give it a default",
        ),
        (
            classic(deny("{{ contains(request.object.metadata, 'a') }}", "Equals", True)),
            "error",
            "the function takes another type: convert the argument first",
        ),
        (
            classic(deny("{{ lower(request.object.metadata.name) }}", "Equals", "a")),
            "error",
            "JMESPath and Kyverno have no function `lower`",
        ),
        (
            classic(deny("{{ regex_match('*', request.object.metadata.name) }}", "Equals", True)),
            "error",
            "not a regular expression: write `.*` for `*` of a wildcard",
        ),
        (
            classic("mutate: {patchesJson6902: '[{op: add, path: /a, value: b}]'}"),
            "error",
            "a patch that begins with `[` is read as JSON: put its keys and strings in double",
        ),
        (
            classic("mutate: {patchesJson6902: '- {op: replace, path: /spec/a/b, value: b}'}"),
            "error",
            "the object has nothing at this path: write `add`, which also sets a missing field",
        ),
        (
            MUTATING % 'op: "add", path: "/metadata/labels/a", value: "b"',
            "error",
            "the parent of the path has to exist",
        ),
        (
            MUTATING % 'op: object.metadata.name, path: "/metadata", value: "b"',
            "error",
            "the operations of JSON patches are add, copy, move, remove, replace and test",
        ),
        (
            MUTATING % 'op: "remove", path: "/spec/containers/1"',
            "error",
            "the list has no such element: test its size",
        ),
        (IN_CEL % "object.metadata.name > 3", "error", "a value of a type that it does not take"),
        (
            IN_CEL % "object.spec.containers[2].name == 'a'",
            "error",
            "the list has no element 2 (the first is 0): test `size(…) > 2`",
        ),
        (IN_CEL % "int(object.metadata.name) > 1", "error", "the string is not a valid int"),
        (
            IN_CEL % "quantity(object.metadata.name).isGreaterThan(quantity('1'))",
            "error",
            "`isQuantity(…)`",
        ),
        (
            IN_CEL.replace(
                '"%s"', "'false', messageExpression: \"'a' + object.metadata.labels.a\""
            ),
            "fail",
            "there is no `labels`: test it with `has()`",
        ),
    ],
)
def test_an_error_in_other_words_has_a_remedy(policy, status, remedy):
    result = result_for(policy)
    assert result.status.value == status
    assert remedy in result.note


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (
            "incorrect query {{ request.object.spec }}: SyntaxError: Expected",
            "this field is an expression: write it without the braces `{{ }}`",
        ),
        (
            "incorrect query request.object.metadata.labels.a/b || '': SyntaxError: Unknown char",
            'needs double quotes: `labels."a/b"`',
        ),
        ("JMESPath query failed: unknown function: toupper", "did you mean `to_upper`?"),
        (
            "error: kyvsim is offline: no data of the image a:1 is available",
            "only `kyvsim apply` and `test` have data of images (--context-file)",
        ),
        (
            "failed to update digest: failed to resolve digest for image a:1: kyvsim is offline",
            "or set `validationConfigurations: {mutateDigest: false}`",
        ),
        (
            (
                "failed to resolve length(request.object.spec.template.metadata.name) at path : "
                "Invalid type for: <nil>, expected"
            ),
            (
                "use `request.name`, or exclude controllers with "
                "`pod-policies.kyverno.io/autogen-controllers: none`"
            ),
        ),
        (
            'add operation does not apply: doc is missing path: "/metadata/labels/a.io/b": missing',
            "write `/metadata/labels/a.io~1b`",
        ),
        (
            'add operation does not apply: doc is missing path: "/metadata/labels/a": missing',
            "(`patchStrategicMerge`, ApplyConfiguration)",
        ),
        ("failed: no such key: namespace", "`object.metadata.name`, or `.?namespace.orValue(…)`"),
        (
            "remove operation does not apply: doc is missing path: /spec/a: missing value",
            "the object has nothing at this path: test that in a precondition or expression",
        ),
        (
            'failed to resolve request.object.data at path : Unknown key "object" in path',
            "so `request.object` has no value: write `target`",
        ),
        (
            'response error: : deployments.apps "web" not found',
            "or create the object before the rule is triggered",
        ),
    ],
)
def test_an_error_of_kyverno_has_the_remedy_of_its_cause(error, remedy):
    assert remedy_for(error).endswith(remedy)


def test_an_exception_for_some_users_says_that_none_is_given():
    bob = "[{subjects: [{kind: User, name: bob}], resources"
    exception = (EXCEPTION % ("a", "a")).replace("[{resources", bob)
    inputs = ApplyInputs(
        (Source("p.yaml", classic(HAS_NAME)),),
        (Source("r.yaml", POD),),
        exceptions=(Source("e.yaml", exception),),
    )
    for user, note in ((None, "so exception shop/e, which is for some users, does not"), ("x", "")):
        what_if = AS_GIVEN._replace(user=user and named_user(user, ()))
        run = open_application(inputs._replace(what_if=what_if))
        ((result,),) = (one.results for answer in run.responses for one in answer.responses)
        assert result.status.value == "fail"
        assert note in result.note
        assert bool(result.note) is bool(note)


EXISTING = MUTATING.replace(
    "  mutations:",
    """  evaluation: {mutateExisting: {enabled: true}}
  targetMatchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps]}]
  mutations:""",
)
TARGET = "{apiVersion: v1, kind: ConfigMap, metadata: {name: t, namespace: shop}}"


def test_an_error_on_a_target_says_which_object_is_read():
    policy = EXISTING % 'op: "add", path: "/data", value: object.spec.nodeName'
    inputs = ApplyInputs(
        (Source("p.yaml", policy),), (Source("r.yaml", POD),), targets=(Source("t.yaml", TARGET),)
    )
    (response,) = (one for answer in open_application(inputs).responses for one in answer.responses)
    (note,) = (one.note for one in response.results if one.status.value == "error")
    assert note == (
        "on the existing object `shop/ConfigMap/t`, which is `object` there; there is no `spec`: "
        "test it with `has()`, or read `.?spec.orValue(…)`"
    )


CEL_EXCEPTION = """
apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata: {name: e, namespace: shop}
spec:
  policyRefs: [{name: p, kind: ValidatingPolicy}]
  matchConditions: [{name: c, expression: "object.metadata.labels.a == 'b'"}]
"""


def test_an_error_in_an_exception_names_the_exception():
    inputs = ApplyInputs(
        (Source("p.yaml", IN_CEL % "true"),),
        (Source("r.yaml", POD),),
        exceptions=(Source("e.yaml", CEL_EXCEPTION),),
    )
    (response,) = (one for answer in open_application(inputs).responses for one in answer.responses)
    (result,) = response.results
    assert result.status.value == "error"
    assert result.note.startswith(
        "a condition of exception shop/e cannot be evaluated: there is no `labels`: test it with"
    )


def test_an_error_in_a_rule_with_cel_has_a_remedy_though_it_is_a_failure():
    body = "validate: {cel: {expressions: [{expression: object.metadata.labels.a == 'b'}]}}"
    result = result_for(classic(body))
    assert result.status.value == "fail"
    assert result.note.startswith("there is no `labels`: test it with `has()`")


DENIED = "the request is assumed to be a CREATE, and the rule only denies "
SAME = "no old object is given, so `oldObject` is the object itself: pass it with --old-resource"
OPERATION = "{{ request.operation || 'BACKGROUND' }}"
READS_OLD = deny("{{ request.oldObject.metadata.name }}", "NotEquals", "a")


@pytest.mark.parametrize(
    ("body", "operation", "note"),
    [
        (deny(OPERATION, "AnyIn", ["DELETE", "UPDATE"]), None, f"{DENIED}UPDATE and DELETE: pass"),
        (deny(OPERATION, "Equals", "DELETE"), None, f"{DENIED}DELETE: pass --operation DELETE"),
        (deny(OPERATION, "AnyIn", ["DELETE", "CREATE", "x"]), Operation.CONNECT, ""),
        (deny(OPERATION, "NotEquals", "CREATE"), None, ""),
        (READS_OLD, Operation.UPDATE, SAME),
        (deny("{{ request.object.metadata.name }}", "NotEquals", "a"), Operation.UPDATE, ""),
    ],
)
def test_a_rule_that_passes_since_the_request_is_assumed_says_so(body, operation, note):
    result = result_for(classic(body), operation=operation)
    assert result.status.value == "pass"
    assert result.note.removeprefix("missing input: ").startswith(note)
    assert bool(result.note) is bool(note)


def test_an_old_object_that_is_given_is_not_missing():
    old = POD.replace("nginx:1", "nginx:0")
    inputs = ApplyInputs(
        (Source("p.yaml", classic(READS_OLD)),),
        (Source("r.yaml", POD),),
        what_if=AS_GIVEN._replace(old_resources=(Source("o.yaml", old),)),
    )
    (response,) = (one for answer in open_application(inputs).responses for one in answer.responses)
    assert [one.note for one in response.results] == [""]


def test_a_missing_permission_names_the_role_that_grants_it():
    error = (
        'secrets "a" is forbidden: User '
        '"system:serviceaccount:kyverno:kyverno-background-controller" cannot get resource '
        '"secrets" in API group "" in the namespace "default"'
    )
    assert remedy_for(error).endswith('aggregate-to-background-controller: "true"`')


def foreach(patch, loop="list: request.object.spec.volumes"):
    return classic(f"mutate: {{foreach: [{{{loop}, {patch}}}]}}")


def patched_by(*paths):
    return f"patchesJson6902: {json.dumps(json.dumps([REMOVE | {'path': one} for one in paths]))}"


REMOVE = {"op": "remove"}
CEL_REMOVE = 'op: "remove", path: "/spec/volumes/%d"'
AT_INDEX = patched_by("/spec/volumes/{{elementIndex}}")
IS_SECRET = "preconditions: {all: [{key: secret, operator: AnyIn, value: '{{ element.keys(@) }}'}]}"
VOLUMES = "spec: {volumes: [{name: a, secret: {}}, {name: b}, {name: c, secret: {}}], "
MOVED = "an earlier removal moved the elements after it, so `/spec/volumes/%s` removes %s: %s"
ORDER = "set `order: Descending`"
LAST = "remove the last element first"


@pytest.mark.parametrize(
    ("policy", "note"),
    [
        (foreach(AT_INDEX), MOVED % (1, "`c` instead of `b` (and 1 more)", ORDER)),
        (
            foreach(f"{AT_INDEX}, {IS_SECRET}"),
            MOVED % (2, "nothing instead of `c`", ORDER),
        ),
        (
            foreach(
                f"foreach: [{{list: request.object.spec.volumes, {AT_INDEX}}}]", "list: \"'a'\""
            ).replace("elementIndex", "elementIndex1"),
            MOVED % (1, "`c` instead of `b` (and 1 more)", ORDER),
        ),
        (
            classic(f"mutate: {{{patched_by('/spec/volumes/0', '/spec/volumes/1')}}}"),
            MOVED % (1, "`c` instead of `b`", LAST),
        ),
        (
            MUTATING % f"{CEL_REMOVE % 0}}}, JSONPatch{{{CEL_REMOVE % 1}",
            MOVED % (1, "`c` instead of `b`", LAST),
        ),
        (foreach(f"{AT_INDEX}, order: Descending"), ""),
        (classic(f"mutate: {{{patched_by('/spec/volumes/1', '/spec/volumes/0')}}}"), ""),
        (classic(f"mutate: {{{patched_by('/spec/volumes/0', '/spec/volumes/0')}}}"), ""),
        (classic(f"mutate: {{{patched_by('/spec/volumes/0', '/spec/containers/0')}}}"), ""),
    ],
)
def test_a_removal_of_a_moved_element_says_so(policy, note):
    result = result_for(policy, POD.replace("spec: {", VOLUMES))
    assert (result.status.value, result.note) == ("pass", note)


LISTS = foreach("patchesJson6902: '- {op: add, path: /metadata/labels/a, value: b}'")
NO_LIST = (
    "the list is missing: check its spelling, or write `` request.object.spec.volumes || `[]` "
)


@pytest.mark.parametrize(
    ("policy", "status"),
    [
        (LISTS, "error"),
        (
            classic(
                f"generate: {{foreach: [{{list: request.object.spec.volumes, {GENERATE % 'x'}}}]}}"
            )
            .replace(", {api", ", api")
            .replace("}}}]", "}}]"),
            "pass",
        ),
    ],
)
def test_a_missing_list_has_its_default_as_remedy(policy, status):
    result = result_for(policy)
    assert result.status.value == status
    assert NO_LIST in result.note


def test_an_error_that_names_its_remedy_has_no_other():
    result = result_for(classic(deny(USERNAME, "Equals", "jane")))
    assert "userInfo" in result.message
    assert "check its spelling" not in result.note


ENTRY = """
apiVersion: kyverno.io/v2
kind: GlobalContextEntry
metadata: {name: g}
spec: {kubernetesResource: {version: v1, resource: pods, namespace: shop}}
"""


@pytest.mark.parametrize(
    "policy",
    [
        IN_CEL % "globalContext.Get('g', '').size() > 0",
        classic(
            "context: [{name: g, globalReference: {name: g}}]\n    "
            + deny("{{ length(g) }}", "Equals", 0)
        ),
    ],
)
def test_a_global_entry_without_objects_says_so(policy):
    result = result_for(policy, f"{POD}---{ENTRY}")
    assert result.status.value == "fail"
    assert "missing input: the GlobalContextEntry g is an empty list" in result.note


def test_a_typo_in_the_name_of_a_global_entry_has_the_name():
    context = "context: [{name: g, globalReference: {name: podz}}]\n    "
    policy = classic(context + deny("{{ length(g) }}", "Equals", 0))
    result = result_for(policy, f"{POD}---{ENTRY.replace('name: g', 'name: pods')}")
    assert "podz of context entry `g`: did you mean `pods`? If not, add it" in result.note


@pytest.mark.parametrize(
    ("condition", "operation"),
    [
        ("request.operation == 'UPDATE'", "UPDATE"),
        ("request.operation in ['DELETE', 'UPDATE']", "UPDATE or DELETE"),
        ("request.operation != 'CREATE'", ""),
        ("object.metadata.name == 'UPDATE'", ""),
    ],
)
def test_a_policy_that_is_skipped_for_the_assumed_operation_says_so(condition, operation):
    conditions = f'  matchConditions: [{{name: c, expression: "{condition}"}}]\n'
    result = result_for(IN_CEL % "true" + conditions)
    assert result.status.value == "skip"
    expected = f"missing input: the request is assumed to be a CREATE, not {operation}, and"
    assert result.note.startswith(expected) if operation else not result.note


@pytest.mark.parametrize("given", [True, False])
def test_an_empty_entry_of_the_values_file_lacks_nothing(given):
    values = """
apiVersion: cli.kyverno.io/v1alpha1
kind: Values
globalContextEntries: [{name: g, resources: []}]
"""
    policy = IN_CEL % "globalContext.Get('g', '').size() > 0"
    inputs = ApplyInputs((Source("p.yaml", policy),), (Source("r.yaml", f"{POD}---{ENTRY}"),))
    if given:
        inputs = inputs._replace(values_file=Source("v.yaml", values))
    run = open_application(inputs)
    notes = {
        one.note for answer in run.responses for each in answer.responses for one in each.results
    }
    assert any("is an empty list" in note for note in notes) is not given


@pytest.mark.parametrize("values", ["Equals, value: DELETE", "AnyIn, value: [DELETE, CONNECT]"])
def test_a_rule_that_is_skipped_for_the_assumed_operation_says_so(values):
    precondition = f"{{key: '{{{{ request.operation }}}}', operator: {values}}}"
    policy = classic("validate: {message: x, deny: {}}").replace(
        "    validate:", f"    preconditions: {{all: [{precondition}]}}\n    validate:"
    )
    result = result_for(policy)
    assert result.status.value == "skip"
    assert "assumed to be a CREATE, not DELETE" in result.note
    assert "pass --operation DELETE" in result.note
    assert result_for(policy, operation=Operation.UPDATE).note == ""


@pytest.mark.parametrize(
    ("policy", "given"),
    [
        (classic(deny(USERNAME, "NotEquals", "jane")), {"user": named_user("joe", ())}),
        (IN_CEL % "request.userInfo.username == 'jane'", {"user": named_user("joe", ())}),
        (
            IN_CEL % "object.spec == oldObject.spec && false",
            {"operation": Operation.UPDATE},
        ),
        (
            IN_CEL % "namespaceObject.metadata.labels.team == 'b'",
            {"resources": POD + NAMESPACE},
        ),
        (
            IN_CEL % "has(object.status) && object.status.phase == 'Running'",
            {"resources": POD + "status: {phase: Failed}"},
        ),
        # A default would not change the result, or has nothing to do with it.
        (
            classic(
                "validate: {message: x, pattern: {spec: {containers: [{imagePullPolicy: Never}]}}}"
            ),
            {},
        ),
        (classic(deny("{{ request.object.spec.dnsPolicy || '' }}", "NotEquals", "None")), {}),
        (classic("validate: {message: x, pattern: {metadata: {labels: {type: a}}}}"), {}),
    ],
)
def test_a_result_that_lacks_no_input_has_no_note(policy, given):
    result = result_for(policy, **given)
    assert result.status.value == "fail"
    assert result.note == ""


def test_a_value_of_the_values_file_is_an_input():
    values = """
apiVersion: cli.kyverno.io/v1alpha1
kind: Values
globalValues: {request.userInfo.username: joe}
"""
    policy = classic(deny(USERNAME, "NotEquals", "jane"))
    inputs = ApplyInputs(
        (Source("p.yaml", policy),), (Source("r.yaml", POD),), values_file=Source("v.yaml", values)
    )
    (result,) = [
        result
        for answer in open_application(inputs).responses
        for one in answer.responses
        for result in one.results
    ]
    assert (result.status.value, result.note) == ("fail", "")


def test_an_unmatched_rule_says_which_input_its_criterion_lacks():
    selecting = classic("validate: {message: x, deny: {}}").replace(
        "kinds: [Pod]", "kinds: [Pod], namespaceSelector: {matchLabels: {team: a}}"
    )
    deleting = IN_CEL.replace("[CREATE, UPDATE]", "[DELETE]") % "false"
    for policy, remedy in (
        (selecting, "pass --namespace-labels shop:KEY=VALUE"),
        (deleting, "pass --operation DELETE"),
    ):
        run = open_application(ApplyInputs((Source("p.yaml", policy),), (Source("r.yaml", POD),)))
        assert not any(one.results for answer in run.responses for one in answer.responses)
        (found,) = run.final_checks(0)
        assert found.code == "KV070"
        assert "missing input: " in found.message
        assert found.message.endswith(remedy)


DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, namespace: shop}
spec:
  selector: {matchLabels: {a: b}}
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}
"""
VERIFY = "verifyImages: [{imageReferences: ['ghcr.io/*'], mutateDigest: false}]"
TARGETS = "[{apiVersion: v1, kind: Pod, namespace: shop, selector: {matchLabels: {a: b}}}]"
PATCH = "patchStrategicMerge: {metadata: {labels: {c: d}}}"


@pytest.mark.parametrize(
    ("policy", "resource", "why"),
    [
        (
            classic("validate: {message: x, deny: {}}").replace("[Pod]", "[Pod], names: [a]"),
            DEPLOYMENT,
            (
                "for Deployments, since rule `r` prevents that: it selects by name, labels or "
                "annotations"
            ),
        ),
        (
            classic("validate: {message: x, deny: {}}").replace("[Pod]", "[Pod, Service]"),
            DEPLOYMENT,
            "since rule `r` prevents that: it matches other kinds besides Pod",
        ),
        (
            classic("validate: {message: x, deny: {}}").replace(": none", ": 'Job,CronJob'"),
            DEPLOYMENT,
            f"since its annotation `{ANNOTATION}` is `Job,CronJob`",
        ),
        (
            classic("validate: {message: x, deny: {}}").replace("[Pod]", "[apps/v1beta1/*]"),
            DEPLOYMENT,
            'kinds expected ["apps/v1beta1/*"], found "apps/v1/Deployment"',
        ),
        (
            IN_CEL.replace('""', "apps").replace("pods", "deployment") % "false",
            DEPLOYMENT,
            'resources expected ["deployment"], found "apps/v1/Deployment"',
        ),
        (classic(VERIFY), POD, "images that the rule selects (none)"),
        (
            classic(f"mutate: {{targets: {TARGETS}, {PATCH}}}"),
            POD,
            (
                "no target resource has the namespace, name and labels that `targets` select: pass "
                "it with --target-resource, in tests as `targetResources`)"
            ),
        ),
    ],
)
def test_an_unmatched_rule_says_what_it_did_not_match(policy, resource, why):
    inputs = ApplyInputs(
        (Source("p.yaml", policy),),
        (Source("r.yaml", resource),),
        targets=(Source("t.yaml", POD),),
    )
    run = open_application(inputs)
    assert not any(one.results for answer in run.responses for one in answer.responses)
    (found,) = run.final_checks(0)
    assert found.code == "KV070"
    assert found.message.endswith(why)


NATIVE = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  validations: [{expression: "size(object.spec.containers) < int(params.data.most)"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: b}
spec: {policyName: p, validationActions: [Deny], paramRef: {name: most, namespace: lab}}
"""


def test_an_error_for_lack_of_parameters_says_how_to_give_them():
    note = result_for(NATIVE).note
    start = "missing input: the parameters of the binding `b`: pass them with --parameter-resource"
    assert note.startswith(start)
    assert "has()" not in note


GENERATING = """
apiVersion: policies.kyverno.io/v1
kind: GeneratingPolicy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  generate:
  - expression: >-
      generator.Apply("b", [{"apiVersion": dyn("v1"), "kind": dyn("%s"),
      "metadata": dyn({"name": %s})}])
"""


@pytest.mark.parametrize(
    ("policy", "note"),
    [
        (GENERATING % ("ConfigMap", "object.metadata.?labels.a.orValue('')"), "without a name"),
        (GENERATING % ("ConfigMaps", '"a"'), "did you mean `ConfigMap`?"),
        (GENERATING % ("ConfigMap", '"a"'), ""),
        (
            classic(f"generate: {GENERATE % EMPTY}").replace("background: false", ""),
            (
                "a ConfigMap without a name: it is empty, as if a variable in it has no value "
                "(generated at p.yaml:10:5)"
            ),
        ),
    ],
)
def test_a_generated_object_that_no_server_accepts_says_why(policy, note):
    result = result_for(policy)
    assert result.status.value == "pass"
    assert note in result.note
    assert bool(result.note) is bool(note)


JSON_PATCH = 'mutate: {patchesJson6902: \'[{"op": "add", "path": "%s", "value": "b"}]\'}'


def test_a_typo_in_the_kind_of_a_target_is_a_warning_of_the_run():
    policy = classic(f"mutate: {{targets: {TARGETS.replace('Pod', 'Pods')}, {PATCH}}}")
    run = open_application(ApplyInputs((Source("p.yaml", policy),), (Source("r.yaml", POD),)))
    (found,) = (one for one in run.diagnostics if one.code == "KV215")
    assert found.message == "no object has the kind `Pods`: did you mean `Pod`?"


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        (deny("{{ request.object.spec.hostPID || true }}", "Equals", "a"), ["KV301"]),
        ('validate: {message: x, pattern: {spec: {hostname: "=>2"}}}', ["KV306"]),
        ("mutate: {patchStrategicMerge: {spec: {containers: [{tty: true}]}}}", ["KV311"]),
        (deny("{{ request.object.spec.hostPID || `false` }}", "Equals", True), []),
        ("validate: {message: x, pattern: {spec: {template: {spec: {tty: true}}}}}", ["KV225"]),
        ('validate: {message: x, pattern: {spec: {=(hostIPC): "false"}}}', []),
        (deny("request.object.metadata.name", "Equals", "a"), ["KV222"]),
        (
            deny("{{ request.object.spec.containers[].ports[].hostPort }}", "GreaterThan", "1"),
            ["KV222"],
        ),
        (deny("{{ request.object.spec.priority || `0` }}", "GreaterThan", "1"), []),
        (deny("{{ request.object.spec.hostPIDs || `false` }}", "Equals", True), ["KV328"]),
        (deny("{{ request.object.spec.restartPolicy || '' }}", "Equals", "Nevr"), ["KV349"]),
        (deny("{{ images.containers[0].tag || '' }}", "Equals", "a"), ["KV350"]),
        (JSON_PATCH % "/metadata/annotations/example.com/a", ["KV330"]),
        (JSON_PATCH % "/metadata/annotations/example.com~1a", []),
        (
            'mutate: {patchStrategicMerge: {spec: {containers: [{name: "*", tty: true}]}}}',
            ["KV331"],
        ),
        ("exclude: {any: [{resources: {kinds: [Ingress]}}]}\n    validate: {deny: {}}", ["KV312"]),
        (
            "exclude: {any: [{resources: {namespaces: [my_lab]}}]}\n    validate: {deny: {}}",
            ["KV313"],
        ),
        ("exclude: {any: [{resources: {namespaces: [lab]}}]}\n    validate: {deny: {}}", []),
    ],
)
def test_a_part_that_means_something_else_is_a_warning_of_the_run(body, codes):
    run = open_application(
        ApplyInputs((Source("p.yaml", classic(body)),), (Source("r.yaml", POD),))
    )
    assert [one.code for one in run.diagnostics] == codes


@pytest.mark.parametrize(
    ("expression", "codes"),
    [
        ("object.spec.containers.all(c, c.resources.limits.memory <= '1Gi')", ["KV344"]),
        ("object.spec.restartPolicy == 'never'", ["KV349"]),
        ("object.metadata.labels.team == 'a'", []),
    ],
)
def test_a_test_in_cel_of_other_values_is_a_warning_of_the_run(expression, codes):
    policy = IN_CEL % expression
    run = open_application(ApplyInputs((Source("p.yaml", policy),), (Source("r.yaml", POD),)))
    assert [one.code for one in run.diagnostics] == codes


def test_an_unknown_path_of_a_call_is_a_warning_of_the_run():
    call = "context: [{name: a, apiCall: {urlPath: /api/v1/secret}}]"
    policy = classic(f"{call}\n    {deny('{{ a }}', 'Equals', 'a')}")
    run = open_application(ApplyInputs((Source("p.yaml", policy),), (Source("r.yaml", POD),)))
    (found,) = (one for one in run.diagnostics if one.code == "KV335")
    assert found.message.endswith("did you mean `secrets`?")


@pytest.mark.parametrize(
    ("subject", "noted"),
    [
        ("{kind: User, name: robot}", True),
        ("{kind: User, name: jane}", False),
        ("{kind: ServiceAccount, name: robot, namespace: lab}", False),
    ],
)
def test_a_user_in_an_exclude_block_that_is_a_service_account(subject, noted):
    policy = classic(f"exclude: {{any: [{{subjects: [{subject}]}}]}}\n    validate: {{deny: {{}}}}")
    result = result_for(policy, user=named_user("system:serviceaccount:ci:robot"))
    assert result.status.value == "fail"
    how = "write `kind: ServiceAccount` with `namespace: ci`"
    assert (how in result.note) is noted


IMAGES = """
apiVersion: policies.kyverno.io/v1
kind: ImageValidatingPolicy
metadata: {name: i}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  matchImageReferences: [{glob: "%s"}]
  attestors: [{name: a, cosign: {keyless: {identities: [{subject: a, issuer: b}]}}}]
  validationConfigurations: {verifyDigest: false, mutateDigest: false, required: false}
  validations: [{expression: "true"}]
"""


@pytest.mark.parametrize(
    ("policies", "told"),
    [
        (IMAGES % "ghcr.io/*", "of `i` selects `ghcr.io/*`, and the resources have `nginx:1`"),
        (IMAGES % "nginx*", ""),
        (IMAGES % "ghcr.io/*" + "---" + IN_CEL % "1 == int(object.spec.x)", ""),
    ],
)
def test_policies_on_images_that_select_none_of_a_run(policies, told):
    run = open_application(ApplyInputs((Source("p.yaml", policies),), (Source("r.yaml", POD),)))
    found = [one.message for one in run.diagnostics if one.code == "KV070"]
    assert [one.endswith(told) for one in found] == [True] * bool(told)


def test_a_policy_of_another_namespace_says_which_it_is_of():
    policy = (IN_CEL % "false").replace("kind: V", "kind: NamespacedV")
    policy = policy.replace("{name: p}", "{name: p, namespace: lab}")
    run = open_application(ApplyInputs((Source("p.yaml", policy),), (Source("r.yaml", POD),)))
    assert not any(one.results for answer in run.responses for one in answer.responses)
    (found,) = run.final_checks(0)
    assert found.message.endswith('namespace of the policy expected "lab", found "shop"')


STATEFUL = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: a, namespace: shop}
spec: {template: {spec: {containers: [{name: a, image: "nginx:1"}]}}}
"""


@pytest.mark.parametrize(
    ("controllers", "end"),
    [
        ("[deployments]", "controllers` only has deployments: add `statefulsets`"),
        ("[]", "controllers` is empty: add `statefulsets`"),
    ],
)
def test_a_controller_that_autogen_of_a_cel_policy_leaves_out(controllers, end):
    settings = f"spec:\n  autogen: {{podControllers: {{controllers: {controllers}}}}}"
    policy = (IN_CEL % "false").replace("spec:", settings)
    run = open_application(ApplyInputs((Source("p.yaml", policy),), (Source("r.yaml", STATEFUL),)))
    assert not any(one.results for answer in run.responses for one in answer.responses)
    (found,) = run.final_checks(0)
    assert found.message.endswith(end)


def test_a_match_condition_that_fails_has_its_remedy_in_a_run_of_skips():
    conditions = '  failurePolicy: Ignore\n  matchConditions: [{name: a, expression: "%s"}]\n'
    policy = IN_CEL % "false" + conditions % "object.metadata.labels.team == 'a'"
    run = open_application(ApplyInputs((Source("p.yaml", policy),), (Source("r.yaml", POD),)))
    list(run.responses)
    (found,) = run.skip_reasons()
    assert "(no such key: labels); there is no `labels`: test it with `has()`" in found.message


def names_in(value):
    if isinstance(value, dict):
        return set(value).union(*map(names_in, value.values()))
    return set().union(*map(names_in, value)) if isinstance(value, list) else set()


def test_fields_with_defaults_are_known_by_name():
    """Names of containers of defaults, and those of policies for admission, are of no use."""
    known = {"resources", "spec", "status", "finalizers", "labels", "whenDeleted", "whenScaled"}
    known |= {"maxSurge", "maxUnavailable", "partition", "persistentVolumeClaimRetentionPolicy"}
    known |= {"kubernetes.io/metadata.name", "phase", "matchPolicy", "namespaceSelector"}
    known |= {"objectSelector", "scope", "failurePolicy", "matchConstraints"}
    known |= {"securityContext", "requests"}  # an empty map, and one that is left out
    for group, kind in every_kind():
        obj = smallest(KindName(group, preferred_version(group, kind), kind))
        assert names_in(with_defaults(obj)) - names_in(obj) <= DEFAULTED | known, kind


EXCEPTION = """
apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: e, namespace: shop}
spec:
  exceptions: [{policyName: p, ruleNames: [r]}]
  match: {any: [{resources: {kinds: [Pod], names: [%s]}}]}
  conditions: {any: [{key: "%s", operator: Equals, value: a}]}
"""
IGNORED = "exception shop/e is ignored, since its conditions fail: "
HAS_NAME = deny("{{ request.object.metadata.name }}", "Equals", "a")


@pytest.mark.parametrize(
    ("name", "key", "ends", "is_ignored"),
    [
        ("a", ABSENT, "give the variable a default: {{ VARIABLE || '' }}", True),
        ("b", ABSENT, "", False),
        ("a", "{{ request.object.metadata.labels.a || '' }}", "", False),
    ],
)
def test_an_exception_whose_conditions_fail_says_so(name, key, ends, is_ignored):
    given = (Source("e.yaml", EXCEPTION % (name, key)),)
    inputs = ApplyInputs(
        (Source("p.yaml", classic(HAS_NAME)),), (Source("r.yaml", POD),), exceptions=given
    )
    (response,) = (one for answer in open_application(inputs).responses for one in answer.responses)
    (result,) = response.results
    assert result.status.value == "fail"
    assert result.note.startswith(IGNORED) is is_ignored
    assert result.note.endswith(ends)


@pytest.mark.parametrize(
    ("criteria", "noted"),
    [
        ("names: [a], namespaces: [lab]", True),
        ("names: ['a*'], namespaces: [lab]", True),
        ("names: ['*'], namespaces: [lab]", False),
        ("names: [b], namespaces: [lab]", False),
        ("names: [b], namespaces: [shop]", False),
    ],
)
def test_an_exception_for_an_object_of_this_name_in_another_namespace(criteria, noted):
    head = EXCEPTION[: EXCEPTION.index("  conditions")].replace("names: [%s]", criteria)
    inputs = ApplyInputs(
        (Source("p.yaml", classic(HAS_NAME)),),
        (Source("r.yaml", POD),),
        exceptions=(Source("e.yaml", head),),
    )
    (response,) = (one for answer in open_application(inputs).responses for one in answer.responses)
    (result,) = response.results
    assert result.status.value == "fail"
    assert ("in `lab`, and not in `shop`" in result.note) is noted


@pytest.mark.parametrize(
    ("field", "ends"),
    [
        ("name", "set `request.name` in the values file; or read `request.object.metadata.name`"),
        ("uid", "set `request.uid` in the values file"),
        ("kind.kind", "set `request.kind` in the values file"),
    ],
)
def test_a_field_of_reviews_says_so(field, ends):
    result = result_for(classic(deny(f"{{{{ request.{field} }}}}", "Equals", "a")))
    start = "missing input: no AdmissionReview is given, and the rule reads `request."
    assert result.note.startswith(start)
    assert result.note.endswith(ends)


def test_a_field_that_a_review_lacks_is_no_missing_review():
    request = {
        "uid": "1",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "operation": "CREATE",
        "namespace": "shop",
        "object": yaml.safe_load(POD),
    }
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    policy = classic(deny("{{ request.subResource }}", "Equals", "a"))
    result = result_for(policy, json.dumps(review))
    assert result.status.value == "error"
    assert "no AdmissionReview is given" not in result.note


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (deny("a", "Equals", "a").replace("message: x", f'message: "{ABSENT}"'), "message: "),
        (
            deny("a", "Equals", "a").replace('"a"}]', f'"a", "message": "of {ABSENT}"}}]'),
            '"message": "of',
        ),
    ],
)
def test_a_message_that_is_not_shown_has_its_own_place(body, place):
    policy = classic(body)
    line, text = next((n, one) for n, one in enumerate(policy.split("\n"), 1) if place in one)
    assert f"(p.yaml:{line}:{text.index(place) + 1}) is not shown" in result_for(policy).note
