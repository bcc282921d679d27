import pytest

from kyvsim.chainsaw.kubectl.output import JsonPathError, print_jsonpath

DATA = {
    "metadata": {"name": "a", "labels": {"app.io/x": "y"}},
    "items": [{"n": "one", "v": 1}, {"n": "two", "v": 2}],
    "list": [],
    "flag": True,
}
PATHS = [
    ("{.metadata.name}", "a"),
    ("{$.metadata.name}", "a"),
    ("name: {.metadata.name}!", "name: a!"),
    ("{.metadata.labels.app\\.io/x}", "y"),
    ("{.metadata.labels['app.io/x']}", "y"),
    ("{.items[*].n}", "one two"),
    ("{.items[0].n}{.items[-1].n}", "onetwo"),
    ("{.items[0:1].n}", "one"),
    ('{.items[?(@.n=="two")].v}', "2"),
    ("{.items[?(@.v!=2)].n}", "one"),
    ('{range .items[*]}{.n}{"\\n"}{end}.', "one\ntwo\n."),
    ("{.missing.further}", ""),
    ("{.flag}", "true"),
    ("{.items[0]}", '{"n":"one","v":1}'),
]


@pytest.mark.parametrize(("template", "text"), PATHS)
def test_template_prints(template, text):
    assert print_jsonpath(template, DATA) == text


@pytest.mark.parametrize(
    "template", ["{.items[7]}", "{..n}", "{.items[a b]}", "{range .items[*]}x"]
)
def test_what_is_no_template_is_an_error(template):
    with pytest.raises(JsonPathError):
        print_jsonpath(template, DATA)
