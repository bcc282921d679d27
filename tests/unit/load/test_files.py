import os

import pytest

from kyvsim.load.files import Source, read_sources


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
        ("*.tf", "KV001", "the pattern finds no file"),
        ("*.txt", "KV002", "no YAML or JSON file among what the pattern finds"),
        ("empty", "KV002", "no YAML or JSON file in this folder"),
        ("pipe", "KV004", "neither a file nor a folder: devices, pipes and sockets are not read"),
        ("x\0", "KV003", "cannot be read: a path cannot have a null character"),
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
        (b"a: 1\nb: \xff\n", "the text is not UTF-8: byte 0xff", 2, 4),
        (b"\xef\xbb\xbfa: \xc0\xaf", "the text is not UTF-8: byte 0xc0", 1, 4),
        ("a: 1".encode("utf-16"), "the text is UTF-16: only UTF-8 is read", 0, 0),
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
    assert (
        problem("https://host.invalid/x.yaml").message == "no such file: only local files are read"
    )


def test_a_text_at_hand_stands_for_itself(tmp_path):
    (tmp_path / "a.yaml").write_text("a: 1\n")
    given = Source("<policy 1>", "b: 2\n")
    found = list(read_sources([given, str(tmp_path / "a.yaml")]))
    assert found == [given, Source(str(tmp_path / "a.yaml"), "a: 1\n")]
