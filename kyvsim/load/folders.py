"""The files of a folder that may hold manifests, and what is left aside on the way.

Left aside are also what `.kyvsimignore` files and `--exclude` say, in gitignore's syntax.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from kyvsim.model.diagnostic import Diagnostic, Severity, left_out
from kyvsim.model.source import Location

# How folders are walked, and what is said of files and folders that are not read.
#
# Codes: KV003 cannot be read, KV065 too much in a folder.


IGNORE_FILE = ".kyvsimignore"
TOO_MUCH = "KV065"
_SUFFIXES = (".yaml", ".yml", ".json")


class Walking(NamedTuple):
    """How folders are walked."""

    exclude: tuple[str, ...] = ()
    """Patterns in gitignore's syntax of what is left aside."""
    ignore_files: bool = True
    """Whether `.kyvsimignore` files are read."""
    as_found: bool = False
    """Whether files that are named count as found in their folders: others named them."""
    most: int = 100_000
    """Files and folders that may be found at one path; 0 for as many as there are."""


USUAL = Walking()


def is_manifest_name(name: str) -> bool:
    """Return whether a file is YAML or JSON by its name."""
    return name.lower().endswith(_SUFFIXES)


def too_much(path: str, walking: Walking) -> Diagnostic:
    """Return the remark on a path at which more is found than may be."""
    text = (
        f"more than {walking.most:,} files and folders: pass fewer, or raise the limit "
        "(--max-files N)"
    )
    return Diagnostic(TOO_MUCH, Severity.ERROR, text, Location(path))


def unreadable(path: str, error: OSError | ValueError) -> Diagnostic:
    """Return the remark on a file or folder that the system does not give."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    text = f"cannot be read: {reason[:1].lower()}{reason[1:]}"
    return Diagnostic("KV003", Severity.ERROR, text, Location(path))


# Files that a user wants left aside: `.kyvsimignore` files and `--exclude`, in gitignore's syntax.
#
# Codes: KV047 a pattern that cannot be read.


_Spec: TypeAlias = Any
"""A `pathspec.GitIgnoreSpec`; the library is loaded only where there are patterns."""


_SHOWN = 60
"""How much of a pattern is shown where it cannot be read."""


class Patterns(NamedTuple):
    """The patterns of one file, or of the command line."""

    base: str
    """The folder that they are relative to, as an absolute path."""
    spec: _Spec
    origin: str
    """Who says so, for people."""


class IgnoreError(ValueError):
    """Patterns that cannot be read; the text says why."""

    def __init__(self, text: str, line: int = 0) -> None:
        super().__init__(text)
        self.line = line
        """The number of the pattern among others, from 1; 0 where it is not known."""


def given_patterns(globs: tuple[str, ...], folder: str) -> tuple[Patterns, ...]:
    """Return the patterns of the command line, for the walk through a folder.

    They count from the working directory and from the folder that is walked: both read naturally.
    """
    if not globs:
        return ()
    spec = _compile(globs)
    bases = dict.fromkeys((os.getcwd(), os.path.abspath(folder)))
    return tuple(Patterns(base, spec, "--exclude") for base in bases)


def patterns_above(folder: str) -> Iterator[Patterns | Diagnostic]:
    """Yield the patterns of the ignore files in the folders above one, the highest first."""
    for one in folders_above(folder):
        yield from patterns_in(one)


def folders_above(folder: str) -> list[str]:
    """Return the folders above one whose ignore files count for it, the highest first.

    The search ends at the folder that holds `.git`, as git's does; where there is none, only the
    folders below the working directory and that itself are looked at.
    """
    place = os.path.abspath(folder)
    above = []
    while not os.path.exists(os.path.join(place, ".git")) and os.path.dirname(place) != place:
        place = os.path.dirname(place)
        above.append(place)
    if not os.path.exists(os.path.join(place, ".git")):
        here = os.getcwd()
        above = [one for one in above if os.path.commonpath((one, here)) == here]
    return above[::-1]


def patterns_in(folder: str) -> Iterator[Patterns | Diagnostic]:
    """Yield the patterns of a folder's ignore file, if it has one."""
    file = os.path.join(folder, IGNORE_FILE)
    if os.path.exists(file) and not os.path.isfile(file):
        yield Diagnostic(
            "KV047", Severity.ERROR, "cannot be used: it is not a file", Location(file)
        )
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
        yield Diagnostic("KV047", Severity.ERROR, f"cannot be used: {reason}", Location(file))


def ignored_by(path: str, patterns: tuple[Patterns, ...], *, is_folder: bool) -> str:
    """Return whose patterns leave a path aside, "" where none do; the last of them decide first."""
    place = os.path.abspath(path) if patterns else ""
    for one in reversed(patterns):
        inside = os.path.relpath(place, one.base)
        if inside == os.curdir or inside.startswith(os.pardir):
            continue
        # A name that is not UTF-8 has characters of its own here, which re2 does not take.
        name = inside.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        said = one.spec.check_file(f"{name}/" if is_folder else name).include
        if said is not None:
            return one.origin if said else ""
    return ""


def check_patterns(globs: Iterable[str]) -> None:
    """Raise IgnoreError where one of some patterns cannot be read."""
    for glob in globs:
        _compile((glob,))


def _compile(lines: Sequence[str]) -> _Spec:
    """Return patterns that can be matched; raise IgnoreError for the first that cannot be read.

    What pathspec makes of a pattern is compiled by `re` and by `re2`, and each has limits of its
    own: ranges from z to a, sizes, text that is not UTF-8.
    """
    import re2
    from pathspec import GitIgnoreSpec

    def compiled(some: Sequence[str]) -> _Spec:
        spec = GitIgnoreSpec.from_lines(some)
        spec.check_file("a")  # re2 compiles a set of patterns where it is first used
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


# The files of a folder that may hold manifests, and what is left aside on the way.
#
# Codes: KV003 cannot be read, KV024 a Helm chart, KV028 left out of a folder, KV065 too much in it.


_OF_VERSION_CONTROL = frozenset({".git", ".hg", ".svn"})
_OF_CHARTS = frozenset({"templates", "charts"})


class _FolderWalk(NamedTuple):
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

    Links to folders are followed, each folder is walked once. What is not read is reported: what is
    hidden, what the user leaves aside, templates of Helm charts, folders that cannot be read.
    Looking for a name, nothing counts as hidden or as a template. Where more is found than
    `walking` allows, that is all that is reported.
    """
    found: list[str | Diagnostic] = []
    given = given_patterns(walking.exclude, path)
    real = os.path.realpath(path)
    same = _FolderWalk(given, walking.ignore_files, name, {real})
    for some in _walked(path, real, same):
        found += some
        if walking.most and len(found) + len(same.seen) > walking.most:
            return iter((too_much(path, walking),))
    return iter(found)


def _walked(path: str, real: str, same: _FolderWalk) -> Iterator[list[str | Diagnostic]]:
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
        looked = [*_read_folder(folder, entries, same)]
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
        yield left_out(f"ignored by {origin}", Location(path))


def _read_folder(
    folder: _Folder, entries: list[os.DirEntry[str]], same: _FolderWalk
) -> Iterator[str | _Folder | Diagnostic]:
    """Yield the files of one folder, the folders to walk next, and diagnostics."""
    patterns = folder.patterns
    if same.ignore_files and any(one.name == IGNORE_FILE for one in entries):
        own = tuple(patterns_in(folder.path))
        yield from (one for one in own if isinstance(one, Diagnostic))
        patterns = (*patterns, *(one for one in own if isinstance(one, Patterns)))
    folders = [one for one in entries if is_folder(one)]
    files = [
        one
        for one in entries
        if not is_folder(one)
        and (one.name == same.name if same.name else is_manifest_name(one.name))
    ]
    for entry in files:
        yield _reason(entry, (*patterns, *same.given), same) or entry.path
    is_chart = not same.name and any(one.name == "Chart.yaml" for one in files)
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
            real = _real_path(folder, entry)
            # What is hidden and holds no manifest is not worth a word, nor a look.
            if real not in same.seen and (same.name or not entry.name.startswith(".")):
                yield _Folder(entry.path, real, patterns)
            same.seen.add(real)


def _real_path(folder: _Folder, entry: os.DirEntry[str]) -> str:
    """Return the path without links of what lies in a folder; only links are looked up.

    Windows has others that do not call themselves links.
    """
    if entry.is_symlink() or os.name == "nt":
        return os.path.realpath(entry.path)
    return os.path.join(folder.real, entry.name)


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
    return left_out("a hidden folder", Location(entry.path)) if _has_files(entry.path) else None


def _has_files(folder: str) -> bool:
    return any(is_manifest_name(name) for _, _, names in os.walk(folder) for name in names)
