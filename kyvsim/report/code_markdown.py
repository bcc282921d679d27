"""The code of a remark as Markdown: for pages and editors."""

from collections.abc import Iterator

from kyvsim.report.code_text import blocks_of
from kyvsim.report.known_codes import Code


def code_markdown(one: Code, heading: str) -> str:
    """Return a heading, why a code is told, and its examples."""
    return "\n".join((f"{heading}\n", *why_lines(one), *example_blocks(one)))


def why_lines(one: Code) -> Iterator[str]:
    """Yield why a code is told, where that is written."""
    if one.why:
        yield f"{one.why}\n"


def example_blocks(one: Code) -> Iterator[str]:
    """Yield the files of the examples of a code, each below what it is."""
    for _, title, text in blocks_of(one):
        yield f"{title}\n\n```yaml\n{text}```\n"
