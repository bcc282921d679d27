"""One variable → what asks for its value, with upstream's error texts.

upstream: the loop of `substituteVariablesIfAny` in pkg/engine/variables/vars.go and
pkg/engine/context/evaluate.go.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from kyvsim.expr.current_path import current_path
from kyvsim.expr.errors import NotFoundError, QueryError, QuerySyntaxError, SubstitutionError
from kyvsim.expr.names import names_in
from kyvsim.expr.query import Hear, compile_query
from kyvsim.expr.scope import RuleScope
from kyvsim.kube.objects import Json
from kyvsim.model.ports import System

Ask: TypeAlias = Callable[[RuleScope, str], Json]
"""Takes the scope and the path of the text, for messages; raises `SubstitutionError`."""


class Resolver(NamedTuple):
    """What asks for one variable, and the names of context entries that this may load."""

    ask: Ask
    names: frozenset[str]


_TARGET = frozenset({"target"})


def compile_variable(
    expression: str, path: str, system: System, hear: Hear | None = None
) -> Resolver:
    """Return the resolver of a variable in the text at `path`; faulty ones fail when asked.

    Who hears is told of the parts of what is written; not of `@`, which stands for something else.
    """
    if hear and expression != "@":
        return _of_both(expression, system, hear)
    if expression != "@":
        return _with_deletion(expression, system)
    target = _with_deletion(current_path(path, ("target",)), system)
    trigger = _with_deletion(current_path(path, ("request", "object")), system)

    def ask(scope: RuleScope, path: str) -> Json:
        chosen = target if _has_target(scope) else trigger
        return chosen.ask(scope, path)

    return Resolver(ask, target.names | trigger.names | _TARGET)


def _has_target(scope: RuleScope) -> bool:
    try:
        return "target" in scope.root(_TARGET)
    except QueryError:
        return False


@lru_cache(maxsize=2048)
def _with_deletion(expression: str, system: System) -> Resolver:
    """A DELETE request has its object under `request.oldObject`: the query's text is changed.

    The cache is what keeps variables that only exist at evaluation from being parsed every time;
    policies share many of the others.
    """
    return _of_both(expression, system)


def _of_both(expression: str, system: System, hear: Hear | None = None) -> Resolver:
    usual = _resolver(expression, system, hear)
    if "request.object" not in expression:
        return usual
    of_old = expression.replace("request.object", "request.oldObject")
    deletion: Resolver | None = None

    def ask(scope: RuleScope, path: str) -> Json:
        if not scope.deleting:
            return usual.ask(scope, path)
        nonlocal deletion
        if deletion is None:  # few runs delete
            deletion = _resolver(of_old, system)
        return deletion.ask(scope, path)

    return Resolver(ask, usual.names | names_in(of_old))


def _resolver(expression: str, system: System, hear: Hear | None = None) -> Resolver:
    if not expression:
        return _failing(expression, "invalid query (nil)")
    try:
        query = compile_query(expression, system, hear)
    except QuerySyntaxError as error:
        return _failing(expression, f"incorrect query {expression}: {error.message}")
    names, evaluate = query.names, query.evaluate

    def ask(scope: RuleScope, path: str) -> Json:
        try:
            data = scope.root(names)
        except QueryError as error:
            raise _failure(expression, path, error, error.message) from error
        try:
            return evaluate(data)
        except QueryError as error:
            cause = f"JMESPath query failed: {error.message}"
            raise _failure(expression, path, error, cause) from error

    return Resolver(ask, names)


def _failing(expression: str, message: str) -> Resolver:
    def ask(_: RuleScope, path: str) -> Json:
        raise SubstitutionError(f"failed to resolve {expression} at path {path}: {message}")

    return Resolver(ask, frozenset())


def _failure(expression: str, path: str, error: QueryError, cause: str) -> SubstitutionError:
    missing = isinstance(error, NotFoundError) or getattr(error, "not_found", False)
    text = f"failed to resolve {expression} at path {path}: {cause}"
    return SubstitutionError(text, not_found=missing)
