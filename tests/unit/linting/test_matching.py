import json

import pytest

from kyvsim.api.lint import lint
from kyvsim.linting.matching import (
    impossible_names,
    ineffective_exclusions,
    invalid_namespace_selectors,
    kinds_never_requested,
    namespaces_of_cluster_kinds,
)
from kyvsim.linting.rules import never_matches


def rule(match, exclude=None, **more):
    built = {"match": {"any": [{"resources": match}]}, **more}
    if exclude:
        built["exclude"] = {"any": [{"resources": exclude}]}
    return built


def codes(remarks, check, *given, **more):
    return [code for code, _, _ in remarks(check, rule(*given, **more))]


PODS = {"kinds": ["Pod"]}


@pytest.mark.parametrize(
    ("match", "exclude"),
    [
        (PODS, {"kinds": ["Deployment"], "names": ["a"]}),
        (PODS, {"kinds": ["Pod"], "operations": ["DELETE"], "names": ["a"]}),
    ],
)
def test_an_exclusion_without_effect(remarks, match, exclude):
    if "operations" in exclude:
        match = {**match, "operations": ["CREATE"]}
    assert codes(remarks, ineffective_exclusions, match, exclude) == ["KV312"]


@pytest.mark.parametrize(
    ("match", "exclude"),
    [
        (PODS, {"kinds": ["Pod"], "names": ["a"]}),
        (PODS, {"kinds": ["v1/Pod"]}),
        (PODS, {"kinds": ["P*"]}),
        (PODS, {"namespaces": ["a"]}),
        ({"kinds": ["Pod", "Deployment"]}, {"kinds": ["Deployment"]}),
        ({"kinds": ["*"]}, {"kinds": ["Deployment"]}),
        ({**PODS, "namespaces": ["a"]}, {"namespaces": ["kube-system"]}),  # to be safe
    ],
)
def test_exclusions_that_apply(remarks, match, exclude):
    assert codes(remarks, ineffective_exclusions, match, exclude) == []


def test_an_exclusion_that_prevents_autogen_says_so(remarks):
    ((_, path, text),) = remarks(ineffective_exclusions, rule(PODS, {"kinds": ["Job"]}))
    assert path == "spec/rules/0/exclude/any/0/resources/kinds"
    assert "prevents autogen rules" in text


@pytest.mark.parametrize(
    ("criteria", "hint"),
    [
        ({"namespaces": ["kube_system"]}, "`kube-system`"),
        ({"namespaces": ["Dev"]}, "`dev`"),
        ({"namespaces": ["a, b"]}, "item of the list"),
        ({"namespaces": ["!a"]}, "negated"),
        ({"namespaces": ["^a.*$"]}, "regular expressions"),
        ({"names": ["Web"]}, "`web`"),
        ({"names": ["web-(a|b)"]}, "regular expressions"),
    ],
)
def test_a_name_that_no_object_has(remarks, criteria, hint):
    ((code, _, text),) = remarks(impossible_names, rule({**PODS, **criteria}))
    assert code == "KV313"
    assert hint in text


@pytest.mark.parametrize(
    "match",
    [
        {**PODS, "namespaces": ["kube-system", "a*", "?"]},
        {**PODS, "names": ["web.1", "a-*"]},
        {"kinds": ["ClusterRole"], "names": ["system:Admin"]},
        {"kinds": ["*"], "names": ["A"]},
    ],
)
def test_names_that_objects_can_have(remarks, match):
    assert codes(remarks, impossible_names, match) == []


def test_namespaces_of_failure_actions(remarks):
    overrides = [{"action": "Audit", "namespaces": ["Dev"]}]
    validate = {"deny": {}, "failureActionOverrides": overrides}
    ((code, path, _),) = remarks(impossible_names, rule(PODS, validate=validate))
    assert code == "KV313"
    assert path == "spec/rules/0/validate/failureActionOverrides/0/namespaces/0"


@pytest.mark.parametrize(
    ("match", "found"),
    [
        ({"kinds": ["ClusterRole"], "namespaces": ["a"]}, ["KV314"]),
        ({"kinds": ["Namespace"], "namespaceSelector": {"matchLabels": {"a": "b"}}}, ["KV314"]),
        ({"kinds": ["ClusterRole"], "namespaces": ["*"]}, []),
        ({"kinds": ["Namespace"], "namespaces": ["a"]}, []),
        ({"kinds": ["ClusterRole", "Role"], "namespaces": ["a"]}, []),
        ({"kinds": ["example.com/v1/Cluster"], "namespaces": ["a"]}, []),
        ({"kinds": ["Pod"], "namespaceSelector": {"matchLabels": {"a": "b"}}}, []),
    ],
)
def test_criteria_about_namespaces(remarks, match, found):
    assert codes(remarks, namespaces_of_cluster_kinds, match) == found


@pytest.mark.parametrize(
    ("kinds", "hint"),
    [
        (["PodExecOptions"], "`Pod/exec`"),
        (["Scale"], "`*/scale`"),
        (["Pod", "Eviction"], "`Pod/eviction`"),
        (["PodSecurityPolicy"], "1.25"),
        (["Pod", "policy/v1beta1/PodSecurityPolicy"], "1.25"),
        (["batch/v1beta1/CronJob"], "`batch/v1/CronJob`"),
        (["kyverno.io/v2alpha1/PolicyException"], "`kyverno.io/v2/PolicyException`"),
    ],
)
def test_a_kind_that_no_request_has(remarks, kinds, hint):
    body = {"pattern": {"metadata": {"name": "?*"}}}
    ((code, _, text),) = remarks(kinds_never_requested, rule({"kinds": kinds}, validate=body))
    assert code == "KV315"
    assert hint in text


def test_a_removed_version_that_a_rule_denies(remarks):
    """With the version that is served, the rule would deny every object of the kind."""
    kinds = {"kinds": ["batch/v1beta1/CronJob"]}
    ((_, _, text),) = remarks(kinds_never_requested, rule(kinds, validate={"deny": {}}))
    assert text.endswith("which was removed, so it can be left out")
    some = {"conditions": {"any": [{"key": "{{ a }}", "operator": "Equals", "value": "b"}]}}
    ((_, _, text),) = remarks(kinds_never_requested, rule(kinds, validate={"deny": some}))
    assert "`batch/v1/CronJob`" in text


def test_kinds_and_namespaces_of_exceptions(tmp_path):
    match = rule({"kinds": ["PodExecOptions"], "namespaces": ["Dev"]})["match"]
    data = {
        "apiVersion": "kyverno.io/v2",
        "kind": "PolicyException",
        "metadata": {"name": "e"},
        "spec": {"exceptions": [{"policyName": "p", "ruleNames": ["r"]}], "match": match},
    }
    path = tmp_path / "e.json"
    path.write_text(json.dumps(data))
    assert [one.code for one in lint([str(path)]).diagnostics] == ["KV315", "KV313"]


@pytest.mark.parametrize(
    "kinds",
    [
        ["Pod/exec"],
        ["*/scale"],
        ["batch/*/CronJob"],
        ["batch/v1/CronJob"],
        ["Pod", "policy/*/PodSecurityPolicy"],
        ["example.com/v1beta1/CronJob"],
        ["kyverno.io/v2alpha1/GlobalContextEntry"],
        ["kyverno.io/v2beta1/PolicyException"],
        ["Pod*"],
    ],
)
def test_kinds_that_requests_have(remarks, kinds):
    assert codes(remarks, kinds_never_requested, {"kinds": kinds}) == []


@pytest.mark.parametrize(
    ("rule", "hint"),
    [
        (
            {"mutate": {"targets": [{"apiVersion": "batch/v1beta1", "kind": "CronJob"}]}},
            "`batch/v1/CronJob`",
        ),
        (
            {"generate": {"apiVersion": "kyverno.io/v2alpha1", "kind": "ClusterCleanupPolicy"}},
            "`kyverno.io/v2/ClusterCleanupPolicy`",
        ),
        ({"generate": {"apiVersion": "policy/v1beta1", "kind": "PodSecurityPolicy"}}, "1.25"),
        ({"generate": {"cloneList": {"kinds": ["v1/Secret", "v1/Scale"]}}}, "`*/scale`"),
    ],
)
def test_a_target_whose_kind_no_object_has(remarks, rule, hint):
    ((code, _, text),) = remarks(kinds_never_requested, rule)
    assert code == "KV315"
    assert text.startswith("no ")
    assert hint in text


@pytest.mark.parametrize(
    "target",
    [
        {"apiVersion": "v1", "kind": "Secret"},
        {"apiVersion": "{{ version }}", "kind": "CronJob"},
        {"apiVersion": "batch/v1", "kind": "CronJob"},
    ],
)
def test_targets_that_may_exist(remarks, target):
    assert remarks(kinds_never_requested, {"generate": target}) == []


def test_a_namespaced_policy_for_cluster_scoped_objects(tmp_path):
    policy = {
        "apiVersion": "kyverno.io/v1",
        "kind": "Policy",
        "metadata": {"name": "p", "namespace": "a"},
        "spec": {"rules": [{"name": "r", **rule({"kinds": ["Namespace"]})}]},
    }
    file = tmp_path / "p.json"
    file.write_text(json.dumps(policy))
    assert "KV314" in [one.code for one in lint([str(file)]).diagnostics]
    file.write_text(json.dumps(policy).replace('"Namespace"]', '"ConfigMap"]'))
    assert "KV314" not in [one.code for one in lint([str(file)]).diagnostics]


def changes(**target):
    patch = {"metadata": {"labels": {"a": "b"}}}
    return {"mutate": {"targets": [{"name": "a", **target}], "patchStrategicMerge": patch}}


@pytest.mark.parametrize(
    ("target", "found"),
    [
        ({"apiVersion": "v1", "kind": "Namespace", "namespace": "b"}, ["KV314"]),
        ({"apiVersion": "v1", "kind": "Node", "namespace": "{{ request.namespace }}"}, ["KV314"]),
        ({"apiVersion": "v1", "kind": "Namespace", "namespace": "*"}, []),
        ({"apiVersion": "v1", "kind": "Namespace"}, []),
        ({"apiVersion": "v1", "kind": "ConfigMap", "namespace": "b"}, []),
        ({"apiVersion": "example.com/v1", "kind": "Shop", "namespace": "b"}, []),
    ],
)
def test_targets_in_a_namespace(remarks, target, found):
    given = rule(PODS, **changes(**target))
    assert [code for code, _, _ in remarks(namespaces_of_cluster_kinds, given)] == found


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ({"key": "a", "operator": "Exists", "values": ["b"]}, ["KV346"]),
        ({"key": "a", "operator": "In", "values": []}, ["KV346"]),
        ({"key": "a", "operator": "Equals", "values": ["b"]}, ["KV346"]),
        ({"key": "a", "operator": "In", "values": ["{{ request.name }}"]}, []),
        ({"key": "a", "operator": "NotIn", "values": ["b"]}, []),
    ],
)
def test_selectors_of_namespaces(remarks, expression, found):
    match = {**PODS, "namespaceSelector": {"matchExpressions": [expression]}}
    assert codes(remarks, invalid_namespace_selectors, match) == found
    match = {**PODS, "namespaceSelector": {"matchLabels": {"a": "b*"}}}
    assert codes(remarks, invalid_namespace_selectors, match) == []


@pytest.mark.parametrize(
    ("kinds", "operations", "found"),
    [
        (["Pod"], ["CONNECT"], ["KV315"]),
        (["Pod", "Service"], ["CONNECT"], ["KV315"]),
        (["Pod/exec"], ["CONNECT"], []),
        (["Pod", "Pod/exec"], ["CONNECT"], []),
        (["*"], ["CONNECT"], []),
        (["Pod"], ["CONNECT", "CREATE"], []),
    ],
)
def test_connections_are_to_subresources(remarks, kinds, operations, found):
    match = {"kinds": kinds, "operations": operations}
    assert codes(remarks, kinds_never_requested, match) == found


@pytest.mark.parametrize(
    ("kind", "namespaces", "found"),
    [
        ("Policy", ["b"], ["KV313"]),
        ("Policy", ["a"], []),
        ("Policy", ["a*"], []),
        ("Policy", ["b", "a"], []),
        ("ClusterPolicy", ["b"], []),
    ],
)
def test_failure_actions_for_other_namespaces(tmp_path, kind, namespaces, found):
    overrides = [{"action": "Enforce", "namespaces": namespaces}]
    validate = {"message": "m", "deny": {}, "failureActionOverrides": overrides}
    data = {
        "apiVersion": "kyverno.io/v1",
        "kind": kind,
        "metadata": {"name": "p", **({"namespace": "a"} if kind == "Policy" else {})},
        "spec": {
            "rules": [{"name": "r", "match": {"any": [{"resources": PODS}]}, "validate": validate}]
        },
    }
    file = tmp_path / "p.json"
    file.write_text(json.dumps(data))
    reported = [one.code for one in lint([str(file)]).diagnostics if one.code == "KV313"]
    assert reported == found


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ({}, []),
        ({"match": {"any": [{"resources": PODS, "roles": ["a:b"]}]}}, ["KV110"]),
        (
            {"background": False, "match": {"any": [{"resources": PODS, "roles": ["a:b"]}]}},
            [],
        ),
        (
            {"background": False, "match": {"any": [{"resources": PODS, "roles": ["b"]}]}},
            ["KV124"],
        ),
        (
            {"match": {"any": [{"resources": {**PODS, "selector": {"matchLabels": {"a": "!"}}}}]}},
            ["KV125"],
        ),
        ({"podSecurity": [{"controlName": "Capabilities"}]}, ["KV128"]),
        ({"podSecurity": [{"controlName": "Capabilities", "images": ["*"]}]}, []),
    ],
)
def test_exceptions_that_a_cluster_rejects(tmp_path, spec, found):
    data = {
        "apiVersion": "kyverno.io/v2",
        "kind": "PolicyException",
        "metadata": {"name": "e", "namespace": "n"},
        "spec": {
            "exceptions": [{"policyName": "p", "ruleNames": ["r"]}],
            "match": {"any": [{"resources": PODS}]},
            **spec,
        },
    }
    file = tmp_path / "e.json"
    file.write_text(json.dumps(data))
    reported = [one.code for one in lint([str(file)]).diagnostics if one.code < "KV200"]
    assert reported == found


@pytest.mark.parametrize(
    ("name", "namespace", "found"),
    [
        ("kyverno/teams", "kyverno", ["KV313"]),
        ("teams", "Kyverno", ["KV313"]),
        ("teams.v1", "kyverno", []),
        ("{{ request.object.metadata.labels.team }}", "kyverno", []),
    ],
)
def test_names_of_config_maps(remarks, name, namespace, found):
    entry = {"name": "a", "configMap": {"name": name, "namespace": namespace}}
    assert codes(remarks, impossible_names, PODS, context=[entry]) == found


@pytest.mark.parametrize(
    ("match", "exclude", "is_covered"),
    [
        ("prod-*", "prod*", True),
        ("prod*", "prod-*", False),
        ("prod-?", "prod-*", True),
        ("prod-*", "prod-???", False),
        ("a*", "*", True),
        ("a*b", "a*", True),
    ],
)
def test_wildcards_that_cover_others(remarks, match, exclude, is_covered):
    given = rule({**PODS, "namespaces": [match]}, {"namespaces": [exclude]})
    assert [code for code, *_ in remarks(never_matches, given)] == ["KV206"] * is_covered


@pytest.mark.parametrize(
    ("kind", "name", "text"),
    [
        ("User", "system:masters", "write `kind: Group`"),
        ("User", "system:serviceaccounts:kyverno", "write `kind: Group`"),
        ("Group", "system:serviceaccount:kyverno:admin", "write `kind: User`"),
        ("ServiceAccount", "system:serviceaccount:kyverno:admin", "its namespace is in"),
        ("User", "system:serviceaccount:kyverno:admin", ""),
        ("User", "system:kube-scheduler", ""),
        ("Group", "system:masters", ""),
        ("ServiceAccount", "admin", ""),
    ],
)
def test_names_of_subjects(remarks, kind, name, text):
    subject = {"kind": kind, "name": name, "namespace": "kyverno"}
    match = {"any": [{"resources": PODS}]}
    given = {"match": match, "exclude": {"any": [{"subjects": [subject]}]}}
    found = remarks(impossible_names, given, background=False)
    assert [code for code, *_ in found] == (["KV313"] if text else [])
    assert all(text in message for *_, message in found)


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ([{"namespaces": ["a"]}, {"namespaces": ["b-*", "c"]}], ["KV312"]),
        ([{"names": ["a-*"]}, {"names": ["b-*"]}], ["KV312"]),
        ([{"kinds": ["Pod"]}, {"kinds": ["Job"]}], ["KV312"]),
        ([PODS, {"operations": ["CREATE"]}, {"operations": ["DELETE"]}], ["KV312"]),
        ([{"namespaces": ["a*"]}, {"namespaces": ["*b"]}], []),
        ([{"namespaces": ["a"]}, {"names": ["b"]}], []),
        ([{"namespaces": ["{{ a }}"]}, {"namespaces": ["b"]}], []),
    ],
)
def test_filters_that_no_object_meets_together(remarks, filters, found):
    given = rule(PODS)
    given["exclude"] = {"all": [{"resources": one} for one in filters]}
    assert [code for code, _, _ in remarks(ineffective_exclusions, given)] == found
