"""The code of a remark as Markdown: for pages and editors."""

from kyvsim.report.code_text import blocks_of
from kyvsim.report.known_codes import Code


def code_markdown(one: Code, heading: str) -> str:
    """Return a heading, why a code is told, and its examples."""
    blocks = (f"{title}\n\n```yaml\n{text}```\n" for _, title, text in blocks_of(one))
    why = (f"{one.why}\n",) if one.why else ()
    return "\n".join((f"{heading}\n", *why, *blocks))
