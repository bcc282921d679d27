"""The files of a folder that may hold manifests, and what is left aside on the way.

Codes: KV003 cannot be read, KV024 a Helm chart, KV028 left out of a folder, KV065 too much in it.
"""

import os
from collections.abc import Iterator
from typing import NamedTuple

from kyvsim.load.ignore import (
    Patterns,
    given_patterns,
    ignored_by,
    patterns_above,
    patterns_in,
)
from kyvsim.load.walking import IGNORE_FILE, USUAL, Walking, is_manifest_name, too_much, unreadable
from kyvsim.model.diagnostic import Diagnostic, Severity, left_out
from kyvsim.model.source import Location

_OF_VERSION_CONTROL = frozenset({".git", ".hg", ".svn"})
_OF_CHARTS = frozenset({"templates", "charts"})


class _Walk(NamedTuple):
    """What is the same in all folders of one walk."""

    given: tuple[Patterns, ...]
    ignore_files: bool
    name: str
    """The only name of files that count, in hidden folders and charts too; "" for manifests."""
    seen: set[str]
    """Real paths of the folders that are walked: links lead to some of them again."""


class _Folder(NamedTuple):
    path: str
    real: str
    """The same path without links."""
    patterns: tuple[Patterns, ...]


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a folder or leads to one.

    A link that leads round in a circle, or where nobody may look, does not.
    """
    try:
        return entry.is_dir()
    except OSError:
        return False


def walk(path: str, walking: Walking = USUAL, name: str = "") -> Iterator[str | Diagnostic]:
    """Yield the YAML and JSON files in and below a folder, in order, or those of one name.

    Links to folders are followed, each folder is walked once. What is not read is told: what is
    hidden, what the user leaves aside, templates of Helm charts, folders that cannot be read.
    Looking for a name, nothing counts as hidden or as a template. Where more is found than
    `walking` allows, that is all that is told.
    """
    found: list[str | Diagnostic] = []
    given = given_patterns(walking.exclude, path)
    real = os.path.realpath(path)
    same = _Walk(given, walking.ignore_files, name, {real})
    for some in _walked(path, real, same):
        found += some
        if walking.most and len(found) + len(same.seen) > walking.most:
            return iter((too_much(path, walking),))
    return iter(found)


def _walked(path: str, real: str, same: _Walk) -> Iterator[list[str | Diagnostic]]:
    """Yield what is found in a folder and in each below it, one folder after the other."""
    above = tuple(patterns_above(path)) if same.ignore_files else ()
    yield [one for one in above if isinstance(one, Diagnostic)]
    pending = [_Folder(path, real, tuple(one for one in above if isinstance(one, Patterns)))]
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(folder.path) as listed:
                entries = sorted(listed, key=lambda entry: entry.name)
        except OSError as error:
            yield [unreadable(str(error.filename or folder.path), error)]
            continue
        looked = [*_look(folder, entries, same)]
        yield [one for one in looked if not isinstance(one, _Folder)]
        pending += reversed([one for one in looked if isinstance(one, _Folder)])


def left_aside(path: str, walking: Walking) -> Iterator[Diagnostic]:
    """Yield why a walk would pass over a file, nothing where it would not."""
    folder = os.path.dirname(path) or os.curdir
    found = [*given_patterns(walking.exclude, folder)]
    if walking.ignore_files:
        for one in (*patterns_above(folder), *patterns_in(folder)):
            if isinstance(one, Diagnostic):
                yield one
            else:
                found.append(one)
    origin = ignored_by(path, tuple(found), is_folder=False)
    if origin:
        yield left_out(f"ignored because of {origin}", Location(path))


def _look(
    folder: _Folder, entries: list[os.DirEntry[str]], same: _Walk
) -> Iterator[str | _Folder | Diagnostic]:
    """Yield the files of one folder, the folders to walk next, and what is told."""
    patterns = folder.patterns
    if same.ignore_files and any(one.name == IGNORE_FILE for one in entries):
        own = tuple(patterns_in(folder.path))
        yield from (one for one in own if isinstance(one, Diagnostic))
        patterns = (*patterns, *(one for one in own if isinstance(one, Patterns)))
    folders = [one for one in entries if is_folder(one)]
    files = [one for one in entries if not is_folder(one) and _is_wanted(one.name, same)]
    for entry in files:
        yield _reason(entry, (*patterns, *same.given), same) or entry.path
    is_chart = not same.name and any(one.name == "Chart.yaml" for one in files)
    for entry in folders:
        reason = _reason(entry, (*patterns, *same.given), same)
        if reason:
            yield reason
        elif is_chart and entry.name in _OF_CHARTS:
            if entry.name == "templates":
                yield _chart(entry.path, folder.path)
        elif entry.name not in _OF_VERSION_CONTROL:
            real = _real_path(folder, entry)
            if _is_new(real, entry.name, same):
                yield _Folder(entry.path, real, patterns)


def _is_wanted(name: str, same: _Walk) -> bool:
    return name == same.name if same.name else is_manifest_name(name)


def _real_path(folder: _Folder, entry: os.DirEntry[str]) -> str:
    """Return the path without links of what lies in a folder; only links are looked up.

    Windows has others that do not call themselves links.
    """
    if entry.is_symlink() or os.name == "nt":
        return os.path.realpath(entry.path)
    return os.path.join(folder.real, entry.name)


def _is_new(real: str, name: str, same: _Walk) -> bool:
    """Return whether a folder is met for the first time, and remember it."""
    if real in same.seen:
        return False
    same.seen.add(real)
    # What is hidden and holds no manifest is not worth a word, nor a look.
    return bool(same.name) or not name.startswith(".")


def _reason(
    entry: os.DirEntry[str], patterns: tuple[Patterns, ...], same: _Walk
) -> Diagnostic | None:
    """Return why a file or folder is not read, None where it is."""
    of_folder = is_folder(entry)
    origin = ignored_by(entry.path, patterns, is_folder=of_folder)
    if origin:
        return left_out(f"ignored because of {origin}", Location(entry.path))
    if same.name or not entry.name.startswith(".") or entry.name in _OF_VERSION_CONTROL:
        return None
    if not of_folder:
        return left_out("a hidden file", Location(entry.path))
    return left_out("a hidden folder", Location(entry.path)) if _has_files(entry.path) else None


def _has_files(folder: str) -> bool:
    """Return whether there is a YAML or JSON file in or below a folder."""
    return any(is_manifest_name(name) for _, _, names in os.walk(folder) for name in names)


def _chart(templates: str, folder: str) -> Diagnostic:
    text = (
        f"templates of a Helm chart are no manifests: pass the output of `helm template {folder}`"
    )
    return Diagnostic("KV024", Severity.ERROR, text, Location(templates), folded="chart")
