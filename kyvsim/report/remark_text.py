"""A remark about an input file as text."""

from kyvsim.model.diagnostic import Diagnostic
from kyvsim.report.style import safe_line


def remark_text(entry: Diagnostic) -> str:
    """Return a remark on one line, safe to show, and below it the lines that show its place."""
    return "\n".join((safe_line(str(entry)), *(f"    {safe_line(one)}" for one in entry.excerpt)))
