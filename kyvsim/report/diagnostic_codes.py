"""The codes of diagnostics and their descriptions, as text and as Markdown."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple

from kyvsim.kubernetes.package_data import read_text
from kyvsim.model.diagnostic import Severity
from kyvsim.report.style import TextLayout, wrapped

# The descriptions of all codes are in `codes/`, one file for each group. They are shown by
# `kyvsim rule`, editors and reports; docs/diagnostics.md and docs/diagnostics/ are generated.
#
# A code is a heading, `## KV202 deprecated field {warning, deprecated}`: its title, and in braces
# its severities, if not only `error`, `deprecated` if the feature it reports still works and has a
# successor, and `fixable` if `lint --fix` corrects the example. Below it are paragraphs on what is
# wrong, why it matters and how to fix it, and blocks of YAML: `bad` has the code, `good` is the
# corrected form. They are files of a folder in which the command after the word `bad` (`lint
# example.yaml` if there is none) reports the code. A comment with only a name (`# values.yaml`)
# starts a file; text before the first one belongs to `example.yaml`. Files of a block `beside` are
# in the folder of both.


_GROUPS: Final = (
    *("files", "shape", "resources", "values", "tests", "scenarios", "chainsaw", "runs"),
    *("fleets", "further_files", "cel", "refusals", "advice", "mistakes"),
)
LINTED: Final = "lint example.yaml"
"""The command of an example that does not name one."""
FIX: Final = "`kyvsim lint --fix`, where only one correction can be meant"
_BLOCK: Final = re.compile(
    r"^```yaml (bad|good|beside)(?: ([^\n]+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
_FILE: Final = re.compile(r"^# (\S*\.\w+)\n", re.MULTILINE)
_HEADING: Final = re.compile(r"^## (KV\d+) (.*?)(?: \{(.*)\})?$", re.MULTILINE)


class CodeExample(NamedTuple):
    """Files, and a command that is run in their folder."""

    command: str
    """The arguments of `kyvsim`."""
    text: str
    """The files, each below a comment with its name; without one, it is `example.yaml`."""


class DiagnosticCode(NamedTuple):
    """The description of one code."""

    code: str
    title: str
    group: str
    severities: tuple[Severity, ...] = (Severity.ERROR,)
    """The severities without `--strict`."""
    why: str = ""
    """Paragraphs in Markdown; "" if the message is enough."""
    bad: CodeExample | None = None
    """Files for which only this code is reported; None without an example."""
    good: CodeExample | None = None
    """The corrected form, for which nothing is reported."""
    beside: str = ""
    """Further files for both examples."""
    deprecated: bool = False
    """Whether the code is about a deprecated feature that still works and has a successor."""
    fixable: bool = False
    """Whether `lint --fix` corrects the bad example, and others that certainly mean the same."""

    @property
    def page(self) -> str:
        """The path of its page in the repository; the docs are not published on the web."""
        return f"docs/diagnostics/{self.code}.md"

    @property
    def shown_severity(self) -> str:
        """The severities as text: `info or warning`."""
        return " or ".join(self.severities)


def every_code() -> tuple[DiagnosticCode, ...]:
    """Return all codes, by group and number; each call reads the files."""
    codes = []
    for name in _GROUPS:
        head, *parts = _HEADING.split(read_text(__file__, "codes", f"{name}.md"))
        fields = zip(parts[::4], parts[1::4], parts[2::4], parts[3::4], strict=True)
        for code, title, marks, body in fields:
            traits = (marks or "").split(", ")
            severities = tuple(severity for severity in Severity if severity in traits)
            blocks = {word: CodeExample(*parts) for word, *parts in _BLOCK.findall(body)}
            bad, good = blocks.get("bad"), blocks.get("good")
            bad = bad and bad._replace(command=bad.command or LINTED)
            entry = DiagnosticCode(
                code=code,
                title=title,
                group=head.removeprefix("# ").strip(),
                severities=severities or (Severity.ERROR,),
                why=_BLOCK.sub("", body).strip(),
                bad=bad,
                good=bad and good and good._replace(command=good.command or bad.command),
                beside=blocks["beside"].text if "beside" in blocks else "",
                deprecated="deprecated" in traits,
                fixable="fixable" in traits,
            )
            codes.append(entry)
    return tuple(codes)


@cache
def codes_by_name() -> Mapping[str, DiagnosticCode]:
    """Return all codes by name; the files are read once."""
    return MappingProxyType({entry.code: entry for entry in every_code()})


@lru_cache(maxsize=1024)
def description_place(code: str) -> tuple[str, int]:
    """Return the file with the description of a code, below this package, and its line, from 1."""
    for name in _GROUPS:
        text = read_text(__file__, "codes", f"{name}.md")
        start = text.find(f"\n## {code} ")
        if start >= 0:
            return f"codes/{name}.md", text.count("\n", 0, start) + 2
    raise KeyError(code)


def files_of(text: str) -> Iterator[tuple[str, str]]:
    """Yield the name and text of each file of an example."""
    first, *named = _FILE.split(text)
    if first.strip():
        yield "example.yaml", first
    yield from zip(named[::2], named[1::2], strict=True)


def list_lines(codes: Iterable[DiagnosticCode], layout: TextLayout) -> Iterator[str]:
    """Yield the code and title of each, grouped under headings."""
    group = ""
    for code in codes:
        if code.group != group:
            yield "\n" if group else ""
            yield f"{layout.paint('title', code.group)}\n"
            group = code.group
        for line in wrapped(f"{code.code}  {code.title}", layout.width, " " * 9, "  "):
            yield f"{line}\n"


def code_lines(code: DiagnosticCode, layout: TextLayout) -> Iterator[str]:
    """Yield the title, severity, page, description and examples of a code."""
    yield from _paragraph(f"{code.code}: {code.title}", layout, "title")
    yield f"Severity: {code.shown_severity}\n"
    yield f"Fix: {FIX}\n" if code.fixable else ""
    yield f"Page: {code.page}\n"
    for text in filter(None, re.split(r"\n{2,}", code.why)):
        yield "\n"
        yield from _paragraph(" ".join(text.split()), layout)
    for style, title, text in blocks_of(code):
        yield f"\n{layout.paint(style, title)}\n\n"
        yield from (f"    {line}\n" if line else "\n" for line in text.splitlines())


def blocks_of(code: DiagnosticCode) -> Iterator[tuple[str, str, str]]:
    """Yield the blocks of a code's examples: style, heading and text."""
    for style, name, example in (("fail", "Bad", code.bad), ("pass", "Good", code.good)):
        if example:
            typed = "" if example.command == LINTED else f", with `kyvsim {example.command}`"
            yield style, f"{name}{typed}:", example.text
    if code.beside:
        yield "title", "Files for both:", code.beside


def _paragraph(text: str, layout: TextLayout, style: str = "") -> Iterator[str]:
    for line in wrapped(text, layout.width, "", ""):
        yield (layout.paint(style, line) if style else line) + "\n"


def code_markdown(code: DiagnosticCode, heading: str) -> str:
    """Return a heading, why a code is reported, and its examples."""
    return "\n".join((f"{heading}\n", *why_lines(code), *example_blocks(code)))


def why_lines(code: DiagnosticCode) -> Iterator[str]:
    """Yield why a code is reported, if that is described."""
    if code.why:
        yield f"{code.why}\n"


def example_blocks(code: DiagnosticCode) -> Iterator[str]:
    """Yield the files of a code's examples, each below its heading."""
    for _, title, text in blocks_of(code):
        yield f"{title}\n\n```yaml\n{text}```\n"
