import pytest

from kyvsim.kubernetes.discovery import KindSelector, parse_kind_selector, split_api_version


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Pod", ("*", "*", "Pod", "")),
        ("P*", ("*", "*", "P*", "")),
        ("*", ("*", "*", "*", "")),
        ("*/*", ("*", "*", "*", "*")),
        ("v1/Pod", ("*", "v1", "Pod", "")),
        ("v1beta1/Foo", ("*", "v1beta1", "Foo", "")),
        ("v10/Foo", ("*", "*", "v10", "Foo")),
        ("*/Pod", ("*", "*", "Pod", "")),
        ("*/scale", ("*", "*", "*", "scale")),
        ("Pod/exec", ("*", "*", "Pod", "exec")),
        ("Pod.exec", ("*", "*", "Pod", "exec")),
        ("v1/Pod/exec", ("*", "v1", "Pod", "exec")),
        ("v1/Pod.exec", ("*", "v1", "Pod", "exec")),
        ("*/*/Pod", ("*", "*", "*", "Pod")),
        ("apps/v1/Deployment", ("apps", "v1", "Deployment", "")),
        ("apps/*/Deployment", ("apps", "*", "Deployment", "")),
        ("a.io/v1/Foo/status", ("a.io", "v1", "Foo", "status")),
        ("a.io/v1/Foo.status", ("a.io", "v1", "Foo", "status")),
        ("a/b/c/d/e", ("", "", "", "")),
        ("a.b.c", ("a", "b", "c", "")),
    ],
)
def test_kind_selectors(text, parts):
    assert parse_kind_selector(text) == KindSelector(*parts)


@pytest.mark.parametrize(
    ("text", "parts"), [("v1", ("", "v1")), ("apps/v1", ("apps", "v1")), ("", ("", ""))]
)
def test_api_versions(text, parts):
    assert split_api_version(text) == parts
