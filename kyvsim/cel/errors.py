"""What can go wrong with an expression: when it is compiled, when it is evaluated."""

from collections.abc import Sequence
from typing import NamedTuple


class Issue(NamedTuple):
    """A fault found in the text of an expression."""

    at: int
    """Offset into the text, in characters."""
    message: str


class CompileError(ValueError):
    """The text is no valid expression; the message is that of Kubernetes, with places marked."""

    def __init__(self, message: str, issues: Sequence[Issue] = (), listing: str = "") -> None:
        super().__init__(message)
        self.issues = tuple(issues)
        """What is wrong at which places; none where the whole value has the wrong type."""
        self.listing = listing
        """The issues with their lines, as the language itself shows them."""


class CelError(Exception):
    """Evaluation failed; `&&`, `||`, `all` and `exists` may absorb it."""


class BudgetError(Exception):
    """Evaluation took more steps than it may; nothing absorbs this."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


def no_such_overload(function: str = "", *type_names: str) -> CelError:
    """Return the error for arguments that a function does not take.

    upstream: cel-go common/decls (functions), common/types (operators, which name nothing).
    """
    if not function:
        return CelError("no such overload")
    return CelError(f"no such overload: {function}({', '.join(type_names)})")
