"""What the names of a JMESPath expression refer to, and values that all queries share."""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from kyvsim.jmespath import QuerySyntaxError
from kyvsim.jmespath.parse import parse
from kyvsim.kubernetes.objects import Json
from kyvsim.migrate.context import ConversionContext, NotConvertible, name_for_element
from kyvsim.migrate.expressions import SUM, literal, one_line, quoted
from kyvsim.migrate.values import (
    BOOL,
    MAP,
    NUMBER,
    TEXT,
    UNKNOWN,
    Expr,
    Types,
    is_bool,
    is_list,
    is_map,
    is_number,
    is_text,
    list_of,
)
from kyvsim.model.migration import ConversionCondition

# The names that an expression can use.

Tree: TypeAlias = dict[str, Any]

USER_KNOWN: Final = ConversionCondition(
    "user known",
    (
        "the requesting user is always known at admission, offline only with --userinfo, and "
        "never in scans"
    ),
)


class Scope(NamedTuple):
    """What an expression sees."""

    context: ConversionContext
    object: Expr
    old: Expr
    read: "Callable[[Tree, Scope], Expr]"
    """Reads an expression below the one at hand."""
    names: Mapping[str, Expr] = MappingProxyType({})
    """Context entries and elements."""
    current: Expr | None = None
    """What fields are looked up in; None for the names themselves."""
    taken: frozenset[str] = frozenset()
    rest: Expr | None = None
    """The value whose fields all other names are; None if they are unknown."""
    namespace: str = ""
    """The namespace of the policy, "" for one of the cluster."""
    patching: bool = False
    """Whether objects are patched: the order of lists counts, and values may change."""
    marked: tuple[Expr, ...] = ()
    """The values of variables inside of the current query, by the numbers of their marks."""
    at_rest: bool = False
    """Whether objects are looked at as they are, without any request."""

    def within(self, value: Expr) -> "Scope":
        """Return the scope in which fields are those of a value."""
        return self._replace(current=value)

    def element(self, noun: str) -> str:
        """Return a name for the elements of a list."""
        return name_for_element(noun, self.taken)

    def with_element(self, name: str, value: Expr) -> "Scope":
        """Return the scope of a loop over elements."""
        return self._replace(current=value, taken=self.taken | {name})


def no_twin(what: str, advice: str = "rewrite the expression by hand") -> NotConvertible:
    """Return that a part of an expression has no twin."""
    return NotConvertible(f"{what} cannot be converted to CEL", advice)


# Fixed values.


def constant(value: Json) -> Expr:
    """Return plain data as a value."""
    return Expr(literal(value), _types_of(value), constant=(value,))


def _types_of(value: Json) -> Types:
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int | float):
        return NUMBER
    if isinstance(value, str):
        return TEXT
    if isinstance(value, list):
        return list_of(TEXT if all(isinstance(one, str) for one in value) else UNKNOWN)
    return MAP if isinstance(value, dict) else UNKNOWN


# Texts of queries → trees.


def tree_of(text: str) -> Tree:
    """Return the tree of an expression; raise NotConvertible where it is none."""
    try:
        return parse(text.strip())
    except QuerySyntaxError as error:
        if "⟦" in text or "{{" in text:
            what = "a variable inside a variable that is not part of a literal or a name"
            raise no_twin(what, "move the inner one to a context entry") from None
        raise no_twin(f"`{text.strip()}`: {error.message}") from None


# Values within strings.


def shown(value: Expr) -> str:
    """Return the expression of a value within a string; null becomes `null`."""
    if value.nullable and value.may_miss and not (is_list(value.types) or is_map(value.types)):
        if is_text(value.types):
            return value.or_else("null")
        there = one_line(value.is_there())
        return f"({there} ? {shown(value.given())} : 'null')"
    if is_text(value.types):
        return value.tight(SUM)
    if is_list(value.types) or is_map(value.types):
        return f"json.marshal({value.or_else(value.empty)})"
    if is_number(value.types) or is_bool(value.types):
        return f"string({value.text})"
    return f"(type({value.text}) == string ? {value.text} : json.marshal({value.text}))"


# Variables inside of variables: their values become part of the outer expression.
#
# Kyverno fills in the inner ones first, as text. A marker replaces each of them while the outer
# query is read; where a mark is a part of a literal or of a name, it is the value again.

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


def marked_text(text: str, scope: Scope) -> Expr:
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
    return Expr(" + ".join(parts), TEXT, SUM)


def _marked(number: str, scope: Scope) -> Expr:
    """Return the value of a variable: a missing one is an error."""
    value = scope.marked[int(number)]
    return value if value.soft else value.given()
