"""`validate.cel`: every expression has to be true."""

import pytest

from kyvsim.model.request import Operation, UserInfo

PASSED = "Validation rule 'r' passed."


def rule_of(*expressions, **cel):
    written = [{"expression": one} if isinstance(one, str) else one for one in expressions]
    return {"validate": {"cel": {"expressions": written, **cel}}}


NAME = "object.metadata.name"


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (rule_of(f"{NAME} == 'web'"), ("pass", PASSED)),
        (rule_of("true", f"  {NAME} == 'x'  "), ("fail", f"failed expression: {NAME} == 'x'")),
        (rule_of({"expression": "false", "message": " no "}), ("fail", "no")),
        (
            rule_of("true", {"expression": "false", "message": "b"}, "object.nope"),
            ("fail", "b"),
        ),
        (
            rule_of({"expression": "false", "messageExpression": f"'no ' + {NAME}"}),
            ("fail", "no web"),
        ),
        # What is no single line of text, cannot be known to be text, or fails, is passed over.
        *(
            (
                rule_of({"expression": "false", "messageExpression": text, "message": "m"}),
                ("fail", "m"),
            )
            for text in (NAME, "1", "'a\\nb'", "' '", "string(object.nope)", "1 +", "authorizer")
        ),
        (
            rule_of("object.nope == 1"),
            ("fail", "expression 'object.nope == 1' resulted in error: no such key: nope"),
        ),
        (rule_of("'a'"), ("fail", "compilation error: must evaluate to bool but got string")),
        (
            rule_of("nope"),
            (
                "fail",
                (
                    "compilation error: compilation failed: ERROR: <input>:1:1: undeclared reference "  # noqa: E501 — one message
                    "to 'nope' (in container '')\n | nope\n | ^"
                ),
            ),
        ),
        (rule_of("oldObject == null && request.operation == 'CREATE'"), ("pass", PASSED)),
        (rule_of("namespaceObject.metadata.name == 'shop'"), ("pass", PASSED)),
        (rule_of("request.kind.kind == 'Pod' && request.name == 'web'"), ("pass", PASSED)),
        (rule_of("!has(request.userInfo.username)"), ("pass", PASSED)),
        (rule_of("authorizer.requestResource.check('get').errored()"), ("pass", PASSED)),
    ],
)
def test_verdict(run, verdicts, pod, rule, expected):
    assert verdicts(run(rule, pod())) == [("r", *expected)]


def test_rule_message_stands_in_as_it_is_written(run, verdicts, pod):
    rule = rule_of("false")
    rule["validate"]["message"] = "keep {{ request.object.x }}"
    assert verdicts(run(rule, pod())) == [("r", "fail", "keep {{ request.object.x }}")]


@pytest.mark.parametrize(
    ("variables", "test", "message"),
    [
        ([("a", NAME), ("b", "variables.a + '!'")], "variables.b == 'web!'", PASSED),
        ([("a", "object.nope")], "true || variables.a", PASSED),
        (
            [("a", "object.nope")],
            "variables.a == 1",
            (
                "expression 'variables.a == 1' resulted in error: "
                'composited variable "a" fails to evaluate: no such key: nope'
            ),
        ),
        ([("a", "object.?nope.orValue([])")], "has(variables.a) && variables.a == []", PASSED),
    ],
)
def test_variables_are_evaluated_when_asked_for(run, verdicts, pod, variables, test, message):
    written = [{"name": name, "expression": text} for name, text in variables]
    ((_, _, found),) = verdicts(run(rule_of(test, variables=written), pod()))
    assert found == message


def test_variables_have_types(run, verdicts, pod):
    rule = rule_of("variables.a == 'x'", variables=[{"name": "a", "expression": "1"}])
    ((_, status, message),) = verdicts(run(rule, pod()))
    assert status == "fail"
    assert "found no matching overload for '_==_' applied to '(int, string)'" in message


FAILING = "expression 'object.nope == 1' resulted in error: no such key: nope"


@pytest.mark.parametrize(
    ("preconditions", "expected"),
    [
        (["false"], ("skip", "cel preconditions not met")),
        (["object.nope == 1", "false"], ("skip", "cel preconditions not met")),
        (["object.nope == 1"], ("fail", FAILING)),
        (
            ["object.nope == 1", "object.zip == 1"],
            ("fail", f"[{FAILING}, {FAILING.replace('nope', 'zip')}]"),
        ),
        (["namespaceObject == null"], ("pass", PASSED)),
    ],
)
def test_preconditions(run, verdicts, pod, preconditions, expected):
    written = [{"name": f"c{at}", "expression": one} for at, one in enumerate(preconditions)]
    rule = {**rule_of("true"), "celPreconditions": written}
    assert verdicts(run(rule, pod())) == [("r", *expected)]


def test_deletion_shows_the_old_object_only(run, verdicts, pod):
    rule = rule_of("object == null && oldObject.metadata.name == 'web' && request.name == 'web'")
    response = run(rule, pod(), operation=Operation.DELETE, object=None, old_object=pod())
    assert verdicts(response) == [("r", "pass", PASSED)]


def test_an_update_does_not_keep_old_violations(run, verdicts, pod):
    rule = rule_of("false")
    rule["validate"]["failureAction"] = "Enforce"
    response = run(rule, pod(), operation=Operation.UPDATE, old_object=pod())
    assert verdicts(response) == [("r", "fail", "failed expression: false")]


def test_user_is_shown(run, verdicts, pod):
    rule = rule_of("request.userInfo.username == 'jane' && request.userInfo.groups == ['dev']")
    response = run(rule, pod(), user=UserInfo(username="jane", groups=("dev",)))
    assert verdicts(response) == [("r", "pass", PASSED)]


PARAM = {"paramKind": {"apiVersion": "v1", "kind": "Namespace"}}


def by_name(name, **more):
    return {**PARAM, "paramRef": {"name": name, "parameterNotFoundAction": "Deny", **more}}


def by_label(action):
    selector = {"matchLabels": {"team": "a"}}
    return {**PARAM, "paramRef": {"selector": selector, "parameterNotFoundAction": action}}


@pytest.mark.parametrize(
    ("cel", "expected"),
    [
        (by_name("one"), ("fail", "one is no b")),
        (by_name("b"), ("pass", PASSED)),
        (by_name("zip"), ("error", 'error in parameterized resource: namespaces "zip" not found')),
        (
            by_name("one", namespace="x"),
            (
                "error",
                (
                    "error in parameterized resource: paramRef.namespace must not be provided for a "  # noqa: E501 — one message
                    "cluster-scoped `paramKind`"
                ),
            ),
        ),
        (by_label("Deny"), ("fail", "one is no b")),
    ],
)
def test_parameters(run, verdicts, pod, thing, cel, expected):
    test = {
        "expression": "params.metadata.name == 'b'",
        "messageExpression": "string(params.metadata.name) + ' is no b'",
    }
    given = [thing("Namespace", "b", ""), thing("Namespace", "one", "", labels={"team": "a"})]
    response = run(rule_of(test, **cel), pod(), given=given)
    assert verdicts(response) == [("r", *expected)]


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("Deny", ("error", "error in parameterized resource: no params found")),
        ("Allow", ("pass", PASSED)),
    ],
)
def test_without_parameters_the_reference_decides(run, verdicts, pod, action, expected):
    rule = rule_of("params.x", **by_label(action))
    assert verdicts(run(rule, pod())) == [("r", *expected)]


def test_derived_rules_look_into_the_template(run, verdicts, policy, thing):
    containers = [{"name": "c", "image": "nginx:latest"}]
    deployment = thing(
        "Deployment", api_version="apps/v1", spec={"template": {"spec": {"containers": containers}}}
    )
    rule = rule_of("object.spec.containers.all(c, !c.image.endsWith(':latest'))")
    assert verdicts(run([policy(rule)], deployment)) == [
        (
            "autogen-r",
            "fail",
            (
                "failed expression: "
                "object.spec.template.spec.containers.all(c, !c.image.endsWith(':latest'))"
            ),
        )
    ]
