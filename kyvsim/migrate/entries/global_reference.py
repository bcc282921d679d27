"""`globalReference`: data that a GlobalContextEntry keeps."""

from kyvsim.kube.objects import Json
from kyvsim.migrate.entries.config_map import LOOK_UP
from kyvsim.migrate.expressions import quoted
from kyvsim.migrate.queries.read import query_within
from kyvsim.migrate.queries.scope import Scope
from kyvsim.migrate.values import Value


def global_reference(entry: Json, scope: Scope) -> Value:
    """Return the data, or what a query finds in them."""
    scope.desk.note(LOOK_UP)
    value = Value(f"globalContext.Get({quoted(entry['name'])})", noun="items", is_looked_up=True)
    query = entry.get("jmesPath")
    return query_within(query, scope, value) if query else value
