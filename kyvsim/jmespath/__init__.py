"""JMESPath expressions, and strings with `{{ }}`: the only package for JMESPath."""

from kyvsim.jmespath.functions import QueryError
from kyvsim.jmespath.parse import QuerySyntaxError
from kyvsim.jmespath.query import NotFoundError, Query, compile_query
from kyvsim.jmespath.template import Template, compile_template
from kyvsim.jmespath.variables import RuleScope, SubstitutionError
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
