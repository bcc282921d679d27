"""The last lines of a run: one line in a pipe, wrapped and with the time on a terminal."""

import pytest

from kyvsim.cli import streams
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.result import Fact, RunEnding
from kyvsim.model.source import Location
from kyvsim.report.style import RenderOptions

ENDING = RunEnding(
    (
        Fact("passed", 3, "3 results passed"),
        Fact("resources", 12, "12 resources (1 unmatched)"),
        Fact("warnings", 1, "1 warning of a folder"),
    )
)
LINE = (
    "PASSED: 3 results passed · 12 resources (1 unmatched) · 1 warning of a folder ·"
    " exit status 0\n"
)
REMARK = Diagnostic(
    "KV012", Severity.ERROR, "a long story " * 9, Location("p.yaml", 1, 2), ("  excerpt", "   ^")
)


@pytest.fixture
def terminal(monkeypatch):
    """A terminal of 60 columns, as it seems."""
    monkeypatch.setattr(streams, "is_terminal", lambda _: True)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(streams, "shown_width", lambda _: 60)


def test_a_pipe_has_one_line(capfdbinary):
    streams.close(ENDING, on_stdout=True)
    assert capfdbinary.readouterr().out.decode() == LINE


@pytest.mark.usefixtures("terminal")
def test_a_terminal_has_lines_that_fit(capfdbinary):
    streams.close(ENDING, on_stdout=True)
    out = capfdbinary.readouterr().out.decode()
    assert " ".join(out.split()) == LINE.rstrip()
    assert max(map(len, out.splitlines())) <= 60


@pytest.mark.usefixtures("terminal")
def test_the_time_is_told_on_a_terminal(capfdbinary):
    streams.close(ENDING, on_stdout=True, closing=streams.SummaryStyle(RenderOptions(), begun=0.0))
    assert " s · exit status 0\n" in capfdbinary.readouterr().out.decode()


def test_no_time_is_told_in_a_pipe(capfdbinary):
    streams.close(ENDING, on_stdout=True, closing=streams.SummaryStyle(RenderOptions(), begun=0.0))
    assert " s · " not in capfdbinary.readouterr().out.decode()


def test_remarks_are_lines_for_programs(capsys):
    streams.print_diagnostics([REMARK])
    first, *rest = capsys.readouterr().err.splitlines()
    assert first.startswith("p.yaml:1:2: error KV012: a long story a long story")
    assert rest == ["      excerpt", "       ^"]


@pytest.mark.usefixtures("terminal")
def test_remarks_fit_a_terminal(capsys):
    streams.print_diagnostics([REMARK])
    lines = capsys.readouterr().err.splitlines()
    assert max(map(len, lines)) <= 60
    assert lines[-2:] == ["      excerpt", "       ^"]


@pytest.mark.usefixtures("terminal")
def test_a_terminal_shows_the_line_that_a_remark_is_about(capsys, tmp_path):
    file = tmp_path / "p.yaml"
    file.write_text("a: 1\n  b: {c: 2}\n")
    place = Location(str(file), 2, 3)
    streams.print_diagnostics([Diagnostic("KV012", Severity.ERROR, "unknown field", place)])
    lines = capsys.readouterr().err.splitlines()
    assert lines[-2:] == ["    2 |   b: {c: 2}", "      |   ^"]


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize(("name", "line"), [("gone.yaml", 1), ("p.yaml", 9), ("p.yaml", 0)])
def test_a_line_that_is_not_there_is_not_shown(capsys, tmp_path, name, line):
    (tmp_path / "p.yaml").write_text("a: 1\n")
    place = Location(str(tmp_path / name), line, 1)
    streams.print_diagnostics([Diagnostic("KV012", Severity.ERROR, "unknown", place)])
    assert " | " not in capsys.readouterr().err
