"""Templates of GeneratingPolicies."""

import pytest

from kyvsim.cel.kyverno.environments import kyverno_environment
from kyvsim.languages.cel.generating_policy import TemplateError, compile_template
from kyvsim.languages.cel_expressions import Compiler, EvaluationError


@pytest.fixture
def render(system):
    def call(text, *, interpolates=True):
        env = kyverno_environment("GeneratingPolicy", system.clock, system.entropy)
        template = compile_template(text, Compiler(env), interpolates=interpolates)
        given = {"object": {"metadata": {"name": "team-a", "labels": {"a": "b"}}}}
        return template.render([given.get(name) for name, _ in env.variables])

    return call


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("(( object.metadata.name ))", "team-a"),
        ("(( 1 + 2 ))", 3),
        ("(( 3u ))", 3),
        ("(( 1.5 ))", 1.5),
        ("(( [1, object.metadata.labels] ))", [1.0, {"a": "b"}]),
        ("(( null ))", None),
        ("(( object.metadata.labels ))", {"a": "b"}),
        ("x(( 1 ))y(( 2.5 ))(( true ))", "x1y2.5true"),
        ("x(( 1e21 ))", "x1e+21"),
        (r"'a \((b)) c'", "a ((b)) c"),
        (r"'\((1)) (( 1 ))'", "((1)) 1"),
        ("(( ((1) + (2)) ))", 3),
        ('(( "))" ))', "))"),
        (r"""'(( "\"))" ))'""", '"))'),
        ("|\n    one (( 1 ))\n    two", "one 1\ntwo\n"),
        ("[(( 1 )), x(( 2 ))]", [1, "x2"]),
        ("yes", "yes"),
    ],
)
def test_placeholders(render, written, value):
    text = f"kind: K\nother: (( 0 ))\nv: {written}\n"
    assert repr(render(text)) == repr([{"kind": "K", "other": 0, "v": value}])


def test_a_document_may_be_one_placeholder_and_there_may_be_several(render):
    text = "(( object ))\n---\n# nothing\n---\na: 1\n"
    first, second = render(text)
    assert (first["metadata"]["name"], second) == ("team-a", {"a": 1})


def test_nothing_is_replaced_where_nothing_is_to_be(render):
    text = "a: (( 1 + 2 ))\n(( b )): 'x \\((y))'\n"
    assert render(text, interpolates=False) == [{"a": "(( 1 + 2 ))", "(( b ))": "x \\((y))"}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "template must contain at least one YAML document"),
        ("- a\n", "line 1: document must be a mapping describing a resource"),
        ("x(( 1 ))\n", "line 1: document must be a mapping describing a resource"),
        ("a: x(( {'b': 1} ))\n", "failed to parse YAML: yaml: line 1: mapping values are not"),
        ("a: 1\nb: ((\n", "line 2: unterminated placeholder starting at offset 0: missing closing"),
        ("a: é (( 1\n", "line 1: unterminated placeholder starting at offset 3: missing closing"),
        ("a: (( ' ))\n", "line 1: unterminated string literal in placeholder starting at offset 0"),
        ("a: (( 1) ))\n", "line 1: unbalanced parenthesis in placeholder starting at offset 0"),
        ("a: x((  ))\n", "line 1: empty placeholder at offset 1"),
        ("a: 1\n(( b )): 1\n", "line 2: placeholders are not supported in mapping keys; use a"),
        ("a: &x {b: 1}\nc: {<<: *x, d: (( 1 ))}\n", "line 2: YAML merge keys are not supported"),
        ("? [a]\n: (( 1 ))\n", "line 1: only scalar mapping keys are supported"),
        ("a: (( 1 + ))\n", 'line 1: invalid placeholder expression "1 +": ERROR: <input>:1:4: '),
    ],
)
def test_what_is_no_template(render, text, message):
    with pytest.raises(TemplateError) as caught:
        render(text)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a: {b: [1, (( object.zzz ))]}\n",
            (
                'document 1: field "a": field "b": item 1: failed to evaluate placeholder '
                '"object.zzz": no such key: zzz'
            ),
        ),
        (
            "a: 1\n---\nb: (( optional.none() ))\n",
            (
                'document 2: field "b": failed to convert placeholder "optional.none()" result: '
                "optional.none() dereference"
            ),
        ),
        (
            "a: x(( [1] ))\n",
            (
                'document 1: field "a": placeholder "[1]" embedded in a string must evaluate to a '
                "scalar, got []interface {}; use a whole-value placeholder for structured results"
            ),
        ),
        (
            "a: (( 18446744073709551615u ))\n",
            (
                'document 1: field "a": failed to convert placeholder '
                '"18446744073709551615u" result: '
                "uint value 18446744073709551615 overflows the supported integer range"
            ),
        ),
        ("(( 1 ))\n", "document 1: expected a mapping describing a resource, got int64"),
    ],
)
def test_what_cannot_be_rendered(render, text, message):
    with pytest.raises(EvaluationError) as caught:
        render(text)
    assert str(caught.value) == message
