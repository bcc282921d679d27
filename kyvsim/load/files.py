"""Paths, folders, globs and standard input to texts, in a stable order.

Codes: KV001 path missing, KV002 no YAML file there, KV003 cannot be read, KV004 no regular file,
KV005 not UTF-8.
"""

import codecs
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.source import Location

STDIN = "-"
_SUFFIXES = (".yaml", ".yml", ".json")
_STDIN_NAME = "<stdin>"
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Source(NamedTuple):
    """The text of one input, and the name to show for it."""

    name: str
    text: str


def read_sources(
    paths: Iterable[str | Source], stdin: bytes | None = None
) -> Iterator[Source | Diagnostic]:
    """Yield the texts that `paths` lead to, and a diagnostic for each that cannot be read.

    A folder stands for the YAML and JSON files in and below it, sorted, hidden ones left out; a
    glob for what it finds; `-` for `stdin`, the bytes of standard input; a Source for itself.
    """
    for path in paths:
        if isinstance(path, Source):
            yield path
        elif path == STDIN:
            yield _decode(_STDIN_NAME, stdin or b"")
        else:
            yield from _read_path(path)


def _error(code: str, message: str, location: Location) -> Diagnostic:
    return Diagnostic(code, Severity.ERROR, message, location)


def _read_path(path: str) -> Iterator[Source | Diagnostic]:
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        yield from _read_glob(path)
    except (OSError, ValueError) as error:
        yield _unreadable(path, error)
    else:
        if stat.S_ISDIR(mode):
            yield from _read_folder(path)
        elif stat.S_ISREG(mode):
            yield _read_file(path)
        else:
            message = "neither a file nor a folder: devices, pipes and sockets are not read"
            yield _error("KV004", message, Location(path))


def _read_glob(path: str) -> Iterator[Source | Diagnostic]:
    from kyvsim.load import globs  # noqa: PLC0415 — slow to import, seldom needed

    found = globs.find(path)
    wanted = [one for one in found if one.endswith(_SUFFIXES) or os.path.isdir(one)]
    for one in wanted:
        yield from _read_path(one)
    if found and not wanted:
        yield _error("KV002", "no YAML or JSON file among what the pattern finds", Location(path))
    elif not found:
        yield _error("KV001", globs.explain_missing(path), Location(path))


def _unreadable(path: str, error: OSError | ValueError) -> Diagnostic:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return _error("KV003", f"cannot be read: {reason[:1].lower()}{reason[1:]}", Location(path))


def _read_folder(path: str) -> Iterator[Source | Diagnostic]:
    problems: list[Diagnostic] = []

    def note(error: OSError) -> None:
        problems.append(_unreadable(error.filename or path, error))

    count = 0
    for file in files_below(path, note):
        count += 1
        yield from _read_path(file)
    yield from problems
    if not count and not problems:
        yield _error("KV002", "no YAML or JSON file in this folder", Location(path))


def files_below(path: str, on_error: Callable[[OSError], None] | None = None) -> Iterator[str]:
    """Yield the YAML and JSON files in and below a folder, sorted, hidden ones left out.

    What is wrong with a folder goes to `on_error`.
    """
    for folder, folders, names in os.walk(path, onerror=on_error):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if name.endswith(_SUFFIXES) and not name.startswith("."):
                yield os.path.join(folder, name)


def _read_file(path: str) -> Source | Diagnostic:
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        return _unreadable(path, error)
    return _decode(path, data)


def _decode(name: str, data: bytes) -> Source | Diagnostic:
    if data.startswith(_UTF16_MARKS):
        return _error("KV005", "the text is UTF-16: only UTF-8 is read", Location(name))
    try:
        return Source(name, data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        # The BOM is not part of what the error counts in.
        body = data.removeprefix(codecs.BOM_UTF8)
        line_start = body.rfind(b"\n", 0, error.start) + 1
        column = len(body[line_start : error.start].decode("utf-8", "replace")) + 1
        place = Location(name, body.count(b"\n", 0, error.start) + 1, column)
        return _error(
            "KV005", f"the text is not UTF-8: byte 0x{error.object[error.start]:02x}", place
        )
