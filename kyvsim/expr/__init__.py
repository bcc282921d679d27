"""JMESPath expressions and texts with `{{ }}`: the only room that knows jmespath."""

from kyvsim.expr.errors import NotFoundError, QueryError, QuerySyntaxError, SubstitutionError
from kyvsim.expr.query import Query, compile_query
from kyvsim.expr.template import Template, compile_template
from kyvsim.expr.variables import RuleScope
from kyvsim.model.ports import System

__all__ = [
    "NotFoundError",
    "Query",
    "QueryError",
    "QuerySyntaxError",
    "RuleScope",
    "SubstitutionError",
    "System",
    "Template",
    "compile_query",
    "compile_template",
]
