"""Comments in files that ignore warnings: `# kyvsim: ignore[KV207] reason`."""

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from kyvsim.load.files import Source
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.source import Location
from kyvsim.yaml.text import find_comments, split_chunks


class IgnoreComment(NamedTuple):
    """A comment `# kyvsim: ignore[KV207] reason` or `# kyvsim: ignore-file[KV207] reason`."""

    location: Location
    before: str
    """The text before it on its line."""
    end: int
    """The column after it."""
    line: int
    """The line whose warnings it ignores; 0 for the whole file."""
    codes: tuple[str, ...]
    """() if it is not understood."""
    reason: str


_MARK: Final = re.compile(r"(?:^|(?<=\s))#[ \t]*kyvsim:[ \t]*(?=ignore)(.*)", re.MULTILINE)
_FORM: Final = re.compile(r"ignore(-file)?\[\s*([^\]\s,]+(?:\s*,\s*[^\]\s,]+)*)\s*\](.*)")
_CONTENT: Final = re.compile(r"^[ \t]*[^\s#]", re.MULTILINE)


def ignore_comments(source: Source) -> Iterator[IgnoreComment]:
    """Yield the ignore comments of a file; those in documents that are not YAML are skipped."""
    for chunk in split_chunks(source.text) if "kyvsim:" in source.text else ():
        for mark in find_comments(chunk.text, _MARK):
            before = chunk.text[chunk.text.rfind("\n", 0, mark.start()) + 1 : mark.start()]
            number = chunk.line + chunk.text.count("\n", 0, mark.start())
            form = _FORM.fullmatch(mark[1].rstrip())
            line = 0 if form and form[1] else number
            below = None if before.strip() else _CONTENT.search(chunk.text, mark.end())
            if line and below:
                line += chunk.text.count("\n", mark.start(), below.end())
            column = len(before) + 1
            yield IgnoreComment(
                Location(source.name, number, column),
                before,
                column + len(mark[0].rstrip()),
                line,
                tuple(re.split(r"\s*,\s*", form[2])) if form else (),
                form[3].strip(" \t:-") if form else "",
            )


class IgnoreComments:
    """The ignore comments of files."""

    def __init__(self, sources: Iterable[Source]) -> None:
        self.all = tuple(one for source in sources for one in ignore_comments(source))
        self._by_place: dict[tuple[str, int], list[IgnoreComment]] = {}
        for one in self.all:
            self._by_place.setdefault((one.location.file, one.line), []).append(one)

    def about(self, found: Diagnostic) -> list[IgnoreComment]:
        """Return the comments that ignore a warning; none ignores an error."""
        place = found.location
        if place is None or found.severity is Severity.ERROR:
            return []
        of_lines = (self._by_place.get((place.file, line), ()) for line in (place.line, 0))
        return [one for of_line in of_lines for one in of_line if found.code in one.codes]
