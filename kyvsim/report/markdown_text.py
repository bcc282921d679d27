"""Text of users, put into Markdown."""

from kyvsim.report.style import safe_line

_MARKS = "\\|*_`[]()#!~$"
_ESCAPED = str.maketrans(
    {mark: f"\\{mark}" for mark in _MARKS} | {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;"}
)


def markdown_text(text: str) -> str:
    """Return a text on one line as Markdown shows it as it is; no mark or name in it acts."""
    return safe_line(text).translate(_ESCAPED)


def markdown_lines(text: str) -> str:
    """Return a text of several lines as a cell of a table has it."""
    return "<br>".join(map(markdown_text, text.split("\n")))


def table_line(cells: tuple[str, ...]) -> str:
    """Return a line of a table; the cells are Markdown."""
    return f"| {' | '.join(cells)} |\n"
