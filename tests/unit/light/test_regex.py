"""Expressions that are compiled late are those of `re`."""

import marshal
import re
import subprocess
import sys

import pytest

from kyvsim.light import regex as light_regex
from kyvsim.light.regex import CODES, code_of, regex

EXPRESSIONS = [
    ("a(?P<n>b)*[^\ud800-\udfff]", 0),
    (b"x+|(y)", 0),
    ("^a$", int(re.MULTILINE)),
    ("(?i:é)|(x)(?<!y)", int(re.IGNORECASE)),
    ("[\x00-\x1f\u2028\ufeff-\uffff]|(?:a|bc)*+", int(re.VERBOSE)),
]
COMPILER = vars(re)["_compiler"]


@pytest.fixture(name="codes")
def _codes(monkeypatch):
    """Return what this process knows of expressions, for one test."""
    monkeypatch.setattr(CODES, "known", {})
    monkeypatch.setattr(CODES, "compiled", set())
    return CODES


def test_an_expression_finds_what_a_compiled_one_finds():
    late, compiled = regex(r"(a+)(b)?", re.IGNORECASE), re.compile(r"(a+)(b)?", re.IGNORECASE)
    for text in ("", "xAab", "b", "aa"):
        assert late.findall(text) == compiled.findall(text)
        assert (late.search(text) is None) == (compiled.search(text) is None)
        assert late.sub("-", text) == compiled.sub("-", text)
    assert late.pattern == compiled.pattern
    assert late.groups == 2


def test_bytes_have_expressions_too():
    assert regex(rb"^a", re.MULTILINE).findall(b"b\na\na") == [b"a", b"a"]


def test_nothing_is_compiled_before_it_is_used():
    late = regex("(")
    with pytest.raises(re.error):
        late.match("x")


def test_what_compiled_expressions_have_not_is_not_there():
    with pytest.raises(AttributeError):
        regex("a").nothing  # noqa: B018 — asking is what is tried


@pytest.mark.parametrize("one", EXPRESSIONS)
def test_an_expression_that_was_kept_is_the_one_that_is_compiled(codes, one, monkeypatch):
    expected = re.compile(*one)
    codes.known = {one: marshal.loads(marshal.dumps(code_of(one)))}
    with monkeypatch.context() as changed:
        changed.setattr(re, "compile", None)
        found = codes.pattern(one)
    assert found == expected
    assert found.groupindex == expected.groupindex
    assert codes.compiled == set()


@pytest.mark.parametrize("code", [(), ("a", 0, [99], 0, {}, (None,)), ("a", 0, 1, 0, {}, ())])
def test_what_the_engine_does_not_take_is_compiled(codes, code):
    codes.known = {("a", 0): code}
    assert regex("a").fullmatch("a")
    assert codes.compiled == {("a", 0)}


def test_a_compiler_that_does_not_show_itself_is_left_alone(monkeypatch):
    monkeypatch.delattr(COMPILER, "_sre")
    assert code_of(("a", 0)) is None


def test_asking_for_a_code_leaves_the_compiler_as_it_was():
    engine = vars(COMPILER)["_sre"]
    with pytest.raises(re.error):
        code_of(("(", 0))
    assert vars(COMPILER)["_sre"] is engine


@pytest.mark.parametrize("name", ["ASCII", "DOTALL", "IGNORECASE", "MULTILINE", "VERBOSE"])
def test_flags_are_those_of_the_standard_library(name):
    assert getattr(light_regex, name) == getattr(re, name)


def test_re_is_not_loaded_before_something_is_compiled():
    code = """
import sys
from kyvsim.light.regex import IGNORECASE, regex
late = regex("A(b)", IGNORECASE)
assert "re" not in sys.modules and "enum" not in sys.modules
print(late.sub("-", "xABx"), "re" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "x-x True\n"


def test_what_cannot_be_compiled_is_nothing_to_keep(codes):
    with pytest.raises(re.error):
        regex("(").search("a")
    assert codes.compiled == set()
