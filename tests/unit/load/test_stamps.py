import os

import pytest

from kyvsim.load.files import fingerprint
from kyvsim.load.folders import Walking


@pytest.fixture
def folder(tmp_path):
    # Alone in its parent, which a pattern walks: other tests have folders beside tmp_path.
    own = tmp_path / "own"
    (own / "deep").mkdir(parents=True)
    (own / "a.yaml").write_text("a: 1\n")
    (own / "deep/b.json").write_text("{}")
    return own


def write(folder):
    (folder / "a.yaml").write_text("a: 1\nb: 2\n")


def rename_over(folder):
    """Save as editors do: same size, same time, another file."""
    before = (folder / "a.yaml").stat()
    (folder / "new").write_text("a: 2\n")
    os.utime(folder / "new", ns=(before.st_atime_ns, before.st_mtime_ns))
    (folder / "new").replace(folder / "a.yaml")


def touch(folder):
    os.utime(folder / "a.yaml", ns=(1, 1))


def remove(folder):
    (folder / "a.yaml").unlink()


def lock(folder):
    (folder / "a.yaml").chmod(0)


def add(folder):
    (folder / "deep/c.yaml").write_text("c: 1\n")


def write_deep(folder):
    (folder / "deep/b.json").write_text("{} ")


@pytest.mark.parametrize("change", [write, rename_over, touch, remove, lock])
@pytest.mark.parametrize("path", ["a.yaml", ".", "*.yaml"])
def test_a_changed_file_changes_every_stamp_that_holds_it(folder, path, change):
    before = fingerprint(f"{folder}/{path}")
    assert fingerprint(f"{folder}/{path}") == before
    change(folder)
    assert fingerprint(f"{folder}/{path}") != before


@pytest.mark.parametrize("change", [add, write_deep])
@pytest.mark.parametrize("path", ["deep", ".", "d*", "**/*"])
def test_files_in_folders_count(folder, path, change):
    before = fingerprint(f"{folder}/{path}")
    change(folder)
    assert fingerprint(f"{folder}/{path}") != before


@pytest.mark.parametrize("name", [".a.yaml.swp", "notes.txt", ".hidden/c.yaml"])
def test_files_that_are_not_read_do_not_count(folder, name):
    before = fingerprint(str(folder))
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("x")
    assert fingerprint(str(folder)) == before


def ignore(folder):
    (folder / ".kyvsimignore").write_text("nothing\n")


def ignore_deep(folder):
    (folder / "deep/.kyvsimignore").write_text("nothing\n")


@pytest.mark.parametrize("change", [ignore, ignore_deep])
@pytest.mark.parametrize("path", [".", "../*"])
def test_ignore_files_count_where_they_are_read(folder, path, change):
    """What they change need not be which files there are: a pattern may be mended."""
    careless = Walking(ignore_files=False)
    before, without = fingerprint(f"{folder}/{path}"), fingerprint(f"{folder}/{path}", careless)
    change(folder)
    assert fingerprint(f"{folder}/{path}") != before
    assert fingerprint(f"{folder}/{path}", careless) == without


def test_ignore_files_above_a_folder_count(folder, monkeypatch):
    monkeypatch.chdir(folder)
    before = fingerprint("deep")
    ignore(folder)
    assert fingerprint("deep") != before


def test_files_that_an_option_leaves_aside_do_not_count(folder):
    walking = Walking(exclude=("deep",))
    before = fingerprint(str(folder), walking)
    write_deep(folder)
    assert fingerprint(str(folder), walking) == before


def test_ignored_files_count_where_ignore_files_do_not(folder):
    (folder / ".kyvsimignore").write_text("deep\n")
    before = fingerprint(str(folder), Walking(ignore_files=False))
    write_deep(folder)
    assert fingerprint(str(folder), Walking(ignore_files=False)) != before


def test_what_is_missing_has_no_marks_until_it_is_there(folder):
    path = f"{folder}/later"
    assert fingerprint(path).marks == ()
    (folder / "later").mkdir()
    assert fingerprint(path).marks != ()


def test_a_link_stands_for_its_target(folder):
    (folder / "link").symlink_to(folder / "a.yaml")
    before = fingerprint(f"{folder}/link")
    write(folder)
    assert fingerprint(f"{folder}/link") != before
