"""Temporary files are in a hidden folder beside their place, which the next run removes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kyvsim.cli.output_files import ObjectFiles, write_reports
from kyvsim.load import scratch
from kyvsim.load.scratch import PREFIX, ScratchFiles, scratch_folder
from kyvsim.report.formats import TEXT

LONGEST = [
    "n" * 250,
    "\N{LATIN SMALL LETTER E WITH ACUTE}" * 125,
    "\N{WAXING CRESCENT MOON SYMBOL}" * 62,
]
"""Names that file systems just take, with five bytes behind them: 255 are all."""


@pytest.mark.parametrize("name", ["a", *LONGEST])
def test_temporary_files_share_a_hidden_folder_beside_their_place(tmp_path, name):
    files = ScratchFiles()
    made = {Path(files.file_for(str(tmp_path / name))) for _ in range(2)}
    for one in made:
        one.touch(exist_ok=False)
    (folder,) = tmp_path.iterdir()
    assert (len(made), {one.parent for one in made}) == (2, {folder})
    assert (folder.name[0], folder.stat().st_mode & 0o777) == (".", 0o700)
    files.close()
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("name", LONGEST)
def test_the_longest_name_can_be_written_to(tmp_path, name):
    report, objects = tmp_path / f"{name}.json", tmp_path / f"{name}.yaml"
    write_reports([(str(report), TEXT, iter("a"))])
    written = ObjectFiles(str(objects), lambda _: False)
    written.commit()
    assert sorted(tmp_path.iterdir()) == [report, objects]


def test_a_run_removes_what_a_killed_one_left(tmp_path):
    code = (
        "import os, signal, sys\nfrom kyvsim.load.scratch import ScratchFiles\n"
        "files = ScratchFiles()\n"
        "for name in 'abc':\n    open(files.file_for(sys.argv[1] + '/' + name), 'x').close()\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
        assert done.returncode == -signal.SIGKILL
        (left,) = tmp_path.iterdir()
        assert len([*left.glob("*.tmp")]) == 3
    write_reports([(str(tmp_path / "report"), TEXT, iter("a"))])
    assert [one.name for one in tmp_path.iterdir()] == ["report"]


def test_a_run_leaves_the_folder_of_a_living_one(tmp_path):
    first = ScratchFiles()
    place = Path(first.file_for(str(tmp_path / "a")))
    place.touch()
    write_reports([(str(tmp_path / "report"), TEXT, iter("a"))])
    assert place.exists()
    first.close()


@pytest.mark.parametrize(("age", "stays"), [(60, True), (48 * 60 * 60, False)])
def test_a_folder_without_a_lock_is_left_for_a_day(tmp_path, age, stays):
    folder = tmp_path / f"{PREFIX}0"
    folder.mkdir()
    at = time.time() - age
    os.utime(folder, (at, at))
    write_reports([(str(tmp_path / "report"), TEXT, iter("a"))])
    assert folder.exists() is stays


@pytest.mark.parametrize("age", [60, 48 * 60 * 60])
def test_without_locks_only_the_age_tells(tmp_path, monkeypatch, age):
    folder = Path(scratch.ScratchFolder(str(tmp_path)).path)
    monkeypatch.setattr(scratch, "HAS_LOCKS", False)
    at = time.time() - age
    os.utime(folder, (at, at))
    write_reports([(str(tmp_path / "report"), TEXT, iter("a"))])
    assert folder.exists() is (age == 60)


def test_links_and_files_of_such_a_name_are_left_alone(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/lock").touch()
    link, file = tmp_path / f"{PREFIX}link", tmp_path / f"{PREFIX}file"
    link.symlink_to(tmp_path / "kept")
    file.touch()
    write_reports([(str(tmp_path / "report"), TEXT, iter("a"))])
    assert (link.is_symlink(), file.exists(), (tmp_path / "kept/lock").exists()) == (True,) * 3


def test_a_folder_for_a_block_is_removed(tmp_path):
    with scratch_folder(str(tmp_path)) as folder:
        assert Path(folder).is_dir()
        assert [one.name.startswith(PREFIX) for one in tmp_path.iterdir()] == [True]
    assert not [*tmp_path.iterdir()]
