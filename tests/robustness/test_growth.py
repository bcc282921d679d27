"""Work grows as inputs do, and no faster: counted in calls, since time is the machine's."""

import contextlib
import cProfile
import io
import json

import pytest
from growing import GROWING

from kyvsim.api import migrate
from kyvsim.cli.main import run
from kyvsim.model.comparison import SearchBudget

pytestmark = pytest.mark.slow

_MOST = 2.5
"""How much more may be added from two to four times a size than from one to two: 2 is linear, 4 is
quadratic."""
CASES = [
    pytest.param(one, command, id=f"{one.name}: {' '.join(command)}")
    for one in GROWING
    for command in one.commands
]


def _calls(one, command, size, folder):
    folder = folder / str(size)
    folder.mkdir(parents=True)
    for name, documents in one.make(size).items():
        text = documents
        if not isinstance(documents, str):
            text = "\n---\n".join(json.dumps(document, indent=1) for document in documents)
        (folder / name).write_text(text, encoding="utf-8")
    counted = cProfile.Profile()
    out, said = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(said),
    ):
        status = counted.runcall(run, command)
    assert status in {0, 1}, said.buffer.getvalue()
    return sum(entry.callcount for entry in counted.getstats())


@pytest.fixture(autouse=True)
def few_cases(monkeypatch):
    """Let `migrate` compare a few cases of each policy, however long they take here."""
    monkeypatch.setattr(migrate, "_BRIEF", SearchBudget(cases=8, first_only=True))


@pytest.mark.parametrize(("one", "command"), CASES)
def test_work_is_linear(one, command, tmp_path):
    # What is loaded and remembered the first time, some of it only where there are several.
    _calls(one, command, one.size, tmp_path / "first")
    small, double, large = (_calls(one, command, one.size * n, tmp_path) for n in (1, 2, 4))
    assert large - double < _MOST * max(double - small, 100), (small, double, large)
