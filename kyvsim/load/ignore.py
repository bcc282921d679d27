"""Files that a user wants left aside: `.kyvsimignore` files and `--exclude`, in gitignore's syntax.

Codes: KV047 a pattern that cannot be read.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from kyvsim.load.walking import IGNORE_FILE
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.source import Location

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
        yield Diagnostic("KV047", Severity.ERROR, "cannot be used: it is no file", Location(file))
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
