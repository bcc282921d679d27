"""Where a project's configuration is: the start of every command looks for it."""

import os
import stat
from typing import NamedTuple

USUAL_NAME = ".kyvsim.yaml"
PROJECT = "pyproject.toml"
TABLE = ("tool", "kyvsim")
"""The table of PROJECT that is ours."""


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
        own, project = os.path.join(folder, USUAL_NAME), os.path.join(folder, PROJECT)
        # What is there and is not a file is reported when it is read.
        found = [own] * os.path.lexists(own) + [project] * _has_our_table(project)
        if found:
            return tuple(os.path.relpath(one) for one in found)
        folder, last = os.path.dirname(folder), folder
        if folder == last:
            return ()


def distrusted(file: str) -> str:
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


def _has_our_table(project: str) -> bool:
    """Return whether a file may have our table: to be sure it is read with a library."""
    if not os.path.isfile(project):
        return False
    try:
        with open(project, "rb") as file:
            return ".".join(TABLE).encode() in file.read()
    except OSError:
        return False
