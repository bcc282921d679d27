"""JMESPath expressions and texts with `{{ }}`: the only room that knows jmespath."""

from kyvsim.expr.bound import bound_queries
from kyvsim.expr.environment import Environment
from kyvsim.expr.errors import NotFoundError, QueryError, QuerySyntaxError, SubstitutionError
from kyvsim.expr.query import Query, compile_query
from kyvsim.expr.scope import Scope
from kyvsim.expr.template import Template, compile_template

__all__ = [
    "Environment",
    "NotFoundError",
    "Query",
    "QueryError",
    "QuerySyntaxError",
    "Scope",
    "SubstitutionError",
    "Template",
    "bound_queries",
    "compile_query",
    "compile_template",
]
