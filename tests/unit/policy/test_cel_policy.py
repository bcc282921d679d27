"""Nodes of policies whose expressions are in CEL."""

import pytest

from kyvsim.policy.cel_policy import expressions, read_binding, read_cel_policy

RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}


def at(data, path):
    """Return what a document has at a path of a node."""
    found = {"spec": data}
    for step in path:
        found = found[step]
    return found


def test_an_empty_specification_has_no_parts():
    policy = read_cel_policy({})
    assert policy.match_constraints is None
    assert policy.generate is None
    assert (policy.validations, policy.resource_rules, policy.attestors) == ((), (), ())
    assert policy.evaluation.mode == "Kubernetes"
    assert not policy.has_own_targets
    assert not policy.ignores_failures


def test_constraints():
    selector = {"matchLabels": {"a": "b"}}
    data = {
        "matchConstraints": {
            "resourceRules": [RULE, {**RULE, "resourceNames": ["web"]}],
            "excludeResourceRules": [RULE],
            "objectSelector": selector,
            "namespaceSelector": {"matchLabels": {}},
        }
    }
    policy = read_cel_policy(data)
    constraints = policy.match_constraints
    assert constraints.selects_objects
    assert not constraints.selects_namespaces
    assert [at(data, one.path) == one.written for one in policy.resource_rules] == [True, True]
    assert list(policy.resource_rules[0].named) == [("", "v1", "pods")]
    (excluded,) = constraints.exclude_resource_rules
    assert excluded.path == ("spec", "matchConstraints", "excludeResourceRules", 0)
    widened = constraints.for_any_operation()
    assert {one.operations for one in widened.resource_rules} == {("*",)}


@pytest.mark.parametrize(
    ("written", "has_targets"),
    [
        (None, False),
        ({}, False),
        ({"objectSelector": {}}, False),
        ({"expression": "x"}, True),
        ({"resourceRules": [RULE]}, True),
    ],
)
def test_targets_are_named_by_rules_or_an_expression(written, has_targets):
    assert read_cel_policy({"targetMatchConstraints": written}).has_own_targets is has_targets


@pytest.mark.parametrize(
    ("written", "field", "text"),
    [
        ({"patchType": "JSONPatch", "jsonPatch": {"expression": "a"}}, "jsonPatch", "a"),
        ({"patchType": "JSONPatch", "jsonPatch": {}}, "jsonPatch", ""),
        ({"patchType": "JSONPatch", "applyConfiguration": {"expression": "a"}}, "jsonPatch", None),
        ({"patchType": "Other", "jsonPatch": {"expression": "a"}}, None, None),
    ],
)
def test_the_patch_type_names_the_field_of_a_mutation(written, field, text):
    (mutation,) = read_cel_policy({"mutations": [written]}).mutations
    assert mutation.field == field
    path = ("spec", "mutations", 0, "jsonPatch", "expression")
    assert mutation.expression == (None if text is None else (text, path))


def test_expressions_come_in_the_order_of_the_fields():
    data = {
        "validations": [{"expression": "a", "messageExpression": "b"}],
        "attestors": [
            {"name": "n", "cosign": {"certificate": {"certChain": {"expression": "c"}}}},
            {"name": "m", "notary": {"certs": {"value": "-"}}},
        ],
        "matchConstraints": {},
        "variables": [{"name": "v", "expression": "d"}],
        "auditAnnotations": [{"key": "k", "valueExpression": "e"}],
        "matchImageReferences": [{"glob": "*"}, {"expression": "f"}],
        "generate": [{"template": {"value": "(( x ))"}}, {"expression": "g"}],
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": "h"}}],
    }
    found = [one for one in expressions(read_cel_policy(data)) if one.text]
    assert "".join(one.text for one in found) == "abcdefgh"
    assert [at(data, one.path) for one in found] == [one.text for one in found]
    assert [one.variable for one in found if one.variable] == ["v"]


def test_the_part_of_an_attestor_that_errors_show():
    certificate = {"certChain": {"expression": "c"}}
    data = {"attestors": [{"name": "n", "cosign": {"certificate": certificate}}]}
    ((part,),) = (one.expressions for one in read_cel_policy(data).attestors)
    assert (part.part, part.holder) == ("cert chain", certificate)


def test_a_binding():
    reference = {"name": "p", "parameterNotFoundAction": "Deny"}
    binding = read_binding({"policyName": "a", "paramRef": reference, "matchResources": {}})
    assert binding.param_ref.path == ("spec", "paramRef")
    assert binding.param_ref.parameter_not_found_action == "Deny"
    assert binding.match_resources.path == ("spec", "matchResources")
    assert read_binding({"policyName": "a", "paramRef": {}}).param_ref is None
