"""Files, folders and their fingerprints."""

import os
from pathlib import Path

import pytest

from kyvsim.load.files import Source, read_sources
from kyvsim.load.fingerprints import fingerprint
from kyvsim.load.folders import IgnoreError, Walking, check_patterns, walk
from kyvsim.model.diagnostic import Diagnostic


@pytest.fixture
def folder(tmp_path):
    for name in (
        "b.yaml",
        "a.yml",
        "c.json",
        "notes.txt",
        ".hidden.yaml",
        "sub/d.yaml",
        ".git/e.yaml",
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"from: {name}\n", encoding="utf-8")
    return tmp_path


def names(found, folder):
    return [
        source.name.removeprefix(f"{folder}/") for source in found if isinstance(source, Source)
    ]


def problem(*paths, stdin=None):
    (found,) = read_sources(paths, stdin)
    return found


def test_files_come_as_they_are_given(folder):
    found = list(read_sources([f"{folder}/notes.txt", f"{folder}/b.yaml"]))
    assert found == [
        Source(f"{folder}/notes.txt", "from: notes.txt\n"),
        Source(f"{folder}/b.yaml", "from: b.yaml\n"),
    ]


def test_folders_are_read_in_order_without_hidden_files(folder):
    assert names(read_sources([str(folder)]), folder) == ["a.yml", "b.yaml", "c.json", "sub/d.yaml"]


def test_globs(folder):
    assert names(read_sources([f"{folder}/*.y*ml"]), folder) == ["a.yml", "b.yaml"]
    assert names(read_sources([f"{folder}/**/d.yaml"]), folder) == ["sub/d.yaml"]
    assert names(read_sources([f"{folder}/*"]), folder) == [
        "a.yml",
        "b.yaml",
        "c.json",
        "sub/d.yaml",
    ]


def test_a_name_with_brackets_is_a_name_first(folder):
    (folder / "x[1].yaml").write_text("a: 1\n", encoding="utf-8")
    assert names(read_sources([f"{folder}/x[1].yaml"]), folder) == ["x[1].yaml"]


def test_links_to_folders_are_followed_and_each_folder_is_read_once(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    (other / "f.yaml").write_text("a: 1\n", encoding="utf-8")
    (other / "back").symlink_to(folder)
    (folder / "sub" / "link").symlink_to(other)
    (folder / "sub" / "loop").symlink_to(folder)
    assert names(read_sources([f"{folder}/sub"]), folder) == [
        "sub/d.yaml",
        "sub/link/f.yaml",
        "sub/loop/a.yml",
        "sub/loop/b.yaml",
        "sub/loop/c.json",
    ]


def test_what_a_pattern_finds_below_a_folder_it_finds_is_read_once(folder):
    assert names(read_sources([f"{folder}/**"]), folder) == [
        "a.yml",
        "b.yaml",
        "c.json",
        "sub/d.yaml",
    ]


def test_suffixes_count_in_any_case(folder):
    (folder / "E.YAML").write_text("a: 1\n", encoding="utf-8")
    assert "E.YAML" in names(read_sources([str(folder)]), folder)
    assert "E.YAML" in names(read_sources([f"{folder}/E*"]), folder)


def test_a_folder_that_a_pattern_cannot_look_into_is_told(folder, monkeypatch):
    look = os.scandir

    def refuse(path):
        if str(path).endswith("sub"):
            raise PermissionError(13, "Permission denied", path)
        return look(path)

    monkeypatch.setattr(os, "scandir", refuse)
    for pattern in (f"{folder}/**/*.yaml", f"{folder}/*/*.yaml"):
        told = [one for one in read_sources([pattern]) if not isinstance(one, Source)]
        assert [(one.code, one.location.file) for one in told] == [("KV003", f"{folder}/sub")]


def test_hidden_files_and_folders_are_told(folder):
    (folder / ".empty").mkdir()
    (folder / ".dark" / "in").mkdir(parents=True)
    (folder / ".dark" / "in" / "x.yaml").write_text("a: 1\n", encoding="utf-8")
    told = [one for one in read_sources([str(folder)]) if not isinstance(one, Source)]
    assert [
        (one.code, one.severity, one.location.file.removeprefix(f"{folder}/"), one.message)
        for one in told
    ] == [
        ("KV028", "info", ".hidden.yaml", "a hidden file"),
        ("KV028", "info", ".dark", "a hidden folder"),
    ]


@pytest.mark.parametrize("data", [b"\x1f\x8b\x08\x00", b"PK\x03\x04"])
def test_compressed_files_are_named(folder, data):
    (folder / "chart.tgz").write_bytes(data)
    assert "unpack it" in problem(f"{folder}/chart.tgz").message
    assert "unpack it" in problem("-", stdin=data).message


def test_standard_input():
    assert list(read_sources(["-"], b"a: 1\n")) == [Source("<stdin>", "a: 1\n")]


def test_a_byte_order_mark_is_dropped():
    assert problem("-", stdin=b"\xef\xbb\xbfa: 1") == Source("<stdin>", "a: 1")


@pytest.mark.parametrize(
    ("name", "code", "text"),
    [
        ("bb.yaml", "KV001", "no such file or folder: did you mean `{}/b.yaml`?"),
        ("notes.yaml", "KV001", "no such file or folder: did you mean `{}/notes.txt`?"),
        ("zz.yaml", "KV001", "no such file or folder"),
        ("zzz", "KV001", "no such file or folder"),
        ("no/where", "KV001", "no such file or folder"),
        ("b.yaml/x", "KV001", "no such file or folder"),
        (
            "link.yaml",
            "KV001",
            "a symbolic link to `nowhere.yaml`, which does not exist",
        ),
        ("*.tf", "KV001", "no file matches the pattern"),
        ("*.txt", "KV002", "no YAML or JSON file matches the pattern"),
        ("empty", "KV002", "no YAML or JSON file in this folder"),
        ("pipe", "KV004", "neither a file nor a folder: devices, pipes and sockets are not read"),
        ("x\0", "KV003", "cannot be read: a path cannot contain a null character"),
    ],
)
def test_what_cannot_be_read(folder, name, code, text):
    (folder / "empty").mkdir()
    os.mkfifo(folder / "pipe")
    (folder / "link.yaml").symlink_to("nowhere.yaml")
    path = f"{folder}/{name}"
    found = problem(path)
    assert (found.code, found.message, found.location.file) == (code, text.format(folder), path)


def test_paths_may_be_path_objects(folder):
    found = read_sources([folder / "b.yaml", folder / "sub"])
    assert names(found, folder) == ["b.yaml", "sub/d.yaml"]
    assert problem(folder / "absent.yaml").location.file == f"{folder}/absent.yaml"


def test_a_file_without_permission(folder, monkeypatch):
    def refuse(path, *_, **_options):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("os.open", refuse)
    found = problem(f"{folder}/b.yaml")
    assert (found.code, found.message) == ("KV003", "cannot be read: permission denied")


@pytest.mark.parametrize(
    ("data", "text", "line", "column"),
    [
        (b"a: 1\nb: \xff\n", "the file is not UTF-8: byte 0xff", 2, 4),
        (b"\xef\xbb\xbfa: \xc0\xaf", "the file is not UTF-8: byte 0xc0", 1, 4),
        ("a: 1".encode("utf-16"), "the file is UTF-16: only UTF-8 is supported", 0, 0),
    ],
)
def test_other_encodings_are_named(data, text, line, column):
    found = problem("-", stdin=data)
    assert (found.code, found.message) == ("KV005", text)
    assert (found.location.line, found.location.column) == (line, column)


def test_a_missing_path_does_not_stop_the_rest(folder):
    found = list(read_sources([f"{folder}/zzz", f"{folder}/b.yaml"]))
    assert [isinstance(one, Source) for one in found] == [False, True]


def test_addresses_are_not_fetched():
    assert problem("https://host.invalid/x.yaml").message == "no such file: URLs are not supported"


def test_a_text_at_hand_stands_for_itself(tmp_path):
    (tmp_path / "a.yaml").write_text("a: 1\n")
    given = Source("<policy 1>", "b: 2\n")
    found = list(read_sources([given, str(tmp_path / "a.yaml")]))
    assert found == [given, Source(str(tmp_path / "a.yaml"), "a: 1\n")]


@pytest.fixture
def walk_folder(tmp_path, monkeypatch):
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


@pytest.mark.usefixtures("walk_folder")
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


@pytest.mark.usefixtures("walk_folder")
def test_ignore_files_count_below_their_folder_and_deeper_ones_win():
    Path(".kyvsimignore").write_text("# comment\n**/old/*\n*.json\n", encoding="utf-8")
    Path("p/old/.kyvsimignore").write_text("!keep.yaml\n", encoding="utf-8")
    assert files() == ["p/a.yaml", "p/new/c.yaml", "p/old/keep.yaml"]
    assert told() == [
        ("KV028", "p/new/old.json", "ignored by `.kyvsimignore`"),
        ("KV028", "p/old/b.yaml", "ignored by `.kyvsimignore`"),
    ]
    assert len(files(ignore_files=False)) == 5


@pytest.mark.usefixtures("walk_folder")
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


@pytest.mark.usefixtures("walk_folder")
def test_an_ignore_file_that_cannot_be_used_is_an_error():
    Path("p/.kyvsimignore").write_bytes(b"\xff\n")
    assert [(code, file) for code, file, _ in told()] == [("KV047", "p/.kyvsimignore")]
    with pytest.raises(IgnoreError):
        check_patterns(["!"])


@pytest.mark.usefixtures("walk_folder")
@pytest.mark.parametrize(
    "pattern", ["[b-a]", "x[9-0]", "\\", "[b-a]/**", "[\U0001f600-a]", "!"], ids=ascii
)
def test_a_pattern_that_cannot_be_read_is_an_error_with_its_line(pattern):
    Path("p/.kyvsimignore").write_text(f"# first\nold/\n{pattern}\nnew/\n", encoding="utf-8")
    found = [one for one in walk("p") if isinstance(one, Diagnostic)]
    place = ("p/.kyvsimignore", 3, 1)
    assert [(one.code, tuple(one.location)) for one in found] == [("KV047", place)]
    assert f"`{pattern}`" in found[0].message


@pytest.mark.usefixtures("walk_folder")
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


@pytest.mark.usefixtures("walk_folder")
def test_templates_of_a_chart_are_told_as_such():
    for name in ("p/chart/Chart.yaml", "p/chart/templates/a.yaml", "p/chart/charts/x/a.yaml"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text("a: 1\n", encoding="utf-8")
    ((code, place, text),) = told()
    assert (code, place) == ("KV024", "p/chart/templates")
    assert "`helm template p/chart`" in text
    assert not [one for one in files() if "templates" in one or "charts" in one]
    assert told(exclude=("chart/templates",))[0][0] == "KV028"


@pytest.mark.usefixtures("walk_folder")
def test_where_there_is_too_much_nothing_of_it_is_read():
    wanted = "more than 6 files and folders: pass fewer, or raise the limit (--max-files N)"
    assert len(files(most=8)) == len(files(most=0)) == 5
    assert (files(most=6), told(most=6)) == ([], [("KV065", "p", wanted)])


@pytest.mark.usefixtures("walk_folder")
@pytest.mark.parametrize("path", ["p", "p/**/*.yaml"])
def test_where_there_is_too_much_that_is_all_that_is_told(path):
    (found,) = read_sources((path,), walking=Walking(most=1))
    assert (found.code, found.location.file) == ("KV065", path)


@pytest.mark.usefixtures("walk_folder")
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


@pytest.fixture
def stamps_folder(tmp_path):
    # Alone in its parent, which a pattern walks: other tests have folders beside tmp_path.
    own = tmp_path / "own"
    (own / "deep").mkdir(parents=True)
    (own / "a.yaml").write_text("a: 1\n")
    (own / "deep/b.json").write_text("{}")
    return own


def write(stamps_folder):
    (stamps_folder / "a.yaml").write_text("a: 1\nb: 2\n")


def rename_over(stamps_folder):
    """Save as editors do: same size, same time, another file."""
    before = (stamps_folder / "a.yaml").stat()
    (stamps_folder / "new").write_text("a: 2\n")
    os.utime(stamps_folder / "new", ns=(before.st_atime_ns, before.st_mtime_ns))
    (stamps_folder / "new").replace(stamps_folder / "a.yaml")


def touch(stamps_folder):
    os.utime(stamps_folder / "a.yaml", ns=(1, 1))


def remove(stamps_folder):
    (stamps_folder / "a.yaml").unlink()


def lock(stamps_folder):
    (stamps_folder / "a.yaml").chmod(0)


def add(stamps_folder):
    (stamps_folder / "deep/c.yaml").write_text("c: 1\n")


def write_deep(stamps_folder):
    (stamps_folder / "deep/b.json").write_text("{} ")


@pytest.mark.parametrize("change", [write, rename_over, touch, remove, lock])
@pytest.mark.parametrize("path", ["a.yaml", ".", "*.yaml"])
def test_a_changed_file_changes_every_stamp_that_holds_it(stamps_folder, path, change):
    before = fingerprint(f"{stamps_folder}/{path}")
    assert fingerprint(f"{stamps_folder}/{path}") == before
    change(stamps_folder)
    assert fingerprint(f"{stamps_folder}/{path}") != before


@pytest.mark.parametrize("change", [add, write_deep])
@pytest.mark.parametrize("path", ["deep", ".", "d*", "**/*"])
def test_files_in_folders_count(stamps_folder, path, change):
    before = fingerprint(f"{stamps_folder}/{path}")
    change(stamps_folder)
    assert fingerprint(f"{stamps_folder}/{path}") != before


@pytest.mark.parametrize("name", [".a.yaml.swp", "notes.txt", ".hidden/c.yaml"])
def test_files_that_are_not_read_do_not_count(stamps_folder, name):
    before = fingerprint(str(stamps_folder))
    (stamps_folder / name).parent.mkdir(exist_ok=True)
    (stamps_folder / name).write_text("x")
    assert fingerprint(str(stamps_folder)) == before


def ignore(stamps_folder):
    (stamps_folder / ".kyvsimignore").write_text("nothing\n")


def ignore_deep(stamps_folder):
    (stamps_folder / "deep/.kyvsimignore").write_text("nothing\n")


@pytest.mark.parametrize("change", [ignore, ignore_deep])
@pytest.mark.parametrize("path", [".", "../*"])
def test_ignore_files_count_where_they_are_read(stamps_folder, path, change):
    """What they change need not be which files there are: a pattern may be mended."""
    careless = Walking(ignore_files=False)
    before, without = (
        fingerprint(f"{stamps_folder}/{path}"),
        fingerprint(f"{stamps_folder}/{path}", careless),
    )
    change(stamps_folder)
    assert fingerprint(f"{stamps_folder}/{path}") != before
    assert fingerprint(f"{stamps_folder}/{path}", careless) == without


def test_ignore_files_above_a_folder_count(stamps_folder, monkeypatch):
    monkeypatch.chdir(stamps_folder)
    before = fingerprint("deep")
    ignore(stamps_folder)
    assert fingerprint("deep") != before


def test_files_that_an_option_leaves_aside_do_not_count(stamps_folder):
    walking = Walking(exclude=("deep",))
    before = fingerprint(str(stamps_folder), walking)
    write_deep(stamps_folder)
    assert fingerprint(str(stamps_folder), walking) == before


def test_ignored_files_count_where_ignore_files_do_not(stamps_folder):
    (stamps_folder / ".kyvsimignore").write_text("deep\n")
    before = fingerprint(str(stamps_folder), Walking(ignore_files=False))
    write_deep(stamps_folder)
    assert fingerprint(str(stamps_folder), Walking(ignore_files=False)) != before


def test_what_is_missing_has_no_marks_until_it_is_there(stamps_folder):
    path = f"{stamps_folder}/later"
    assert fingerprint(path).marks == ()
    (stamps_folder / "later").mkdir()
    assert fingerprint(path).marks != ()


def test_a_link_stands_for_its_target(stamps_folder):
    (stamps_folder / "link").symlink_to(stamps_folder / "a.yaml")
    before = fingerprint(f"{stamps_folder}/link")
    write(stamps_folder)
    assert fingerprint(f"{stamps_folder}/link") != before
