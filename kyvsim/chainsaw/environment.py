"""The environment of scripts: files, cluster, and the output of commands."""

import posixpath
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import NamedTuple, TypeVar

from kyvsim.chainsaw.errors import UnsupportedError, Usage
from kyvsim.chainsaw.session import Objects, TestSession
from kyvsim.model.chainsaw import UnreachableError

STDOUT, STDERR = 1, 2


class Printed(NamedTuple):
    """Text for standard output or standard error."""

    stream: int
    text: str
    unknown: str = ""
    """The command whose output is unknown, "" for known text."""


class Result(NamedTuple):
    """The result of a command."""

    status: int = 0
    printed: tuple[Printed, ...] = ()

    def text(self, stream: int) -> str:
        """Return the output on a stream; raises UnsupportedError if it is unknown."""
        for one in self.printed:
            if one.stream == stream:
                require_known(one)
        return self.known_text(stream)

    def known_text(self, stream: int) -> str:
        """Return the known output on a stream, for messages."""
        return "".join(one.text for one in self.printed if one.stream == stream)


def require_known(printed: Printed) -> None:
    """Raise UnsupportedError if the output is unknown."""
    if printed.unknown:
        raise UnsupportedError(f"the output of {printed.unknown}")


def out(text: str) -> Result:
    """Return the result of a command that printed a text to standard output."""
    return Result(0, (Printed(STDOUT, text),) if text else ())


def error_output(text: str, status: int = 1) -> Result:
    """Return the result of a command that failed with a text on standard error."""
    return Result(status, (Printed(STDERR, text),) if text else ())


_NOWHERE = "/dev/null"
_STDIN = frozenset({"-", "/dev/stdin"})
_SCRATCH = "/tmp/"  # noqa: S108 — a name in scripts: nothing is written to it
_WRITTEN_ONLY = "written:"
"""The prefix of the keys of files that are never read from the disk."""
_LOOK_UP = 2
"""The number of steps that a file system access counts as."""
_PARSED = 64
"""The number of characters of a manifest that count as one step."""

_T = TypeVar("_T")


class ShellEnvironment(NamedTuple):
    """The environment of a script.

    Files that it writes are only visible to scripts of its test. Files below `/tmp` are those that
    scripts have written; all others are in the test's folder.
    """

    session: TestSession

    @property
    def usage(self) -> Usage:
        """The resources that the scripts of the test have used."""
        return self.session.usage

    def read(self, name: str, stdin: str = "") -> str | None:
        """Return the text of a file, None if it does not exist."""
        text: str | None
        if name == _NOWHERE:
            text = ""
        elif name in _STDIN:
            text = stdin
        else:
            pieces = self.session.written.get(self._key(name))
            text = self._reach(name, self.session.files.text) if pieces is None else "".join(pieces)
        self.usage.text(len(text or ""))
        return text

    def write(self, name: str, text: str, *, append: bool) -> None:
        """Write a file that is only visible to scripts of this test."""
        if name == _NOWHERE:
            return
        key = self._key(name)
        written = self.session.written
        if key not in written or not append:
            before = self.read(name) if append else None
            self.usage.file(key)
            written[key] = [before] if before else []
        self.usage.text(len(text))
        written[key].append(text)

    def why_not_writable(self, name: str) -> str:
        """Return why a file cannot be written, with a shell's message, "" if it can."""
        folder = posixpath.dirname(name)
        if not name or (folder and not self.is_there(folder)):
            return "Directory nonexistent"
        return "Is a directory" if name.endswith("/") or self.is_folder(name) else ""

    def is_folder(self, name: str) -> bool:
        """Return whether a folder of the test exists."""
        key = self._key(name)
        is_open = key not in self.session.written and not key.startswith(_WRITTEN_ONLY)
        return is_open and self._reach(name, self.session.files.is_folder)

    def is_there(self, name: str) -> bool:
        """Return whether a file or folder exists."""
        if name == _NOWHERE or f"{name}/" == _SCRATCH:
            return True
        if self._key(name) in self.session.written:
            return True
        return self._reach(name, self.session.files.is_there)

    def remove(self, name: str) -> bool:
        """Remove a file that scripts have written; return whether it existed."""
        if self.session.written.pop(self._key(name), None) is not None:
            return True
        if self.is_there(name):
            raise UnsupportedError(f"removing `{name}`, a file in the test's folder")
        return False

    def matching(self, pattern: str) -> tuple[str, ...]:
        """Return the names that a glob pattern matches, sorted."""
        if pattern.startswith(_SCRATCH):
            keys = (one for one in self.session.written if one.startswith(_WRITTEN_ONLY))
            written = (one.removeprefix(_WRITTEN_ONLY) for one in keys)
            siblings = (one for one in written if one.count("/") == pattern.count("/"))
            return tuple(sorted(one for one in siblings if fnmatchcase(one, pattern)))
        names_on_disk = self._reach(pattern, self.session.files.matching)
        self.usage.step(10 + len(names_on_disk))
        if "/" in pattern:
            return names_on_disk
        home = self._key(".")
        hidden = pattern.startswith(".")
        names = set(names_on_disk)
        for folder, name in map(posixpath.split, self.session.written):
            if folder == home and fnmatchcase(name, pattern) and (hidden or name[0] != "."):
                names.add(name)
        return tuple(sorted(names))

    def objects(self, name: str, stdin: str = "") -> Objects:
        """Return the documents of a file, and why there are none."""
        files = self.session.files
        if name in _STDIN or self._key(name) in self.session.written:
            text = self.read(name, stdin) or ""
            self.usage.step(len(text) // _PARSED)
            return files.parsed(text)
        return self._reach(name, files.of_script)

    def _key(self, name: str) -> str:
        """Return the canonical key of a path."""
        self.usage.step(_LOOK_UP)
        try:
            return self.session.files.key(name)
        except UnreachableError:
            plain = posixpath.normpath(name)
            if plain.startswith(_SCRATCH):
                return f"{_WRITTEN_ONLY}{plain}"
            raise UnsupportedError(f"the file `{name}`: outside the test's folder") from None

    def _reach(self, name: str, read: Callable[[str], _T]) -> _T:
        try:
            return read(name)
        except UnreachableError as error:
            raise UnsupportedError(f"the file `{name}`: {error}") from None


class ProgramCall(NamedTuple):
    """A call of a program."""

    arguments: tuple[str, ...]
    stdin: str
    environment: ShellEnvironment
    end: float = float("inf")
    """The virtual time at which the script is killed, in seconds."""

    @property
    def usage(self) -> Usage:
        """The resources that the scripts of the test have used."""
        return self.environment.usage

    def unsupported(self, name: str) -> UnsupportedError:
        """Return the error that a program is not simulated with these arguments."""
        return UnsupportedError(f"`{' '.join((name, *self.arguments))}`")

    def lines(self, text: str) -> list[str]:
        """Return the lines of a text, and count them as steps."""
        self.usage.step(text.count("\n"))
        lines = text.split("\n")
        return lines if lines[-1] else lines[:-1]
