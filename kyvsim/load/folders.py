"""Finds the manifest files of a folder, and reports ignored ones.

Files are ignored by `.kyvsimignore` files and `--exclude`, in gitignore's syntax. Codes: KV003
cannot be read, KV024 a Helm chart, KV028 ignored in a folder, KV047 a pattern that cannot be
parsed, KV065 too many files in a folder.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from kyvsim.model.diagnostic import Diagnostic, Severity, error_about, left_out
from kyvsim.model.source import Location

IGNORE_FILE = ".kyvsimignore"
TOO_MUCH = "KV065"
_SUFFIXES = (".yaml", ".yml", ".json")


class Walking(NamedTuple):
    """Options for walking through folders."""

    exclude: tuple[str, ...] = ()
    ignore_files: bool = True
    as_found: bool = False
    """Whether given files are treated as if they were found in their folders, as for pre-commit."""
    most: int = 100_000
    """Maximum number of files and folders at a path; 0 for no limit."""


USUAL = Walking()


def is_manifest_name(name: str) -> bool:
    """Return whether a file name has an extension of YAML or JSON."""
    return name.lower().endswith(_SUFFIXES)


def too_much(path: str, walking: Walking) -> Diagnostic:
    """Return the error about a path with too many files."""
    text = (
        f"more than {walking.most:,} files and folders: pass fewer, or raise the limit "
        "(--max-files N)"
    )
    return error_about(path, TOO_MUCH, text)


def unreadable(path: str, error: OSError | ValueError) -> Diagnostic:
    """Return the error about a file or folder that cannot be read."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return error_about(path, "KV003", f"cannot be read: {reason[:1].lower()}{reason[1:]}")


_Spec: TypeAlias = Any
"""A `pathspec.GitIgnoreSpec`; the library is only loaded if there are patterns."""
_SHOWN = 60
"""Maximum number of characters of a pattern in errors."""


class Patterns(NamedTuple):
    """The patterns of one file, or of the command line."""

    base: str
    """The absolute path of their folder."""
    spec: _Spec
    origin: str
    """Their source, for messages."""


class IgnoreError(ValueError):
    """A pattern is invalid; the text is the reason."""

    def __init__(self, text: str, line: int = 0) -> None:
        super().__init__(text)
        self.line = line
        """The position of the invalid pattern (in a file: its line), from 1; 0 if unknown."""


def given_patterns(globs: tuple[str, ...], folder: str) -> tuple[Patterns, ...]:
    """Return the patterns of the command line, relative to the working folder and to `folder`."""
    if not globs:
        return ()
    spec = _compile(globs)
    bases = dict.fromkeys((os.getcwd(), os.path.abspath(folder)))
    return tuple(Patterns(base, spec, "--exclude") for base in bases)


def folders_above(folder: str) -> list[str]:
    """Return the parent folders whose ignore files apply, the highest first.

    The highest one is the folder with `.git` or, without one, the working folder.
    """
    place = os.path.abspath(folder)
    above = []
    while not os.path.exists(os.path.join(place, ".git")) and os.path.dirname(place) != place:
        place = os.path.dirname(place)
        above.append(place)
    if not os.path.exists(os.path.join(place, ".git")):
        here = os.getcwd()
        above = [parent for parent in above if os.path.commonpath((parent, here)) == here]
    return above[::-1]


def patterns_in(folder: str) -> Iterator[Patterns | Diagnostic]:
    """Yield the patterns of a folder's ignore file, if it has one."""
    file = os.path.join(folder, IGNORE_FILE)
    if os.path.exists(file) and not os.path.isfile(file):
        yield error_about(file, "KV047", "cannot be used: it is not a file")
        return
    try:
        with open(file, encoding="utf-8-sig") as stream:
            lines = stream.read().split("\n")
        yield Patterns(os.path.abspath(folder), _compile(lines), f"`{IGNORE_FILE}`")
    except FileNotFoundError:
        return
    except IgnoreError as error:
        place = Location(file, error.line, 1) if error.line else Location(file)
        yield Diagnostic("KV047", Severity.ERROR, f"cannot be used: {error}", place)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        yield error_about(file, "KV047", f"cannot be used: {reason}")


def ignored_by(path: str, patterns: tuple[Patterns, ...], *, is_folder: bool) -> str:
    """Return the origin of the patterns that ignore a path, or ""; the last patterns win."""
    place = os.path.abspath(path) if patterns else ""
    for group in reversed(patterns):
        inside = os.path.relpath(place, group.base)
        if inside == os.curdir or inside.startswith(os.pardir):
            continue
        # re2 does not accept the surrogates in names that are not UTF-8.
        name = inside.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        ignores = group.spec.check_file(f"{name}/" if is_folder else name).include
        if ignores is not None:
            return group.origin if ignores else ""
    return ""


def check_patterns(globs: Iterable[str]) -> None:
    """Raise IgnoreError for an invalid pattern."""
    for glob in globs:
        _compile((glob,))


def _compile(lines: Sequence[str]) -> _Spec:
    """Return compiled patterns; raises IgnoreError for the first invalid one.

    pathspec compiles patterns with `re` and `re2`, which have different limits.
    """
    import re2
    from pathspec import GitIgnoreSpec

    def compiled(patterns: Sequence[str]) -> _Spec:
        spec = GitIgnoreSpec.from_lines(patterns)
        spec.check_file("a")  # re2 compiles a set of patterns when it is first used
        return spec

    wrong = (ValueError, re.error, re2.error, OverflowError, RecursionError)
    try:
        return compiled(lines)
    except wrong as error:
        for number, line in enumerate(lines, 1):
            try:
                compiled((line,))
            except wrong as own:
                shown = line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"
                text = f"pattern `{shown}` is not valid: {' '.join(str(own).split())}"
                raise IgnoreError(text, number) from own
        raise IgnoreError(" ".join(str(error).split())) from error


_OF_VERSION_CONTROL = frozenset({".git", ".hg", ".svn"})
_OF_CHARTS = frozenset({"templates", "charts"})


class _FolderWalk(NamedTuple):
    """The data shared by all folders of a walk."""

    given: tuple[Patterns, ...]
    ignore_files: bool
    name: str
    """The name of files to find, also in hidden folders and charts; "" for manifests."""
    seen: set[str]
    """The real paths of visited folders, since links may lead to them again."""


class _Folder(NamedTuple):
    path: str
    real: str
    patterns: tuple[Patterns, ...]


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a folder or a link to one; False for unreadable links."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def walk(path: str, walking: Walking = USUAL, name: str = "") -> Iterator[str | Diagnostic]:
    """Yield the YAML and JSON files in and below a folder, sorted, or those with one name.

    Links to folders are followed, but each folder is only walked once. Hidden and ignored files,
    templates of Helm charts and unreadable folders are reported. With `name`, files are never
    hidden or templates. If there are too many files, only that error is yielded.
    """
    real = os.path.realpath(path)
    same = _FolderWalk(given_patterns(walking.exclude, path), walking.ignore_files, name, {real})
    above = (
        [one for parent in folders_above(path) for one in patterns_in(parent)]
        if walking.ignore_files
        else []
    )
    entries: list[str | Diagnostic] = [one for one in above if isinstance(one, Diagnostic)]
    pending = [_Folder(path, real, tuple(one for one in above if isinstance(one, Patterns)))]
    while pending:
        folder = pending.pop()
        children: list[str | _Folder | Diagnostic]
        try:
            with os.scandir(folder.path) as listed:
                inside = sorted(listed, key=lambda entry: entry.name)
        except OSError as error:
            children = [unreadable(str(error.filename or folder.path), error)]
        else:
            children = [*_read_folder(folder, inside, same)]
        entries += [child for child in children if not isinstance(child, _Folder)]
        pending += reversed([child for child in children if isinstance(child, _Folder)])
        if walking.most and len(entries) + len(same.seen) > walking.most:
            return iter((too_much(path, walking),))
    return iter(entries)


def ignored_because(path: str, walking: Walking) -> Iterator[Diagnostic]:
    """Yield why a walk would ignore a file; nothing if it would not."""
    folder = os.path.dirname(path) or os.curdir
    places = (*folders_above(folder), folder) if walking.ignore_files else ()
    found = [one for place in places for one in patterns_in(place)]
    yield from (one for one in found if isinstance(one, Diagnostic))
    groups = (
        *given_patterns(walking.exclude, folder),
        *(one for one in found if isinstance(one, Patterns)),
    )
    origin = ignored_by(path, groups, is_folder=False)
    if origin:
        yield left_out(f"ignored by {origin}", Location(path))


def _read_folder(
    folder: _Folder, entries: list[os.DirEntry[str]], same: _FolderWalk
) -> Iterator[str | _Folder | Diagnostic]:
    """Yield the files of a folder, the folders to walk next, and diagnostics."""
    patterns = folder.patterns
    if same.ignore_files and any(entry.name == IGNORE_FILE for entry in entries):
        own = tuple(patterns_in(folder.path))
        yield from (read for read in own if isinstance(read, Diagnostic))
        patterns = (*patterns, *(read for read in own if isinstance(read, Patterns)))
    folders = [entry for entry in entries if is_folder(entry)]
    files = [
        entry
        for entry in entries
        if not is_folder(entry)
        and (entry.name == same.name if same.name else is_manifest_name(entry.name))
    ]
    for entry in files:
        yield _reason(entry, (*patterns, *same.given), same) or entry.path
    is_chart = not same.name and any(file.name == "Chart.yaml" for file in files)
    for entry in folders:
        reason = _reason(entry, (*patterns, *same.given), same)
        if reason:
            yield reason
        elif is_chart and entry.name in _OF_CHARTS:
            if entry.name == "templates":
                output = f"the output of `helm template {folder.path}`"
                text = f"unrendered templates of a Helm chart: pass {output}"
                place = Location(entry.path)
                yield Diagnostic("KV024", Severity.ERROR, text, place, folded="chart")
        elif entry.name not in _OF_VERSION_CONTROL:
            # Only links are resolved; on Windows, not all links are reported as such.
            real = os.path.join(folder.real, entry.name)
            if entry.is_symlink() or os.name == "nt":
                real = os.path.realpath(entry.path)
            # Hidden folders without manifests are neither reported nor walked.
            if real not in same.seen and (same.name or not entry.name.startswith(".")):
                yield _Folder(entry.path, real, patterns)
            same.seen.add(real)


def _reason(
    entry: os.DirEntry[str], patterns: tuple[Patterns, ...], same: _FolderWalk
) -> Diagnostic | None:
    of_folder = is_folder(entry)
    origin = ignored_by(entry.path, patterns, is_folder=of_folder)
    if origin:
        return left_out(f"ignored by {origin}", Location(entry.path))
    if same.name or not entry.name.startswith(".") or entry.name in _OF_VERSION_CONTROL:
        return None
    if not of_folder:
        return left_out("a hidden file", Location(entry.path))
    if any(is_manifest_name(name) for _, _, names in os.walk(entry.path) for name in names):
        return left_out("a hidden folder", Location(entry.path))
    return None
