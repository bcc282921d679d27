"""Reading standard input, writing to standard output and standard error, and progress there."""

import contextlib
import errno
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import IO, TypeVar

import click

from kyvsim.load import files
from kyvsim.report.log_commands import TEXT, log_safe, log_safe_pieces


def stdin_of(given: Mapping[str, str | Sequence[str]], ctx: click.Context) -> bytes | None:
    """Return all of standard input where one of some parameters asks for it, else None.

    Raises UsageError where more than one does: what is read once cannot serve two purposes.
    """
    asking = [
        name
        for name, paths in given.items()
        if "-" in ((paths,) if isinstance(paths, str) else paths)
    ]
    if not asking:
        return None
    if len(asking) > 1:
        shown = " and ".join(_spelled(name, ctx) for name in asking)
        raise click.UsageError(f"standard input (-) can hold only one of {shown}", ctx)
    return read_stdin()


def _spelled(name: str, ctx: click.Context) -> str:
    """Return a parameter as the user spells it."""
    found = next(one for one in ctx.command.params if one.name == name)
    if isinstance(found, click.Argument):
        return "the policies"
    return next(one for one in found.opts if one.startswith("--"))


_BATCH = 1 << 16
"""Characters gathered before they are written."""
_PIECE = 1 << 20
"""Bytes of standard input that are asked for at once."""

_LEAST_WIDTH = 50
_USUAL_WIDTH = 80
_MOST_WIDTH = 100


class OutputError(click.ClickException):
    """Output could not be written; the text says where to and why."""


def print_stderr(text: str) -> None:
    """Write a line to standard error; when nobody can read it there is nothing more to do.

    What CI systems take for commands in it is shown as text.
    """
    with suppress(OSError, ValueError, AttributeError):
        colours = shows_colours(sys.stderr)
        sys.stderr.write(f"{log_safe(text, colours=colours)}\n")
        sys.stderr.flush()


def read_stdin() -> bytes:
    """Return all of standard input; raise CommandError where it is closed or too large."""
    read = bytearray()
    try:
        while True:
            piece = sys.stdin.buffer.read(_PIECE)
            read += piece
            if len(read) > files.LARGEST:
                raise click.ClickException(f"standard input is {files.TOO_LARGE}")
            if len(piece) < _PIECE:  # a terminal that is asked once more goes on
                return bytes(read)
    except (AttributeError, ValueError):
        raise click.UsageError("cannot read standard input (-): it is closed") from None


def is_terminal(stream: IO[str] | None) -> bool:
    """Return whether a person reads `stream`."""
    with suppress(ValueError, AttributeError):
        return stream is not None and stream.isatty()
    return False


def shows_colours(stream: IO[str] | None = None) -> bool:
    """Return whether to use colours on a stream, standard output by default.

    --color decides; without it, or with `auto`, a terminal has colours. NO_COLOR and FORCE_COLOR
    switch them off and on elsewhere, as in a CI log that shows them; NO_COLOR wins.
    """
    context = click.get_current_context(silent=True)
    if context is not None and context.color is not None:
        return context.color
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in {"", "0", "false"}:
        return True
    return is_terminal(stream or sys.stdout) and os.environ.get("TERM") != "dumb"


def shown_width(stream: IO[str] | None) -> int:
    """Return the columns of what people read: those of the terminal within limits, else 80."""
    if stream is None or not is_terminal(stream):
        return _USUAL_WIDTH
    with suppress(OSError, ValueError, AttributeError):
        columns = os.get_terminal_size(stream.fileno()).columns
        return max(min(columns or _USUAL_WIDTH, _MOST_WIDTH), _LEAST_WIDTH)
    return _USUAL_WIDTH


def write_out(pieces: Iterable[str], media: str = TEXT) -> bool:
    """Write `pieces` to standard output as they come; return whether somebody still reads.

    What CI systems take for commands in them is written as the media type allows.

    A reader that has gone away is no error: the rest is still worked through, so that the exit
    status says what all of it amounts to. Raises OutputError when writing fails otherwise.
    """
    stream = sys.stdout
    if stream is None:
        raise OutputError("cannot write to standard output: it is closed")
    batches = log_safe_pieces(
        _batches(pieces, 1 if is_terminal(stream) else _BATCH),
        media,
        colours=shows_colours(stream),
    )
    try:
        for batch in batches:
            _write(stream, batch)
        stream.flush()
    except BrokenPipeError:
        abandon_stdout()
        for _ in batches:
            pass
        return False
    except OSError as error:
        if error.errno == errno.EINVAL and os.name == "nt":  # a closed pipe, as Windows says it
            abandon_stdout()
            return False
        abandon_stdout()
        raise OutputError(f"cannot write to standard output: {error.strerror}") from None
    except ValueError:
        raise OutputError("cannot write to standard output: it is closed") from None
    return True


def abandon_stdout() -> None:
    """Point standard output to nowhere, so that the interpreter's last flush stays quiet."""
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


def _write(stream: IO[str], text: str) -> None:
    """Write in UTF-8 whatever the locale; what has no UTF-8 form is written as an escape."""
    stream.flush()
    stream.buffer.write(text.encode("utf-8", "backslashreplace"))  # type: ignore[attr-defined]
    stream.buffer.flush()  # type: ignore[attr-defined]


Item = TypeVar("Item")

_PATIENCE = 1.0
"""Seconds of work before a bar appears."""


def with_progress(items: Iterator[Item], total: int, what: str) -> Iterator[Item]:
    """Yield `items`; when that takes long, show on standard error how many of `total` are done."""
    start = time.monotonic()
    done = 0
    for item in items:
        yield item
        done += 1
        if time.monotonic() - start > _PATIENCE:
            break
    else:
        return
    yield from _with_bar(items, done, lambda _, __: total, what)


@contextlib.contextmanager
def waiting(what: str, *, shown: bool) -> Iterator[None]:
    """Show on standard error what is being done, where the work inside takes long."""
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
    items: Iterator[Item], total: Callable[[Item, int], int], what: str
) -> Iterator[Item]:
    """Yield `items` as `with_progress` does where the total is only known on the way.

    `total` is asked with each item and its number.
    """
    return _with_bar(items, 0, total, what)


def _with_bar(
    items: Iterator[Item], done: int, total: Callable[[Item, int], int], what: str
) -> Iterator[Item]:
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=None, completed=done)
        for number, item in enumerate(items, done + 1):
            yield item
            progress.update(task, completed=number, total=total(item, number))
