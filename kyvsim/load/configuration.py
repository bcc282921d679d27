"""A project's configuration: `.kyvsim.yaml`, or the table `tool.kyvsim` of pyproject.toml.

Codes: KV058 a discovered configuration of another user, KV094 an unreadable configuration.
"""

import contextlib
import os
import re
import stat
from collections.abc import Callable
from typing import NamedTuple

from kyvsim.kubernetes.objects import MAX_DEPTH, TOO_DEEP, JsonMap, Path
from kyvsim.load.documents import STRICT, read_documents
from kyvsim.model.diagnostic import Diagnostic, Severity, error_about, has_errors
from kyvsim.model.source import Location

_USUAL_NAME = ".kyvsim.yaml"
_PROJECT = "pyproject.toml"
_TABLE = ("tool", "kyvsim")


class ConfigurationFiles(NamedTuple):
    """The configuration files of a command."""

    paths: tuple[str, ...] = ()
    """The paths; two in one folder are an error."""
    named: bool = True
    """Whether the user named it; otherwise kyvsim discovered it."""


def project_files() -> tuple[str, ...]:
    """Return the configurations in the working folder, or in the nearest parent with one."""
    folder = os.getcwd()
    while True:
        own, project = os.path.join(folder, _USUAL_NAME), os.path.join(folder, _PROJECT)
        # If it is not a file, reading it reports that.
        paths = [own] if os.path.lexists(own) else []
        if os.path.isfile(project):
            with contextlib.suppress(OSError), open(project, "rb") as file:
                if ".".join(_TABLE).encode() in file.read():
                    paths.append(project)
        if paths:
            return tuple(os.path.relpath(path) for path in paths)
        folder, last = os.path.dirname(folder), folder
        if folder == last:
            return ()


def _distrusted(file: str) -> str:
    """Return why a discovered file may be from another user, or "".

    The rule is stricter than git's for `safe.directory`: others must not be able to replace the
    file or a link to it. Trusted owners are the user, root, and for root the user of sudo. A sticky
    folder such as /tmp prevents others from replacing a file, but not from linking one. Windows
    reports neither owners nor modes here.
    """
    if not hasattr(os, "geteuid"):
        return ""
    try:
        os.stat(file)  # fails for a loop of links
        paths = [os.path.abspath(file)]
        while os.path.islink(paths[-1]):
            # `..` after a link is the parent of the link's target, so the folder is resolved first.
            folder = os.path.realpath(os.path.dirname(paths[-1]))
            paths.append(os.path.join(folder, os.readlink(paths[-1])))
        reasons = [_distrusted_entry(path) for path in paths]
    except OSError:  # reported when it is read
        return ""
    return next(filter(None, reasons), "")


def _distrusted_entry(path: str) -> str:
    """Return why one file or link may be from another user, or ""; raises OSError."""
    entry, content, parent = os.lstat(path), os.stat(path), os.stat(os.path.dirname(path))
    user, group = os.geteuid(), os.getegid()
    users, groups = {user, 0}, {group}
    for variable, known in (("SUDO_UID", users), ("SUDO_GID", groups)):
        value = os.environ.get(variable, "")
        if user == 0 and value.isascii() and value.isdecimal():
            known.add(int(value))
    for what, facts in (("the file", entry), ("the file", content), ("its folder", parent)):
        if facts.st_uid not in users:
            return f"{what} belongs to user {facts.st_uid}, and kyvsim runs as user {user}"
    is_sticky = bool(parent.st_mode & stat.S_ISVTX)
    if is_sticky and content.st_nlink > 1:
        return "the file is a hard link in a folder that other users can write to"
    for what, facts in (("the file", content), ("its folder", parent)):
        # The primary group is trusted: folders have mode 775 if each user has a private group.
        of_group = facts.st_mode & stat.S_IWGRP and facts.st_gid not in groups
        is_open = facts.st_mode & stat.S_IWOTH or of_group
        if is_open and (facts is content or not is_sticky):
            return f"other users can write to {what}"
    return ""


class Configuration(NamedTuple):
    """The content of a configuration."""

    file: str
    data: JsonMap
    locate: Callable[[Path], Location]
    named: bool = True
    """Whether the user named it; otherwise kyvsim discovered it."""

    @property
    def folder(self) -> str:
        """The folder of the file, for relative paths in it; relative to the working folder."""
        return os.path.dirname(self.file)


Found = tuple[Configuration | None, tuple[Diagnostic, ...]]


def read_configuration(files: ConfigurationFiles) -> Found:
    """Return a configuration, or None if it cannot be used, and diagnostics.

    Two files in one folder are an error, since either could be meant.
    """
    file = files.paths[0]
    why = "" if files.named else _distrusted(file)
    if why:
        text = f"not used: {why}; name it with --config {file}, or pass --no-config"
        return None, (error_about(file, "KV058", text),)
    if len(files.paths) > 1:
        text = f"{files.paths[1]} has a table [{'.'.join(_TABLE)}] too: keep one of the two"
        return None, (_unusable(text, Location(file)),)
    configuration, remarks = _from_toml(file) if file.endswith(".toml") else _from_yaml(file)
    return configuration and configuration._replace(named=files.named), remarks


def _from_yaml(file: str) -> Found:
    documents, remarks = read_documents((file,), None, STRICT)
    if has_errors(remarks):
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
        position = re.fullmatch(r"line (\d+), column (\d+)\)", where)
        if position is not None:
            line, column = int(position[1]), int(position[2])
        else:  # the end of the document
            line, column = text.count("\n") + 1, len(text) - text.rfind("\n")
        malformed = _unusable(f"cannot be read: {what or message}", Location(file, line, column))
        return None, (malformed,)
    except ValueError as error:  # more digits than Python's limit
        return None, (_unusable(f"cannot be read: {error}", Location(file)),)
    except RecursionError:
        return None, (_unusable(f"cannot be read: {TOO_DEEP}", Location(file, *_deepest(text))),)
    for name in _TABLE:
        data = data.get(name, {})
        if not isinstance(data, dict):
            return None, (_unusable(f"`{name}` must be a table", _in_toml(file, text, ())),)
    return Configuration(file, data, lambda path: _in_toml(file, text, path)), ()


def _deepest(text: str) -> tuple[int, int]:
    depth = 0
    for place, character in enumerate(text):
        depth += (character in "[{") - (character in "]}")
        if depth > MAX_DEPTH:
            return text.count("\n", 0, place) + 1, place - text.rfind("\n", 0, place)
    return 1, 1


def _in_toml(file: str, text: str, path: Path) -> Location:
    """Return the position of a key, or of its table."""
    expected = [*_TABLE, *(part for part in path if isinstance(part, str))]
    table: list[str] = []
    position = Location(file)
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        column = line.find(stripped) + 1
        if stripped.startswith("["):
            table = [part.strip(" \"'") for part in stripped.split("]")[0].strip("[ ").split(".")]
            if table == expected[: len(table)] and len(table) >= len(_TABLE):
                position = Location(file, number, column)
        elif [*table, stripped.partition("=")[0].strip(" \"'")] == expected:
            return Location(file, number, column)
    return position
