import stat
import sys
from pathlib import Path

import pytest

from kyvsim.api.suite_files import FileText
from kyvsim.cli.golden_files import write_files
from kyvsim.cli.main import run
from kyvsim.cli.streams import OutputError

FIXTURES = Path(__file__).parents[3] / "fixtures/tests"


@pytest.fixture
def inside(tmp_path, monkeypatch):
    folder = tmp_path / "suite"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.mark.parametrize("path", ["suite/../x.yaml", "../x.yaml", "/x.yaml", "suitex/x.yaml"])
def test_a_path_that_leaves_its_folder_is_refused(inside, path):
    with pytest.raises(OutputError, match="is outside suite"):
        write_files([FileText(path, "a", "suite")])
    assert list(inside.parent.iterdir()) == [inside]


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_links_are_not_followed(inside, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.yaml").write_text("safe")
    (inside / "file.yaml").symlink_to(outside / "x.yaml")
    (inside / "folder").symlink_to(outside)
    for path in ("suite/file.yaml", "suite/folder/x.yaml"):
        with pytest.raises(OutputError):
            write_files([FileText(path, "lost", "suite")])
    assert (outside / "x.yaml").read_text() == "safe"
    assert (inside / "file.yaml").is_symlink()


def test_a_file_is_replaced_as_a_whole_and_keeps_its_mode(inside):
    place = inside / "x.yaml"
    place.write_text("old")
    place.chmod(0o640)
    write_files([FileText("suite/x.yaml", "new\r\n", "suite")])
    assert place.read_bytes() == b"new\r\n"
    assert stat.S_IMODE(place.stat().st_mode) == 0o640
    assert list(inside.iterdir()) == [place]


def test_a_folder_that_is_not_there_is_told(inside):
    with pytest.raises(OutputError, match="cannot write to"):
        write_files([FileText("suite/no/x.yaml", "a", "suite")])
    assert list(inside.iterdir()) == []


def copied(tmp_path, *names):
    for name in names:
        folder = tmp_path / name
        folder.mkdir()
        for file in (FIXTURES / name).iterdir():
            (folder / file.name).write_bytes(file.read_bytes())


@pytest.mark.usefixtures("older_release")
def test_a_second_run_after_an_update_passes(tmp_path, monkeypatch, capfdbinary):
    monkeypatch.chdir(tmp_path)
    copied(tmp_path, "mutate", "generate", "existing")
    (tmp_path / "generate/token.yaml").unlink()
    for name in ("mutate/patched.yaml", "generate/deny-all.yaml", "existing/patched.yaml"):
        text = (tmp_path / name).read_text()
        for old, new in (("Always", "Never"), ("Ingress", "Egress"), ("blue", "red")):
            text = text.replace(old, new)
        (tmp_path / name).write_text(text)
    assert run(["test", ".", "--update", "-o", "json"]) == 1
    told = capfdbinary.readouterr().err.decode()
    assert "-     imagePullPolicy: Never" in told
    assert told.count("updated ") == 4
    assert run(["test", ".", "--update"]) == 0
    assert capfdbinary.readouterr().err == b""
    assert run(["test", ".", "--lenient"]) == 0


def test_without_the_option_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    copied(tmp_path, "mutate")
    wrong = (tmp_path / "mutate/patched.yaml").read_text().replace("Always", "Never")
    (tmp_path / "mutate/patched.yaml").write_text(wrong)
    assert run(["test", "mutate"]) == 1
    assert (tmp_path / "mutate/patched.yaml").read_text() == wrong
