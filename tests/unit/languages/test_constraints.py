"""Which requests `matchConstraints` take."""

import pytest

from kyvsim.engine.match import match_facts
from kyvsim.kubernetes.discovery import NO_KINDS, KindFacts
from kyvsim.languages import constraints
from kyvsim.model.request import AdmissionRequest, Operation
from kyvsim.policy.cel_policy import read_match_constraints

RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "shop"}}
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {}}}


def compile_constraints(written, namespace, kinds=NO_KINDS):
    node = read_match_constraints({"matchConstraints": written}, "matchConstraints", ("spec",))
    return constraints.compile_constraints(node, namespace, kinds)


def takes(written, obj=POD, labels=None, namespace="", operation=Operation.CREATE):
    request = AdmissionRequest(operation, obj, obj)
    facts = match_facts(request, obj, labels or {})
    return compile_constraints(written, namespace).matches(facts)


RULES = [
    (RULE, True),
    ({**RULE, "operations": ["*"], "apiGroups": ["*"], "resources": ["*"]}, True),
    ({**RULE, "operations": ["DELETE"]}, False),
    ({**RULE, "apiGroups": ["apps"]}, False),
    ({**RULE, "apiVersions": ["v1beta1"]}, False),
    ({**RULE, "resources": ["pods/exec"]}, False),
    ({**RULE, "resources": ["pods/*"]}, True),
    ({**RULE, "resources": ["Pod"]}, False),
    ({**RULE, "resourceNames": ["web"]}, True),
    ({**RULE, "resourceNames": ["we"]}, False),
    ({**RULE, "scope": "Namespaced"}, True),
    ({**RULE, "scope": "Cluster"}, False),
]


@pytest.mark.parametrize(("rule", "taken"), RULES, ids=str)
def test_resource_rules(rule, taken):
    assert takes({"resourceRules": [rule]}) is taken
    excluded = {"resourceRules": [RULE], "excludeResourceRules": [rule]}
    assert takes(excluded) is not taken


def test_without_constraints_nothing_is_matched():
    assert not takes(None)


@pytest.mark.parametrize("written", [{}, {"resourceRules": []}, {"objectSelector": {}}])
def test_constraints_that_say_nothing_match_everything(written):
    assert takes(written)
    assert not takes(written, namespace="elsewhere")


BAD_SELECTORS = [
    ({"matchLabels": {"a": "w*"}}, 'values[0][a]: Invalid value: "w*": a valid label must be an '),
    ({"matchLabels": {"a?": "w"}}, 'key: Invalid value: "a?": name part must consist of '),
    (
        {"matchExpressions": [{"key": "a", "operator": "In", "values": []}]},
        "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
    ),
    (
        {"matchExpressions": [{"key": "/c", "operator": "Exists", "values": ["x"]}]},
        '[key: Invalid value: "/c": prefix part must be non-empty, values: Invalid value: ["x"]',
    ),
    (
        {"matchExpressions": [{"key": "a", "operator": "Is"}]},
        '"Is" is not a valid label selector operator',
    ),
]


@pytest.mark.parametrize(("selector", "fault"), BAD_SELECTORS)
@pytest.mark.parametrize("field", ["objectSelector", "namespaceSelector"])
def test_selectors_are_those_of_kubernetes(field, selector, fault):
    found = compile_constraints({field: selector}, "").fault
    assert found.startswith(f"Internal error occurred: {fault}")


def test_a_name_that_is_yet_to_come_is_known_by_its_beginning():
    rule = {**RULE, "resourceNames": ["web"]}
    coming = {**POD, "metadata": {"generateName": "web-", "namespace": "shop"}}
    assert takes({"resourceRules": [rule]}, coming)
    assert not takes({"resourceRules": [{**rule, "resourceNames": ["eb"]}]}, coming)


def test_selectors():
    labelled = {"matchLabels": {"team": "a"}}
    in_team = {"resourceRules": [RULE], "namespaceSelector": labelled}
    assert takes(in_team, labels={"team": "a"})
    assert not takes(in_team)
    by_name = {"matchLabels": {"kubernetes.io/metadata.name": "shop"}}
    assert takes({"resourceRules": [RULE], "namespaceSelector": by_name})
    assert not takes({"resourceRules": [RULE], "objectSelector": labelled})


def test_a_namespace_is_selected_by_its_own_labels_and_other_cluster_objects_always():
    rule = {**RULE, "resources": ["*"], "apiGroups": ["*"]}
    written = {"resourceRules": [rule], "namespaceSelector": {"matchLabels": {"team": "a"}}}
    assert not takes(written, NAMESPACE)
    assert takes(written, {**NAMESPACE, "metadata": {"name": "x", "labels": {"team": "a"}}})
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    assert takes(written, {**role, "metadata": {"name": "r"}})


def test_the_kinds_that_can_match_are_known_where_no_wildcard_stands():
    assert compile_constraints({"resourceRules": [RULE]}, "").kinds == {"Pod"}
    rule = {**RULE, "resources": ["*"]}
    assert compile_constraints({"resourceRules": [rule]}, "").kinds is None
    custom = {**RULE, "apiGroups": ["example.com"], "resources": ["samples"]}
    assert compile_constraints({"resourceRules": [custom]}, "").kinds is None
    assert takes(
        {"resourceRules": [custom]},
        {"apiVersion": "example.com/v1", "kind": "Sample", "metadata": {"name": "s"}},
    )


def test_a_selector_that_cannot_be_read_is_a_fault():
    bad = {"matchExpressions": [{"key": "a", "operator": "Near"}]}
    found = compile_constraints({"resourceRules": [RULE], "objectSelector": bad}, "")
    assert "Near" in found.fault


OX = {"apiVersion": "farm.example/v1", "kind": "Ox", "metadata": {"name": "a"}}
OXEN = {("farm.example", "Ox"): KindFacts("oxen", False, ("v1",))}


@pytest.mark.parametrize(
    ("resource", "kinds", "taken"),
    [("oxen", OXEN, True), ("oxs", OXEN, False), ("oxen", {}, False), ("oxs", {}, True)],
)
def test_a_definition_tells_the_resource_name_of_a_kind(resource, kinds, taken):
    """Without one it is guessed, as upstream guesses."""
    rule = {**RULE, "apiGroups": ["farm.example"], "resources": [resource], "scope": "*"}
    request = AdmissionRequest(Operation.CREATE, OX)
    found = compile_constraints({"resourceRules": [rule]}, "", kinds)
    assert found.matches(match_facts(request, OX, {})) is taken
    assert found.kinds == ({"Ox"} if kinds and resource == "oxen" else None)


def test_a_definition_shows_whether_a_kind_is_namespaced():
    rule = {**RULE, "apiGroups": ["farm.example"], "resources": ["oxen"], "scope": "Cluster"}
    facts = match_facts(AdmissionRequest(Operation.CREATE, OX), OX, {})
    assert compile_constraints({"resourceRules": [rule]}, "", OXEN).matches(facts)


def test_an_object_selector_looks_at_an_object_as_it_was_too():
    before, after = (
        {**POD, "metadata": {"name": "web", "labels": one}} for one in ({"a": "b"}, {})
    )
    written = {"objectSelector": {"matchLabels": {"a": "b"}}}
    matches = compile_constraints(written, "").matches
    update = AdmissionRequest(Operation.UPDATE, after, before)
    assert matches(match_facts(update, after, {}))
    assert not matches(match_facts(update._replace(old_object=after), after, {}))
    create = AdmissionRequest(Operation.CREATE, after)
    assert not matches(match_facts(create, after, {}))
