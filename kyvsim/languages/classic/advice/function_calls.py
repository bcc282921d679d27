"""Calls of JMESPath functions that can only fail.

To Kyverno these are faults of evaluation: the policy is taken, and the rule ends in error.
upstream: kyverno/go-jmespath `functions.go`, CallFunction
"""

from collections.abc import Iterator, Mapping

from kyvsim.compile.remark import warn
from kyvsim.expr.errors import QuerySyntaxError
from kyvsim.expr.functions.record import Function
from kyvsim.expr.functions.table import FUNCTIONS
from kyvsim.expr.parse import Tree, parse
from kyvsim.expr.variables import VARIABLE
from kyvsim.kube.objects import Json
from kyvsim.languages.classic.advice.remark import is_query, texts
from kyvsim.languages.classic.checks.variable_text import expression_of
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy
from kyvsim.model.source import Path
from kyvsim.model.wording import likely


def impossible_calls(policy: Policy) -> Iterator[Diagnostic]:
    """KV205: a function that does not exist, or a call with a number of arguments it never takes.

    A fixed expression is looked at wherever it stands; one with variables in it is not.
    """
    for rule in policy.rules:
        for problem, path in impossible_calls_in(rule.data):
            yield warn(policy.document, "KV205", problem, (*rule.path, *path))


def impossible_calls_in(data: Json) -> Iterator[tuple[str, Path]]:
    """Yield what is wrong with calls in a part of a document, and where their texts are."""
    for path, expression in _expressions(data):
        for problem in _problems(expression, FUNCTIONS):
            yield problem, path


def _expressions(rule: Json) -> Iterator[tuple[Path, str]]:
    """Yield the fixed expressions of a rule that hold a call, with their paths."""
    for path, text in texts(rule):
        if "(" not in text or "cel" in path:
            continue
        if "{{" in text:
            for _, variable in VARIABLE.findall(text):
                yield path, expression_of(variable)
        elif is_query(path):
            yield path, text


def _problems(expression: str, functions: Mapping[str, Function]) -> Iterator[str]:
    try:
        tree = parse(expression)
    except QuerySyntaxError:
        return
    for name, count in _calls(tree):
        function = functions.get(name)
        if function is None:
            yield f"there is no function `{name}`{likely(name, functions)}"
        elif refusal := function.refusal(count):
            yield refusal


def _calls(tree: Tree) -> Iterator[tuple[str, int]]:
    """Yield name and number of arguments of every call in a tree."""
    pending = [tree]
    while pending:
        node = pending.pop()
        children = [child for child in node["children"] if child.__class__ is dict]
        if node["type"] == "function_expression":
            yield node["value"], len(children)
        pending += reversed(children)
