"""Expressions with bindings: `$name` at any depth, and a missing field is null."""

from collections.abc import Callable, Mapping
from functools import lru_cache

from kyvsim.jmespath.closures import Missing
from kyvsim.jmespath.functions.record import Function
from kyvsim.jmespath.functions.table import function_named
from kyvsim.jmespath.lower import Surroundings, lower
from kyvsim.jmespath.parse import Tree, parse
from kyvsim.kubernetes.objects import Json
from kyvsim.model.ports import System

_CACHED = 256


def bound_queries(
    system: System, functions: Mapping[str, Function]
) -> Callable[[str, Json, Mapping[str, Json]], Json]:
    """Return what evaluates an expression on plain data with bindings.

    `functions` are known besides Kyverno's, and win over them. It raises `QueryError`, as
    `QuerySyntaxError` where the text is no expression; every number should be a float.
    """

    def named(name: str) -> Function | None:
        return functions.get(name) or function_named(name)

    def evaluate(text: str, data: Json, bindings: Mapping[str, Json]) -> Json:
        found = lower(_parsed(text), Surroundings(named, system, bindings))(data)
        return None if found.__class__ is Missing else found

    return evaluate


@lru_cache(maxsize=_CACHED)
def _parsed(text: str) -> Tree:
    return parse(text, bindings=True)
