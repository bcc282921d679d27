"""A remark about an input file as text."""

from kyvsim.model.diagnostic import Diagnostic
from kyvsim.report.style import safe_line
from kyvsim.report.wrapped import wrapped


def remark_text(entry: Diagnostic, width: int = 0) -> str:
    """Return a remark on one line, safe to show, and below it the lines that show its place.

    For a terminal of some `width` it is wrapped; 0 leaves it on one line, as programs read it.
    """
    lines = [safe_line(str(entry))]
    if 0 < width < len(lines[0]):
        lines = [*wrapped(str(entry), width, "    ", "")]
    return "\n".join((*lines, *(f"    {safe_line(one)}" for one in entry.excerpt)))
