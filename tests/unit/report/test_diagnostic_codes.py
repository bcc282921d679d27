"""What is known of each code."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

from kyvsim.api.lint import lint, plan_fixes
from kyvsim.cli.main import run
from kyvsim.report.diagnostic_codes import LINTED, every_code, files_of

# What is written of codes is so: examples are run.

PACKAGE = Path(__file__).parents[3] / "kyvsim"
CODES = every_code()
WITH_EXAMPLES = [one for one in CODES if one.bad]
LINTS = [one for one in WITH_EXAMPLES if one.bad.command == LINTED]
WITHOUT_EXAMPLES = {
    "KV003": "rights of a file are not in its text",
    "KV058": "nor is its owner",
    "KV005": "a page is UTF-8",
    "KV028": "nothing is wrong, and it is shown without its code",
    "KV029": "a resource among the policies is told as such, too (KV011)",
    "KV044": "a page has no line that ends in CR",
    "KV080": "a page has no packed files",
    "KV113": "it is reported beside an error (KV129) only",
    "KV081": "a process has to die",
    "KV082": "a run has to be stopped",
}
"""Codes of which no files and command can be an example, and why."""
REPORTED = re.compile(r"^(?:\S.*?: )?(error|warning|info) (KV\d{3}): ", re.MULTILINE)


def codes_reported(example, beside, folder, monkeypatch, capsys):
    """Return severity and code of what an example's command reports, and its exit status."""
    for name, text in (*files_of(beside), *files_of(example.text)):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "1000")
    status = run(shlex.split(example.command))
    streams = capsys.readouterr()
    assert "Usage:" not in streams.err, streams.err
    return set(REPORTED.findall(streams.err + streams.out)), status


@pytest.mark.parametrize("code", WITH_EXAMPLES, ids=lambda one: one.code)
def test_the_bad_example_has_just_that_code(tmp_path, monkeypatch, capsys, code):
    reported, _ = codes_reported(code.bad, code.beside, tmp_path, monkeypatch, capsys)
    assert reported
    assert reported <= {(severity, code.code) for severity in code.severities}


@pytest.mark.parametrize("code", WITH_EXAMPLES, ids=lambda one: one.code)
def test_of_the_good_example_nothing_is_reported(tmp_path, monkeypatch, capsys, code):
    reported, status = codes_reported(code.good, code.beside, tmp_path, monkeypatch, capsys)
    assert reported == set()
    assert status != 2


@pytest.mark.parametrize("code", LINTS, ids=lambda one: one.code)
def test_who_says_that_fix_helps_is_right(tmp_path, code):
    path = tmp_path / "example.yaml"
    text = with_comments(code.bad.text)
    path.write_text(text, encoding="utf-8")
    found = lint([str(path)])
    fixed = plan_fixes(found)
    assert bool(fixed) is any(one.fix for one in found.diagnostics) is code.fixable
    for file in fixed:
        assert file.text.count(KEPT) == text.count(KEPT)
        path.write_text(file.text, encoding="utf-8")
        again = lint([str(path)])
        assert again.diagnostics == ()
        assert plan_fixes(again) == ()


KEPT = "  # a comment"


def with_comments(text):
    """Return a text with comments behind the keys of maps and lists."""
    data = [*yaml.safe_load_all(text)]
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if line.endswith(":"):
            lines[number] += KEPT
            if [*yaml.safe_load_all("\n".join(lines))] != data:  # in a string
                lines[number] = line
    return "\n".join(lines)


def test_every_code_of_the_source_is_written_of_once():
    sources = (path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    used = {code for text in sources for code in re.findall(r'"(KV\d{3})"', text)}
    written = [one.code for one in CODES]
    assert sorted(used) == sorted(written)
    assert all(one.title for one in CODES)


def test_every_code_says_what_to_do_and_has_examples_where_there_can_be_any():
    assert all(one.why for one in CODES)
    assert {one.code for one in CODES if not one.bad} == WITHOUT_EXAMPLES.keys()
