"""Paths, folders, globs and standard input to texts, in a stable order.

Codes: KV001 path missing, KV002 no YAML file there, KV004 no regular file, KV005 not UTF-8,
KV065 more than is read.
"""

import codecs
import os
import stat
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kyvsim.load import globs
from kyvsim.load.walk import left_aside, walk
from kyvsim.load.walking import TOO_MUCH, USUAL, Walking, is_manifest_name, too_much, unreadable
from kyvsim.load.whole_file import TOO_LARGE, read_bytes
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.source import Location

STDIN = "-"
STDIN_NAME = "<stdin>"
_GZIP = b"\x1f\x8b"
_ZIP = b"PK\x03\x04"
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Source(NamedTuple):
    """The text of one input, and the name to show for it."""

    name: str
    text: str
    folder: str = ""
    """The folder, as it was given, in which the file was found; "" where the file was named."""
    line: int = 1
    """The line of the file at which the text begins."""


def read_sources(
    paths: Iterable[str | Source], stdin: bytes | None = None, walking: Walking = USUAL
) -> Iterator[Source | Diagnostic]:
    """Yield the texts that `paths` lead to, and a diagnostic for each that cannot be read.

    A folder stands for the YAML and JSON files in and below it, sorted, without what is hidden or
    ignored; a glob for what it finds, as if it had been named; `-` for `stdin`, the bytes of
    standard input; a Source for itself.
    """
    for path in paths:
        if isinstance(path, Source):
            yield path
        elif path == STDIN:
            yield decode(STDIN_NAME, stdin or b"")
        else:
            yield from _read_path(path, walking)


def _error(code: str, message: str, location: Location) -> Diagnostic:
    return Diagnostic(code, Severity.ERROR, message, location)


def _read_path(path: str, walking: Walking) -> Iterator[Source | Diagnostic]:
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        yield from _read_glob(path, walking)
    except (OSError, ValueError) as error:
        yield unreadable(path, error)
    else:
        yield from _read_existing(path, mode, walking)


def _read_existing(
    path: str, mode: int, walking: Walking, given: str = ""
) -> Iterator[Source | Diagnostic]:
    """Yield what is at a path; `given` is the pattern that found it."""
    if stat.S_ISDIR(mode):
        yield from _read_folder(path, walking, given or path)
    elif stat.S_ISREG(mode) and walking.as_found and not given:
        yield from _read_as_found(path, walking)
    elif stat.S_ISREG(mode):
        yield _read_file(path)
    else:
        message = "neither a file nor a folder: devices, pipes and sockets are not read"
        yield _error("KV004", message, Location(path))


def _read_as_found(path: str, walking: Walking) -> Iterator[Source | Diagnostic]:
    aside = tuple(left_aside(path, walking))
    yield from aside
    if not aside:
        one = _read_file(path)
        folder = os.path.dirname(path) or os.curdir
        yield one._replace(folder=folder) if isinstance(one, Source) else one


def _read_glob(path: str, walking: Walking) -> Iterator[Source | Diagnostic]:
    problems: list[Diagnostic] = []
    found = globs.find(path, lambda folder, error: problems.append(unreadable(folder, error)))
    yield from dict.fromkeys(problems)
    if walking.most and len(found) > walking.most:
        yield too_much(path, walking)
        return
    wanted = [one for one in found if os.path.isdir(one) or is_manifest_name(one)]
    for one in wanted:
        try:
            mode = os.stat(one).st_mode
        except OSError as error:
            yield unreadable(one, error)
        else:
            yield from _read_existing(one, mode, walking, path)
    if found and not wanted:
        yield _error("KV002", "no YAML or JSON file among what the pattern finds", Location(path))
    elif not found and not problems:
        yield _error("KV001", globs.explain_missing(path), Location(path))


def _read_folder(path: str, walking: Walking, given: str) -> Iterator[Source | Diagnostic]:
    count = 0
    aside = False
    for found in walk(path, walking):
        if isinstance(found, Diagnostic):
            yield found
            if found.code == TOO_MUCH:
                return
            aside = True
            continue
        count += 1
        for one in _read_found(found):
            yield one._replace(folder=given) if isinstance(one, Source) else one
    if not count:
        hidden = "no YAML or JSON file in this folder that is neither hidden nor ignored"
        message = hidden if aside else "no YAML or JSON file in this folder"
        yield _error("KV002", message, Location(path))


def _read_found(path: str) -> Iterator[Source | Diagnostic]:
    """Yield the text of a file in a folder; a link to nowhere is told as such."""
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        yield unreadable(path, error)
    else:
        yield from _read_existing(path, mode, USUAL)


def _read_file(path: str) -> Source | Diagnostic:
    try:
        data = read_bytes(path)
    except OSError as error:
        return unreadable(path, error)
    if data is None:
        return _error(TOO_MUCH, TOO_LARGE, Location(path))
    return decode(path, data)


def decode(name: str, data: bytes) -> Source | Diagnostic:
    """Return bytes as the text of an input, or what is wrong with them."""
    if data.startswith((_GZIP, _ZIP)):
        return _error("KV005", _archive(name, data), Location(name))
    if data.startswith(_UTF16_MARKS):
        return _error("KV005", "the text is UTF-16: only UTF-8 is read", Location(name))
    # Not "utf-8-sig": that decoder is a module of its own, which says of errors where they are
    # behind the mark, as this does.
    body = data.removeprefix(codecs.BOM_UTF8)
    try:
        return Source(name, body.decode())
    except UnicodeDecodeError as error:
        line_start = body.rfind(b"\n", 0, error.start) + 1
        column = len(body[line_start : error.start].decode("utf-8", "replace")) + 1
        place = Location(name, body.count(b"\n", 0, error.start) + 1, column)
        return _error(
            "KV005", f"the text is not UTF-8: byte 0x{error.object[error.start]:02x}", place
        )


def _archive(name: str, data: bytes) -> str:
    """Return what to do with a compressed file."""
    if name.endswith(".tgz"):
        return "the file is a compressed archive: unpack it, a Helm chart with `helm template`"
    if data.startswith(_ZIP):
        return "the file is a zip archive: unpack it and pass the files"
    return "the text is compressed with gzip: unpack it (`gunzip`) and pass what it holds"
