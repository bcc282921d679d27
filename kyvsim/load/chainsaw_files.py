"""The files that a chainsaw test may read: every path of its operations and scripts comes here.

A path is made absolute, its links are followed, and only then it is compared with the folder that
it must be in: `..`, a link inside the folder and an absolute path are all the same.
"""

import fnmatch
import os
import re
from collections.abc import Iterator

from kyvsim.kubernetes.objects import Json
from kyvsim.load.documents import parse_documents, read_documents
from kyvsim.load.files import Source, decode, read_bytes
from kyvsim.load.folders import is_manifest_name
from kyvsim.model.chainsaw import UnreachableError
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.source import Document

_NOT_FILES = ("/proc", "/sys", "/dev")
"""What the system shows as files: never read, not even by who gives `/` as the folder."""
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_WILD = re.compile(r"[*?\[]")
_LARGEST = 8 << 20
"""Bytes of a file that a script reads."""
_MOST_MATCHES = 1_000
_MOST_ENTRIES = 10_000

Objects = tuple[tuple[Json, ...], str]
"""The objects of a file, and why there are none."""


def place_of(folder: str, name: str) -> str:
    """Return the path of a file that an operation names; a slash at its beginning means nothing."""
    return os.path.normpath(os.path.join(folder, name.lstrip("/")))


def project_of(folder: str, given: str) -> str:
    """Return the folder that the files of a test's operations must be in.

    It is the git work tree around the test, else the folder that the user gave.
    """
    start = os.path.realpath(folder)
    above = start
    while not os.path.exists(os.path.join(above, ".git")):
        parent = os.path.dirname(above)
        if parent == above:
            inside = is_inside(start, os.path.realpath(given))
            return os.path.realpath(given) if inside else start
        above = parent
    return above


def is_inside(path: str, folder: str) -> bool:
    """Return whether a resolved path is a folder or in it, and no device nor state of processes."""
    if any(path == one or path.startswith(f"{one}/") for one in _NOT_FILES):
        return False
    return path == folder or path.startswith(f"{folder.rstrip(os.sep)}{os.sep}")


def resolved(path: str) -> str:
    """Return a path with its links followed; raise UnreachableError for what is no path."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        raise UnreachableError("not a path") from None


class ReachableFiles:
    """The files of one test: those of operations are in its project, of scripts in its folder."""

    def __init__(self, folder: str, project: str) -> None:
        self._folder = folder
        self._home = os.path.realpath(folder or os.curdir)
        self._project = project
        self._listed: dict[str, tuple[str, ...]] = {}
        self.used: set[str] = set()
        """The paths that the test asked for, also those that it must not read."""

    def of_operation(self, name: str) -> Objects:
        """Return the objects of a `file`, which may be a pattern; raises UnreachableError."""
        if _SCHEME.match(name):
            raise UnreachableError("URLs are not downloaded")
        path = place_of(self._folder, name)
        self.used.add(path)
        if not _WILD.search(name):
            self._check(path, self._project, "folder")
        if os.path.isdir(path):
            # upstream: chainsaw pkg/loaders/resource/load.go reads what a pattern matches as files.
            return (), f"{path}: is a folder; use a pattern such as `{name}/*.yaml`"
        if os.path.exists(path) or not _WILD.search(name):
            return read_objects(path)
        found = [*self._matches(path, self._project)]
        return _together([read_objects(one) for one in found], path)

    def of_script(self, name: str) -> Objects:
        """Return the objects of a file or a folder that kubectl reads; raises UnreachableError."""
        if _SCHEME.match(name):
            raise UnreachableError("URLs are not downloaded")
        path = self.key(name)
        if not os.path.isdir(path):
            return self._read_object_file(path)
        names = (os.path.join(path, one) for one in self._entries(path) if is_manifest_name(one))
        files = [one for one in names if not os.path.isdir(one)]
        return _together([self._read_object_file(self.key(one)) for one in files], path)

    def _read_object_file(self, path: str) -> Objects:
        if not os.path.isfile(path):
            return (), f'the path "{os.path.relpath(path, self._home)}" does not exist'
        _require_small(path)
        return read_objects(os.path.relpath(path))

    def text(self, name: str) -> str | None:
        """Return the text of a file that a script names, None where there is none.

        Raises UnreachableError for what is outside of the test's folder, or no text.
        """
        path = self.key(name)
        if not os.path.exists(path):
            return None
        _require_small(path)
        try:
            data = read_bytes(path)
        except OSError:
            raise UnreachableError("not a regular file") from None
        found = decode(path, data) if data is not None else None
        if not isinstance(found, Source):
            raise UnreachableError("not UTF-8")
        return found.text

    def parsed(self, text: str) -> Objects:
        """Return the documents of a text, and why there are none."""
        found = tuple(parse_documents(Source("<script>", text)))
        wrong = next((one for one in found if isinstance(one, Diagnostic)), None)
        data = tuple(one.data for one in found if isinstance(one, Document))
        return data, str(wrong) if wrong else ""

    def key(self, name: str) -> str:
        """Return the resolved path of a file that a script names; raises UnreachableError."""
        self.used.add(place_of(self._folder, name) if not name.startswith("/") else name)
        return self._check(os.path.join(self._home, name), self._home, "test's folder")

    def is_there(self, name: str) -> bool:
        """Return whether a script would find a file or a folder; raises UnreachableError."""
        return os.path.exists(self.key(name))

    def is_folder(self, name: str) -> bool:
        """Return whether a path of a script is that of a folder; raises UnreachableError."""
        return os.path.isdir(self.key(name))

    def matching(self, pattern: str) -> tuple[str, ...]:
        """Return the names that a pattern of a script matches, in order; () for none.

        Raises UnreachableError where the pattern looks outside of the test's folder.
        """
        whole = os.path.join(self._home, pattern)
        found = tuple(self._matches(whole, self._home, "test's folder"))
        if pattern.startswith("/"):
            return found
        dotted = "./" if pattern.startswith("./") else ""
        return tuple(f"{dotted}{os.path.relpath(one, self._home)}" for one in found)

    def _check(self, path: str, folder: str, shown: str) -> str:
        """Return a path with its links followed; raise UnreachableError where it leads out."""
        found = resolved(path)
        if not is_inside(found, folder):
            raise UnreachableError(f"outside of the {shown} `{os.path.relpath(folder)}`")
        return found

    def _matches(self, pattern: str, folder: str, shown: str = "folder") -> Iterator[str]:
        """Yield the files that a pattern of Go's filepath.Glob matches, part by part.

        Every folder is resolved and checked before it is listed.
        """
        pattern = os.path.normpath(pattern)
        found = ["/" if pattern.startswith("/") else ""]
        for part in pattern.strip("/").split("/"):
            if _WILD.search(part):
                entries = [
                    (one, name) for one in found for name in self._checked(one, folder, shown)
                ]
                hidden = part.startswith(".")
                found = [
                    os.path.join(one, name)
                    for one, name in entries
                    if name.startswith(".") <= hidden and fnmatch.fnmatchcase(name, part)
                ]
            else:
                found = [os.path.join(one, part) for one in found]
            if len(found) > _MOST_MATCHES:
                raise UnreachableError(f"a pattern that matches over {_MOST_MATCHES:,} names")
        for one in found:
            if os.path.lexists(one):
                self._check(one, folder, shown)
                yield one

    def _checked(self, path: str, folder: str, shown: str) -> tuple[str, ...]:
        return self._entries(self._check(path or os.curdir, folder, shown))

    def _entries(self, path: str) -> tuple[str, ...]:
        """Return the names in a folder, which has been checked; none where it cannot be listed."""
        if path not in self._listed:
            try:
                names = sorted(os.listdir(path))
            except OSError:
                names = []
            if len(names) > _MOST_ENTRIES:
                raise UnreachableError(f"a folder with over {_MOST_ENTRIES:,} files")
            self._listed[path] = tuple(names)
        return self._listed[path]


def _require_small(path: str) -> None:
    if os.path.getsize(path) > _LARGEST:
        raise UnreachableError(f"larger than {_LARGEST >> 20} MiB, the limit for scripts")


def _together(parts: list[Objects], path: str) -> Objects:
    if not parts:
        return (), f"{path}: no file matches"
    why = next((why for _, why in parts if why), "")
    return tuple(one for found, _ in parts for one in found) if not why else (), why


def read_objects(path: str) -> Objects:
    """Return the documents of a file, and why there are none."""
    # A file may be called `-`, which would be standard input.
    documents, remarks = read_documents((os.path.join(os.curdir, path) if path == "-" else path,))
    wrong = next((one for one in remarks if one.severity is Severity.ERROR), None)
    return tuple(one.data for one in documents), str(wrong) if wrong else ""
