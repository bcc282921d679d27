"""How an object differs from the one that a test expects, field by field."""

from collections.abc import Iterator

from kyvsim.model.suite import Difference
from kyvsim.report.diff import Marked, hunks
from kyvsim.report.object_diff import marked_yaml
from kyvsim.report.style import MARK_LOOKS, Paint, safe_text


def diff_lines(difference: Difference, paint: Paint) -> Iterator[str]:
    """Yield the lines: `-` stands only in the file, `+` only in what the policy made."""
    yield paint("removed", f"--- expected: {safe_text(difference.file)}")
    yield paint("added", "+++ actual")
    for mark, line in _hunks(difference):
        text = "..." if mark == "@" else f"{mark} {safe_text(line)}"
        yield paint(MARK_LOOKS[mark], text) if mark in MARK_LOOKS else text


def diff_text(difference: Difference) -> str:
    """Return the lines as plain text."""
    return "\n".join(diff_lines(difference, lambda _name, text: text))


def _hunks(difference: Difference) -> Iterator[Marked]:
    return hunks(marked_yaml(difference.expected, difference.actual))
