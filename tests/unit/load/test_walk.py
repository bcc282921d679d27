import os
from pathlib import Path

import pytest

from kyvsim.load.files import read_sources
from kyvsim.load.folders import IgnoreError, Walking, check_patterns, walk
from kyvsim.model.diagnostic import Diagnostic


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("p/a.yaml", "p/old/b.yaml", "p/old/keep.yaml", "p/new/c.yaml", "p/new/old.json"):
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("a: 1\n", encoding="utf-8")
    return tmp_path


def files(path="p", **how):
    return [one for one in walk(path, Walking(**how)) if isinstance(one, str)]


def told(path="p", **how):
    found = [one for one in walk(path, Walking(**how)) if isinstance(one, Diagnostic)]
    return [(one.code, one.location.file, one.message) for one in found]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("patterns", "left"),
    [
        (("old/",), ["p/a.yaml", "p/new/c.yaml", "p/new/old.json"]),
        (("p/old",), ["p/a.yaml", "p/new/c.yaml", "p/new/old.json"]),
        (("/old", "*.json"), ["p/a.yaml", "p/new/c.yaml"]),
        (("*", "!a.yaml"), ["p/a.yaml"]),
        (("/old/*", "!keep.yaml", "new"), ["p/a.yaml", "p/old/keep.yaml"]),
    ],
)
def test_what_a_user_excludes_is_not_read(patterns, left):
    assert files(exclude=patterns) == left


@pytest.mark.usefixtures("folder")
def test_ignore_files_count_below_their_folder_and_deeper_ones_win():
    Path(".kyvsimignore").write_text("# comment\n**/old/*\n*.json\n", encoding="utf-8")
    Path("p/old/.kyvsimignore").write_text("!keep.yaml\n", encoding="utf-8")
    assert files() == ["p/a.yaml", "p/new/c.yaml", "p/old/keep.yaml"]
    assert told() == [
        ("KV028", "p/new/old.json", "ignored because of `.kyvsimignore`"),
        ("KV028", "p/old/b.yaml", "ignored because of `.kyvsimignore`"),
    ]
    assert len(files(ignore_files=False)) == 5


@pytest.mark.usefixtures("folder")
def test_ignore_files_above_count_up_to_the_repository(monkeypatch):
    Path(".kyvsimignore").write_text("*\n", encoding="utf-8")
    Path("p/.git").mkdir()
    assert len(files()) == 5
    assert len(files("p/old")) == 2
    Path("p/.kyvsimignore").write_text("keep.yaml\n", encoding="utf-8")
    assert files("p/old") == ["p/old/b.yaml"]
    Path("p/.git").rmdir()
    assert files("p/old") == []
    monkeypatch.chdir("p/new")
    assert len(files("../old")) == 2


@pytest.mark.usefixtures("folder")
def test_an_ignore_file_that_cannot_be_used_is_an_error():
    Path("p/.kyvsimignore").write_bytes(b"\xff\n")
    assert [(code, file) for code, file, _ in told()] == [("KV047", "p/.kyvsimignore")]
    with pytest.raises(IgnoreError):
        check_patterns(["!"])


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "pattern", ["[b-a]", "x[9-0]", "\\", "[b-a]/**", "[\U0001f600-a]", "!"], ids=ascii
)
def test_a_pattern_that_cannot_be_read_is_an_error_with_its_line(pattern):
    Path("p/.kyvsimignore").write_text(f"# first\nold/\n{pattern}\nnew/\n", encoding="utf-8")
    found = [one for one in walk("p") if isinstance(one, Diagnostic)]
    place = ("p/.kyvsimignore", 3, 1)
    assert [(one.code, tuple(one.location)) for one in found] == [("KV047", place)]
    assert f"`{pattern}`" in found[0].message


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("pattern", ["[b-a]", "\udcff", "a\udc80*"], ids=ascii)
def test_a_pattern_of_the_command_line_that_cannot_be_read_is_an_error(pattern):
    with pytest.raises(IgnoreError, match="is not valid"):
        check_patterns([pattern])


@pytest.mark.parametrize(
    ("pattern", "left"), [("*.json", 2), ("b*", 1), ("*", 0), ("sub/", 1)], ids=ascii
)
def test_names_that_are_not_utf_8_are_matched(tmp_path, monkeypatch, pattern, left):
    monkeypatch.chdir(tmp_path)
    for name in (b"b\xff.yaml", b"sub/\xfe\xff.yaml"):
        os.makedirs(os.path.dirname(b"p/" + name), exist_ok=True)
        with open(b"p/" + name, "w", encoding="utf-8") as stream:
            stream.write("a: 1\n")
    Path("p/.kyvsimignore").write_text(f"{pattern}\n", encoding="utf-8")
    assert len(files()) == left
    Path("p/.kyvsimignore").unlink()
    assert len(files(exclude=(pattern,))) == left


@pytest.mark.usefixtures("folder")
def test_templates_of_a_chart_are_told_as_such():
    for name in ("p/chart/Chart.yaml", "p/chart/templates/a.yaml", "p/chart/charts/x/a.yaml"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text("a: 1\n", encoding="utf-8")
    ((code, place, text),) = told()
    assert (code, place) == ("KV024", "p/chart/templates")
    assert "`helm template p/chart`" in text
    assert not [one for one in files() if "templates" in one or "charts" in one]
    assert told(exclude=("chart/templates",))[0][0] == "KV028"


@pytest.mark.usefixtures("folder")
def test_where_there_is_too_much_nothing_of_it_is_read():
    wanted = "more than 6 files and folders: name less, or allow more (--max-files N)"
    assert len(files(most=8)) == len(files(most=0)) == 5
    assert (files(most=6), told(most=6)) == ([], [("KV065", "p", wanted)])


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("path", ["p", "p/**/*.yaml"])
def test_where_there_is_too_much_that_is_all_that_is_told(path):
    (found,) = read_sources((path,), walking=Walking(most=1))
    assert (found.code, found.location.file) == ("KV065", path)


@pytest.mark.usefixtures("folder")
def test_links_that_lead_round_in_a_circle_are_told_as_files():
    for name, target in (("loop.yaml", "loop.yaml"), ("there", "back"), ("back", "there")):
        Path("p", name).symlink_to(target)
    assert files()[:2] == ["p/a.yaml", "p/loop.yaml"]
    assert len(files()) == 6
    for path in ("p", "p/*.yaml"):
        remarks = [one for one in read_sources((path,)) if isinstance(one, Diagnostic)]
        assert [(one.location.file, one.message) for one in remarks] == [
            ("p/loop.yaml", "cannot be read: too many levels of symbolic links")
        ]


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    with (tmp_path / "large.yaml").open("wb") as file:
        file.truncate(600 << 20)
    (found,) = read_sources((str(tmp_path / "large.yaml"),))
    assert (found.code, found.message) == ("KV065", "larger than 512 MiB: split it")
