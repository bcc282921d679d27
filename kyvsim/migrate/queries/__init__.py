"""JMESPath as policies write it → values and tests in CEL."""

from kyvsim.migrate.queries.read import query_value
from kyvsim.migrate.queries.scope import Scope
from kyvsim.migrate.queries.texts import shown, text_pieces, text_value

__all__ = ["Scope", "query_value", "shown", "text_pieces", "text_value"]
