"""JMESPath expressions and texts with `{{ }}`: the only room that knows jmespath."""

from kyvsim.jmespath.errors import NotFoundError, QueryError, QuerySyntaxError, SubstitutionError
from kyvsim.jmespath.query import Query, compile_query
from kyvsim.jmespath.template import Template, compile_template
from kyvsim.jmespath.variables import RuleScope
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
