"""Standard input, output and error, with diagnostics, progress, closing line and exit status."""

import contextlib
import errno
import itertools
import os
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import IO, NamedTuple, TextIO, TypeVar

import click

from kyvsim.load import files
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.result import RunEnding
from kyvsim.model.source import Location
from kyvsim.report.diagnostics import diagnostic_text, source_lines
from kyvsim.report.formats import TEXT, log_safe, log_safe_pieces
from kyvsim.report.run import closing_lines, ending_line
from kyvsim.report.style import RenderOptions, counted, layout_of

# Exit statuses of commands; that of a run is derived from its verdict (`model/result.py`).

OK = 0
FAILED = 1
UNUSABLE = 2
"""Wrong usage, unusable input or output, or a bug."""
INTERRUPTED = 130
TERMINATED = 143


class Interrupted(SystemExit):
    """SIGINT or SIGTERM ended the command; `code` is the exit status for shells.

    Not a KeyboardInterrupt: after one inside `eval` or `exec`, as in declarations of named tuples,
    `python -m` ends by SIGINT, whatever its status is.
    """


def stdin_of(given: Mapping[str, str | Sequence[str]], ctx: click.Context) -> bytes | None:
    """Return standard input if a parameter reads it, or None; raises UsageError for several."""
    names = {
        name
        for name, paths in given.items()
        if "-" in ((paths,) if isinstance(paths, str) else paths)
    }
    if len(names) > 1:
        parameters = {parameter.name: parameter for parameter in ctx.command.params}
        shown = " and ".join(
            "the policies"
            if isinstance(parameters[name], click.Argument)
            else next(word for word in parameters[name].opts if word.startswith("--"))
            for name in given
            if name in names
        )
        raise click.UsageError(f"standard input (-) can hold only one of {shown}", ctx)
    return read_stdin() if names else None


_BATCH = 1 << 16
_PIECE = 1 << 20

_LEAST_WIDTH = 50
_USUAL_WIDTH = 80
_MOST_WIDTH = 100


class OutputError(click.ClickException):
    """Output could not be written."""


@contextlib.contextmanager
def writing_to(path: str) -> Iterator[None]:
    """Convert an OSError in the block to an OutputError with a path."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"cannot write to {path}: {error.strerror}") from None


def print_stderr(text: str) -> None:
    """Write a line to standard error if it is open; commands for CI systems are escaped."""
    with suppress(OSError, ValueError, AttributeError):
        colours = shows_colours(sys.stderr)
        sys.stderr.write(f"{log_safe(text, colours=colours)}\n")
        sys.stderr.flush()


def read_stdin() -> bytes:
    """Return standard input; raises ClickException if it is closed or too large."""
    read = bytearray()
    try:
        while True:
            piece = sys.stdin.buffer.read(_PIECE)
            read += piece
            if len(read) > files.LARGEST:
                raise click.ClickException(f"standard input is {files.TOO_LARGE}")
            if len(piece) < _PIECE:  # another read from a terminal would continue
                return bytes(read)
    except (AttributeError, ValueError):
        raise click.UsageError("cannot read standard input (-): it is closed") from None


def is_terminal(stream: IO[str] | None) -> bool:
    """Return whether `stream` is a terminal."""
    with suppress(ValueError, AttributeError):
        return stream is not None and stream.isatty()
    return False


def shows_colours(stream: IO[str] | None = None) -> bool:
    """Return whether to use colours on a stream, standard output by default.

    --color decides, then NO_COLOR and FORCE_COLOR, then whether it is a terminal.
    """
    context = click.get_current_context(silent=True)
    if context is not None and context.color is not None:
        return context.color
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in {"", "0", "false"}:
        return True
    return is_terminal(stream or sys.stdout) and os.environ.get("TERM") != "dumb"


_WITH_LINKS = frozenset({"iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "Tabby"})
_LINK_VARIABLES = ("VTE_VERSION", "WT_SESSION", "KONSOLE_VERSION", "KITTY_WINDOW_ID")


def shows_links(stream: IO[str] | None) -> bool:
    """Return whether a stream is a terminal that is known to support hyperlinks.

    FORCE_HYPERLINK decides, as for other programs; without colours there are none.
    """
    if not shows_colours(stream):
        return False
    forced = os.environ.get("FORCE_HYPERLINK")
    if forced:
        return forced not in {"0", "false"}
    known = os.environ.get("TERM_PROGRAM") in _WITH_LINKS
    return is_terminal(stream) and (known or any(map(os.environ.get, _LINK_VARIABLES)))


def shown_width(stream: IO[str] | None) -> int:
    """Return the width of a terminal, within limits; 80 for other streams."""
    if stream is None or not is_terminal(stream):
        return _USUAL_WIDTH
    with suppress(OSError, ValueError, AttributeError):
        columns = os.get_terminal_size(stream.fileno()).columns
        return max(min(columns or _USUAL_WIDTH, _MOST_WIDTH), _LEAST_WIDTH)
    return _USUAL_WIDTH


def write_out(pieces: Iterable[str], media: str = TEXT) -> bool:
    """Write `pieces` to standard output; return whether the reader still exists.

    Commands for CI systems are escaped for the media type. If the reader is gone, the rest is still
    evaluated for the exit status. Raises OutputError.
    """
    stream = sys.stdout
    if stream is None:
        raise OutputError("cannot write to standard output: it is closed")
    batches = log_safe_pieces(
        _batches(pieces, 1 if is_terminal(stream) else _BATCH), media, colours=shows_colours(stream)
    )
    try:
        for batch in batches:
            _write(stream, batch)
    except BrokenPipeError:
        abandon_stdout()
        for _ in batches:
            pass
        return False
    except OSError as error:
        abandon_stdout()
        if error.errno == errno.EINVAL and os.name == "nt":  # a closed pipe on Windows
            return False
        raise OutputError(f"cannot write to standard output: {error.strerror}") from None
    return True


def _write(stream: TextIO, text: str) -> None:
    try:
        stream.flush()
        stream.buffer.write(text.encode("utf-8", "backslashreplace"))
        stream.buffer.flush()
    except ValueError:
        raise OutputError("cannot write to standard output: it is closed") from None


def abandon_stdout() -> None:
    """Redirect standard output, so that the interpreter's last flush does not fail."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _batches(pieces: Iterable[str], size: int) -> Iterator[str]:
    waiting: list[str] = []
    length = 0
    for piece in pieces:
        waiting.append(piece)
        length += len(piece)
        if length >= size:
            yield "".join(waiting)
            waiting.clear()
            length = 0
    yield "".join(waiting)


Item = TypeVar("Item")

_PATIENCE = 1.0
"""Seconds before a progress bar appears."""


def with_progress(items: Iterator[Item], total: int, what: str) -> Iterator[Item]:
    """Yield `items`, with a progress bar after a while."""
    start = time.monotonic()
    done = 0
    for item in items:
        yield item
        done += 1
        if time.monotonic() - start > _PATIENCE:
            break
    else:
        return
    yield from with_growing_progress(items, lambda _, __: total, what, done)


@contextlib.contextmanager
def waiting(what: str, *, shown: bool) -> Iterator[None]:
    """Show the current activity on standard error after a while."""
    if not shown:
        yield
        return
    with contextlib.ExitStack() as stack:
        lock = threading.Lock()
        over = False

        def begin() -> None:
            from rich.console import Console

            with lock:
                if not over:
                    stack.enter_context(Console(stderr=True).status(f"{what} …"))

        timer = threading.Timer(_PATIENCE, begin)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            with lock:
                over = True


def with_growing_progress(
    items: Iterator[Item], total: Callable[[Item, int], int], what: str, done: int = 0
) -> Iterator[Item]:
    """Yield `items` with a progress bar; its total depends on each item and its number."""
    from rich import console, progress

    with progress.Progress(console=console.Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None, completed=done)
        for number, item in enumerate(items, done + 1):
            yield item
            bar.update(task, completed=number, total=total(item, number))


_MOST_ALIKE = 10
"""Number of diagnostics that only differ in names and values that are printed."""
_NAMES = re.compile(r"`[^`]*`|\"[^\"]*\"|[0-9]+")


def print_diagnostics(remarks: Iterable[Diagnostic]) -> None:
    """Print diagnostics about inputs; of many that are alike, the first ones and their number."""
    numbers: Counter[tuple[str, str, str]] = Counter()
    shown = []
    for remark in remarks:
        alike = remark.severity.value, remark.code, _NAMES.sub("", remark.message)
        numbers[alike] += 1
        if numbers[alike] <= _MOST_ALIKE:
            shown.append(remark)
    lines = _remark_lines(shown) if is_terminal(sys.stderr) else map(diagnostic_text, shown)
    for line in lines:
        print_stderr(line)
    for (severity, code, _), number in numbers.items():
        if number > _MOST_ALIKE:
            more = counted(number - _MOST_ALIKE, f"more {severity}")
            print_stderr(f"… {more} {code} like those above (--output-format json lists all)")


class SummaryStyle(NamedTuple):
    """The style of the closing line."""

    look: RenderOptions
    begun: float | None = None
    """Start of the run, as a time of `time.perf_counter`; None to omit the duration."""

    def lines(self, ending: RunEnding) -> Iterator[str]:
        """Yield the closing line, with the duration only on a terminal."""
        is_told = self.begun is not None and is_terminal(sys.stdout)
        seconds = time.perf_counter() - (self.begun or 0) if is_told else None
        return closing_lines(ending, layout_of(self.look), seconds)


def close(ending: RunEnding, *, on_stdout: bool, closing: SummaryStyle | None = None) -> None:
    """Write the closing line: to standard output after a view for people, otherwise to stderr."""
    if closing is None and on_stdout and is_terminal(sys.stdout):
        closing = SummaryStyle(RenderOptions(width=shown_width(sys.stdout)))
    if closing is not None:
        write_out(closing.lines(ending))
    elif on_stdout:
        write_out((f"{ending_line(ending)}\n",))
    else:
        print_stderr(ending_line(ending))


def _remark_lines(remarks: Iterable[Diagnostic]) -> Iterator[str]:
    """Yield the lines of diagnostics, with source lines if the files still exist."""
    width = shown_width(sys.stderr)
    layout = layout_of(RenderOptions(colours=shows_colours(sys.stderr), width=width))
    places = ((one, one.location or Location("")) for one in remarks)
    for file, group in itertools.groupby(
        places, key=lambda pair: pair[1].file if pair[1].line else ""
    ):
        lines: list[str] = []
        with suppress(OSError, ValueError), open(file, encoding="utf-8-sig", errors="replace") as f:
            lines = f.read().split("\n")
        for remark, place in group:
            own = lines[place.line - 1] if 0 < place.line <= len(lines) else ""
            yield diagnostic_text(remark, width)
            yield from source_lines(remark, own, layout)
