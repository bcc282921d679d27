"""Texts of queries → trees."""

from kyvsim.jmespath import QuerySyntaxError
from kyvsim.jmespath.parse import parse
from kyvsim.migrate.queries.scope import Tree, no_twin


def tree_of(text: str) -> Tree:
    """Return the tree of an expression; raise NotConvertible where it is none."""
    try:
        return parse(text.strip())
    except QuerySyntaxError as error:
        if "⟦" in text or "{{" in text:
            what = "a variable inside of a variable that is no part of a literal or a name"
            raise no_twin(what, "give the inner one a context entry") from None
        raise no_twin(f"`{text.strip()}`: {error.message}") from None
