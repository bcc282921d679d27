"""JMESPath as policies write it → values and tests in CEL."""

from kyvsim.migrate.queries.read import query_value, query_within
from kyvsim.migrate.queries.scope import Scope
from kyvsim.migrate.queries.shown import shown
from kyvsim.migrate.queries.texts import text_pieces, text_value

__all__ = ["Scope", "query_value", "query_within", "shown", "text_pieces", "text_value"]
