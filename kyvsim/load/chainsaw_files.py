"""The files that the operations and scripts of a chainsaw test may read.

Paths are made absolute and links are resolved before they are compared with the allowed folder, so
`..`, links and absolute paths are treated alike.
"""

import fnmatch
import os
import re
from collections.abc import Iterator

from kyvsim.kubernetes.objects import KubernetesObject
from kyvsim.load.documents import Typing, parse_documents, read_documents
from kyvsim.load.files import Source, decode, read_bytes
from kyvsim.load.folders import is_manifest_name
from kyvsim.model.chainsaw import UnreachableError
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.source import Document
from kyvsim.yaml.document import Keys

_SYSTEM_FOLDERS = ("/proc", "/sys", "/dev")
"""Never read, even if the allowed folder is `/`."""
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_WILD = re.compile(r"[*?\[]")
_LARGEST = 8 << 20
"""Maximum size in bytes of a file that a script reads."""
_AS_CHAINSAW = Typing(keys=Keys.LAST_WINS)
"""chainsaw and kubectl convert YAML to JSON by sigs.k8s.io/yaml, which accepts duplicate keys."""
_MOST_MATCHES = 1_000
_MOST_ENTRIES = 10_000

Objects = tuple[tuple[KubernetesObject, ...], str]
"""The objects of a file, or the reason why there are none."""


def place_of(folder: str, name: str) -> str:
    """Return the path of a file in an operation; a leading slash is ignored."""
    return os.path.normpath(os.path.join(folder, name.lstrip("/")))


def project_of(folder: str, given: str) -> str:
    """Return the folder that limits files of operations: the git work tree, or else `given`."""
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
    """Return whether a resolved path is in a folder, and not a device or process state."""
    if any(path == folder or path.startswith(f"{folder}/") for folder in _SYSTEM_FOLDERS):
        return False
    return path == folder or path.startswith(f"{folder.rstrip(os.sep)}{os.sep}")


def resolved(path: str) -> str:
    """Return a path with resolved links; raises UnreachableError for an invalid path."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        raise UnreachableError("not a path") from None


class ReachableFiles:
    """The files that a test may read: operations in its project, scripts in its folder."""

    def __init__(self, folder: str, project: str) -> None:
        self._folder = folder
        self._home = os.path.realpath(folder or os.curdir)
        self._project = project
        self._listed: dict[str, tuple[str, ...]] = {}
        self.used: set[str] = set()
        """The requested paths, including those that are not allowed."""

    def of_operation(self, name: str) -> Objects:
        """Return the objects of a `file` field, which may be a pattern; raises UnreachableError."""
        if _SCHEME.match(name):
            raise UnreachableError("URLs are not downloaded")
        path = place_of(self._folder, name)
        self.used.add(path)
        if not _WILD.search(name):
            self._check(path, self._project, "folder")
        if os.path.isdir(path):
            # upstream: chainsaw pkg/loaders/resource/load.go reads all matches of a pattern as
            # files.
            return (), f"{path}: is a folder; use a pattern such as `{name}/*.yaml`"
        if os.path.exists(path) or not _WILD.search(name):
            return read_objects(path)
        matches = [*self._matches(path, self._project)]
        return _merged([read_objects(match) for match in matches], path)

    def of_script(self, name: str) -> Objects:
        """Return the objects of a file or folder that kubectl reads; raises UnreachableError."""
        if _SCHEME.match(name):
            raise UnreachableError("URLs are not downloaded")
        path = self.key(name)
        if not os.path.isdir(path):
            return self._read_object_file(path)
        names = (os.path.join(path, one) for one in self._entries(path) if is_manifest_name(one))
        files = [file for file in names if not os.path.isdir(file)]
        return _merged([self._read_object_file(self.key(file)) for file in files], path)

    def _read_object_file(self, path: str) -> Objects:
        if not os.path.isfile(path):
            return (), f'the path "{os.path.relpath(path, self._home)}" does not exist'
        _require_small(path)
        return read_objects(os.path.relpath(path))

    def text(self, name: str) -> str | None:
        """Return the text of a file that a script reads; None if it does not exist.

        Raises UnreachableError outside of the test's folder, or if it is not UTF-8.
        """
        path = self.key(name)
        if not os.path.exists(path):
            return None
        _require_small(path)
        try:
            data = read_bytes(path)
        except OSError:
            raise UnreachableError("not a regular file") from None
        source = decode(path, data) if data is not None else None
        if not isinstance(source, Source):
            raise UnreachableError("not UTF-8")
        return source.text

    def parsed(self, text: str) -> Objects:
        """Return the documents of a text."""
        documents = tuple(parse_documents(Source("<script>", text), _AS_CHAINSAW))
        wrong = (str(one) for one in documents if isinstance(one, Diagnostic))
        data = tuple(document.data for document in documents if isinstance(document, Document))
        return data, next(wrong, "")

    def key(self, name: str) -> str:
        """Return the resolved path of a script's file; raises UnreachableError."""
        self.used.add(place_of(self._folder, name) if not name.startswith("/") else name)
        return self._check(os.path.join(self._home, name), self._home, "test's folder")

    def is_there(self, name: str) -> bool:
        """Return whether a path of a script exists; raises UnreachableError."""
        return os.path.exists(self.key(name))

    def is_folder(self, name: str) -> bool:
        """Return whether a path of a script is a folder; raises UnreachableError."""
        return os.path.isdir(self.key(name))

    def matching(self, pattern: str) -> tuple[str, ...]:
        """Return the matches of a script's pattern, sorted; raises UnreachableError."""
        whole = os.path.join(self._home, pattern)
        matches = tuple(self._matches(whole, self._home, "test's folder"))
        if pattern.startswith("/"):
            return matches
        dotted = "./" if pattern.startswith("./") else ""
        return tuple(f"{dotted}{os.path.relpath(match, self._home)}" for match in matches)

    def _check(self, path: str, folder: str, shown: str) -> str:
        """Return a path with resolved links; raises UnreachableError outside of the folder."""
        real = resolved(path)
        if not is_inside(real, folder):
            raise UnreachableError(f"outside of the {shown} `{os.path.relpath(folder)}`")
        return real

    def _matches(self, pattern: str, folder: str, shown: str = "folder") -> Iterator[str]:
        """Yield the files that match a pattern as in Go's filepath.Glob.

        Each folder is resolved and checked before it is listed.
        """
        pattern = os.path.normpath(pattern)
        paths = ["/" if pattern.startswith("/") else ""]
        for part in pattern.strip("/").split("/"):
            if _WILD.search(part):
                entries = [
                    (parent, name)
                    for parent in paths
                    for name in self._entries(self._check(parent or os.curdir, folder, shown))
                ]
                hidden = part.startswith(".")
                paths = [
                    os.path.join(parent, name)
                    for parent, name in entries
                    if name.startswith(".") <= hidden and fnmatch.fnmatchcase(name, part)
                ]
            else:
                paths = [os.path.join(parent, part) for parent in paths]
            if len(paths) > _MOST_MATCHES:
                raise UnreachableError(f"a pattern that matches over {_MOST_MATCHES:,} names")
        for parent in paths:
            if os.path.lexists(parent):
                self._check(parent, folder, shown)
                yield parent

    def _entries(self, path: str) -> tuple[str, ...]:
        """Return the names in a checked folder; none if it cannot be listed."""
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


def _merged(parts: list[Objects], path: str) -> Objects:
    if not parts:
        return (), f"{path}: no file matches"
    why = next((why for _, why in parts if why), "")
    return tuple(obj for found, _ in parts for obj in found) if not why else (), why


def read_objects(path: str) -> Objects:
    """Return the documents of a file."""
    # A file may be named `-`, which would mean standard input.
    named = os.path.join(os.curdir, path) if path == "-" else path
    documents, remarks = read_documents((named,), None, _AS_CHAINSAW)
    wrong = (str(remark) for remark in remarks if remark.severity is Severity.ERROR)
    return tuple(document.data for document in documents), next(wrong, "")
