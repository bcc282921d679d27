"""The codes of diagnostics: what is known of each, as text and as Markdown."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Final, NamedTuple

from kyvsim.kubernetes.package_data import read_text
from kyvsim.report.style import TextLayout, wrapped

# What the codes of diagnostics mean: the one place where it is written, for people and for pages.
#
# Each file in `codes/` is a group. A code is a heading, `## KV202 what it is about`, with text on
# why it is reported, and blocks of YAML: `bad` has the code, `good` says what was meant without it.
# They are files of a folder in which a command is typed that reports the code: what follows the
# word `bad`, or `lint example.yaml`. A comment that is nothing but a name (`# values.yaml`) begins
# a file; what comes before any is `example.yaml`. Files of a block `beside` lie beside both.
# `{deprecated}` ends the heading of a code of what has a successor. `kyvsim rule` shows it, as
# editors do, and docs/diagnostics.md is made of it.


_GROUPS: Final = (
    "files",
    "shape",
    "resources",
    "values",
    "tests",
    "scenarios",
    "chainsaw",
    "runs",
    "fleets",
    "further_files",
    "cel",
    "refusals",
    "advice",
)
LINTED: Final = "lint example.yaml"
"""The command of an example that names none."""
_BLOCK: Final = re.compile(
    r"^```yaml (bad|good|beside)(?: ([^\n]+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
_FILE: Final = re.compile(r"^# (\S*\.\w+)\n", re.MULTILINE)
_DEPRECATED: Final = " {deprecated}"


class CodeExample(NamedTuple):
    """Files, and a command that is typed beside them."""

    command: str
    """What follows `kyvsim`."""
    text: str
    """The files, each below a comment with its name; one without is `example.yaml`."""


class DiagnosticCode(NamedTuple):
    """What one code means."""

    code: str
    title: str
    group: str
    why: str = ""
    """Paragraphs, in Markdown; "" where the message says it all."""
    bad: CodeExample | None = None
    """What has the code, and no other; None where there is no example."""
    good: CodeExample | None = None
    """The corrected form: nothing is reported about it."""
    beside: str = ""
    """The files that lie beside both."""
    deprecated: bool = False
    """Whether what it is about still works, and has a successor."""


def every_code() -> tuple[DiagnosticCode, ...]:
    """Return all codes, by group and number; they are read at each call."""
    return tuple(one for name in _GROUPS for one in _codes_in(name))


@cache
def codes_by_name() -> Mapping[str, DiagnosticCode]:
    """Return all codes by their names; they are read once."""
    return MappingProxyType({one.code: one for one in every_code()})


def files_of(text: str) -> Iterator[tuple[str, str]]:
    """Yield name and text of each file of an example's text."""
    first, *named = _FILE.split(text)
    if first.strip():
        yield "example.yaml", first
    yield from zip(named[::2], named[1::2], strict=True)


def _codes_in(name: str) -> Iterator[DiagnosticCode]:
    text = read_text(__file__, "codes", f"{name}.md")
    head, *entries = re.split(r"^## ", text, flags=re.MULTILINE)
    group = head.removeprefix("# ").strip()
    for entry in entries:
        heading, _, body = entry.partition("\n")
        code, _, about = heading.partition(" ")
        blocks = {word: (command, text) for word, command, text in _BLOCK.findall(body)}
        bad = CodeExample(blocks["bad"][0] or LINTED, blocks["bad"][1]) if "bad" in blocks else None
        yield DiagnosticCode(
            code=code,
            title=about.removesuffix(_DEPRECATED),
            group=group,
            why=_BLOCK.sub("", body).strip(),
            bad=bad,
            good=bad and CodeExample(blocks["good"][0] or bad.command, blocks["good"][1]),
            beside=blocks.get("beside", ("", ""))[1],
            deprecated=about.endswith(_DEPRECATED),
        )


# Codes of diagnostics for people: all of them in a list, or one with its examples.


_INDENT = "    "


def list_lines(codes: Iterable[DiagnosticCode], layout: TextLayout) -> Iterator[str]:
    """Yield code and title of each, below the names of their groups."""
    group = ""
    for one in codes:
        if one.group != group:
            yield "\n" if group else ""
            yield f"{layout.paint('title', one.group)}\n"
            group = one.group
        for line in wrapped(f"{one.code}  {one.title}", layout.width, " " * 9, "  "):
            yield f"{line}\n"


def code_lines(one: DiagnosticCode, layout: TextLayout) -> Iterator[str]:
    """Yield what a code means, why it is reported, and its examples."""
    yield from _paragraph(f"{one.code}: {one.title}", layout, "title")
    for text in filter(None, re.split(r"\n{2,}", one.why)):
        yield "\n"
        yield from _paragraph(" ".join(text.split()), layout)
    for style, title, text in blocks_of(one):
        yield f"\n{layout.paint(style, title)}\n\n"
        yield from (f"{_INDENT}{line}\n" if line else "\n" for line in text.splitlines())


def blocks_of(one: DiagnosticCode) -> Iterator[tuple[str, str, str]]:
    """Yield the blocks of a code's examples: a style, a line that says what it is, a text."""
    for style, name, example in (("fail", "Bad", one.bad), ("pass", "Good", one.good)):
        if example:
            typed = "" if example.command == LINTED else f", with `kyvsim {example.command}`"
            yield style, f"{name}{typed}:", example.text
    if one.beside:
        yield "title", "Beside both:", one.beside


def _paragraph(text: str, layout: TextLayout, style: str = "") -> Iterator[str]:
    for line in wrapped(text, layout.width, "", ""):
        yield (layout.paint(style, line) if style else line) + "\n"


# The code of a diagnostic as Markdown: for pages and editors.


def code_markdown(one: DiagnosticCode, heading: str) -> str:
    """Return a heading, why a code is reported, and its examples."""
    return "\n".join((f"{heading}\n", *why_lines(one), *example_blocks(one)))


def why_lines(one: DiagnosticCode) -> Iterator[str]:
    """Yield why a code is reported, where that is written."""
    if one.why:
        yield f"{one.why}\n"


def example_blocks(one: DiagnosticCode) -> Iterator[str]:
    """Yield the files of the examples of a code, each below what it is."""
    for _, title, text in blocks_of(one):
        yield f"{title}\n\n```yaml\n{text}```\n"
