import os
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from kyvsim.cli import output_files
from kyvsim.cli.output_files import write_reports
from kyvsim.cli.streams import OutputError
from kyvsim.report.formats import TEXT


def test_a_report_takes_the_place_of_a_file(tmp_path):
    file = tmp_path / "report.txt"
    file.write_text("what was there before")
    write_reports([(str(file), TEXT, iter(["a", "b"]))])
    assert file.read_text() == "ab"
    assert list(tmp_path.iterdir()) == [file]


def test_a_link_stays_a_link(tmp_path):
    file, link = tmp_path / "report.txt", tmp_path / "latest.txt"
    link.symlink_to(file)
    write_reports([(str(link), TEXT, iter(["a"]))])
    write_reports([(str(link), TEXT, iter(["b"]))])
    assert link.is_symlink()
    assert file.read_text() == "b"
    assert sorted(tmp_path.iterdir()) == [link, file]


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    end = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_reports([(str(pipe), TEXT, iter(["a", "b"]))])
        assert os.read(end, 9) == b"ab"
    finally:
        os.close(end)
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


def test_a_pipe_that_nobody_reads_is_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(output_files, "_PATIENCE", 0.1)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OutputError, match="pipe: no process reads from this pipe"):
        write_reports([(str(pipe), TEXT, iter(["a"]))])


def test_a_pipe_may_be_read_a_little_later(tmp_path, monkeypatch):
    monkeypatch.setattr(output_files, "_PATIENCE", float("inf"))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(write_reports, [(str(pipe), TEXT, iter(["a" * 100_000, "b"]))])
        time.sleep(0.1)
        assert pipe.read_text() == "a" * 100_000 + "b"
        written.result()


def test_an_open_stream_is_written_to():
    reads, writes = os.pipe()
    try:
        write_reports([(f"/dev/fd/{writes}", TEXT, iter(["a", "b"]))])
        assert os.read(reads, 9) == b"ab"
    finally:
        os.close(reads)
        os.close(writes)


@pytest.mark.parametrize("name", ["", "no/where.txt"])
def test_a_place_that_takes_no_report_is_told(tmp_path, name):
    with pytest.raises(OutputError, match="cannot write to"):
        write_reports([(str(tmp_path / name), TEXT, iter(["a"]))])
    assert list(tmp_path.iterdir()) == []


def test_a_report_that_fails_half_way_leaves_the_file_as_it_was(tmp_path):
    def pieces():
        yield "a"
        raise OSError(28, "No space left on device")

    file = tmp_path / "report.txt"
    file.write_text("before")
    with pytest.raises(OutputError, match="No space left"):
        write_reports([(str(file), TEXT, pieces())])
    assert file.read_text() == "before"
    assert list(tmp_path.iterdir()) == [file]


def test_all_files_are_written_or_none(tmp_path):
    first = tmp_path / "first.txt"
    first.write_text("before")
    with pytest.raises(OutputError, match=r"cannot write to .*no/where"):
        write_reports(
            [(str(first), TEXT, iter(["a"])), (str(tmp_path / "no/where"), TEXT, iter(["b"]))]
        )
    assert first.read_text() == "before"
    assert list(tmp_path.iterdir()) == [first]


def test_a_file_that_may_not_be_written_is_told(tmp_path, monkeypatch):
    file = tmp_path / "report.txt"
    file.write_text("before")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(OutputError, match="Permission denied"):
        write_reports([(str(file), TEXT, iter(["a"]))])
    assert file.read_text() == "before"
