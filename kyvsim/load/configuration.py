"""A project's configuration: `.kyvsim.yaml`, or the table `tool.kyvsim` of pyproject.toml.

Codes: KV058 a discovered configuration that may be somebody else's, KV094 a configuration that
cannot be read.
"""

import contextlib
import os
import re
import stat
from collections.abc import Callable, Mapping
from typing import NamedTuple

from kyvsim.kubernetes.objects import MAX_DEPTH, TOO_DEEP, Json, Path
from kyvsim.load.documents import STRICT, read_documents
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.source import Location

_USUAL_NAME = ".kyvsim.yaml"
_PROJECT = "pyproject.toml"
_TABLE = ("tool", "kyvsim")
"""The table of _PROJECT that is ours."""


class ConfigurationFiles(NamedTuple):
    """The configuration of a call."""

    paths: tuple[str, ...] = ()
    """None, one, or two of one folder, which is an error."""
    named: bool = True
    """Whether the user named it, rather than kyvsim discovering it."""


def project_files() -> tuple[str, ...]:
    """Return the configurations of the nearest folder that has one, relative to this folder.

    That is the working folder or one above it; one that has two is an error.
    """
    folder = os.getcwd()
    while True:
        own, project = os.path.join(folder, _USUAL_NAME), os.path.join(folder, _PROJECT)
        # What is there and is not a file is reported when it is read.
        found = [own] if os.path.lexists(own) else []
        if os.path.isfile(project):
            with contextlib.suppress(OSError), open(project, "rb") as file:
                if ".".join(_TABLE).encode() in file.read():
                    found.append(project)
        if found:
            return tuple(os.path.relpath(one) for one in found)
        folder, last = os.path.dirname(folder), folder
        if folder == last:
            return ()


def _distrusted(file: str) -> str:
    """Return why a discovered file may be somebody else's, "" where it is not.

    The rule is git's for `safe.directory`, and stricter: not only the owner counts but also who
    may replace the file. The owners that count are the user, root, and for root the user that sudo
    names. A sticky folder such as /tmp does not let others replace a file, but lets them link one.
    Who may replace what a symbolic link leads to decides as well, so each link on the way counts.
    Windows reports neither owners nor modes here, so nothing is refused there.
    """
    if not hasattr(os, "geteuid"):
        return ""
    try:
        whys = [_distrusted_entry(one) for one in _with_link_targets(file)]
    except OSError:  # reported when it is read
        return ""
    return next(filter(None, whys), "")


def _with_link_targets(file: str) -> list[str]:
    """Return a file and what it leads to where it is a symbolic link; raises OSError for a loop."""
    os.stat(file)
    paths = [os.path.abspath(file)]
    while os.path.islink(paths[-1]):
        # `..` after a link is the parent of where that link leads, so the folder is resolved first.
        folder = os.path.realpath(os.path.dirname(paths[-1]))
        paths.append(os.path.join(folder, os.readlink(paths[-1])))
    return paths


def _distrusted_entry(path: str) -> str:
    """Return why one file or link may be somebody else's, "" where it is not; raises OSError."""
    entry, content, parent = os.lstat(path), os.stat(path), os.stat(os.path.dirname(path))
    user, group = os.geteuid(), os.getegid()
    users, groups = {user, 0}, {group}
    if user == 0:
        users |= _number_in("SUDO_UID")
        groups |= _number_in("SUDO_GID")
    for what, facts in (("the file", entry), ("the file", content), ("its folder", parent)):
        if facts.st_uid not in users:
            return f"{what} belongs to user {facts.st_uid}, and kyvsim runs as user {user}"
    is_sticky = bool(parent.st_mode & stat.S_ISVTX)
    if is_sticky and content.st_nlink > 1:
        return "the file is a hard link in a folder that other users can write to"
    for what, facts in (("the file", content), ("its folder", parent)):
        if (facts is content or not is_sticky) and _lets_others_write(facts, groups):
            return f"other users can write to {what}"
    return ""


def _number_in(variable: str) -> set[int]:
    value = os.environ.get(variable, "")
    return {int(value)} if value.isascii() and value.isdecimal() else set()


def _lets_others_write(facts: os.stat_result, groups: set[int]) -> bool:
    """Return whether others than the owner may write; the user's primary group is no other.

    Where each user has a group of their own, folders are made with mode 775.
    """
    of_group = facts.st_mode & stat.S_IWGRP and facts.st_gid not in groups
    return bool(facts.st_mode & stat.S_IWOTH or of_group)


class Configuration(NamedTuple):
    """What a configuration says, as it is written."""

    file: str
    data: Mapping[str, Json]
    locate: Callable[[Path], Location]
    named: bool = True
    """Whether the user named it, rather than kyvsim discovering it."""

    @property
    def folder(self) -> str:
        """The folder to which its paths are relative, as seen from the working folder."""
        return os.path.dirname(self.file)


Found = tuple[Configuration | None, tuple[Diagnostic, ...]]


def read_configuration(files: ConfigurationFiles) -> Found:
    """Return what a file says, None where it cannot be used, and what is wrong with it.

    Two files of one folder are wrong: which of them counts would be a guess.
    """
    file = files.paths[0]
    why = "" if files.named else _distrusted(file)
    if why:
        text = f"not used: {why}; name it with --config {file}, or pass --no-config"
        return None, (Diagnostic("KV058", Severity.ERROR, text, Location(file)),)
    if len(files.paths) > 1:
        text = f"{files.paths[1]} has a table [{'.'.join(_TABLE)}] too: keep one of the two"
        return None, (_unusable(text, Location(file)),)
    found, remarks = _from_toml(file) if file.endswith(".toml") else _from_yaml(file)
    return found and found._replace(named=files.named), remarks


def _from_yaml(file: str) -> Found:
    documents, remarks = read_documents((file,), None, STRICT)
    if any(one.severity is Severity.ERROR for one in remarks):
        return None, remarks
    if len(documents) != 1 or documents[0].data.__class__ is not dict:
        return None, (_unusable("a configuration must be one map", Location(file)),)
    return Configuration(file, documents[0].data, documents[0].locate), ()


def _unusable(text: str, place: Location) -> Diagnostic:
    return Diagnostic("KV094", Severity.ERROR, text, place)


def _from_toml(file: str) -> Found:
    import tomllib

    try:
        with open(file, encoding="utf-8") as opened:
            text = opened.read()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        return None, (_unusable(f"cannot be read: {reason}", Location(file)),)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        what, _, where = message.rpartition(" (at ")
        found = re.fullmatch(r"line (\d+), column (\d+)\)", where)
        if found is not None:
            line, column = int(found[1]), int(found[2])
        else:  # the end of the document
            line, column = text.count("\n") + 1, len(text) - text.rfind("\n")
        malformed = _unusable(f"cannot be read: {what or message}", Location(file, line, column))
        return None, (malformed,)
    except ValueError as error:  # a number of more digits than Python reads
        return None, (_unusable(f"cannot be read: {error}", Location(file)),)
    except RecursionError:
        place = Location(file, *_deepest(text))
        return None, (_unusable(f"cannot be read: {TOO_DEEP}", place),)
    for name in _TABLE:
        data = data.get(name, {})
        if not isinstance(data, dict):
            return None, (_unusable(f"`{name}` must be a table", _in_toml(file, text, ())),)
    return Configuration(file, data, lambda path: _in_toml(file, text, path)), ()


def _deepest(text: str) -> tuple[int, int]:
    depth = 0
    for place, one in enumerate(text):
        depth += (one in "[{") - (one in "]}")
        if depth > MAX_DEPTH:
            return text.count("\n", 0, place) + 1, place - text.rfind("\n", 0, place)
    return 1, 1


def _in_toml(file: str, text: str, path: Path) -> Location:
    """Return the line of a key, or of its table: what is written on a line of its own."""
    wanted = [*_TABLE, *(part for part in path if isinstance(part, str))]
    table: list[str] = []
    found = Location(file)
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.strip()
        column = line.find(bare) + 1
        if bare.startswith("["):
            table = [part.strip(" \"'") for part in bare.split("]")[0].strip("[ ").split(".")]
            if table == wanted[: len(table)] and len(table) >= len(_TABLE):
                found = Location(file, number, column)
        elif [*table, bare.partition("=")[0].strip(" \"'")] == wanted:
            return Location(file, number, column)
    return found
