import pytest

from kyvsim.jmespath.access_path import AccessPath, FieldStep, Lists, Spread, path_of, path_of_text

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
