"""MutatingPolicies over objects, as `apply` evaluates them."""

import json

import pytest

from kyvsim.api import ApplyInputs, open_application

CONFIG = """
apiVersion: v1
kind: ConfigMap
metadata: {name: c, namespace: shop, labels: {app: web}}
data: {a: "1"}
"""
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
"""


def policy(*mutations, more="", resource='"", v1, configmaps', kind="MutatingPolicy", name="p"):
    group, version, plural = resource.split(", ")
    parts = "".join(f"  - {one}\n" for one in mutations)
    inside = ", namespace: shop" if "Namespaced" in kind else ""
    return f"""
apiVersion: policies.kyverno.io/v1
kind: {kind}
metadata: {{name: {name}{inside}}}
spec:
  matchConstraints:
    resourceRules:
    - apiGroups: [{group}]
      apiVersions: [{version}]
      operations: [CREATE]
      resources: [{plural}]
{more}
  mutations:
{parts}"""


def merge(text):
    return (
        f"{{patchType: ApplyConfiguration, applyConfiguration: {{expression: {json.dumps(text)}}}}}"
    )


def patch(text):
    return f"{{patchType: JSONPatch, jsonPatch: {{expression: {json.dumps(text)}}}}}"


@pytest.fixture
def run(tmp_path):
    """Return what gives (rule, status, message) of the results, the object, the diagnostics."""

    def call(policies, resource=CONFIG):
        written = tmp_path / "policy.yaml"
        written.write_text(policies)
        given = tmp_path / "resource.yaml"
        given.write_text(resource)
        found = open_application(ApplyInputs(policies=(str(written),), resources=(str(given),)))
        (response,) = found.responses
        rows = [
            (result.rule.name, result.status.value, result.message)
            for answer in response.responses
            for result in answer.results
        ]
        return rows, response.object, found.diagnostics

    return call


LABEL = 'Object{metadata: Object.metadata{labels: {"x": "y"}}}'
PASS = [("", "pass", "success")]


def test_mutations_are_done_in_order_each_on_what_the_last_left(run):
    second = 'Object{data: {"b": object.metadata.labels.x + object.data.a}}'
    rows, obj, _ = run(policy(merge(LABEL), merge(second)))
    assert rows == PASS
    assert obj["metadata"]["labels"] == {"app": "web", "x": "y"}
    assert obj["data"] == {"a": "1", "b": "y1"}


def test_an_error_leaves_the_object_as_it_was(run):
    rows, obj, _ = run(policy(merge(LABEL), patch('[JSONPatch{op: "remove", path: "/zzz"}]')))
    said = "error in remove for path: '/zzz': Unable to remove nonexistent key: zzz: missing value"
    assert rows == [
        ("evaluation", "error", f"failed to evaluate policy: JSON Patch: {said}"),
    ]
    assert obj["metadata"]["labels"] == {"app": "web"}


def test_a_test_of_a_patch_that_fails_drops_the_patch(run):
    text = (
        '[JSONPatch{op: "add", path: "/data/b", value: "2"}, '
        'JSONPatch{op: "test", path: "/data/a", value: "9"}]'
    )
    rows, obj, _ = run(policy(patch(text)))
    assert rows == PASS
    assert obj["data"] == {"a": "1"}


def test_numbers_are_doubles_before_the_first_mutation_and_ints_after_it(run):
    kind = "string(type(object.spec.replicas) == int)"
    first, second = (
        merge(f'Object{{metadata: Object.metadata{{annotations: {{"{name}": {kind}}}}}}}')
        for name in ("first", "second")
    )
    rows, obj, _ = run(
        policy(first, second, resource="apps, v1, deployments"),
        DEPLOYMENT,
    )
    assert rows == PASS
    assert obj["metadata"]["annotations"] == {"first": "false", "second": "true"}


CONDITIONS = [
    ('variables.v == "1"', PASS),
    ("false", [("", "skip", "skip")]),
    (
        "object.zzz == 1",
        [("evaluation", "error", "failed to evaluate policy: no such key: zzz")],
    ),
]


@pytest.mark.parametrize(("condition", "rows"), CONDITIONS)
def test_conditions_know_the_variables(run, condition, rows):
    more = (
        "  variables: [{name: v, expression: object.data.a}]\n"
        f"  matchConditions: [{{name: c, expression: {condition!r}}}]"
    )
    assert run(policy(merge(LABEL), more=more))[0] == rows


def test_without_constraints_everything_matches(run):
    text = policy(merge(LABEL))
    start, end = text.index("  matchConstraints"), text.index("  mutations")
    rows, obj, _ = run(text[:start] + text[end:])
    assert rows == PASS
    assert obj["metadata"]["labels"]["x"] == "y"


def test_a_namespaced_policy_is_about_its_namespace(run):
    text = policy(merge(LABEL), kind="NamespacedMutatingPolicy")
    assert run(text)[0] == PASS
    assert run(text, CONFIG.replace("shop", "other"))[0] == []


def test_policies_feed_each_other(run):
    second = 'Object{data: {"b": object.metadata.labels.x}}'
    rows, obj, _ = run(policy(merge(LABEL)) + "\n---" + policy(merge(second), name="q"))
    assert rows == PASS * 2
    assert obj["data"]["b"] == "y"


def test_the_request_of_later_policies_is_as_it_came(run):
    second = 'Object{data: {"b": string(has(request.object.metadata.labels.x))}}'
    _, obj, _ = run(policy(merge(LABEL)) + "\n---" + policy(merge(second), name="q"))
    assert obj["data"]["b"] == "false"


def test_what_a_last_policy_saw_is_not_what_validation_sees(run):
    """That a policy changes nothing leaves the object and the request as they are."""
    idle = policy(merge("Object{}"), name="q")
    mutated = 'request.object.metadata.labels.x == "y" && object.metadata.labels.x == "y"'
    validating = (
        policy(f"{{expression: {json.dumps(mutated)}}}", name="v", kind="ValidatingPolicy")
    ).replace("mutations:", "validations:")
    rows, _, diagnostics = run(f"{policy(merge(LABEL))}---{idle}---{validating}")
    assert not diagnostics
    assert rows == PASS * 3


def test_a_policy_on_pods_changes_the_templates_of_their_controllers(run):
    text = 'Object{spec: Object.spec{containers: [Object.spec.containers{name: "web", tty: true}]}}'
    rows, obj, _ = run(policy(merge(text), resource='"", v1, pods'), DEPLOYMENT)
    assert rows == PASS
    assert obj["spec"]["template"]["spec"]["containers"] == [
        {"name": "web", "image": "nginx", "tty": True}
    ]


@pytest.mark.parametrize(
    ("mutation", "message"),
    [
        (merge("Object.spec{}"), "output is expected to be of type Object"),
        (patch("[]"), "output is expected to be of type list"),
        (merge("Objekt{}"), "1:7: undeclared reference to 'Objekt' (in container '')"),
    ],
)
def test_what_does_not_compile_is_told(run, mutation, message):
    rows, _, diagnostics = run(policy(mutation))
    assert rows == []
    assert [(one.code, message in one.message) for one in diagnostics][:1] == [("KV150", True)]


SAME_AS_REFERENCE = [
    ("Object{data: null}", ".data: expected map, got &{NULL_VALUE}"),
    (
        'Object{metadata: Object.metadata{labels: {"a": null}}}',
        ".metadata.labels.a: expected string, got &value.valueUnstructured{Value:0}",
    ),
    (
        'Object{metadata: Object.metadata{labels: {"a": [1]}}}',
        ".metadata.labels.a: expected string, got &value.valueUnstructured{Value:[]ref.Val{1}}",
    ),
    (
        'Object{metadata: {"labels": dyn({"a": "b"})}}',
        ".metadata.labels: expected map, got &{map[a:b]}",
    ),
    (
        'Object{metadata: Object.metadata{ownerReferences: [{"uid": "x"}]}}',
        (
            ".metadata.ownerReferences: element 0: associative list with keys may not have non-map "
            "elements"
        ),
    ),
]


@pytest.mark.parametrize(("text", "message"), SAME_AS_REFERENCE)
def test_values_that_no_document_has_are_refused(run, text, message):
    rows, _, _ = run(policy(merge(text)))
    head = "failed to evaluate policy: error applying patch: failed to convert patch object to "
    assert rows == [("evaluation", "error", f"{head}typed object: {message}")]


VALUES = [
    ("9007199254740993", "9007199254740993"),
    ("5u", 5.0),
    ("b'abc'", "YWJj"),
    ("duration('1m')", "60s"),
    ("Object{a: 5u, b: 'x'}", {"a": 5.0, "b": "x"}),
    ("optional.of(1)", 1.0),
]


@pytest.mark.parametrize(("text", "value"), VALUES)
def test_values_in_patches_are_those_of_json(run, text, value):
    rows, obj, _ = run(policy(patch(f'[JSONPatch{{op: "add", path: "/x", value: {text}}}]')))
    assert rows == PASS
    assert obj["x"] == value


REFUSED = [
    ("{1: 2}", "unsupported type conversion from 'int' to string"),
    ("type(1)", "type conversion not supported for 'type'"),
    ("quantity('1')", "type conversion error from 'Quantity' to '*structpb.Value'"),
    ("Object{a: duration('1m')}", "proto:\u00a0invalid type: time.Duration"),
    ("[Object{}]", "an object of a named type inside a list or map is not supported"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_values_that_json_has_not_are_errors(run, text, message):
    rows, _, _ = run(policy(patch(f'[JSONPatch{{op: "add", path: "/x", value: {text}}}]')))
    said = "JSONPath valueExpression evaluated to a type that could not marshal to JSON"
    assert rows == [("evaluation", "error", f"failed to evaluate policy: {said}: {message}")]


def test_a_patch_leaves_an_object_of_some_kind(run):
    rows, _, _ = run(policy(patch('[JSONPatch{op: "replace", path: "", value: {"a": "b"}}]')))
    said = "Internal error occurred: Object 'Kind' is missing in '{\"a\":\"b\"}'"
    assert rows == [("evaluation", "error", f"failed to evaluate policy: {said}")]


def test_a_selector_of_targets_that_cannot_be_read_is_told(run):
    more = '  targetMatchConstraints: {objectSelector: {matchLabels: {a: "b c"}}}'
    told = run(policy(merge(LABEL), more=more))[2]
    assert "KV161" in [one.code for one in told]


TARGET = """
apiVersion: v1
kind: Secret
metadata: {name: %s, namespace: %s, labels: {kind: "%s"}}
type: Opaque
"""
EXISTING = "  evaluation: {mutateExisting: {enabled: true}}\n"
SECRETS = """
  targetMatchConstraints:
    objectSelector: {matchLabels: {kind: good}}
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [DELETE], resources: [secrets]}
"""
BY_EXPRESSION = """
  targetMatchConstraints:
    expression: resource.get("v1", "secrets", object.metadata.namespace, "a")
"""


@pytest.fixture
def on_targets(tmp_path):
    """Return what gives the rows of a policy, and the targets with whether they changed.

    Of a target it gives the name, or what `of` takes from it.
    """

    def call(policies, exceptions="", of=lambda obj: obj["metadata"]["name"]):
        files = {
            "policy": policies,
            "resource": CONFIG,
            "targets": "---".join(
                TARGET % one
                for one in (("a", "shop", "good"), ("b", "shop", "bad"), ("c", "other", "good"))
            ),
        }
        for name, text in files.items():
            (tmp_path / name).with_suffix(".yaml").write_text(text)
        paths = [(str(tmp_path / f"{name}.yaml"),) for name in files]
        if exceptions:
            (tmp_path / "exceptions.yaml").write_text(exceptions)
            paths.append((str(tmp_path / "exceptions.yaml"),))
        (response,) = open_application(ApplyInputs(*paths)).responses
        results = [result for one in response.responses for result in one.results]
        rows = [(one.rule.name, one.status.value, one.message) for one in results]
        return rows, [(of(found.object), found.changed) for one in results for found in one.targets]

    return call


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ("", []),
        (EXISTING + SECRETS, [("a", True), ("c", True)]),
        (EXISTING + SECRETS.replace("good", "good one"), []),
        (EXISTING, []),
        (EXISTING + BY_EXPRESSION, [("a", True)]),
        (
            EXISTING
            + SECRETS
            + "  targetMatchConditions: [{name: c, expression: object.metadata.name == 'c'}]",
            [("c", True)],
        ),
        (
            EXISTING + SECRETS + "  matchConditions: [{name: c, expression: 'false'}]",
            [],
        ),
    ],
)
def test_existing_objects_are_changed_for_a_trigger(on_targets, more, found):
    assert on_targets(policy(merge(LABEL), more=more))[1] == found


def test_a_namespaced_policy_changes_existing_objects_of_its_namespace(on_targets):
    text = policy(merge(LABEL), more=EXISTING + SECRETS, kind="NamespacedMutatingPolicy")
    assert on_targets(text)[1] == [("a", True)]


@pytest.mark.parametrize(
    ("chosen", "kind"),
    [
        (SECRETS, "MutatingPolicy"),
        (SECRETS, "NamespacedMutatingPolicy"),
        (BY_EXPRESSION, "MutatingPolicy"),
    ],
)
def test_a_trigger_of_another_kind_than_the_targets_is_left_alone(on_targets, chosen, kind):
    only_secrets = merge('Object{stringData: {"x": "y"}}')
    rows, found = on_targets(policy(only_secrets, more=EXISTING + chosen, kind=kind))
    assert ("a", True) in found
    assert [row[1] for row in rows] == ["pass"]


def test_an_existing_object_that_cannot_be_changed_is_a_result_of_its_own(on_targets):
    only_config = merge(
        'Object{data: {"x": "y"}, immutable: object.kind == "Secret" ? dyn(1) : true}'
    )
    rows, found = on_targets(policy(only_config, more=EXISTING + SECRETS))
    assert found == []
    assert [row[:2] for row in rows] == [("", "pass"), *[("evaluation", "error")] * 2]


@pytest.mark.parametrize("chosen", [SECRETS, BY_EXPRESSION])
def test_a_later_policy_changes_existing_objects_as_the_earlier_one_left_them(on_targets, chosen):
    counted = LABEL.replace('"x": "y"', '"n": string(size(object.metadata.labels))')
    policies = [
        policy(merge(text), more=EXISTING + chosen, name=f"p{number}")
        for number, text in enumerate((LABEL, counted))
    ]
    _, found = on_targets("---".join(policies), of=lambda obj: obj["metadata"]["labels"])
    assert [one for one, _ in found[:: len(found) // 2]] == [
        {"kind": "good", "x": "y"},
        {"kind": "good", "x": "y", "n": "2"},
    ]


CONFIG_MAPS = SECRETS.replace("secrets", "configmaps, secrets")
A_CONFIG_MAP = BY_EXPRESSION.replace("secrets", "configmaps").replace('"a"', '"z"')


@pytest.mark.parametrize(
    ("more", "codes", "changed", "note"),
    [
        (SECRETS, ["KV160"], False, False),
        (EXISTING + SECRETS, [], False, False),
        (EXISTING + BY_EXPRESSION, [], False, False),
        (CONFIG_MAPS, ["KV160"], True, True),
        (EXISTING + CONFIG_MAPS, [], True, True),
        (EXISTING + CONFIG_MAPS.replace("configmaps, secrets", '"*"'), [], True, True),
        (EXISTING + CONFIG_MAPS.replace('[""]', "[apps]"), ["KV163"] * 2, False, False),
        (EXISTING + A_CONFIG_MAP, [], True, True),
        (EXISTING, [], True, False),
        ("", [], True, False),
    ],
)
def test_a_policy_with_targets_of_its_own_changes_no_trigger_in_a_cluster(
    tmp_path, more, codes, changed, note
):
    (tmp_path / "policy.yaml").write_text(policy(merge(LABEL), more=more))
    (tmp_path / "resource.yaml").write_text(CONFIG)
    (tmp_path / "target.yaml").write_text(CONFIG.replace("name: c", "name: z"))
    names = ("policy", "resource", "target")
    found = open_application(ApplyInputs(*((str(tmp_path / f"{one}.yaml"),) for one in names)))
    (response,) = found.responses
    result, *_ = (result for one in response.responses for result in one.results)
    labels = response.object["metadata"]["labels"]
    assert (result.status.value, labels.get("x")) == ("pass", "y" if changed else None)
    assert ("a cluster does not change this object" in result.note) is note
    assert [one.code for one in found.diagnostics] == codes


@pytest.mark.parametrize(
    ("kind", "is_lacking"), [("", True), ("ConfigMap", True), ("Secret", False)]
)
def test_a_policy_that_finds_no_targets_says_so(tmp_path, kind, is_lacking):
    (tmp_path / "policy.yaml").write_text(policy(merge(LABEL), more=EXISTING + SECRETS))
    (tmp_path / "resource.yaml").write_text(CONFIG)
    target = CONFIG.replace("kind: ConfigMap", f"kind: {kind}").replace("app: web", "kind: good")
    (tmp_path / "target.yaml").write_text(target)
    given = [str(tmp_path / f"{one}.yaml") for one in ("policy", "resource", "target")]
    paths = [(one,) for one in given]
    found = open_application(ApplyInputs(*(paths if kind else paths[:2])))
    (result,) = (
        result for answer in found.responses for one in answer.responses for result in one.results
    )
    assert result.status.value == "pass"
    assert ("missing input: no target resource matches" in result.note) is is_lacking


def test_an_expression_that_names_nothing_is_an_error(on_targets):
    more = EXISTING + BY_EXPRESSION.replace('"a"', '"nobody"')
    rows, found = on_targets(policy(merge(LABEL), more=more))
    why = "type conversion error from 'null_type' to 'map[string]interface {}'"
    said = f"failed to evaluate policy: failed to discover CEL targets: {why}"
    assert (found, rows[1:]) == ([], [("evaluation", "error", said)])


def test_an_expression_that_names_nothing_is_no_matter_where_no_targets_are_given(run):
    more = EXISTING + BY_EXPRESSION.replace('"a"', '"nobody"')
    rows, _, _ = run(policy(merge(LABEL), more=more))
    assert [result for _, result, _ in rows] == ["pass"]


def test_targets_that_cannot_be_looked_for_are_an_error(on_targets):
    more = EXISTING + BY_EXPRESSION.replace("object.metadata.namespace", "object.zzz")
    rows, found = on_targets(policy(merge(LABEL), more=more))
    said = "failed to evaluate policy: failed to discover CEL targets: no such key: zzz"
    assert (found, rows) == ([], [*PASS, ("evaluation", "error", said)])


@pytest.mark.parametrize(("condition", "codes"), [("variables.v == 1", ["KV150"]), ("true", [])])
def test_conditions_of_what_becomes_a_policy_of_the_api_server_use_no_variables(
    run, condition, codes
):
    more = (
        "  autogen: {mutatingAdmissionPolicy: {enabled: true}}\n"
        "  variables: [{name: v, expression: '1'}]\n"
        f"  matchConditions: [{{name: c, expression: '{condition}'}}]"
    )
    rows, _, diagnostics = run(policy(merge(LABEL), more=more))
    assert [one.code for one in diagnostics] == codes
    assert rows == ([] if codes else PASS)


EXCEPTION = """
apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata: {name: e, namespace: shop}
spec:
  policyRefs: [{name: p, kind: MutatingPolicy}]
  matchConditions: [{name: c, expression: %s}]
"""


@pytest.mark.parametrize(
    ("condition", "status", "found"),
    [
        ("object.kind == 'ConfigMap'", "skip", [("a", True), ("c", True)]),
        ("object.metadata.name == 'a'", "pass", [("c", True)]),
        ("'true' == 'true'", "skip", []),
        ("'true' == 'false'", "pass", [("a", True), ("c", True)]),
    ],
)
def test_exceptions_let_off_the_trigger_and_existing_objects_each_by_itself(
    on_targets, condition, status, found
):
    rows, changed = on_targets(
        policy(merge(LABEL), more=EXISTING + SECRETS), EXCEPTION % json.dumps(condition)
    )
    assert ([row[1] for row in rows], changed) == ([status], found)


def test_an_exception_comes_before_conditions_that_cannot_be_evaluated(on_targets):
    more = EXISTING + SECRETS + '  matchConditions: [{name: c, expression: "object.zzz == 1"}]'
    rows, changed = on_targets(policy(merge(LABEL), more=more), EXCEPTION % "'true == true'")
    assert ([row[:2] for row in rows], changed) == ([("exception", "skip")], [])


def test_later_policies_see_the_namespace_and_the_name_that_the_request_has(run):
    move = policy(patch('[JSONPatch{op: "replace", path: "/metadata/namespace", value: "moved"}]'))
    label = "    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %s}}"
    for namespace, changed in (("shop", {"app": "web", "x": "y"}), ("moved", {"app": "web"})):
        later = policy(merge(LABEL), name="q", more=label % namespace)
        assert run(move + "---" + later)[1]["metadata"]["labels"] == changed
