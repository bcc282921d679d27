"""The frame and the templates of HTML pages.

A page is one file without requests. Its Content-Security-Policy only allows our own inline style
and script, by their hashes, so that nothing from input files is executed. Jinja escapes all values
of templates; before that, characters that control a terminal or change the direction of text are
written as visible escapes.
"""

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from markupsafe import Markup

from kyvsim import __version__
from kyvsim.model.result import RunEnding, RunVerdict
from kyvsim.report.formats import log_safe
from kyvsim.report.run import ending_line
from kyvsim.report.style import PAGE_ORIGIN, counted

if TYPE_CHECKING:
    from jinja2 import Environment

MOST_OBJECTS: Final = 1000
"""Number of objects on a page, which is then some megabytes long; others are only counted."""


def page(
    template: str,
    /,
    *,
    style: Sequence[str] = (),
    script: Sequence[str] = (),
    connects: bool = False,
    **values: object,
) -> Iterator[str]:
    """Yield the page that a template renders, in pieces.

    `style` and `script` are added to those of the frame: names of template files, or texts (without
    texts of users). A page that `connects` may send requests to its server.
    """
    environment = _environment()
    sheet, code = _joined(("page.css", *style)), _joined(("page.js", *script))
    own, run = (
        f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
        for text in (sheet, code)
    )
    questions = "connect-src 'self'; " if connects else ""
    policy = (
        f"default-src 'none'; style-src '{own}'; script-src '{run}'; "
        f"{questions}base-uri 'none'; form-action 'none'"
    )
    stream = environment.get_template(template).stream(
        sheet=Markup(sheet),  # noqa: S704 — our own
        code=Markup(code),  # noqa: S704 — our own
        policy=policy,
        provenance=PAGE_ORIGIN.get() or f"kyvsim {__version__}",
        **values,
    )
    stream.enable_buffering(64)
    yield from stream


def fragment(template: str, /, **values: object) -> str:
    """Return the result of a template without the frame, for a page that has it."""
    return _environment().get_template(template).render(**values)


def part(name: str, *values: object) -> Markup:
    """Return the result of a macro of `parts.html`, for a page that is rendered later."""
    made: Markup = getattr(_environment().get_template("parts.html").module, name)(*values)
    return made


def stored(text: str) -> Markup:
    """Return the result of an earlier `part` from its text."""
    return Markup(text)  # noqa: S704 — rendered by a template


def ending_of(ending: RunEnding) -> dict[str, str]:
    """Return the closing line of a run and its style, for the top of a page."""
    weights = {
        RunVerdict.PASSED: "good",
        RunVerdict.SAME: "good",
        RunVerdict.WARNED: "warn",
        RunVerdict.NOTHING: "warn",
    }
    return {"line": ending_line(ending), "style": weights.get(ending.verdict, "bad")}


def _joined(names: Sequence[str]) -> str:
    """Return the joined texts of package files and other texts."""
    folder = Path(__file__).parent / "templates"
    return "".join(
        (folder / name).read_text("utf-8") if name.endswith((".css", ".js")) else name
        for name in names
    )


@cache
def _environment() -> "Environment":
    # jinja2 takes 30 ms to import; modules that also have other formats import this one.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("kyvsim.report"),
        autoescape=True,
        auto_reload=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_shown,
    )
    environment.filters["counted"] = counted
    environment.filters["code_pieces"] = code_pieces
    return environment


_CODE = re.compile(r"`` (?P<with>.+?) ``|`(?P<without>[^`]+)`")
"""Code in a message; code with backticks is between two of them, as in Markdown."""


def code_pieces(text: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of a message: text, and the code that follows it, or ""."""
    end = 0
    for found in _CODE.finditer(text):
        yield text[end : found.start()], found["with"] or found["without"]
        end = found.end()
    yield text[end:], ""


def _shown(value: object) -> object:
    """Return a value for a template: escaped, and booleans as in YAML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, Markup) else log_safe(str(value))


class TableEntry(NamedTuple):
    """A result, with the name under which it is counted."""

    name: str
    status: str
    note: str = ""


class Line(NamedTuple):
    """Number of results of one name, by status."""

    name: str
    note: str
    counts: tuple[int, ...]


class Table(NamedTuple):
    """The lines of a table; its columns are the statuses that occur."""

    key: str
    """The subject of the lines, and the filter of the page that they set: `rule`, `object` …"""
    columns: tuple[str, ...]
    lines: tuple[Line, ...]
    further: int
    """Number of omitted lines."""
    unlisted: frozenset[str] = frozenset()
    """Columns whose results are only counted: the page has no items for them."""


def table_of(
    key: str, results: Iterable[TableEntry], statuses: Sequence[str], most: int | None = None
) -> Table:
    """Return the table of results with some statuses; lines with most failures come first."""
    counters: dict[tuple[str, str], Counter[str]] = {}
    for name, status, note in results:
        if status in statuses:
            counters.setdefault((name, note), Counter())[status] += 1
    occurring = {status for counts in counters.values() for status in counts}
    columns = tuple(status for status in statuses if status in occurring)
    lines = [
        Line(*names, tuple(counts[status] for status in columns))
        for names, counts in counters.items()
    ]
    lines.sort(key=lambda line: tuple(-count for count in line.counts))
    shown = tuple(lines[:most])
    return Table(key, columns, shown, len(lines) - len(shown))
