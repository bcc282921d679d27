"""Variables inside of variables: what they come to stands in the text of the outer one.

Kyverno fills in the inner ones first, as text. A mark stands for each of them while the outer query
is read; where a mark is a part of a literal or of a name, it is the value again.
"""

import re
from typing import Final

from kyvsim.migrate.expressions import SUM, quoted
from kyvsim.migrate.known_types import TEXT, is_text
from kyvsim.migrate.queries.scope import Scope
from kyvsim.migrate.queries.shown import shown
from kyvsim.migrate.queries.trees import tree_of
from kyvsim.migrate.values import Value

_INNERMOST: Final = re.compile(r"(?<!\\)\{\{-?\s*([^{}]*?)\s*\}\}")
_BRACES: Final = re.compile(r"(?<!\\)\{\{|\}\}")
_ALONE: Final = re.compile(r"⟦(\d+)⟧=")
_MARK: Final = re.compile(r"⟦(\d+)⟧")


def with_marks(text: str, scope: Scope, *, depth: int = 0) -> tuple[str, Scope]:
    """Return a text with marks in place of inner variables, and the scope that knows them.

    `depth` is how many variables are around the text itself. Raises NotConvertible.
    """
    while True:
        inner = next((one for one in _INNERMOST.finditer(text) if _depth(text, one) + depth), None)
        if inner is None:
            return text, scope
        value = scope.read(tree_of(inner[1]), scope._replace(current=None))
        before, behind = text[: inner.start()], text[inner.end() :]
        mark = f"⟦{len(scope.marked)}⟧"
        if before.endswith("`") and behind.startswith("`"):
            mark = f'"{mark}="'  # a literal of its own: any value
        text = f"{before}{mark}{behind}"
        scope = scope._replace(marked=(*scope.marked, value))


def _depth(text: str, inner: re.Match[str]) -> int:
    """Return how many variables are open where another one begins."""
    before = _BRACES.findall(text, 0, inner.start())
    return sum(1 if one == "{{" else -1 for one in before)


def is_marked(text: object) -> bool:
    """Return whether a part of a query holds marks."""
    return isinstance(text, str) and _MARK.search(text) is not None


def marked_text(text: str, scope: Scope) -> Value:
    """Return a text with marks as a value."""
    alone = _ALONE.fullmatch(text)
    if alone:
        return _marked(alone[1], scope)
    pieces = _MARK.split(text)
    first = _marked(pieces[1], scope)
    if pieces == ["", pieces[1], ""] and is_text(first.types):
        return first
    parts: list[str] = []
    for number, piece in enumerate(pieces):
        if number % 2:
            parts.append(shown(_marked(piece, scope)))
        elif piece:
            parts.append(quoted(piece))
    return Value(" + ".join(parts), TEXT, SUM)


def _marked(number: str, scope: Scope) -> Value:
    """Return what a variable comes to: one that comes to nothing ends in an error."""
    value = scope.marked[int(number)]
    return value if value.soft else value.given()
