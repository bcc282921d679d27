"""What is said of an expression that cannot be compiled."""

from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.source import Location

_START = "ERROR: <input>:"


def expression_remark(code: str, about: str, message: str, location: Location) -> Diagnostic:
    """Return an error about a policy, with the expression and a mark where it goes wrong.

    `message` is the listing of cel-go: what is wrong, and below it the lines of the expression.
    """
    what, *lines = message.split("\n")
    text = f"{about}: {what.removeprefix(_START)}"
    excerpt = tuple(line.strip() for line in lines)
    return Diagnostic(code, Severity.ERROR, text, location, excerpt)
