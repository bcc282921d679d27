"""Text of users, put into a page."""

from html import escape

from kyvsim.report.style import safe_text


def html_text(text: str) -> str:
    """Return a text as it may stand in a page or an attribute."""
    return escape(safe_text(text))
