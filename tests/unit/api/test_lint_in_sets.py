"""Findings that need more than one rule or document, or the schemas of kinds."""

import pytest
import yaml

from kyvsim.api.apply import open_application
from kyvsim.api.inputs import ApplyInputs
from kyvsim.api.lint import lint
from kyvsim.model.diagnostic import Severity
from kyvsim.model.release import V_1_19_0, V_1_19_1

PODS = {"any": [{"resources": {"kinds": ["Pod"]}}]}


def policy(*rules, name="p", kind="ClusterPolicy", **spec):
    return {
        "apiVersion": "kyverno.io/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"background": False, **spec, "rules": list(rules)},
    }


def rule(pattern, name="a", match=PODS, **more):
    return {
        "name": name,
        "match": match,
        "validate": {"message": f"of {name}", "pattern": pattern},
        **more,
    }


def exception(policy_name="p", rules=("a",), kinds=("Pod",)):
    return {
        "apiVersion": "kyverno.io/v2",
        "kind": "PolicyException",
        "metadata": {"name": "e", "namespace": "ns"},
        "spec": {
            "exceptions": [{"policyName": policy_name, "ruleNames": list(rules)}],
            "match": {"any": [{"resources": {"kinds": list(kinds)}}]},
        },
    }


@pytest.fixture
def found(tmp_path):
    """A function that returns code and message of each finding of some documents."""

    def run(*documents, **options):
        path = tmp_path / "all.yaml"
        path.write_text(yaml.safe_dump_all(documents), encoding="utf-8")
        return [(one.code, one.message) for one in lint([str(path)], **options).diagnostics]

    return run


ALWAYS = {"spec": {"restartPolicy": "Always"}}
NEVER = {"spec": {"restartPolicy": "Never"}}


def test_a_rule_that_says_what_another_says_is_told(found):
    told = [("KV220", "rule `b` is a duplicate of `a`")]
    assert found(policy(rule(ALWAYS), rule(ALWAYS, "b"))) == told


def test_a_rule_of_another_policy_is_named_with_its_place(found):
    ((code, message),) = found(policy(rule(ALWAYS)), policy(rule(ALWAYS, "b"), name="q"))
    assert code == "KV220"
    assert "`a` of `p` (" in message


def with_autogen(name, controllers=None, **spec):
    found = policy(rule(ALWAYS, f"{name}-r"), name=name)
    if controllers is not None:
        named = {"pod-policies.kyverno.io/autogen-controllers": controllers}
        found["metadata"]["annotations"] = named
    found["spec"] |= spec
    return found


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        ((None,), (None,), ["b-r"]),
        (("none",), (None,), []),
        (("Deployment",), (None,), []),
        ((None,), ("none",), ["b-r"]),
        ((None,), ("Deployment,Job",), ["b-r"]),
        (("Job",), ("Deployment",), []),
        (("none",), ("none",), ["b-r"]),
    ],
)
def test_a_rule_repeats_one_that_is_derived_for_all_its_controllers(found, one, other, told):
    said = [
        text
        for code, text in found(with_autogen("a", *one), with_autogen("b", *other))
        if code == "KV220"
    ]
    assert [text.split("`")[1] for text in said] == told


def test_rules_of_policies_with_other_settings_are_no_repetition(found):
    other = with_autogen("b", background=True)
    assert [one for one in found(with_autogen("a"), other) if one[0] == "KV220"] == []


def test_an_exception_for_a_rule_of_a_policy_in_cel_says_what_to_write(found):
    cel = {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "ValidatingPolicy",
        "metadata": {"name": "p"},
        "spec": {
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": ["pods"],
                    }
                ]
            },
            "validations": [{"expression": "object.metadata.name != 'a'"}],
        },
    }
    (message,) = (text for code, text in found(cel, exception()) if code == "KV072")
    assert message.endswith(
        "which `p` does not have: CEL policies have no rules; they are exempted by exceptions of"
        " `policies.kyverno.io`"
    )


@pytest.mark.parametrize(
    "other",
    [
        rule(ALWAYS, "b", preconditions={"all": []}),
        rule(ALWAYS, "b", {"any": [{"resources": {"kinds": ["Deployment"]}}]}),
        rule(ALWAYS, "b", exclude=PODS),
        {"name": "b", "match": PODS, "mutate": {"patchStrategicMerge": ALWAYS}},
    ],
)
def test_rules_for_other_objects_neither_repeat_nor_contradict(found, other):
    codes = {code for code, _ in found(policy(rule(ALWAYS), other))}
    assert not codes & {"KV220", "KV221"}


def test_rules_that_no_object_pleases_are_told(found):
    text = 'one requires `spec.restartPolicy` to be "Never" and the other "Always"'
    ((code, message),) = found(policy(rule(ALWAYS), rule(NEVER, "b")))
    assert code == "KV221"
    assert text in message


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"spec": {"priority": "1"}}, {"spec": {"priority": "1.0"}}),
        ({"spec": {"restartPolicy": "Always | Never"}}, NEVER),
        ({"spec": {"=(restartPolicy)": "Always"}}, NEVER),
        ({"spec": {"(hostPID)": True, "restartPolicy": "Always"}}, NEVER),
        ({"spec": {"restartPolicy": "A*"}}, {"spec": {"restartPolicy": "Always"}}),
        ({"spec": {"hostPID": True}}, {"spec": {"hostPID": "true"}}),
        ({"spec": {"containers": [{"name": "a"}]}}, {"spec": {"containers": [{"name": "b"}]}}),
    ],
)
def test_patterns_that_some_object_may_please_are_left_alone(found, one, other):
    assert not [code for code, _ in found(policy(rule(one), rule(other, "b"))) if code == "KV221"]


def test_where_one_rule_is_enough_nothing_is_said(found):
    assert found(policy(rule(ALWAYS), rule(NEVER, "b"), applyRules="One")) == []


@pytest.mark.parametrize(
    ("pattern", "field"),
    [
        ({"spec": {"hostNetwrk": "!true"}}, "`hostNetwrk` here: did you mean `hostNetwork`?"),
        ({"spec": {"=(securityContex)": {"a": 1}}}, "`=(securityContex)` here: did you mean"),
        ({"spec": {"containers": [{"imagee": "a"}]}}, "did you mean `image`?"),
        ({"spec": {"replicas": 1}}, "the field `replicas` here"),
    ],
)
def test_fields_that_no_kind_has_are_told(found, pattern, field):
    ((code, message),) = found(policy(rule(pattern)))
    assert code == "KV225"
    assert field in message


def test_a_required_field_that_one_of_the_kinds_does_not_have(found):
    match = {"any": [{"resources": {"kinds": ["Pod", "Deployment"]}}]}
    told = found(policy(rule({"spec": {"replicas": 1}}, match=match)))
    message = "a Pod has no field `replicas` here, so the rule fails for each: match Pod in a rule"
    assert [(code, text.startswith(message)) for code, text in told] == [("KV225", True)]


@pytest.mark.parametrize(
    ("expression", "severity", "part"),
    [
        (
            "request.operation != 'DELETE'",
            Severity.WARNING,
            "cannot be evaluated without a cluster",
        ),
        ("request.operation", Severity.ERROR, "match conditions compilation errors: ["),
        ("request.operation !", Severity.ERROR, "Syntax error"),
    ],
)
def test_match_conditions_are_errors_only_if_a_cluster_rejects_them(
    tmp_path, expression, severity, part
):
    given = policy(
        rule({"metadata": {"name": "?*"}}, match={"resources": {"kinds": ["*/exec"]}}),
        webhookConfiguration={"matchConditions": [{"name": "a", "expression": expression}]},
    )
    path = tmp_path / "p.yaml"
    path.write_text(yaml.safe_dump(given), encoding="utf-8")
    found = [one for one in lint([str(path)]).diagnostics if one.code == "KV102"]
    assert [one.severity for one in found] == [severity]
    assert part in found[0].message
    assert "KV202" in {one.code for one in lint([str(path)]).diagnostics}


def test_a_list_of_lists_that_equals_a_value_is_told_once_with_both_remedies(found):
    key = "request.object.spec.containers[*].ports[*].name"
    denied = {"any": [{"key": f"{{{{ {key} }}}}", "operator": "Equals", "value": "ssh"}]}
    one = {
        "name": "a",
        "match": PODS,
        "validate": {"message": "m", "deny": {"conditions": denied}},
    }
    ((code, message),) = found(policy(one))
    assert code == "KV222"
    assert "`AnyIn` for a list" in message
    assert message.endswith("`request.object.spec.containers[].ports[].name` joins the lists in it")


TO_AUTOGEN = "match only Pod, and autogen derives rules for its controllers"


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        (["Pod", "Deployment"], f"a Deployment has no field `hostPID` here, so {{}}: {TO_AUTOGEN}"),
        (
            ["Pod", "Job", "CronJob"],
            f"a Job (and 1 more) has no field `hostPID` here, so {{}}: {TO_AUTOGEN}",
        ),
        (
            ["Service", "Pod"],
            "a Service has no field `hostPID` here, so {}: match Service in a rule of its own",
        ),
    ],
)
def test_a_field_that_some_of_the_kinds_do_not_have_is_told_once(found, kinds, message):
    match = {"any": [{"resources": {"kinds": kinds}}]}
    required = rule({"spec": {"hostPID": False}}, match=match)
    merged = {
        "name": "a",
        "match": match,
        "mutate": {"patchStrategicMerge": {"spec": {"hostPID": False}}},
    }
    for one, effect in (
        (required, "the rule fails for each"),
        (merged, "a cluster drops it from each"),
    ):
        told = [text for code, text in found(policy(one)) if code == "KV225"]
        assert told == [message.format(effect)]


@pytest.mark.parametrize(
    "change",
    [
        {"mutate": {"patchStrategicMerge": {"spec": {"(hostPID)": True, "=(x)": 1}}}},
        {
            "preconditions": {
                "all": [{"key": "{{ request.kind.kind }}", "operator": "Equals", "value": "Pod"}]
            }
        },
    ],
)
def test_merges_that_may_be_for_one_of_the_kinds_are_left_alone(found, change):
    merged = {
        "name": "a",
        "match": {"any": [{"resources": {"kinds": ["Pod", "Deployment"]}}]},
        "mutate": {"patchStrategicMerge": {"spec": {"hostPID": False}}},
    }
    assert not [one for one in found(policy({**merged, **change})) if "hostPID" in one[1]]


@pytest.mark.parametrize(
    ("pattern", "kinds"),
    [
        ({"metadata": {"labels": {"any": "?*"}}}, ["Pod"]),
        ({"spec": {"=(replicas)": 1}}, ["Pod", "Deployment"]),
        ({"spec": {"anything": 1}}, ["*/Scale"]),
        ({"spec": {"anything": 1}}, ["Pod/exec"]),
        ({"spec": {"*": 1}}, ["Pod"]),
        ({"data": {"x": "y"}}, ["ConfigMap"]),
        ({"spec": {"template": {"spec": {"hostPID": False}}}}, ["apps/v1/Deployment"]),
    ],
)
def test_fields_that_may_be_there_are_left_alone(found, pattern, kinds):
    match = {"any": [{"resources": {"kinds": kinds}}]}
    assert not [one for one in found(policy(rule(pattern, match=match))) if one[0] == "KV225"]


def test_fields_of_given_definitions_are_known(found):
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}},
    }
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "disks.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"kind": "Disk", "plural": "disks"},
            "versions": [{"name": "v1", "served": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }
    match = {"any": [{"resources": {"kinds": ["Disk"]}}]}
    asked = policy(rule({"spec": {"size": ">1", "siz": 1}}, match=match))
    found_codes = [one for one in found(definition, asked) if one[0] == "KV225"]
    assert found_codes == [
        ("KV225", "none of the kinds of rule `a` has the field `siz` here: did you mean `size`?")
    ]


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (exception("q"), "KV071"),
        (exception(rules=("b",)), "KV072"),
        (exception(kinds=("Service",)), "KV226"),
    ],
)
def test_exceptions_without_effect_are_told(found, given, code):
    assert [one for one, _ in found(policy(rule(ALWAYS)), given)] == [code]


@pytest.mark.parametrize("kinds", [["Pod"], ["Deployment", "Service"], ["*"]])
def test_exceptions_that_may_have_effect_are_left_alone(found, kinds):
    """Also those for kinds of which rules are derived."""
    assert found(policy(rule(ALWAYS)), exception(rules=("*",), kinds=kinds)) == []


def test_an_exception_without_policies_is_left_alone(found):
    assert found(exception("q")) == []


def cleanup(*, key="{{ target.metadata.name }}", context=()):
    return {
        "apiVersion": "kyverno.io/v2",
        "kind": "ClusterCleanupPolicy",
        "metadata": {"name": "c"},
        "spec": {
            "schedule": "* * * * *",
            "match": PODS,
            "context": list(context),
            "conditions": {"any": [{"key": key, "operator": "Equals", "value": "{{ v }}"}]},
        },
    }


def excepting(key):
    found = exception()
    conditions = {"all": [{"key": key, "operator": "Equals", "value": "a"}]}
    found["spec"]["conditions"] = conditions
    return found


def excepting_in_cel(expression):
    return {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "PolicyException",
        "metadata": {"name": "e", "namespace": "ns"},
        "spec": {
            "policyRefs": [{"name": "elsewhere", "kind": "MutatingPolicy"}],
            "matchConditions": [{"name": "c", "expression": expression}],
        },
    }


READ = {"name": "v", "variable": {"value": "a"}}


@pytest.mark.parametrize(
    ("document", "codes"),
    [
        (excepting("{{ request.object.a-b }}"), ["KV230"]),
        (excepting("»{{ request.object.a }}"), ["KV230"]),
        (excepting("{{ request.object.{{ x y }} }}"), ["KV230"]),
        (excepting("{{ nope(request.object) }}"), ["KV205"]),
        (excepting("{{ request.object.a }}"), []),
        (excepting_in_cel("objct.metadata.name == 'a'"), ["KV150"]),
        (excepting_in_cel("object.metadata.name"), ["KV150"]),
        (excepting_in_cel("object.metadata.name == 'a'"), []),
        (cleanup(key="{{ target.a-b }}", context=[READ]), ["KV231"]),
        (cleanup(key="é{{ target.a }}", context=[READ]), ["KV231"]),
        (cleanup(context=[{"name": "v", "variable": {"value": "{{ a b }}"}}]), ["KV232"]),
        (cleanup(context=[{"name": "v", "variable": {"jmesPath": "a b"}}]), ["KV232"]),
        (
            cleanup(context=[{"name": "v", "apiCall": {"urlPath": "/a/{{ b c }}"}}]),
            ["KV232"],
        ),
        (cleanup(context=[READ]), []),
    ],
)
def test_expressions_outside_of_rules_are_read(found, document, codes):
    """The policy that an exception names need not be there."""
    assert [code for code, _ in found(document) if code not in {"KV071", "KV202"}] == codes


@pytest.mark.parametrize(
    "document",
    [
        excepting("{{ request.object.metadata.labels.a/b }}"),
        cleanup(key="{{ target.metadata.labels.a/b }}", context=[READ]),
        cleanup(context=[{"name": "v", "variable": {"value": "{{ target.metadata.labels.a/b }}"}}]),
        cleanup(context=[{"name": "v", "variable": {"jmesPath": "metadata.labels.a/b"}}]),
    ],
)
def test_keys_in_expressions_outside_of_rules_have_a_remedy(tmp_path, document):
    path = tmp_path / "p.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    notes = [one.excerpt for one in lint([str(path)]).diagnostics if one.excerpt]
    assert [line for note in notes for line in note if 'labels."a/b"' in line]


@pytest.mark.parametrize(("release", "codes"), [(V_1_19_0, []), (V_1_19_1, ["KV150"])])
def test_a_cluster_of_some_releases_knows_no_variables_in_exceptions(found, release, codes):
    document = excepting_in_cel("variables.mine == 'a'")
    told = found(document, release=release)
    assert [code for code, _ in told if code not in {"KV071", "KV202"}] == codes


def test_conditions_of_an_exception_are_told_by_runs_as_well(tmp_path):
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": ALWAYS["spec"]}
    files = {
        "p.yaml": policy(rule(NEVER)),
        "e.yaml": excepting("{{ request.object.a-b }}"),
        "r.yaml": pod,
    }
    for name, data in files.items():
        (tmp_path / name).write_text(yaml.safe_dump(data), encoding="utf-8")
    policies, exceptions, resources = ((str(tmp_path / name),) for name in files)
    run = open_application(ApplyInputs(policies, resources, exceptions=exceptions))
    told = [one for one in run.diagnostics if one.severity is Severity.ERROR]
    assert [(one.code, one.location.file) for one in told] == [("KV230", exceptions[0])]


WIDGETS = {"any": [{"resources": {"kinds": ["Widget"]}}]}
IN_CEL = {
    "apiVersion": "policies.kyverno.io/v1",
    "kind": "ValidatingPolicy",
    "metadata": {"name": "v"},
    "spec": {
        "matchConstraints": {
            "resourceRules": [
                {
                    "apiGroups": ["example.com"],
                    "apiVersions": ["*"],
                    "operations": ["CREATE"],
                    "resources": ["widgets"],
                }
            ]
        },
        "validations": [{"expression": "has(object.spec)"}],
    },
}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"kind": "Widget", "plural": "widgets"},
        "versions": [{"name": "v1", "served": True, "storage": True}],
    },
}
WIDGET = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}


@pytest.mark.parametrize(
    ("beside", "codes"),
    [((), ["KV164", "KV216"]), ((DEFINITION,), []), ((WIDGET,), []), ((["no map"],), None)],
)
def test_kinds_that_documents_of_the_same_folder_show_are_known(tmp_path, beside, codes):
    documents = [policy(rule({"spec": {"size": "<5"}}, match=WIDGETS)), IN_CEL, *beside]
    (tmp_path / "all.yaml").write_text(yaml.safe_dump_all(documents))
    found = lint([str(tmp_path)]).diagnostics
    told = sorted(one.code for one in found if one.code in {"KV164", "KV216"})
    assert told == (["KV164", "KV216"] if codes is None else codes)


def test_a_definition_among_policies_is_reported_with_its_option(tmp_path):
    file = tmp_path / "crd.yaml"
    file.write_text(yaml.safe_dump(DEFINITION))
    (found,) = lint([str(file)]).diagnostics
    assert (found.code, found.message.rpartition(": ")[2]) == ("KV011", "pass it with --crd-path")
