"""Which files a chainsaw test may read: paths are resolved before they are compared."""

import os

import pytest

from kyvsim.load.chainsaw_files import ReachableFiles, project_of
from kyvsim.model.chainsaw import UnreachableError

OBJECT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A git work tree with a test in `t`, beside secrets that no test may read."""
    (tmp_path / "secret.yaml").write_text(OBJECT % "secret")
    top = tmp_path / "project"
    for name in ("t/sub", ".git", "policies"):
        (top / name).mkdir(parents=True)
    for name in ("t/a.yaml", "t/b.yaml", "t/sub/c.yaml", "policies/p.yaml"):
        (top / name).write_text(OBJECT % name[-6:-5])
    (top / "t/text.txt").write_text("text\n")
    (top / "t/[odd].yaml").write_text(OBJECT % "odd")
    (top / "t/bytes").write_bytes(b"\xff\xfe\x00")
    (top / "t/inner").symlink_to("sub")
    (top / "t/out").symlink_to(tmp_path)
    (top / "t/out.yaml").symlink_to(tmp_path / "secret.yaml")
    (top / "t/loop").symlink_to("loop")
    (top / "t/proc").symlink_to("/proc/self")
    os.mkfifo(top / "t/pipe")
    monkeypatch.chdir(top)
    return top


@pytest.fixture
def files(project):
    """The files of the test in `t`."""
    return ReachableFiles("t", project_of("t", str(project)))


OUTSIDE = [
    "../../secret.yaml",
    "sub/../../../secret.yaml",
    "out/secret.yaml",
    "out.yaml",
    "inner/../../../secret.yaml",
    "out/project/../secret.yaml",
    "/etc/passwd",
    "/proc/self/environ",
    "proc/environ",
    "/dev/zero",
    "../" * 30 + "etc/passwd",
    "a\0b",
]


@pytest.mark.parametrize("name", [*OUTSIDE, "../policies/p.yaml", "loop", "pipe", "bytes", "sub"])
def test_scripts_read_texts_of_the_folder_of_the_test_only(files, name):
    if name == "loop":
        assert files.text(name) is None
        return
    with pytest.raises(UnreachableError):
        files.text(name)


@pytest.mark.parametrize(
    "name", ["text.txt", "./text.txt", "sub/../text.txt", "inner/../text.txt", "../t/text.txt"]
)
def test_spellings_of_a_path_are_one_file(files, name):
    assert files.text(name) == "text\n"
    assert files.key(name) == files.key("text.txt")


def test_an_absolute_path_may_lead_into_the_folder(files, project):
    assert files.text(str(project / "t/text.txt")) == "text\n"
    assert files.text("missing") is None


@pytest.mark.parametrize("name", OUTSIDE[:6] + OUTSIDE[8:9] + OUTSIDE[10:])
def test_operations_read_files_of_the_project_only(files, name):
    with pytest.raises(UnreachableError):
        files.of_operation(name)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("a.yaml", ["a"]),
        ("/a.yaml", ["a"]),
        ("../policies/p.yaml", ["p"]),
        ("[ab].yaml", ["a", "b"]),
        ("[odd].yaml", ["odd"]),
        ("s*/*.yaml", ["c"]),
        ("inner/*", ["c"]),
    ],
)
def test_operations_name_files_and_patterns(files, name, found):
    objects, why = files.of_operation(name)
    assert ([one["metadata"]["name"] for one in objects], why) == (found, "")


@pytest.mark.parametrize("pattern", ["out/*.yaml", "*/secret.yaml", "../../*.yaml", "o*t.yaml"])
def test_no_pattern_looks_outside(files, pattern):
    with pytest.raises(UnreachableError):
        files.of_operation(pattern)
    with pytest.raises(UnreachableError):
        files.matching(pattern)


@pytest.mark.parametrize("name", ["sub", "none-*.yaml", "missing.yaml", "pipe"])
def test_what_operations_cannot_read_has_a_reason(files, name):
    objects, why = files.of_operation(name)
    assert (objects, bool(why)) == ((), True)


def test_kubectl_reads_the_files_of_a_folder(files):
    assert [one["metadata"]["name"] for one in files.of_script("sub")[0]] == ["c"]
    assert files.of_script("missing.yaml") == ((), 'the path "missing.yaml" does not exist')


def test_kubectl_follows_no_link_of_a_folder_outside(files, project):
    (project / "t/sub/link.yaml").symlink_to(project.parent / "secret.yaml")
    with pytest.raises(UnreachableError):
        files.of_script("sub/")


def test_nothing_is_fetched(files):
    for read in (files.of_operation, files.of_script):
        with pytest.raises(UnreachableError, match="URLs are not downloaded"):
            read("https://example.com/a.yaml")


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("*.txt", ("text.txt",)),
        ("./*.txt", ("./text.txt",)),
        ("[ab].yaml", ("a.yaml", "b.yaml")),
        ("sub/*", ("sub/c.yaml",)),
        ("none*", ()),
    ],
)
def test_patterns_of_scripts_match_names(files, pattern, names):
    assert files.matching(pattern) == names


def test_large_files_are_not_read(files, project):
    with (project / "t/large").open("wb") as large:
        large.truncate(9 << 20)
    with pytest.raises(UnreachableError, match="larger than 8 MiB"):
        files.text("large")


def test_without_git_the_project_is_the_folder_that_was_given(tmp_path):
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    assert project_of(str(inner), str(tmp_path)) == str(tmp_path)
    assert project_of(str(inner), str(inner)) == str(inner)
    (tmp_path / "a" / ".git").mkdir()
    assert project_of(str(inner), str(tmp_path)) == str(tmp_path / "a")


def test_what_a_test_names_is_remembered_also_where_it_is_refused(files):
    with pytest.raises(UnreachableError):
        files.text("../policies/p.yaml")
    files.of_operation("a.yaml")
    assert files.used == {"policies/p.yaml", "t/a.yaml"}


def test_the_last_of_duplicate_keys_counts_as_for_chainsaw_and_kubectl(files, project):
    twice = OBJECT % "a" + OBJECT % "b"
    (project / "t/twice.yaml").write_text(twice)
    for objects, why in (
        files.of_operation("twice.yaml"),
        files.of_script("twice.yaml"),
        files.parsed(twice),
    ):
        assert (why, [one["metadata"]["name"] for one in objects]) == ("", ["b"])
