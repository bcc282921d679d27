import pytest

from kyvsim.jmespath import SubstitutionError, compile_template

DATA = {
    "a": "x",
    "key": "data",
    "data": {"v": "deep"},
    "whole": 5,
    "number": 1000000.0,
    "fraction": 1.5,
    "rows": [1.0, "<", None],
    "nothing": None,
    "text": "in {{ a }} out",
    "map": {"plain": 1.0, "t": "{{ a }}", "two": "{{ text }}", "{{ a }}k": "\\{{ a }}"},
    "me": "again {{ me }}",
    "twice": "{{ twice }}{{ twice }} ",
    "own": {"x": "{{ own }}", "y": "{{ own }}"},
    "slash": "end\\",
    "request": {"object": {"spec": {"n": "new"}}, "oldObject": {"spec": {"n": "old"}}},
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{ whole }}", 5),
        ("{{number}}", 1000000.0),
        ("{{ nothing }}", None),
        ("{{ rows }}", [1.0, "<", None]),
        (" {{ a }}", " x"),
        ("{{a}}{{a}}", "xx"),
        ("n={{ number }} {{ whole }} {{ fraction }}", "n=1000000 5 1.5"),
        ("r={{ rows }}", 'r=[1,"\\u003c",null]'),
        ("{{ nothing }}!", "null!"),
        ("\\{{ a }}", "{{ a }}"),
        ("{{ a }} \\{{ a }}", "x {{ a }}"),
        ("{{ {{ key }}.v }}", "deep"),
        ("say {{ {{ key }}.v }}", "say deep"),
        ("{{ text }}", "in {{ a }} out"),
        ("> {{ text }}", "> in x out"),
        ("> {{- text }}", "> in {{ a }} out"),
        ("{{- text }} {{ a }}", "in {{ a }} out x"),
        ("{{ slash }}{{ a }}", "end{{ a }}"),
        ("{{ {p: a} }}", {"p": "x"}),
        ("{{{ a }}", "{x"),
        ("{{ a", "{{ a"),
        ("« {{ a }}»", "« x»"),
        ("{{ join('', ['«', a, '»']) }} {{ a }}é", "«x» xé"),
        ("{{ map }}", {"plain": 1.0, "t": "x", "two": "in {{ a }} out", "xk": "{{ a }}"}),
    ],
)
def test_text(text, value, env, given):
    found = compile_template(text, env).render(given(DATA))
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("document", "message", "not_found"),
    [
        ({"a": ["{{ gone.x }}"]}, "resolve gone.x at path /a/0: JMESPath query failed: Unk", True),
        ({"p/q": "{{ abs(a) }}"}, r"resolve abs(a) at path /p\/q: JMESPath query failed: I", False),
        (
            "«{{ a}}»",
            "resolve \ufffd a at path : incorrect query \ufffd a: SyntaxError: Unknown",
            False,
        ),
        ("{{ a }}→{{- a }}", "resolve \ufffd\ufffd- a at path : incorrect query", False),
        ({"é{{ a }}": 1}, "resolve \ufffd a at path : incorrect", False),
        ("{{ }}", "resolve  at path : invalid query (nil)", False),
        ("{{ a b }}", "resolve a b at path : incorrect query a b: SyntaxError: Unexpected", False),
        ("x{{ me }}", "resolve me at path : its value expands endlessly", False),
        ("x{{ twice }}", "resolve twice at path : its value expands endlessly", False),
    ],
)
def test_failure(document, message, not_found, env, given):
    with pytest.raises(SubstitutionError) as caught:
        compile_template(document, env).render(given(DATA))
    assert caught.value.message.startswith(f"failed to {message}")
    assert caught.value.not_found is not_found


def test_value_that_holds_itself_is_an_error(env, given):
    with pytest.raises(SubstitutionError, match=r"refer to each other in a cycle"):
        compile_template("{{ own }}", env).render(given(DATA))


def test_constant_document_is_returned_itself(env):
    document = {"a": [1, {"b": "no variable"}], "$": "costs 5$"}
    template = compile_template(document, env)
    assert template.constant
    assert template.value is document
    assert template.names == frozenset()


def test_parts_without_variables_are_shared_and_data_is_left_alone(env, given):
    document = {"fixed": {"deep": [1]}, "filled": {"v": "{{ a }}"}}
    rendered = compile_template(document, env).render(given(DATA))
    assert rendered == {"fixed": {"deep": [1]}, "filled": {"v": "x"}}
    assert rendered["fixed"] is document["fixed"]
    assert document["filled"] == {"v": "{{ a }}"}


def test_value_without_braces_is_shared(env, given):
    scope = given(DATA)
    assert compile_template("{{ request.object }}", env).render(scope) is DATA["request"]["object"]


@pytest.mark.parametrize(
    ("document", "rendered"),
    [
        ({"{{ a }}-k": 1, "z": 2}, {"x-k": 1, "z": 2}),
        ({"{{ nothing }}": 1}, {"{{ nothing }}": 1}),
        ({"{{ a }}": "{{ whole }}"}, {"x": 5}),
        ({"\\{{ a }}": 1}, {"{{ a }}": 1}),
    ],
)
def test_keys(document, rendered, env, given):
    assert compile_template(document, env).render(given(DATA)) == rendered


def test_key_must_become_a_text(env, given):
    with pytest.raises(SubstitutionError, match=r'variables in key "{{ whole }}"$'):
        compile_template({"{{ whole }}": 1}, env).render(given(DATA))


def test_deletion_reads_the_old_object(env, given):
    template = compile_template("{{ request.object.spec.n }}", env)
    assert template.render(given(DATA)) == "new"
    assert template.render(given(DATA, deleting=True)) == "old"


def test_failure_in_deletion_names_the_old_object(env, given):
    with pytest.raises(SubstitutionError, match=r"resolve request\.oldObject\.gone at path"):
        compile_template("{{ request.object.gone }}", env).render(given(DATA, deleting=True))


@pytest.mark.parametrize(
    ("document", "data", "value"),
    [
        ({"spec": "{{@}}"}, {}, "trigger"),
        ({"spec": "{{ @ }}!"}, {"target": {"spec": "goal"}}, "goal!"),
    ],
)
def test_current_value(document, data, value, env, given):
    data = {"request": {"object": {"spec": "trigger"}}, **data}
    rendered = compile_template({"mutate": {"patch": document}}, env).render(given(data))
    assert rendered["mutate"]["patch"]["spec"] == value


def test_names_are_asked_for(env, given):
    scope = given({"entry": {"v": "1"}, "request": {}})
    template = compile_template(["{{ entry.v }}", {"k": "a {{ request }}"}], env)
    assert {"entry", "request"} <= template.names
    template.render(scope)
    assert {"entry", "request"} <= scope.asked
