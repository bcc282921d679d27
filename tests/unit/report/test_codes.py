"""What is written of codes is so: examples are run."""

import re
from pathlib import Path

import pytest

from kyvsim.api.lint import lint
from kyvsim.load.edits import with_edits
from kyvsim.report.known_codes import every_code

PACKAGE = Path(__file__).parents[3] / "kyvsim"
CODES = every_code()
WITH_EXAMPLES = [one for one in CODES if one.bad]


def found(tmp_path, text):
    path = tmp_path / "example.yaml"
    path.write_text(text, encoding="utf-8")
    return lint([str(path)])


@pytest.mark.parametrize("code", WITH_EXAMPLES, ids=lambda one: one.code)
def test_the_bad_example_has_just_that_code(tmp_path, code):
    assert {one.code for one in found(tmp_path, code.bad).diagnostics} == {code.code}


@pytest.mark.parametrize("code", WITH_EXAMPLES, ids=lambda one: one.code)
def test_of_the_good_example_nothing_is_told(tmp_path, code):
    assert code.good
    assert found(tmp_path, code.good).diagnostics == ()


@pytest.mark.parametrize("code", WITH_EXAMPLES, ids=lambda one: one.code)
def test_who_says_that_fix_helps_is_right(tmp_path, code):
    told = found(tmp_path, code.bad)
    fixes = [one.fix for one in told.diagnostics if one.fix]
    assert bool(fixes) is ("lint --fix" in code.why)
    if fixes:
        assert with_edits(code.bad, fixes[0].edits) != code.bad


def test_every_code_of_the_source_is_written_of_once():
    sources = (path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    used = {code for text in sources for code in re.findall(r'"(KV\d{3})"', text)}
    written = [one.code for one in CODES]
    assert sorted(used) == sorted(written)
    assert all(one.title for one in CODES)
