"""Variables and references."""

import pytest

from kyvsim.jmespath import SubstitutionError, compile_template
from kyvsim.jmespath.template import resolve_references
from kyvsim.jmespath.variables import current_path


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
