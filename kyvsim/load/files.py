"""Reads paths, folders, globs and standard input as texts, in a stable order.

Codes: KV001 path missing, KV002 no YAML file there, KV004 not a regular file, KV005 not UTF-8,
KV065 too large or too many files.
"""

import codecs
import errno
import fnmatch
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeAlias

from kyvsim.load.folders import (
    TOO_MUCH,
    USUAL,
    Walking,
    ignored_because,
    is_folder,
    is_manifest_name,
    too_much,
    unreadable,
    walk,
)
from kyvsim.model.diagnostic import Diagnostic, Severity, error_about, nearest
from kyvsim.model.source import Location

_OnError: TypeAlias = Callable[[str, OSError], None]


def _is_pattern(path: str) -> bool:
    return any(sign in path for sign in "*?[")


def find(pattern: str, on_error: _OnError) -> list[str]:
    """Return the paths that match a glob pattern, sorted; none if it is not a pattern.

    Paths below a matching folder are omitted. `on_error` is called for folders that cannot be read,
    which Python's globs ignore silently.
    """
    if not _is_pattern(pattern):
        return []
    root = os.path.join(os.path.sep, "") if os.path.isabs(pattern) else ""
    parts = [part for part in pattern.split(os.path.sep) if part]
    paths = sorted(dict.fromkeys(_expand(root, parts, on_error)))
    folders = tuple(os.path.join(path, "") for path in paths if os.path.isdir(path))
    return [
        one
        for one in paths
        if not any(one.startswith(above) and one != above.rstrip(os.path.sep) for above in folders)
    ]


def may_find(pattern: str, place: str) -> bool:
    """Return whether a pattern matches a real path or a folder above it, existing or not."""
    wide = os.path.realpath(pattern).replace(f"**{os.path.sep}", "*")
    wildcards = (wide, os.path.join(wide, "*"))
    return _is_pattern(pattern) and any(fnmatch.fnmatchcase(place, one) for one in wildcards)


def _expand(base: str, parts: list[str], on_error: _OnError) -> Iterator[str]:
    if not parts:
        yield base
        return
    head, *rest = parts
    if head == "**":
        yield from _expand_deep(base, parts, on_error)
    elif _is_pattern(head):
        for entry in _entries(base, on_error):
            fits = head.startswith(".") or not entry.name.startswith(".")
            if fits and fnmatch.fnmatch(entry.name, head) and (not rest or is_folder(entry)):
                yield from _expand(os.path.join(base, entry.name), rest, on_error)
    elif os.path.lexists(os.path.join(base, head)):
        yield from _expand(os.path.join(base, head), rest, on_error)


def _expand_deep(base: str, parts: list[str], on_error: _OnError) -> Iterator[str]:
    """Yield the paths at any depth below a folder that match the parts after `**`."""
    rest = parts[1:]
    if rest or base:
        yield from _expand(base, rest, on_error)
    for entry in _entries(base, on_error):
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _expand_deep(os.path.join(base, entry.name), parts, on_error)
        elif not rest:
            yield os.path.join(base, entry.name)


def _entries(folder: str, on_error: _OnError) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder or os.curdir) as listed:
            return list(listed)
    except NotADirectoryError:
        return []
    except OSError as error:
        on_error(folder or os.curdir, error)
        return []


def explain_missing(path: str) -> str:
    """Return the message for a missing path, with a likely alternative."""
    if "://" in path:
        return "no such file: URLs are not supported"
    if _is_pattern(path):
        return "no file matches the pattern"
    if os.path.islink(path):
        return f"a symbolic link to `{os.readlink(path)}`, which does not exist"
    root = os.sep if os.path.isabs(path) else ""
    folder, name = os.path.split(
        root + os.sep.join(part for part in path.split(os.sep) if part not in {"", os.curdir})
    )
    try:
        names = sorted(os.listdir(folder or os.curdir))
    except (OSError, ValueError):
        return "no such file or folder"
    # Find the most similar name. Similar suffixes mean nothing: they are only used to decide
    # between names that are equal without them.
    stem, suffix = os.path.splitext(name.lower())
    stems: dict[str, list[str]] = {}
    for name in names:
        stems.setdefault(os.path.splitext(name.lower())[0], []).append(name)
    same = stems.get(nearest(stem, stems), [])
    close = next((name for name in same if name.lower().endswith(suffix)), same[0] if same else "")
    hint = f": did you mean `{os.path.join(folder, close)}`?" if close else ""
    return f"no such file or folder{hint}"


LARGEST = 512 << 20
"""Maximum size of a text in bytes; its objects need about twenty times as much memory."""
TOO_LARGE = f"larger than {LARGEST >> 20} MiB: split it"
_AT_ONCE = getattr(os, "O_NONBLOCK", 0)
_READ = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


def read_bytes(path: str) -> bytes | None:
    """Return the bytes of a file; None if it is too large; raises OSError."""
    opened = open_without_blocking(path, _READ)
    try:
        status = os.fstat(opened)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is not a file", path)
        if status.st_size > LARGEST:
            return None
        # One more byte than its size: a single read is enough, unless the file grows.
        return b"".join(iter(lambda: os.read(opened, status.st_size + 1), b""))
    finally:
        os.close(opened)


def open_without_blocking(path: str, flags: int) -> int:
    """Open a path without waiting for the writer of a pipe."""
    return os.open(path, flags | _AT_ONCE)


STDIN = "-"
STDIN_NAME = "<stdin>"
_GZIP = b"\x1f\x8b"
_ZIP = b"PK\x03\x04"
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Source(NamedTuple):
    """The text of an input."""

    name: str
    text: str
    folder: str = ""
    """The given folder that contains the file; "" if the file was named."""
    line: int = 1
    """The number of its first line in the file."""


def read_sources(
    paths: Iterable[str | os.PathLike[str] | Source],
    stdin: bytes | None = None,
    walking: Walking = USUAL,
) -> Iterator[Source | Diagnostic]:
    """Yield the texts of `paths`, and a diagnostic for each unreadable one.

    A folder is replaced by its YAML and JSON files, sorted, without hidden or ignored ones; a glob
    by its matches; `-` by `stdin`; a Source is yielded unchanged.
    """
    for path in paths:
        if isinstance(path, Source):
            yield path
        elif path == STDIN:
            yield decode(STDIN_NAME, stdin or b"")
        else:
            name = os.fspath(path)
            if "\0" in name:  # Python's message depends on its version
                text = "cannot be read: a path cannot contain a null character"
                yield error_about(name, "KV003", text)
                continue
            try:
                mode = os.stat(name).st_mode
            except (FileNotFoundError, NotADirectoryError):
                yield from _read_glob(name, walking)
            except (OSError, ValueError) as error:
                yield unreadable(name, error)
            else:
                yield from _read_existing(name, mode, walking)


def _read_existing(
    path: str, mode: int, walking: Walking, given: str = ""
) -> Iterator[Source | Diagnostic]:
    """Yield the sources at a path; `given` is the pattern that matched it."""
    if stat.S_ISDIR(mode):
        yield from _read_folder(path, walking, given or path)
    elif stat.S_ISREG(mode) and walking.as_found and not given:
        aside = tuple(ignored_because(path, walking))
        yield from aside
        if not aside:
            source = _read_file(path)
            folder = os.path.dirname(path) or os.curdir
            yield source._replace(folder=folder) if isinstance(source, Source) else source
    elif stat.S_ISREG(mode):
        yield _read_file(path)
    else:
        message = "neither a file nor a folder: devices, pipes and sockets are not read"
        yield error_about(path, "KV004", message)


def _read_glob(path: str, walking: Walking) -> Iterator[Source | Diagnostic]:
    problems: list[Diagnostic] = []
    matches = find(path, lambda folder, error: problems.append(unreadable(folder, error)))
    yield from dict.fromkeys(problems)
    if walking.most and len(matches) > walking.most:
        yield too_much(path, walking)
        return
    manifests = [match for match in matches if os.path.isdir(match) or is_manifest_name(match)]
    for match in manifests:
        try:
            mode = os.stat(match).st_mode
        except OSError as error:
            yield unreadable(match, error)
        else:
            yield from _read_existing(match, mode, walking, path)
    if matches and not manifests:
        yield error_about(path, "KV002", "no YAML or JSON file matches the pattern")
    elif not matches and not problems:
        yield error_about(path, "KV001", explain_missing(path))


def _read_folder(path: str, walking: Walking, given: str) -> Iterator[Source | Diagnostic]:
    count = 0
    aside = False
    for entry in walk(path, walking):
        if isinstance(entry, Diagnostic):
            yield entry
            if entry.code == TOO_MUCH:
                return
            aside = True
            continue
        count += 1
        try:
            mode = os.stat(entry).st_mode
        except (OSError, ValueError) as error:  # such as a broken link
            yield unreadable(entry, error)
            continue
        for source in _read_existing(entry, mode, USUAL):
            yield source._replace(folder=given) if isinstance(source, Source) else source
    if not count:
        hidden = "no YAML or JSON file in this folder that is neither hidden nor ignored"
        yield error_about(path, "KV002", hidden if aside else "no YAML or JSON file in this folder")


def _read_file(path: str) -> Source | Diagnostic:
    try:
        data = read_bytes(path)
    except OSError as error:
        return unreadable(path, error)
    if data is None:
        return error_about(path, TOO_MUCH, TOO_LARGE)
    return decode(path, data)


def decode(name: str, data: bytes) -> Source | Diagnostic:
    """Return the text of an input, or an error."""
    if data.startswith((_GZIP, _ZIP)):
        advice = "the input is compressed with gzip: unpack it (`gunzip`) first"
        if name.endswith(".tgz"):
            advice = (
                "the file is a compressed archive: unpack it, a Helm chart with `helm template`"
            )
        elif data.startswith(_ZIP):
            advice = "the file is a zip archive: unpack it and pass the files"
        return error_about(name, "KV005", advice)
    if data.startswith(_UTF16_MARKS):
        return error_about(name, "KV005", "the file is UTF-16: only UTF-8 is supported")
    # Not "utf-8-sig": that decoder is a separate module, whose error positions also ignore the BOM.
    body = data.removeprefix(codecs.BOM_UTF8)
    try:
        return Source(name, body.decode())
    except UnicodeDecodeError as error:
        line_start = body.rfind(b"\n", 0, error.start) + 1
        column = len(body[line_start : error.start].decode("utf-8", "replace")) + 1
        place = Location(name, body.count(b"\n", 0, error.start) + 1, column)
        return Diagnostic(
            "KV005",
            Severity.ERROR,
            f"the file is not UTF-8: byte 0x{error.object[error.start]:02x}",
            place,
        )
