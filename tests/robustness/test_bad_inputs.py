"""Every bad input by hand has a clear end, and what stands beside it is told."""

import itertools
import os
import re
import resource
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest
from bad_inputs import BUDGET, COMMANDS, DEPTH, OBJECTS, REGEXES, RULES, BadInput
from bad_paths import CHANGES, PATHS, Made

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
MEMORY = 2 << 30
"""Bytes of address space that a run gets: what would take gigabytes dies of it."""
ALL = {
    "Malformed rules": RULES,
    "Nesting": DEPTH,
    "Unbounded growth": BUDGET,
    "Regular expressions": REGEXES,
    "Malformed objects": OBJECTS,
    "Commands and their files": COMMANDS,
    "Paths and programs": PATHS,
    "Files that change during a run": CHANGES,
}
ROWS = {f"{one.name}": one for some in ALL.values() for one in some}


class Ending(NamedTuple):
    """How a run ended."""

    status: int
    said: str


def played(one: BadInput, folder: Path) -> Ending:
    """Return how kyvsim ends on an input whose files are put into a folder."""
    folder.mkdir()
    for name, text in one.files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        if isinstance(text, Made):
            text.make(folder / name)
            continue
        made = text() if callable(text) else text
        (folder / name).write_bytes(made if isinstance(made, bytes) else made.encode())
    path = os.pathsep.join((str(folder / "bin"), os.environ["PATH"]))
    given = one.stdin() if callable(one.stdin) else one.stdin
    done = subprocess.run(
        [sys.executable, *started(one), *shlex.split(one.command)],
        cwd=folder,
        input=given if isinstance(given, bytes) else given.encode(),
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8", "PATH": path},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
    )
    said = (done.stdout + done.stderr).decode("utf-8", "replace")
    return Ending(done.returncode, said.replace(f"{folder}{os.sep}", ""))


def started(one: BadInput) -> list[str]:
    """Return how Python starts kyvsim for an input."""
    if one.meanwhile is None:
        return ["-m", "kyvsim"]
    return [str(Path(__file__).with_name("meanwhile.py")), *map(str, one.meanwhile)]


def test_there_are_enough():
    assert len(ROWS) >= 80
    assert len(ROWS) == sum(map(len, ALL.values()))


PAGE = ROOT / "docs/robustness.md"
GENERATED = re.compile(r"(?<=<!-- generated -->\n\n).*(?=<!-- end -->)", re.DOTALL)
HEAD, TAIL = 100, 60
"""Characters of a long text that are shown of its beginning and its end."""
REMARK = re.compile(r"\b(error|warning) KV\d+: ")
HEADING = re.compile(r" *(ERROR|FAIL) +hostile\b|\d+ .* (failed|denied)$")
"""What stands above the reason of a result, or of what becomes of an object."""
FAULT = re.compile(r"^[Ee]rror: |\"error\":|^\w+: .* exit status")


def saying(said):
    """Return what an output says of the bad input: a remark, a reason, a fault, or its last line.

    What stands beside the bad input is told first in many of them.
    """
    lines = [*filter(None, said.splitlines())] or ["nothing is said"]
    remark = next(filter(REMARK.search, lines), "")
    fault = next(filter(FAULT.search, lines), lines[-1])
    told = " ".join((remark or reason(lines) or fault).split())
    return told if len(told) <= HEAD + TAIL else f"{told[:HEAD]} … {told[-TAIL:]}"


def reason(lines):
    """Return what stands below the first heading of a failure, up to the place of a rule."""
    below = itertools.dropwhile(lambda line: not HEADING.match(line), lines)
    inner = itertools.takewhile(
        lambda line: line.startswith("    ") and not line.strip().startswith("rule: "),
        itertools.islice(below, 1, None),
    )
    return " ".join(inner)


def code(text):
    """Return a text as code in a cell of a table."""
    return f"`` {text.replace('|', chr(92) + '|')} ``"


def row_of(one, ending):
    """Return the line of the page's tables that shows how a run ended on an input."""
    name = one.name.replace("|", chr(92) + "|")
    return f"| {name} | {ending.status} | {code(saying(ending.said))} |"


@pytest.mark.parametrize("name", ROWS)
def test_a_bad_input_has_a_clear_end_and_the_page_shows_it(name, tmp_path, request):
    one = ROWS[name]
    ending = played(one, tmp_path / "inputs")
    status, said = ending
    assert status in {0, 1, 2}, said
    assert not [word for word in ("internal error", "Traceback", "report it") if word in said], said
    assert not [mark for mark in one.marks if mark not in said], said
    if not request.config.getoption("--update-golden"):
        assert row_of(one, ending) in PAGE.read_text(encoding="utf-8").splitlines()


def test_the_page_lists_all_bad_inputs(tmp_path, request):
    before = PAGE.read_text(encoding="utf-8")
    if request.config.getoption("--update-golden"):
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            found = pool.map(
                lambda at: played(at[1], tmp_path / str(at[0])), enumerate(ROWS.values())
            )
            rows = {
                one.name: row_of(one, ending)
                for one, ending in zip(ROWS.values(), found, strict=True)
            }
        tables = [
            f"## {title}\n\n| input | status | message |\n| --- | --- | --- |\n"
            + "".join(f"{rows[one.name]}\n" for one in some)
            for title, some in ALL.items()
        ]
        now = GENERATED.sub(lambda _: "\n".join(tables) + "\n", before)
        if now != before:
            PAGE.write_text(now, encoding="utf-8")
            pytest.fail(
                "updated docs/robustness.md: review the change, then run again", pytrace=False
            )
    shown = [line for line in GENERATED.search(before)[0].splitlines() if line.startswith("| ")]
    names = [line.split(" | ", 1)[0].removeprefix("| ") for line in shown]
    wanted = [
        name.replace("|", chr(92) + "|")
        for some in ALL.values()
        for name in ("input", "---", *(one.name for one in some))
    ]
    assert names == wanted
