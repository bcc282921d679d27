import pytest

from kyvsim.jmespath.way import Field, Lists, Spread, Way, way_of, way_of_text

ELEMENTS, KEYS = Spread.ELEMENTS, Spread.KEYS


def fields(text, *, optional=False):
    return tuple(Field(key, optional) for key in text.split("."))


@pytest.mark.parametrize(
    ("expression", "way"),
    [
        ("a.b", Way(fields("a.b"))),
        ("a.b || 'x'", Way(fields("a.b"), ("x",))),
        ("a.b[]", Way((*fields("a.b", optional=True), ELEMENTS))),
        ("a.b[] || `[]`", Way((*fields("a.b", optional=True), ELEMENTS), ([],))),
        ("a[].b.c", Way((Field("a", True), ELEMENTS, *fields("b.c", optional=True)))),
        ("a.b[*].c", Way((Field("a", False), Field("b", True), ELEMENTS, Field("c", True)))),
        (
            "a.[b, c][].d[]",
            Way((Field("a", True), Lists(("b", "c")), ELEMENTS, Field("d", True), ELEMENTS)),
        ),
        ("a.keys(@)", Way((Field("a", False), KEYS))),
        ("a.keys(@)[]", Way((Field("a", True), KEYS, ELEMENTS))),
        ("a[].keys(@)[]", Way((Field("a", True), ELEMENTS, KEYS, ELEMENTS))),
        ("a.keys(@)[?@ != 'x']", Way((Field("a", False), KEYS), (), "x")),
    ],
)
def test_where_an_expression_leads(expression, way):
    assert way_of(expression) == way


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
    found = way_of(expression)
    assert found is None or "images" in expression


def test_the_images_of_a_request_are_no_way_since_they_may_not_load():
    assert way_of("images.containers") is None
    assert way_of("a.images") is not None


@pytest.mark.parametrize(
    ("text", "leads"),
    [("{{ a.b }}", True), ("{{a.b}}x", False), ("a.b", False), (3, False), (None, False)],
)
def test_only_a_text_that_is_one_variable_leads_somewhere(text, leads):
    assert (way_of_text(text) is not None) is leads


def test_the_rest_of_a_way():
    way = way_of("request.object.a[]")
    assert way.below("request", "object") == Way((Field("a", True), ELEMENTS))
    assert way.below("element") is None
    assert way_of("element").below("element") == Way(())
    assert way_of("a").below("a", "b") is None
