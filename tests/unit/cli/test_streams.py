import io
import sys

import click
import pytest

from kyvsim.cli import streams
from kyvsim.load import files


@pytest.mark.parametrize(
    ("terminal", "environment", "unwanted", "shown"),
    [
        (True, {}, False, True),
        (False, {}, False, False),
        (True, {"TERM": "dumb"}, False, False),
        (False, {"FORCE_COLOR": "1"}, False, True),
        (False, {"FORCE_COLOR": "0"}, False, False),
        (False, {"FORCE_COLOR": ""}, False, False),
        (False, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
        (True, {"FORCE_COLOR": "1"}, True, False),
    ],
)
def test_when_colours_show(monkeypatch, terminal, environment, unwanted, shown):
    for name in ("FORCE_COLOR", "NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(streams, "is_terminal", lambda _stream: terminal)
    assert streams.shows_colours(unwanted=unwanted) is shown


@pytest.fixture
def said_by_stdin(monkeypatch):
    """Return what reads bytes from standard input, of which ten may come."""
    monkeypatch.setattr(streams, "_PIECE", 4)
    monkeypatch.setattr(files, "LARGEST", 10)

    def read(data):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        return streams.read_stdin()

    return read


@pytest.mark.parametrize("size", [0, 3, 4, 5, 10])
def test_all_of_standard_input_is_read(said_by_stdin, size):
    assert said_by_stdin(b"x" * size) == b"x" * size


@pytest.mark.parametrize("size", [11, 12, 13, 1000])
def test_standard_input_is_not_read_without_end(said_by_stdin, size):
    with pytest.raises(click.ClickException, match="standard input is larger than 512 MiB"):
        said_by_stdin(b"x" * size)
