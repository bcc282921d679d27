"""Commands that CI systems read in a log, made harmless in everything that leaves the program.

A runner reads what a step prints, and acts on some of it: GitHub, Gitea and Forgejo on `::name::`
at the beginning of a line and on `##[name]` anywhere, Azure Pipelines on `##vso[…]` and `##[…]`,
TeamCity on `##teamcity[…]`, GitLab and Travis on `section_start:TIME:NAME` and `travis_fold:`. Such
text in a policy, a manifest, the name of a file or an argument is data, so one character of it is
written as an escape: visible in text, and one that decodes to the same character in JSON and XML.

The functions here are called where text leaves (`kyvsim/cli/streams.py`, `output_files.py`) and not
by the formats, so that no format can forget them. YAML needs more, since an escape needs a quoted
scalar: `object_text.py` quotes these.

Sources of the syntax: actions/runner (ActionCommand.cs), microsoft/azure-pipelines-agent
(Command.cs), the pages "Service Messages" of TeamCity and "Job logs" of GitLab.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from kyvsim.report.formats import ANNOTATIONS
from kyvsim.report.style import CONTROLS

TEXT = "text/plain"
JSON = "application/json"
YAML = "application/yaml"

_LONGEST_LINE = 1 << 20
"""Maximum characters of an incomplete line that are stored."""
_LONGEST_COMMAND = 64
"""Characters of such a line that stay stored, so that no command is cut in two."""

# .NET compares by culture, and these characters count for nothing then: `##<soft hyphen>vso[`.
_IGNORED_CHARACTERS = frozenset(
    "\xad\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180e\u180f\u200b\u200c\u200d\ufeff"
).union(map(chr, range(0x2060, 0x2070)), map(chr, range(0xFE00, 0xFE10)))
_IGNORED = "".join(sorted(_IGNORED_CHARACTERS))
_COLOUR = r"\x1b\[[0-9;]*m"
_COMMAND = (
    rf"(?m)(?P<lead>^(?:[^\S\n]|[{_IGNORED}]|{_COLOUR})*)(?P<first>:)(?=[{_IGNORED}]*:)"
    rf"|#(?=[{_IGNORED}]*#[A-Za-z{_IGNORED}]*\[)"
    rf"|:(?=[{_IGNORED}]*:[A-Za-z_][\w-]*(?: [^\n]*?)?::)"
    r"|s(?=ection_(?:start|end):[0-9]+:)"
    r"|t(?=ravis_(?:fold|time):)"
)
"""Compiled where a text has one of the hints below: few have."""
_HINTS = ("::", "##", "section_", "travis_")
"""Without these no text of ASCII has a command."""
_OWN = r"::((?:error|warning|notice) [^\n:]*)::"
_CONTROL = f"({_COLOUR})|[{re.escape(''.join(map(chr, CONTROLS)))}]"
_ESCAPES: Mapping[str, str] = MappingProxyType(
    {
        "application/json": "\\u{:04x}",
        "application/sarif+json": "\\u{:04x}",
        "application/xml": "&#{};",
    }
)
_VISIBLE = "\\x{:02x}"


def has_log_command(text: str) -> bool:
    """Return whether a CI system would act on something in `text` if it were printed."""
    return _may_have_command(text) and re.search(_COMMAND, text) is not None


def log_safe(text: str, media: str = TEXT, *, colours: bool = False) -> str:
    """Return complete lines of a media type without anything that a CI system acts on.

    In texts for people control characters are escaped as well, except for allowed colours. HTML
    is returned as it is: its templates call this for each value.
    """
    if media == "text/html":
        return text
    if media == ANNOTATIONS:
        lines = text.split("\n")
        for number, line in enumerate(lines):
            own = re.match(_OWN, line)
            start = f"::{log_safe(own[1])}::" if own else ""
            lines[number] = start + log_safe(line[own.end() :] if own else line)
        return "\n".join(lines)
    if media.startswith("text/") and not text.replace("\n", "").replace("\t", "").isprintable():
        text = re.sub(
            _CONTROL,
            lambda match: match[0] if colours and match[1] else match[0].translate(CONTROLS),
            text,
        )
    if not _may_have_command(text):
        return text
    # The first character of a command, behind any blanks, becomes an escape.
    form = _ESCAPES.get(media, _VISIBLE)
    return re.sub(
        _COMMAND, lambda match: (match["lead"] or "") + form.format(ord(match[0][-1])), text
    )


def log_safe_pieces(
    pieces: Iterable[str], media: str = TEXT, *, colours: bool = False
) -> Iterator[str]:
    """Yield the same of a text that comes in pieces, which need not end where lines end."""
    waiting = LogFilter(media, colours=colours)
    for piece in pieces:
        yield waiting.feed(piece)
    yield waiting.rest()


class LogFilter:
    """Makes a text safe that comes in pieces; it stores the incomplete line."""

    def __init__(self, media: str = TEXT, *, colours: bool = False) -> None:
        """Begin a text of a media type, which may have colours if `colours` is set."""
        self._media = media
        self._colours = colours
        self._begun: list[str] = []
        self._length = 0

    def feed(self, text: str) -> str:
        """Take a piece in and return what is complete."""
        end = text.rfind("\n") + 1
        if not end and self._length + len(text) > _LONGEST_LINE:
            end = max(len(text) - _LONGEST_COMMAND, 0)
        if not end:
            self._begun.append(text)
            self._length += len(text)
            return ""
        complete = "".join((*self._begun, text[:end]))
        self._begun, self._length = [text[end:]], len(text) - end
        return log_safe(complete, self._media, colours=self._colours)

    def rest(self) -> str:
        """Return what is left when all has been fed."""
        left = "".join(self._begun)
        self._begun, self._length = [], 0
        return log_safe(left, self._media, colours=self._colours)


def _may_have_command(text: str) -> bool:
    if any(map(text.__contains__, _HINTS)):
        return True
    return not text.isascii() and not _IGNORED_CHARACTERS.isdisjoint(text)
