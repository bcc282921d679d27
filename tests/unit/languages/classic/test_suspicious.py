"""What cannot be meant: each doubt with rules that it is about, and rules that it leaves alone."""

import pytest

from kyvsim.engine.compile import CompileOptions
from kyvsim.languages import compile_policies
from kyvsim.languages.classic.suspicious import suspicious_parts
from kyvsim.linting.policies import lint_policy

HOLDS = {"key": "a", "operator": "Equals", "value": "b"}
EACH = {"list": "request.object.spec.containers"}
DENY = {"validate": {"deny": {}}}
BARE = {"imageReferences": ["*"], "mutateDigest": False, "verifyDigest": False, "required": False}
BY = [{"entries": [{"keys": {"kms": "k"}}]}]
MADE = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "namespace": "b", "data": {}}
ONE = {"name": "a", "expression": "1"}
NO_BOOL = "`1` is not valid CEL: must evaluate to bool but got int"
ALWAYS = [{"name": "a", "expression": "true"}]


def cel(*expressions, **fields):
    return {"validate": {"cel": {"expressions": list(expressions), **fields}}}


def checking(expression, **fields):
    return cel({"expression": expression, **fields})


@pytest.fixture
def told(policy):
    def told(rule):
        found = suspicious_parts(policy(rule))
        return [(one.code, one.severity.value, one.location.column - 4) for one in found]

    return told


BROKEN = [
    checking("object.foo == 1 ||"),
    checking("has(objec.foo)"),
    checking("1 + 1"),
    cel({"expression": "variables.b == 1"}, variables=[ONE]),
    cel({"expression": "true"}, variables=[{"name": "a", "expression": "1 +"}]),
    {**checking("true"), "celPreconditions": [{"name": "a", "expression": "'text'"}]},
]


@pytest.mark.parametrize("rule", BROKEN)
def test_an_expression_that_cannot_be_compiled_is_an_error_at_its_place(told, rule):
    ((code, severity, _), *_) = told(rule)
    assert (code, severity) == ("KV145", "error")


def test_the_place_is_that_of_the_expression(policy):
    (found,) = suspicious_parts(policy(cel({"expression": "true"}, {"expression": "1"})))
    assert found.message == f"rule `r` fails for every object: {NO_BOOL}"
    assert found.location.line == 1 + len(("spec", "rules", 0, *"vce", 1, "expression"))


def test_a_message_that_cannot_be_computed_is_a_warning(told):
    ((code, severity, _),) = told(checking("true", messageExpression="1"))
    assert (code, severity) == ("KV212", "warning")


SOUND = [
    cel({"expression": "variables.a == 1"}, variables=[ONE]),
    checking("authorizer.group('').resource('pods').check('get').allowed()"),
    {**checking("object.spec.x == true"), "celPreconditions": ALWAYS},
    {"validate": {"pattern": {"spec": {}}}},
    {"validate": {"anyPattern": [{}]}},
    {"validate": {"podSecurity": {"level": "baseline"}}},
    {"validate": {"foreach": [{**EACH, "deny": {}}]}},
    {"validate": {"deny": {"conditions": {"all": []}}}},
    {"validate": {"deny": {"conditions": {"any": [HOLDS]}}}},
    {**DENY, "preconditions": {"any": [HOLDS], "all": []}},
    {"verifyImages": [{**BARE, "attestors": BY}]},
    {"verifyImages": [{**BARE, "required": True}]},
    {"mutate": {"patchStrategicMerge": {"a": {}}}},
    {"generate": MADE},
]


@pytest.mark.parametrize("rule", SOUND)
def test_there_is_no_doubt_about_rules_that_can_say_something(told, rule):
    assert told(rule) == []


EMPTY = [
    {"validate": {"anyPattern": []}},
    {"validate": {"foreach": []}},
    {"validate": {"pattern": {}}},
    {"validate": {"cel": {}}},
    cel(),
    {"validate": {"podSecurity": {}}},
    {"validate": {"deny": {"conditions": {"any": []}}}},
    {"validate": {"deny": {"conditions": {"any": [], "all": [HOLDS]}}}},
    {"validate": {"foreach": [{**EACH, "anyPattern": []}]}},
    {"validate": {"foreach": [{**EACH, "pattern": {}}]}},
    {"validate": {"foreach": [{**EACH, "deny": {"conditions": {"any": []}}}]}},
    {"validate": {"foreach": [{**EACH, "deny": {}, "preconditions": {"any": []}}]}},
    {"validate": {"foreach": [{**EACH, "foreach": [{**EACH, "pattern": {}}]}]}},
    {**DENY, "preconditions": {"any": [], "all": [HOLDS]}},
    {"mutate": {"foreach": []}},
    {"mutate": {"targets": [], "patchStrategicMerge": {"a": "b"}}},
    {"mutate": {"patchStrategicMerge": {}}},
    {"mutate": {"patchesJson6902": "[]"}},
    {"generate": {"foreach": []}},
    {"verifyImages": [BARE]},
]


@pytest.mark.parametrize("rule", EMPTY)
def test_a_rule_that_can_say_nothing_is_told(told, rule):
    ((code, severity, _),) = told(rule)
    assert (code, severity) == ("KV210", "warning")


@pytest.mark.parametrize(
    ("rule", "refused"),
    [
        ({"generate": MADE}, True),
        ({"verifyImages": [{**BARE, "attestors": BY}]}, False),
        ({"mutate": {"foreach": [{**EACH, "patchStrategicMerge": {"a": "b"}}]}}, False),
    ],
)
def test_cel_preconditions_that_nobody_reads_are_told(policy, rule, refused):
    (found,) = suspicious_parts(policy({**rule, "celPreconditions": ALWAYS}))
    assert (found.code, found.severity.value) == ("KV211", "warning")
    assert ("in a cluster Kyverno rejects" in found.message) is refused


def test_cel_preconditions_that_make_a_policy_invalid_are_no_second_warning(policy):
    assert suspicious_parts(policy({**DENY, "celPreconditions": ALWAYS})) == ()
    mutation = {"mutate": {"patchStrategicMerge": {"a": "b"}}}
    assert suspicious_parts(policy({**mutation, "celPreconditions": ALWAYS})) == ()


def test_every_command_tells_doubts_and_evaluates_the_policy_all_the_same(policy, system):
    written = policy(checking("1 + 1"))
    options = CompileOptions(system)
    compiled, remarks = compile_policies([written], options)
    assert [one.code for one in remarks] == ["KV145"]
    assert len(compiled.policies) == 1
    assert [one.code for one in lint_policy(written, options)] == ["KV145"]
    assert compile_policies([written], options._replace(admitted=True))[1] == ()
