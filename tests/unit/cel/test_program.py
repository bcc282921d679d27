"""Expressions from text to value."""

import pytest

from kyvsim.cel import CelBudgetError, CelError, CompileError, compile_expression, types
from kyvsim.cel.kubernetes import VARIABLES, VARIABLES_TYPE, kubernetes_environment
from kyvsim.cel.program import LazyVariables
from kyvsim.cel.types import BOOL, STRING
from kyvsim.model.ports import BudgetError as OverBudget
from kyvsim.model.ports import Meter

MUCH = "lists.range(90).all(a, lists.range(900).all(b, a + b > -1))"
"""Takes half of what an expression may."""

POD = {
    "metadata": {"name": "web", "labels": {"app": "shop"}},
    "spec": {"replicas": 3.0, "containers": [{"name": "a", "image": "nginx:1"}, {"name": "b"}]},
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("object.metadata.name == 'web'", True),
        ("object.spec.replicas == 3", True),
        ("object.spec.replicas > 2 && object.spec.replicas < 3.5", True),
        ("object.spec.replicas in [1, 3]", True),
        ("object.spec.replicas % 2", "error: no such overload: _%_"),
        ("object.spec.nope", "error: no such key: nope"),
        ("object.?spec.?nope.orValue(7)", 7),
        ("object.metadata.name.orValue('x')", "web"),
        ("object.spec.containers.filter(c, has(c.image)).map(c, c.name)", ["a"]),
        ("object.spec.containers.all(c, c.image == 'nginx:1')", "error: no such key: image"),
        ("request.kind.kind + '/' + namespaceObject.metadata.name", "Pod/ns"),
        (".object.metadata.name", "web"),
        ("object.metadata.labels.`app`", "shop"),
    ],
)
def test_expression_over_an_object(value_of, text, expected):
    assert value_of(text, POD) == expected


@pytest.mark.parametrize(
    ("wanted", "text", "refused"),
    [
        (types.BOOL, "true", None),
        (types.BOOL, "'a'", "must evaluate to bool but got string"),
        (types.STRING, "object.name", "must evaluate to string but got dyn"),
        # The type is looked at before constants are evaluated.
        (types.BOOL, "int('x')", "must evaluate to bool but got int"),
        (
            types.INT,
            "int('x')",
            "program instantiation failed: type conversion error from 'string' to 'int'",
        ),
    ],
)
def test_type_of_the_value_is_asked_for(environment, wanted, text, refused):
    if refused is None:
        assert compile_expression(text, environment, wanted).type == wanted
        return
    with pytest.raises(CompileError) as caught:
        compile_expression(text, environment, wanted)
    assert str(caught.value) == refused


def test_loops_within_loops_run_out_of_steps(environment):
    text = "true"
    for name in "abcdef":
        text = f"lists.range(10).all({name}, {text})"
    program = compile_expression(text, environment)
    with pytest.raises(CelBudgetError, match="actual cost limit exceeded"):
        program.evaluate([None] * 7)


def test_nothing_absorbs_the_end_of_the_steps(environment):
    text = "true || " + "lists.range(9).all(x, x >= 0)"
    assert compile_expression(text, environment)._replace(limit=1).evaluate([None] * 7) is True
    text = "lists.range(9).all(x, x >= 0) || true"
    with pytest.raises(CelBudgetError):
        compile_expression(text, environment)._replace(limit=1).evaluate([None] * 7)


def test_a_program_keeps_nothing_of_an_evaluation(environment):
    program = compile_expression("object.map(x, x + 1)", environment)
    first = program.evaluate([[1], None, None, None, None, None, None])
    assert program.evaluate([[5], None, None, None, None, None, None]) == [6]
    assert first == [2]


def test_text_that_is_nested_too_deeply_is_refused(environment):
    with pytest.raises(CompileError, match="compilation failed"):
        compile_expression("(" * 5000 + "1" + ")" * 5000, environment)


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("1 + 1", set()),
        ("object.spec", {"object"}),
        ("has(object.spec) && request.name == ''", {"object", "request"}),
        ("[1].all(object, object > 0)", set()),
        ("[1].all(x, x == .object)", {"object"}),
        ("true ? 1 : oldObject.a", {"oldObject"}),
    ],
)
def test_a_program_tells_the_variables_that_it_looks_at(environment, text, reads):
    assert compile_expression(text, environment).reads == reads


@pytest.mark.slow
def test_a_chain_of_variables_is_counted_on_its_way():
    """What an expression took counts before the one begins that it asks."""
    env = kubernetes_environment().with_fields(VARIABLES, {f"v{n}": BOOL for n in range(100)})
    meter, values, asked = Meter(), [None] * len(env.variables), []

    def evaluate(name, text, values):
        asked.append(name)
        return compile_expression(text, env)._replace(meter=meter).value(values)

    chain = {f"v{n}": f"{MUCH} && variables.v{n + 1}" for n in range(99)}
    names = [name for name, _ in env.variables]
    values[names.index("variables")] = LazyVariables(VARIABLES_TYPE, chain, values, evaluate)
    with pytest.raises(OverBudget, match="for a rule is spent"):
        evaluate("start", "variables.v0", values)
    assert len(asked) < 25


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("type(variables)", VARIABLES_TYPE),
        ("dyn(variables).exists(v, v == 'one')", True),
        ("dyn(variables) == dyn({'v': 'one'})", "error: no such overload"),
        ("size(dyn(variables))", "error: no such overload: size"),
        ("'v' in dyn(variables)", "error: no such overload"),
    ],
)
def test_variables_are_of_a_type_of_their_own(text, expected):
    env = kubernetes_environment().with_fields(VARIABLES, {"v": STRING})
    values = [None] * len(env.variables)
    place = [name for name, _ in env.variables].index("variables")
    values[place] = LazyVariables(VARIABLES_TYPE, {"v": "one"}, values, lambda _, text, __: text)
    try:
        found = compile_expression(text, env).value(values)
    except CelError as error:
        found = f"error: {error}"
    assert found == expected


def test_a_policy_of_kubernetes_may_take_ten_million_steps():
    """As the reference: 18 expressions of 547,600 steps pass, 19 do not."""
    env = kubernetes_environment()
    text = "[1].all(i, object.data.a.contains(object.data.a))"
    program = compile_expression(text, env)._replace(meter=Meter())
    values = [None] * len(env.variables)
    values[[name for name, _ in env.variables].index("object")] = {"data": {"a": "x" * 7400}}
    for _ in range(18):
        assert program.value(values)
    with pytest.raises(OverBudget, match="for a rule is spent"):
        program.value(values)


def test_expressions_together_may_take_what_a_rule_may():
    env = kubernetes_environment()
    program = compile_expression(MUCH, env)._replace(meter=Meter())
    values = [None] * len(env.variables)
    program.value(values)
    meter = program.meter
    meter.spend(meter.left)
    with pytest.raises(OverBudget, match="for a rule is spent"):
        program.value(values)
