"""Reports in several formats at once: one on standard output, the others in files."""

import errno
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import IO, Any, NamedTuple, Self

import click

from kyvsim.cli.overwriting import refuse_overwriting
from kyvsim.cli.parameters import OUTPUT, Decorator, Effect, PathType, bad_value, option
from kyvsim.cli.streams import OutputError
from kyvsim.load.scratch import ScratchFiles
from kyvsim.model.diagnostic import likely
from kyvsim.report.formats import OutputFormat
from kyvsim.report.log_commands import TEXT, LogFilter

_PATIENCE = 5.0
"""Seconds in which somebody has to read from a pipe that is written to."""


class Chosen(NamedTuple):
    """The format for standard output, and those for files with their paths."""

    shown: str
    files: tuple[tuple[str, str], ...]


def formats_option(known: Iterable[str], *, short: bool = True) -> Decorator:
    """Return the option that `chosen_formats` reads, for the formats that a command knows."""
    other = " (In `apply`, -o is --output.)" if short else ""
    return option(
        *(("-o",) if short else ()),
        "--output-format",
        "--format",
        effect=Effect.WRITES_FILE,
        multiple=True,
        metavar="FORMAT[=FILE]",
        type=PathType(separator="=", offered=tuple(known)),
        group=OUTPUT,
        help=f"Output format: {', '.join(known)}. FORMAT=FILE writes to FILE. Repeatable.{other}",
    )


def chosen_formats(
    options: Mapping[str, Any], known: Mapping[str, OutputFormat], ctx: click.Context
) -> Chosen:
    """Return what `FORMAT` and `FORMAT=FILE` options choose; the first known format by default.

    Raises UsageError, also for a file that the call reads.
    """
    shown, files = named_formats(options["output_format"], known, ctx)
    if files:
        refuse_overwriting(files, options, ctx)
    return Chosen(shown or next(iter(known)), files)


def named_formats(
    values: Sequence[str], known: Mapping[str, OutputFormat], ctx: click.Context
) -> Chosen:
    """Return the same, with "" where no format for standard output is named."""
    shown: list[str] = []
    files: list[tuple[str, str]] = []
    for value in values:
        name, path = _format_and_file(value, known, "--output-format", ctx)
        if path:
            files.append((name, path))
        else:
            shown.append(name)
    if len(shown) > 1:
        text = f"only one format goes to standard output, not {' and '.join(shown)}: name files"
        raise click.UsageError(f"--output-format: {text}", ctx)
    _refuse_shared(files, "--output-format", ctx)
    return Chosen(shown[0] if shown else "", tuple(files))


def chosen_files(
    values: Sequence[str], known: Mapping[str, OutputFormat], option: str, ctx: click.Context
) -> tuple[tuple[str, str], ...]:
    """Return formats and paths that the `FORMAT=FILE` values of an option choose."""
    chosen = [_format_and_file(value, known, option, ctx) for value in values]
    bare = next((name for name, path in chosen if not path), None)
    if bare is not None:
        raise bad_value(ctx, option, f"{bare}: name a file, as in {bare}=FILE")
    _refuse_shared(chosen, option, ctx)
    return tuple(chosen)


def _format_and_file(
    value: str, known: Mapping[str, OutputFormat], option: str, ctx: click.Context
) -> tuple[str, str]:
    """Return a format and the path that it goes to, "" for none."""
    name, separator, path = value.partition("=")
    name = name.lower()
    if name not in known:
        text = f"{value}: choose from {', '.join(known)}{likely(name, known)}"
        fitting = _format_of(value, known)
        if fitting:
            text += f"; a path follows the format, as in {fitting}={value}"
            text += " (-o PATH is of kyvsim apply)"
        raise bad_value(ctx, option, text)
    if separator and not path:
        raise bad_value(ctx, option, f"{value}: there is no file after =")
    return name, path


def _format_of(value: str, known: Mapping[str, OutputFormat]) -> str:
    """Return the format that a path seems to be for, "" where it seems to be no path."""
    extension = os.path.splitext(value)[1]
    fitting = [name for name, one in known.items() if extension and one.extension == extension]
    return fitting[0] if fitting else next(iter(known)) if "/" in value else ""


def _refuse_shared(files: Sequence[tuple[str, str]], option: str, ctx: click.Context) -> None:
    """Raise UsageError where two formats go to one file."""
    places: dict[str, str] = {}
    for name, path in files:
        other = places.setdefault(os.path.realpath(path), name)
        if other != name or sum((name, path) == one for one in files) > 1:
            raise click.UsageError(f"{option}: {other} and {name} both go to {path}", ctx)


class ReportFiles:
    """Files for reports: all are opened at once, and take their place when all are whole.

    A link stays a link, and what is no file (`/dev/stderr`, a pipe) is written to as it stands.
    """

    def __init__(self, paths: Iterable[str], media: Iterable[str] = ()) -> None:
        """Raise OutputError where one of them can't be written; none is changed then.

        `media` are the media types of the reports; what has none is text.
        """
        self._paths = tuple(paths)
        types = (*media, *(TEXT for _ in self._paths))
        self._safe = [LogFilter(one) for one in types[: len(self._paths)]]
        self._streams: list[IO[str]] = []
        self._temporary: dict[str, str] = {}
        self._scratch = ScratchFiles()
        try:
            for path in self._paths:
                with _Explained(path):
                    self._streams.append(self._open(path))
        finally:
            if len(self._streams) < len(self._paths):
                self.discard()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove what is not committed, also when an interrupt comes."""
        self.discard()

    def write(self, index: int, text: str) -> None:
        """Write to one of the files, by its place among the paths; raises OutputError."""
        with _Explained(self._paths[index]):
            self._streams[index].write(self._safe[index].feed(text))

    def fill(self, reports: Iterable[Iterable[str]]) -> None:
        """Write a report to each of the files, and commit them."""
        for path, stream, safe, pieces in zip(
            self._paths, self._streams, self._safe, reports, strict=True
        ):
            with _Explained(path):
                stream.writelines(map(safe.feed, pieces))
        self.commit()

    def commit(self) -> None:
        """Put all files in their place."""
        for path, stream, safe in zip(self._paths, self._streams, self._safe, strict=True):
            with _Explained(path):
                stream.write(safe.rest())
                stream.close()
        for place in tuple(self._temporary):
            with _Explained(place):
                os.replace(self._temporary[place], place)
            del self._temporary[place]
        self._scratch.close()

    def discard(self) -> None:
        """Remove what was not committed."""
        for stream in self._streams:
            with suppress(OSError):
                stream.close()
        self._temporary.clear()
        self._scratch.close()

    def _open(self, path: str) -> IO[str]:
        if os.path.exists(path) and not os.path.isfile(path):
            return open(_stream(path), "w", encoding="utf-8", errors="backslashreplace")
        # A stream's link leads to a name that can't be opened, so only links of files are followed.
        place = os.path.realpath(path)
        if os.path.exists(place) and not os.access(place, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        temporary = self._scratch.file_for(place)
        self._temporary[place] = temporary
        return open(temporary, "x", encoding="utf-8", errors="backslashreplace")


def _stream(path: str) -> int:
    """Open what is no file to be written to; raise OSError where nobody comes to read from a pipe.

    Opened as files are, a pipe would keep the run waiting for ever.
    """
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            found = os.open(path, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0))
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            if time.monotonic() > end:
                raise OSError(errno.ENXIO, "nobody reads from this pipe") from None
            time.sleep(0.02)
        else:
            os.set_blocking(found, True)
            return found


def report_files(chosen: Chosen, known: Mapping[str, OutputFormat]) -> ReportFiles:
    """Return the files of the formats that are chosen; raise OutputError as ReportFiles does."""
    media = (known[name].media for name, _ in chosen.files)
    return ReportFiles((path for _, path in chosen.files), media)


def write_reports(reports: Iterable[tuple[str, str, Iterable[str]]]) -> None:
    """Write reports, each a path, a media type and pieces: all complete, or none.

    Raises OutputError where that fails.
    """
    listed = list(reports)
    with ReportFiles((path for path, *_ in listed), (media for _, media, _ in listed)) as files:
        files.fill(pieces for *_, pieces in listed)


class _Explained:
    """A block in which an OSError becomes an OutputError that names a path."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        """Begin the block."""

    def __exit__(self, _: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            raise OutputError(f"cannot write to {self._path}: {error.strerror}") from None
