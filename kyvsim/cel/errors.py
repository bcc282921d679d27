"""Errors of compiling and evaluating expressions, with positions in the source text."""

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import NamedTuple


class Issue(NamedTuple):
    """An error in the text of an expression."""

    at: int
    """The offset in the text, in characters."""
    message: str


class CompileError(ValueError):
    """The text is not a valid expression; the message is Kubernetes', with positions marked."""

    def __init__(self, message: str, issues: Sequence[Issue] = (), listing: str = "") -> None:
        super().__init__(message)
        self.issues = tuple(issues)
        """The errors with their positions; none if the whole value has the wrong type."""
        self.listing = listing
        """The issues with their lines, as cel-go prints them."""


class CelError(Exception):
    """Evaluation failed; `&&`, `||`, `all` and `exists` may absorb it."""


class CelBudgetError(Exception):
    """Evaluation exceeded its steps; nothing absorbs this error."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


def no_such_overload(function: str = "", *type_names: str) -> CelError:
    """Return the error for unsupported arguments of a function.

    upstream: cel-go common/decls (functions), common/types (operators, which are not named).
    """
    if not function:
        return CelError("no such overload")
    return CelError(f"no such overload: {function}({', '.join(type_names)})")


# Shows errors in the text of an expression.
#
# Source of the form: upstream cel-go common/error.go, common/errors.go.

_MAX_SNIPPET = 16_384
_MAX_SHOWN = 100


def describe(text: str, issues: Iterable[Issue]) -> str:
    """Return the issues sorted by position, each with its line and a mark below it."""
    lines = text.split("\n")
    placed = [(_place(lines, issue.at), issue.message) for issue in issues]
    placed.sort(key=itemgetter(0))
    shown = [_show(lines, place, message) for place, message in placed[:_MAX_SHOWN]]
    if len(placed) > _MAX_SHOWN:
        shown.append(f"{len(placed) - _MAX_SHOWN} more errors were truncated")
    return "\n".join(shown)


def _place(lines: list[str], at: int) -> tuple[int, int]:
    """Return the index of the line and the column, both from 0."""
    for index, line in enumerate(lines):
        if at <= len(line):
            return index, at
        at -= len(line) + 1
    return len(lines) - 1, len(lines[-1])


def _show(lines: list[str], place: tuple[int, int], message: str) -> str:
    row, column = place
    head = f"ERROR: <input>:{row + 1}:{column + 1}: {message}"
    line = lines[row].replace("\t", " ")
    if len(line.encode()) > _MAX_SNIPPET:
        return head
    dots = "".join("." if char.isascii() else "\uff0e" for char in line[:column])
    mark = "^" if line[column : column + 1].isascii() else "\uff3e"
    return f"{head}\n | {line}\n | {dots}{mark}"
