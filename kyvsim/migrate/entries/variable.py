"""`variable`: a value that is written, or a query on one."""

from kyvsim.kube.objects import Json
from kyvsim.migrate.conditions.block import value_of
from kyvsim.migrate.queries.constants import constant
from kyvsim.migrate.queries.read import query_value, query_within
from kyvsim.migrate.queries.scope import Scope, no_twin
from kyvsim.migrate.values import Value


def variable(entry: Json, scope: Scope) -> Value:
    """Return the value of an entry."""
    if entry.get("value") is not None:
        value = value_of(entry["value"], scope)
        query = entry.get("jmesPath")
        if query:
            value = query_within(query, scope, value)
    elif entry.get("jmesPath"):
        value = query_value(entry["jmesPath"].strip(), scope)
    else:
        value = constant(entry.get("default"))
    if entry.get("default") is None or not (value.may_miss or value.needs or value.soft):
        return value
    # Whatever the query fails at, it is the default that counts.
    default = value_of(entry["default"], scope)
    if not default.constant:
        raise no_twin("a default with variables", "use `||` in the query")
    if value.needs and not (value.soft and default.constant == ([],)):
        value = value.if_needed_is_there()
    text = value.or_else(default.constant[0])
    return Value(text, value.types or default.types, noun=value.noun)
