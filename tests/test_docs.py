"""What the documentation shows is what the program does.

`pytest tests/test_docs.py --update-golden` writes the outputs and generated pages anew and fails,
listing what changed, so that an update is a step of its own and a diff to review.
"""

import json
import os
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from kyvsim.cli.front_page import COMMANDS
from kyvsim.languages.classic.rules import rule_types

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    path
    for path in (
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "policies").rglob("*.md"),
        *(ROOT / "fixtures").rglob("*.md"),
        *(ROOT / "tests").glob("*/*.md"),
    )
    if path.is_file()
)
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SHELL = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)
GENERATED = re.compile(r"(?<=<!-- generated -->\n\n).*(?=\n<!-- end -->)", re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
WITH_CONSOLE = [path for path in PAGES if CONSOLE.search(path.read_text(encoding="utf-8"))]
PYTHON = shlex.quote(sys.executable)
KYVSIM = f'kyvsim() {{ {PYTHON} -m kyvsim "$@"; }}'
PLAIN = "env -u CI -u BUILD_NUMBER -u PYTEST_ADDOPTS PYTEST_DISABLE_PLUGIN_AUTOLOAD=1"
PYTEST = f'pytest() {{ {PLAIN} {PYTHON} -m pytest -p kyvsim.testing.plugin "$@"; }}'


def name_of(path):
    return path.relative_to(ROOT).as_posix() if isinstance(path, Path) else None


def shell(command, before=0):
    """Return output and exit status of a command typed in the root after one that ended so."""
    done = subprocess.run(
        ["sh", "-c", f"{KYVSIM}\n{PYTEST}\n(exit {before})\n{command}"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "COLUMNS": "80", "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8"},
    )
    return done.stdout, done.returncode


def played(block):
    """Return a console block with the outputs that its commands have now."""
    parts, status = [], 0
    for line in block.splitlines():
        if line.startswith("$ "):
            output, status = shell(line[2:], status)
            parts.append(f"{line}\n{output}")
    return "".join(parts)


def check(path, now, request):
    """Compare a page with what it should be, or write it and fail."""
    before = path.read_text(encoding="utf-8")
    if request.config.getoption("--update-golden") and now != before:
        path.write_text(now, encoding="utf-8")
        pytest.fail(f"updated {name_of(path)}: review the change, then run again", pytrace=False)
    assert before.splitlines() == now.splitlines()


@pytest.mark.parametrize("path", WITH_CONSOLE, ids=name_of)
def test_console_blocks_show_what_the_program_says(path, request):
    text = path.read_text(encoding="utf-8")
    now = CONSOLE.sub(lambda found: f"```console\n{played(found[1])}```", text)
    check(path, now, request)


def test_every_code_of_a_diagnostic_is_in_its_page(request):
    made = runpy.run_path(str(ROOT / "tests/make_diagnostics.py"))["tables"]()
    path = ROOT / "docs/diagnostics.md"
    text = path.read_text(encoding="utf-8")
    assert GENERATED.search(text)
    check(path, GENERATED.sub(lambda _: made, text), request)


def test_the_page_of_codes_has_no_empty_cells_and_no_paths_of_developers():
    text = (ROOT / "docs/diagnostics.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| KV")]
    assert rows
    assert not [row for row in rows if re.search(r"\| +\|", row) or "upstream" in row]


def commands_of(path):
    """Return the lines of a page's `sh` blocks that call kyvsim."""
    blocks = SHELL.findall(path.read_text(encoding="utf-8"))
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [line for line in lines if line.startswith("kyvsim ")]


@pytest.mark.parametrize(
    ("path", "command"),
    [(path, command) for path in PAGES for command in commands_of(path)],
    ids=name_of,
)
def test_commands_of_pages_can_be_run(path, command):
    output, status = shell(command)
    refused = "fixtures/broken" in command or path.parent.name == "broken"
    assert status == 2 if refused else status in {0, 1}, output
    said = ("pass: ", "errors, ", " of virtual time", "exit status")
    assert any(one in output for one in said)


def anchors(path):
    """Return the names that headings of a page have in links."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_links_lead_somewhere(path):
    text = re.sub(
        r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    for target in LINK.findall(re.sub(r"`[^`\n]*`", "", text)):
        place, _, anchor = target.partition("#")
        if "://" in place:
            continue
        page = (path.parent / place).resolve() if place else path
        assert page.exists(), target
        assert page.is_relative_to(ROOT), target
        if anchor:
            assert anchor in anchors(page), target


def paths_named(path):
    """Return what a page names in backticks below the folders that hold code and examples."""
    text = path.read_text(encoding="utf-8")
    names = re.findall(r"`((?:kyvsim|policies|fixtures|tests|docs|\.ci)/[\w./-]*)`", text)
    return [name for name in names if not re.search(r"[A-Z]{4}", name.replace("README", ""))]


@pytest.mark.parametrize("path", [path for path in PAGES if paths_named(path)], ids=name_of)
def test_paths_in_pages_exist(path):
    missing = [name for name in paths_named(path) if not (ROOT / name).exists()]
    assert not missing


def test_every_command_has_its_help_text_in_the_page():
    text = (ROOT / "docs/cli.md").read_text(encoding="utf-8")
    missing = [name for name in COMMANDS if f"$ kyvsim {name} --help\n" not in text]
    assert missing == ["version"]


FOLDERS = sorted(path for path in (ROOT / "policies").iterdir() if path.is_dir())


@pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
def test_every_policy_has_a_story_and_its_commands(folder):
    page = folder / "README.md"
    assert page.is_file()
    assert any(f"policies/{folder.name}" in command for command in commands_of(page))
    assert f"({folder.name}/)" in (ROOT / "policies/README.md").read_text(encoding="utf-8")


def outcomes(folder):
    """Return what the commands of a folder's page make of the rules of its policies.

    For a rule that checks: how it ended. For one that changes or generates: whether it touched a
    resource, or left it alone.
    """
    seen = {}
    for command in commands_of(folder / "README.md"):
        output, _ = shell(f"{command} --output-format json 2>/dev/null")
        answer = json.loads(output)
        for row in answer["results"]:
            seen.setdefault((row["policy"], row["rule"]), set()).add(row["result"])
    return seen


@pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
def test_policies_have_resources_that_pass_and_fail(folder):
    seen = outcomes(folder)
    assert seen
    for row, statuses in seen.items():
        assert "pass" in statuses or statuses == {"skip", "fail"}, row
    failing = {status for statuses in seen.values() for status in statuses} - {"pass"}
    assert failing, "everything passes: nothing shows that a rule of this folder can do otherwise"


def test_the_readme_says_what_its_main_command_ends_with():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    _, command = re.search(r"(```sh\n).*&& \.venv/bin/(kyvsim apply .*)\n", text).groups()
    output, status = shell(command)
    closing = output[output.rindex("\nFAILED: ") :]
    assert " ".join(closing.split()) in text
    assert status == 1


def test_the_readme_has_one_test_command():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.count("<!-- tests -->\n\n```sh\n") == 1


def test_the_readme_says_which_rules_are_not_evaluated():
    """As many as a registered type ends with an error that says so."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    told = re.search(r"^Not evaluated yet:\n\n(.*?)\n\n", text, re.DOTALL | re.MULTILINE)[1]
    line = re.search(r"^- rules with (.*?): ", told.replace("\n  ", " "), re.MULTILINE)
    named = re.findall(r"`([\w.]+)`", line[1]) if line else []
    missing = [
        ".".join(one.field)
        for one in rule_types()
        if one.compile.__module__ == "kyvsim.languages.classic.rules.unsupported"
    ]
    assert sorted(named) == sorted(missing)


def test_the_readme_says_which_options_are_refused():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for option in re.findall(
        r"`(--[\w-]+)`", re.search(r"^- the options (.*)$", text, re.MULTILINE)[1]
    ):
        output, status = shell(f"kyvsim apply policies -r fixtures/resources {option} x")
        assert status == 2
        assert "not supported by kyvsim yet" in output


def test_the_library_example_runs():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    done = subprocess.run(
        [sys.executable, "-c", example],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert [line.split()[0] for line in done.stdout.splitlines()] == [
        "probe",
        "probe",
        "sandbox",
        "scratch",
    ]


def test_change_fragments_are_named_so_that_they_can_be_joined():
    names = [path.name for path in (ROOT / "docs/changes").iterdir() if path.name != "README.md"]
    kinds = r"\d+(-[a-z-]+)?\.(added|changed|fixed|removed)\.md"
    assert not [name for name in names if not re.fullmatch(kinds, name)]


def test_decisions_are_numbered_and_listed():
    folder = ROOT / "docs/decisions"
    names = sorted(path.name for path in folder.glob("[0-9]*.md"))
    assert [int(name[:3]) for name in names] == list(range(1, len(names) + 1))
    index = (folder / "README.md").read_text(encoding="utf-8")
    for name in names:
        title = (folder / name).read_text(encoding="utf-8").partition("\n")[0]
        assert title.startswith(f"# {int(name[:3])}. ")
        assert f"[{title.partition('. ')[2]}]({name})" in index
        parts = re.findall(r"^\*\*(\w+)\.\*\*", (folder / name).read_text(), re.MULTILINE)
        assert parts == ["Context", "Choice", "Price"]
