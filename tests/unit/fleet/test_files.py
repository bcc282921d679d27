"""Pieces of files: to the byte what one reader of all of it sees."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kyvsim.fleet import FleetError, ReadError
from kyvsim.fleet.files import LocalFiles, found_files, read_piece, read_whole
from kyvsim.fleet.store import ReportStore
from kyvsim.yaml.text import split_chunks

TEXTS = st.lists(
    st.sampled_from(["a", "---", "\n", "\n---\n", "--", "-", " ", "b: 1\n", "\r\n", "--- x\n"]),
    max_size=60,
).map("".join)


def file_of(data):
    folder = tempfile.mkdtemp()
    path = Path(folder, "a.yaml")
    path.write_bytes(data)
    (found,) = LocalFiles.find(str(path))
    return found


@given(TEXTS, st.integers(1, 40))
def test_pieces_are_the_file_cut_before_separators(text, size):
    data = text.encode()
    file = file_of(data)
    bounds = range(0, len(data), size)
    pieces = [read_piece(file, at, min(at + size, len(data))) for at in bounds]
    assert b"".join(pieces) == data
    at = 0
    for bound, piece in zip(bounds, pieces, strict=True):
        if piece and at:
            assert piece.startswith(b"---")
            assert bound <= at < bound + size
        at += len(piece)


@given(TEXTS, st.integers(1, 40))
def test_pieces_have_the_documents_of_the_file(text, size):
    data = text.encode()
    file = file_of(data)
    whole = [one.text for one in split_chunks(text) if not one.bad_separator]
    found = []
    for at in range(0, len(data), size):
        piece = read_piece(file, at, min(at + size, len(data))).decode()
        chunks = [*split_chunks(piece)]
        found += [one.text for one in chunks if not one.bad_separator]
        if any(one.bad_separator for one in chunks):
            break
    assert found == whole


def test_a_long_document_is_read_to_its_end():
    data = b"a: 1\n---\nb: " + b"x" * 400_000 + b"\n---\nc: 1\n"
    file = file_of(data)
    assert read_piece(file, 0, 5) == b"a: 1\n"
    assert read_piece(file, 5, 20) == data[5:-9]
    assert read_piece(file, 20, len(data) - 9) == b""
    assert read_piece(file, len(data) - 9, len(data)) == b"---\nc: 1\n"


def test_a_file_that_grows_or_shrinks_is_not_read():
    file = file_of(b"a: 1\n---\nb: 1\n---\n")
    for other in (b"a: 1\n", b"a: 1\n---\nb: 1\n---\nc: 1\n"):
        Path(file.address).write_bytes(other)
        with pytest.raises(ReadError, match="has changed since the run began"):
            read_whole(file)
    Path(file.address).write_bytes(b"a: 1\n")
    with pytest.raises(ReadError, match="has changed since the run began"):
        read_piece(file, 5, 18)
    Path(file.address).unlink()
    with pytest.raises(ReadError, match="cannot be read: No such file"):
        read_piece(file, 5, 18)


def test_a_file_is_found_once_and_known_by_its_content(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("a: 1\n")
    (before,) = found_files([str(path), str(tmp_path), str(tmp_path / "*.yaml")])
    assert (before.name, before.size) == (str(path), 5)
    path.write_text("a: 2\n")
    (after,) = found_files([str(path)])
    assert after.stamp != before.stamp
    with pytest.raises(FleetError, match="no such file"):
        found_files([str(tmp_path / "b.yaml")])


def test_files_are_written_whole_or_not_at_all(tmp_path):
    place = tmp_path / "a.jsonl"
    LocalFiles.write(str(place), b"one")
    LocalFiles.write(str(place), b"two")
    assert [one.name for one in tmp_path.iterdir()] == ["a.jsonl"]
    assert place.read_bytes() == b"two"
    with pytest.raises(FleetError, match="cannot write to"):
        LocalFiles.write(str(tmp_path / "none/a.jsonl"), b"one")


def test_a_store_removes_what_a_killed_run_was_writing(tmp_path):
    left, kept = tmp_path / "part.jsonl.0123abcd.tmp", tmp_path / "notes.tmp"
    for one in (left, kept):
        one.touch()
    with ReportStore(str(tmp_path), "jsonl").locked():
        assert sorted(one for one in tmp_path.iterdir() if one.suffix == ".tmp") == [kept]
