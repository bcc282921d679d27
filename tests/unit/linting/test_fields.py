import pytest

from kyvsim.api.lint import lint, plan_fixes
from kyvsim.linting.fields import (
    deprecated_fields,
    incomplete_objects,
    mistyped_values,
    rejected_keys,
    unfitting_patterns,
)
from kyvsim.linting.query_types import typed_expressions

# deprecated fields


KINDS = {"kinds": ["Pod"]}
SPEC = [
    ("validationFailureAction", "Audit", "`validate.failureAction` of each rule"),
    ("failurePolicy", "Ignore", "`spec.webhookConfiguration.failurePolicy`"),
    ("webhookTimeoutSeconds", 5, "`spec.webhookConfiguration.timeoutSeconds`"),
    ("generateExisting", True, "`generate.generateExisting` of each rule"),
    ("schemaValidation", False, "remove it"),
]
RULES = [
    ({"match": {"resources": KINDS}}, ["match/resources"]),
    ({"match": {"resources": {**KINDS, "name": "a"}}}, ["match/resources", "match/resources/name"]),
    ({"exclude": {"any": [{"resources": {"name": "a"}}]}}, ["exclude/any/0/resources/name"]),
    (
        {"verifyImages": [{"image": "a/*", "key": "k"}]},
        ["verifyImages/0/image", "verifyImages/0/key"],
    ),
    (
        {"verifyImages": [{"attestations": [{"predicateType": "t"}]}]},
        ["verifyImages/0/attestations/0/predicateType"],
    ),
]


@pytest.mark.parametrize(("name", "value", "part"), SPEC)
def test_fires_on_fields_of_the_spec(remarks, name, value, part):
    rule = {"validate": {"deny": {}}, "generate": {"kind": "Pod"}}
    ((code, path, message),) = remarks(deprecated_fields, rule, **{name: value})
    assert (code, path) == ("KV202", f"spec/{name}")
    assert part in message


@pytest.mark.parametrize(
    ("name", "rule", "remedy"),
    [
        ("validationFailureAction", {"mutate": {"foreach": []}}, "remove it"),
        ("validationFailureAction", {"verifyImages": [{}]}, "use `validate.failureAction` of"),
        ("generateExisting", {"validate": {"deny": {}}}, "remove it"),
        ("mutateExistingOnPolicyUpdate", {"mutate": {"foreach": []}}, "remove it"),
        ("mutateExistingOnPolicyUpdate", {"mutate": {"targets": [{"kind": "Pod"}]}}, "use `mutate"),
    ],
)
def test_a_field_that_no_rule_can_have_is_removed(remarks, name, rule, remedy):
    ((_, path, message),) = remarks(
        deprecated_fields, rule, **{name: "Audit" if "Action" in name else True}
    )
    assert path == f"spec/{name}"
    assert f": {remedy}" in message


@pytest.mark.parametrize(("rule", "paths"), RULES)
def test_fires_on_fields_of_rules(remarks, rule, paths):
    found = [path for _, path, _ in remarks(deprecated_fields, rule)]
    assert found == [f"spec/rules/0/{path}" for path in paths]


def test_leaves_their_successors_and_defaults_alone(remarks):
    rule = {"exclude": {"any": [{"resources": {"names": ["a"]}}]}, "validate": {"deny": {}}}
    new = {"webhookConfiguration": {"timeoutSeconds": 5}, "background": False}
    assert remarks(deprecated_fields, rule, **new) == []
    assert remarks(deprecated_fields, {"verifyImages": [{"imageReferences": ["a"]}]}) == []


def test_leaves_alone_what_is_refused(remarks):
    assert remarks(deprecated_fields, {}, generateExistingOnPolicyUpdate=True) == []


# misspelt annotations


POLICY = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: p
  annotations:
    ANNOTATION: x
spec:
  rules:
  - name: a
    match: {any: [{resources: {kinds: [Service]}}]}
    validate: {message: m, pattern: {metadata: {name: "?*"}}}
"""


def found(tmp_path, annotation):
    path = tmp_path / "p.yaml"
    path.write_text(POLICY.replace("ANNOTATION", annotation), encoding="utf-8")
    return lint([str(path)])


@pytest.mark.parametrize(
    ("written", "meant", "is_fixed"),
    [
        ("policies.kyverno.io/titel", "policies.kyverno.io/title", True),
        ("policy.kyverno.io/category", "policies.kyverno.io/category", True),
        ("policies.kyverno.io/Severity", "policies.kyverno.io/severity", True),
        (
            "pod-policies.kyverno.io/autogen-controller",
            "pod-policies.kyverno.io/autogen-controllers",
            False,
        ),
        ("policies.kyverno.io/score", "policies.kyverno.io/scored", False),
    ],
)
def test_a_slip_is_told_and_fixed_where_nothing_is_judged_by_it(tmp_path, written, meant, is_fixed):
    told = found(tmp_path, written)
    (one,) = [each for each in told.diagnostics if each.code == "KV224"]
    assert one.message.endswith(f"did you mean `{meant}`?")
    assert (one.fix is not None) is is_fixed
    if is_fixed and "everity" not in written:
        (file,) = plan_fixes(told)
        assert file.text == POLICY.replace("ANNOTATION", meant)


@pytest.mark.parametrize(
    "written",
    [
        "policies.kyverno.io/title",
        "policies.kyverno.io/other",
        "kyverno.io/foo",
        "example.com/titel",
    ],
)
def test_what_is_known_or_meant_otherwise_is_left_alone(tmp_path, written):
    assert not [one for one in found(tmp_path, written).diagnostics if one.code == "KV224"]


# values of the wrong type, and misspelled paths


def matching(kind, **rule):
    return {"match": {"any": [{"resources": {"kinds": [kind]}}]}, **rule}


def patched(spec):
    return matching("Deployment", mutate={"patchStrategicMerge": {"spec": spec}})


def generated(data):
    target = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "namespace": "b"}
    return matching("Namespace", generate={**target, "data": data})


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        (patched({"replicas": "3"}), ["KV327"]),
        (patched({"+(replicas)": "3"}), ["KV327"]),
        (patched({"template": {"spec": {"hostNetwork": "false"}}}), ["KV327"]),
        (generated({"metadata": {"labels": {"a": True}}}), ["KV327"]),
        (generated({"data": {"a": 3}}), ["KV327"]),
        (generated({"dta": {"a": "b"}}), ["KV225"]),
        (patched({"replicas": 3}), []),
        (patched({"replicas": "{{ request.object.spec.replicas }}"}), []),
        (patched({"(replicas)": "<3"}), []),
        (patched({"template": {"metadata": {"labels": {"a": "true"}}}}), []),
        (patched({"strategy": {"rollingUpdate": {"maxSurge": "20%"}}}), []),
        (patched({"strategy": {"rollingUpdate": {"maxSurge": 1}}}), []),
        (generated({"data": {"a": "3"}}), []),
    ],
)
def test_types_of_written_values(remarks, rule, found):
    said = remarks(lambda policy: mistyped_values([policy], {}), rule)
    assert [code for code, _, _ in said] == found


def generated_policy(pattern):
    target = {"apiVersion": "kyverno.io/v1", "kind": "Policy", "name": "a", "namespace": "b"}
    return matching("Namespace", generate={**target, "data": {"spec": pattern}})


def labelled(key, value="a", *, holder="labels"):
    return {"metadata": {holder: {key: value}}}


@pytest.mark.parametrize(
    ("rule", "key"),
    [
        (patched({"template": labelled("the team")}), "the team"),
        (patched({"template": labelled("+(the team)")}), "the team"),
        (patched({"template": labelled("Example.com/team")}), "Example.com/team"),
        (patched({"template": labelled("a/b/c", holder="annotations")}), "a/b/c"),
        (patched({"template": {"spec": {"nodeSelector": {"disk type": "ssd"}}}}), "disk type"),
        (generated(labelled("team!")), "team!"),
        (generated({"data": {"conf/a.ini": "b"}}), "conf/a.ini"),
        (matching("Secret", mutate={"patchStrategicMerge": {"stringData": {"a b": "c"}}}), "a b"),
    ],
)
def test_a_key_that_no_api_server_accepts(remarks, rule, key):
    ((code, path, message),) = remarks(rejected_keys, rule)
    assert (code, path.split("/")[2]) == ("KV327", "0")
    assert message.startswith(f"no API server accepts the key `{key}`: ")


@pytest.mark.parametrize(
    "rule",
    [
        patched({"template": labelled("Example.com/team", holder="annotations")}),
        patched({"template": labelled("(the team)")}),
        patched({"template": labelled("{{ request.object.metadata.name }} x")}),
        patched({"template": labelled("team-*")}),
        patched({"labels": {"the team": "a"}}),  # a field of a custom resource
        generated({"data": {"a.ini": "b"}}),
        matching("Widget", mutate={"patchStrategicMerge": {"data": {"a b": "c"}}}),
    ],
)
def test_keys_that_are_accepted_or_unknown(remarks, rule):
    assert remarks(rejected_keys, rule) == []


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        (patched({"template": labelled("team", "the team")}), ["KV327"]),
        (generated(labelled("team", "a/b")), ["KV327"]),
        (patched({"selector": {"matchLabels": {"team": "-a"}}}), ["KV327"]),
        (patched({"template": labelled("team", "")}), []),
        (generated(labelled("team", "?*")), []),
        (generated_policy(labelled("team", ">5")), []),
        (patched({"template": labelled("team", "{{ request.name }} a")}), []),
        (patched({"template": labelled("team", "the team", holder="annotations")}), []),
    ],
)
def test_label_values_that_no_api_server_accepts(remarks, rule, found):
    assert [code for code, _, _ in remarks(rejected_keys, rule)] == found


def test_types_of_targets_count(remarks):
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a", "namespace": "b"}
    mutate = {"targets": [target], "patchStrategicMerge": {"spec": {"replicas": "3"}}}
    rule = matching("ConfigMap", mutate=mutate)
    ((code, path, _),) = remarks(lambda policy: mistyped_values([policy], {}), rule)
    assert (code, path) == ("KV327", "spec/rules/0/mutate/patchStrategicMerge/spec/replicas")


@pytest.mark.parametrize(
    ("expression", "near"),
    [
        ("request.object.spec.contaners[].name", "containers"),
        ("request.object.spec.containers[].imge", "image"),
        ("request.object.spec.containers[0].imge", "image"),
        ("request.oldObject.metadata.lables", "labels"),
        ("request.object.spec.containers[].image", ""),
        ("request.object.spec.keys(@)", ""),
        ("request.object.metadata.labels.imge", ""),
        ("request.object.spec.somethingElse", ""),
    ],
)
def test_misspelled_paths(remarks, expression, near):
    condition = {"key": f"{{{{ {expression} }}}}", "operator": "AnyIn", "value": ["x"]}
    rule = matching("Pod", validate={"deny": {"conditions": {"any": [condition]}}})
    found = remarks(lambda policy: typed_expressions([policy], {}), rule)
    assert [code for code, _, _ in found] == (["KV328"] if near else [])
    assert all(f"`{near}`" in text for _, _, text in found)


@pytest.mark.parametrize(
    ("path", "pattern", "found"),
    [
        ("request.object.spec.containers", {"spec": {"containers": []}}, ["spec"]),
        ("request.object.spec.containers", {"=(securityContxt)": {}}, ["=(securityContxt)"]),
        ("request.object.spec.containers", {"image": "*"}, []),
        ("request.object.spec.containers[]", {"spec": {}}, []),
        ("request.object.spec.volumes[?name == 'a']", {"spec": {}}, []),
        ("request.object.metadata.labels", {"spec": {}}, []),
    ],
)
def test_patterns_of_elements(remarks, path, pattern, found):
    rule = {"validate": {"foreach": [{"list": path, "pattern": pattern}]}}
    places = remarks(lambda policy: unfitting_patterns([policy], {}), rule)
    assert [where.rpartition("/")[2] for _, where, _ in places] == found


def test_a_loop_without_element_scope_has_patterns_of_objects(remarks):
    loop = {"list": "request.object.spec.containers", "elementScope": False}
    loop["pattern"] = {"metadata": {"name": "a"}, "image": "a"}
    rule = {"validate": {"foreach": [loop]}}
    places = remarks(lambda policy: unfitting_patterns([policy], {}), rule)
    assert [where.rpartition("/")[2] for _, where, _ in places] == ["image"]


@pytest.mark.parametrize(
    ("pattern", "hint"),
    [
        (
            {"spec": {"=(securityContext)": {"=(privileged)": "false"}}},
            ": it is in `spec.containers[].securityContext.privileged`",
        ),
        (
            {"spec": {"containers": [{"securityContext": {"fsGroup": 1}}]}},
            ": it is in `spec.securityContext.fsGroup`",
        ),
        ({"spec": {"containers": [{"=(volumes)": []}]}}, ": it is in `spec.volumes`"),
        ({"spec": {"securityContext": {"other": 1}}}, ""),
    ],
)
def test_a_field_of_another_part_of_the_object_is_found(remarks, pattern, hint):
    rule = {"validate": {"pattern": pattern}}
    ((_, _, text),) = remarks(lambda policy: unfitting_patterns([policy], {}), rule)
    assert text.endswith(f" here{hint}")


@pytest.mark.parametrize(
    ("kind", "data", "field"),
    [
        ("rbac.authorization.k8s.io/v1/RoleBinding", {"subjects": []}, "roleRef"),
        ("rbac.authorization.k8s.io/v1/RoleBinding", {"roleRef": {"kind": "Role"}}, "roleRef.name"),
        (
            "rbac.authorization.k8s.io/v1/RoleBinding",
            {"roleRef": {"kind": "Role", "name": "{{ request.name }}"}},
            "",
        ),
        ("v1/ConfigMap", {"data": {}}, ""),
    ],
)
def test_required_fields_of_generated_objects(remarks, kind, data, field):
    api_version, _, name = kind.rpartition("/")
    target = {"apiVersion": api_version, "kind": name, "name": "a", "namespace": "b"}
    found = remarks(incomplete_objects, {"generate": {**target, "data": data}})
    assert [code for code, _, _ in found] == (["KV327"] if field else [])
    assert all(f"`{field}`" in text for _, _, text in found)


@pytest.mark.parametrize(
    ("hard", "found"),
    [
        ({"requests.cpu": "4 cores"}, ["KV327"]),
        ({"requests.cpu": "500m", "requests.memory": "4Gi", "pods": 10}, []),
        ({"requests.cpu": "{{ request.object.metadata.labels.cpu }}"}, []),
        ({"pods": True}, ["KV327"]),
        ({"requests.cpu": ""}, ["KV327"]),
    ],
)
def test_quantities_of_generated_objects(remarks, hard, found):
    target = {"apiVersion": "v1", "kind": "ResourceQuota", "name": "a", "namespace": "b"}
    rule = {"generate": {**target, "data": {"spec": {"hard": hard}}}}
    assert [code for code, *_ in remarks(lambda one: mistyped_values([one], {}), rule)] == found


def test_fields_of_targets_and_loops(remarks):
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a", "namespace": "b"}
    merge = {"patchStrategicMerge": {"spec": {"replica": 1}}}
    loop = {"list": "request.object.spec.containers", **merge}
    for mutate in ({"targets": [target], **merge}, {"foreach": [loop]}):
        found = remarks(lambda one: mistyped_values([one], {}), {"mutate": mutate})
        assert [code for code, *_ in found] == ["KV225"]
    assert remarks(lambda one: mistyped_values([one], {}), {"mutate": merge}) == []
