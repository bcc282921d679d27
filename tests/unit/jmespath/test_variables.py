"""Variables and references."""

import pytest

from kyvsim.jmespath import SubstitutionError, compile_template
from kyvsim.jmespath.template import resolve_references
from kyvsim.jmespath.variables import (
    AccessPath,
    FieldStep,
    Lists,
    Spread,
    current_path,
    path_of,
    path_of_text,
)
from kyvsim.policy.anchors import ANCHORS


@pytest.mark.parametrize(
    ("path", "expression"),
    [
        ("/mutate/patchStrategicMerge/spec/x", "o.spec.x"),
        ("/validate/pattern/spec/containers/0/image", "o.spec.containers[0].image"),
        ("/mutate/foreach/0/patchStrategicMerge/spec", "o.spec"),
        ("/validate/pattern/metadata/labels/a.b\\/c", 'o.metadata.labels."a.b\\/c"'),
        ("/validate/pattern/(spec)/x", "o.(spec).x"),
        ("/validate/pattern", "o"),
        ("", "o"),
        ("/a/b/1c/é", 'o."1c"."é"'),
    ],
)
def test_path(path, expression):
    assert current_path(path, ("o",)) == expression


@pytest.mark.parametrize(
    ("document", "resolved"),
    [
        ({"a": "$(./../b)", "b": "v"}, {"a": "v", "b": "v"}),
        ({"a": "x $(./../b)", "b": "v"}, {"a": "x v", "b": "v"}),
        ({"a": "\\$(./../b)", "b": "v"}, {"a": "$(./../b)", "b": "v"}),
        ({"s": [{"(n)": "q"}, "$(./../0/n)"]}, {"s": [{"(n)": "q"}, "q"]}),
        ({"a": {"=(b)": "$(/c)"}, "c": "top"}, {"a": {"=(b)": "top"}, "c": "top"}),
        ({" =(b) ": "v", "a": "$(/b)"}, {" =(b) ": "v", "a": "v"}),
        *(({f"{sign}(b)": "v", "a": "$(/b)"}, {f"{sign}(b)": "v", "a": "v"}) for sign in ANCHORS),
        ({"a": "$(<=./../n)", "n": 3}, {"a": "<=3", "n": 3}),
        ({"a": "$(!./../n)", "n": 1.5}, {"a": "!1.500000", "n": 1.5}),
        ({"$(./k)": 1, "k": "v"}, {"v": 1, "k": "v"}),
        # The rest of the character counts as a step of the path, and its first byte stays.
        ({"a": "é$(./../../b)", "b": "v"}, {"a": "\u00c3v", "b": "v"}),
    ],
)
def test_reference(document, resolved):
    assert resolve_references(document) == resolved


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"a": "$(./../b)"}, "got nil resolved variable $(./../b) at path /a: <nil>"),
        (
            {"a": "→$(./../b)", "b": "v"},
            "got nil resolved variable \ufffd\ufffd$(./../b) at path /a: <nil>",
        ),
        (
            {"a": "$(./../n)", "n": 3},
            "NotResolvedReferenceErr,reference $(./../n) not resolved at path /a",
        ),
        (
            {"a": "$(>./../n)", "n": True},
            (
                "failed to resolve $(>./../n) at path /a: "
                "incorrect expression: operator > does not match with value true"
            ),
        ),
    ],
)
def test_failure_shows_when_rendered(document, message, env, given):
    template = compile_template(document, env)
    assert not template.constant
    with pytest.raises(SubstitutionError) as caught:
        template.render(given({}))
    assert caught.value.message == message


def test_document_without_references_is_returned_itself():
    document = {"a": ["$5 (each)", {"b": "c"}]}
    assert resolve_references(document) is document


ELEMENTS, KEYS = Spread.ELEMENTS, Spread.KEYS


def fields(text, *, optional=False):
    return tuple(FieldStep(key, optional) for key in text.split("."))


@pytest.mark.parametrize(
    ("expression", "way"),
    [
        ("a.b", AccessPath(fields("a.b"))),
        ("a.b || 'x'", AccessPath(fields("a.b"), ("x",))),
        ("a.b[]", AccessPath((*fields("a.b", optional=True), ELEMENTS))),
        ("a.b[] || `[]`", AccessPath((*fields("a.b", optional=True), ELEMENTS), ([],))),
        ("a[].b.c", AccessPath((FieldStep("a", True), ELEMENTS, *fields("b.c", optional=True)))),
        (
            "a.b[*].c",
            AccessPath(
                (FieldStep("a", False), FieldStep("b", True), ELEMENTS, FieldStep("c", True))
            ),
        ),
        (
            "a.[b, c][].d[]",
            AccessPath(
                (FieldStep("a", True), Lists(("b", "c")), ELEMENTS, FieldStep("d", True), ELEMENTS)
            ),
        ),
        ("a.keys(@)", AccessPath((FieldStep("a", False), KEYS))),
        ("a.keys(@)[]", AccessPath((FieldStep("a", True), KEYS, ELEMENTS))),
        ("a[].keys(@)[]", AccessPath((FieldStep("a", True), ELEMENTS, KEYS, ELEMENTS))),
        ("a.keys(@)[?@ != 'x']", AccessPath((FieldStep("a", False), KEYS), (), "x")),
    ],
)
def test_where_an_expression_leads(expression, way):
    assert path_of(expression) == way


@pytest.mark.parametrize(
    "expression",
    [
        "length(a)",
        "a[0]",
        "a[].b[*].c",
        "a[].[b, c]",
        "a[].keys(@)",
        "a[*].keys(@)",
        "a[].keys(@)[].b",
        "a.keys(@)[].keys(@)[]",
        "a[].keys(@)[?@ != 'x']",
        "a.*",
        "a | b",
        "a || b",
        "a == 'x'",
        "a[?b == 'x']",
        "a.keys(@)[?@ == 'x']",
        "{x: a}",
        "a.images[]",
        "images.containers",
        "a..b",
        "",
    ],
)
def test_what_does_more_than_lead_somewhere(expression):
    found = path_of(expression)
    assert found is None or "images" in expression


def test_the_images_of_a_request_are_no_way_since_they_may_not_load():
    assert path_of("images.containers") is None
    assert path_of("a.images") is not None


@pytest.mark.parametrize(
    ("text", "leads"),
    [("{{ a.b }}", True), ("{{a.b}}x", False), ("a.b", False), (3, False), (None, False)],
)
def test_only_a_text_that_is_one_variable_leads_somewhere(text, leads):
    assert (path_of_text(text) is not None) is leads


def test_the_rest_of_a_way():
    way = path_of("request.object.a[]")
    assert way.below("request", "object") == AccessPath((FieldStep("a", True), ELEMENTS))
    assert way.below("element") is None
    assert path_of("element").below("element") == AccessPath(())
    assert path_of("a").below("a", "b") is None
