"""Texts of queries → trees."""

from kyvsim.expr import QuerySyntaxError
from kyvsim.expr.parse import parse
from kyvsim.migrate.queries.scope import Tree, no_twin


def tree_of(text: str) -> Tree:
    """Return the tree of an expression; raise NotConvertible where it is none."""
    if "{{" in text:
        raise no_twin("a variable inside of a variable", "give the inner one a context entry")
    try:
        return parse(text.strip())
    except QuerySyntaxError as error:
        raise no_twin(f"`{text.strip()}`: {error.message}") from None
