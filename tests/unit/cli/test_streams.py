import io
import sys

import click
import pytest

from kyvsim.cli import streams
from kyvsim.load import files
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.source import Location


@pytest.mark.parametrize(
    ("terminal", "environment", "color", "shown"),
    [
        (True, {}, None, True),
        (False, {}, None, False),
        (True, {"TERM": "dumb"}, None, False),
        (False, {"FORCE_COLOR": "1"}, None, True),
        (False, {"FORCE_COLOR": "0"}, None, False),
        (False, {"FORCE_COLOR": ""}, None, False),
        (False, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, None, False),
        (True, {"FORCE_COLOR": "1"}, False, False),
        (False, {"NO_COLOR": "1"}, True, True),
    ],
)
def test_when_colours_show(monkeypatch, terminal, environment, color, shown):
    for name in ("FORCE_COLOR", "NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(streams, "is_terminal", lambda _stream: terminal)
    context = click.Context(click.Command("x"))
    context.color = color
    with context:
        assert streams.shows_colours() is shown


@pytest.mark.parametrize(
    ("terminal", "environment", "shown"),
    [
        (True, {}, False),
        (True, {"TERM_PROGRAM": "WezTerm"}, True),
        (True, {"VTE_VERSION": "7200"}, True),
        (False, {"VTE_VERSION": "7200", "FORCE_COLOR": "1"}, False),
        (True, {"VTE_VERSION": "7200", "NO_COLOR": "1"}, False),
        (True, {"VTE_VERSION": "7200", "FORCE_HYPERLINK": "0"}, False),
        (False, {"FORCE_COLOR": "1", "FORCE_HYPERLINK": "1"}, True),
    ],
)
def test_when_positions_are_links(monkeypatch, terminal, environment, shown):
    known = ("TERM_PROGRAM", "VTE_VERSION", "WT_SESSION", "KONSOLE_VERSION", "KITTY_WINDOW_ID")
    for name in (*known, "FORCE_HYPERLINK", "FORCE_COLOR", "NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(streams, "is_terminal", lambda _stream: terminal)
    assert streams.shows_links(sys.stdout) is shown


@pytest.mark.parametrize(
    ("options", "coloured"),
    [
        ((), False),
        (("--color", "auto"), False),
        (("--color", "always"), True),
        (("--color", "never"), False),
        (("--color", "always", "--remove-color"), False),
        (("--color=always",), True),
    ],
)
def test_an_option_decides_on_colours(monkeypatch, kyvsim, options, coloured):
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    _, out, _ = kyvsim(
        "apply",
        "policies/final-rfc-job-generator",
        "-r",
        "fixtures/final-rfc-job-generator",
        *options,
    )
    assert ("\x1b[" in out) is coloured


def test_of_many_diagnostics_that_are_alike_the_first_are_printed(capsys):
    def about(number, code="KV012"):
        place = Location(f"f{number}.yaml", 1, 1)
        return Diagnostic(code, Severity.ERROR, f"unknown field `x{number}`", place)

    streams.print_diagnostics([*map(about, range(5000)), about(1, "KV999")])
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(":")[0] for line in lines[:11]] == [
        *(f"f{number}.yaml" for number in range(10)),
        "f1.yaml",
    ]
    assert lines[11:] == [
        "… 4990 more errors KV012 like those above (--output-format json lists all)"
    ]


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
