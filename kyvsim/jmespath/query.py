"""Expressions as values: their text, the names they may read, and the closure that evaluates."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from kyvsim.jmespath.closures import MissingValue, Run
from kyvsim.jmespath.errors import NotFoundError, QuerySyntaxError
from kyvsim.jmespath.functions import Function
from kyvsim.jmespath.functions.table import function_named, functions
from kyvsim.jmespath.lower import LoweringContext, lower
from kyvsim.jmespath.parse import Tree, parse
from kyvsim.kubernetes.objects import Json
from kyvsim.model.diagnostic import likely
from kyvsim.model.ports import System

# Which context entries a query may read: decided by its text, as upstream decides it.
#
# upstream: pkg/engine/context/deferred.go. An entry `x` is loaded before a query in whose text
# `x` stands at a word's start (no dot, letter or digit before it) and ends at a word's end. So
# `a.x` does not load `x`, and the raw string `'x'` does.


_RUN: Final = re.compile(r"[0-9A-Za-z_-]+")
_QUOTED: Final = re.compile(r"""(?<=["'`])[^"'`]++(?=["'`])""")
"""What stands between quotes: an entry may have a name such as `two words`."""

_LONGEST_NAME: Final = 80
_LONGEST_TEXT: Final = 1 << 16
"""What is longer is data (a hash, a certificate), no name; enumerating its parts would cost."""


def names_in(text: str) -> frozenset[str]:
    """Return every name that an entry could have to be loaded for this query text."""
    names: set[str] = set()
    text = text[:_LONGEST_TEXT]
    for found in _RUN.finditer(text):
        run = found[0]
        if len(run) > _LONGEST_NAME:
            continue
        dotted = text.startswith(".", found.start() - 1) if found.start() else False
        if "_" in run or "-" in run:
            # A name ends at a word boundary: letter, digit or underscore on exactly one side.
            is_word = [*(char != "-" for char in run), False]
            starts = [at for at in range(1, len(run)) if run[at - 1] in "-_"]
            if not dotted:
                starts.append(0)
            ends = [at for at in range(1, len(run) + 1) if is_word[at - 1] != is_word[at]]
            names.update([run[start:end] for start in starts for end in ends if start < end])
        elif not dotted:
            names.add(run)
    names.update(found[0] for found in _QUOTED.finditer(text) if len(found[0]) <= _LONGEST_NAME)
    return frozenset(names)


class Query(NamedTuple):
    """A compiled expression; share it freely."""

    text: str
    names: frozenset[str]
    """Names of context entries that upstream would load for it."""
    evaluate: Callable[[Json], Json]
    """Takes plain data; raises `QueryError`, as `NotFoundError` where a map lacks a key."""


_PLAIN: Final = frozenset({"literal", "identity", "current", "variable", "expref", "empty"})
"""Parts whose values are not shown."""


def impossible_calls(expression: str) -> Iterator[str]:
    """Yield why calls of functions in an expression can only fail, whatever their arguments are.

    upstream: kyverno/go-jmespath `functions.go`, CallFunction
    """
    try:
        tree = parse(expression)
    except QuerySyntaxError:
        return
    for name, count in _calls(tree):
        function = function_named(name)
        if function is None:
            yield f"unknown function `{name}`{likely(name, functions())}"
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


NodeHook: TypeAlias = Callable[[tuple[int, int], Run], Run]
"""Takes where a part of an expression begins and ends, and its closure; gives what stands for it.

It is not asked for what has no text of its own, nor for what is evaluated for each element of a
list.
"""


def compile_query(text: str, system: System, on_node: NodeHook | None = None) -> Query:
    """Return the compiled expression; raise `QuerySyntaxError` where the text is none."""
    tree = parse(text, with_spans=on_node is not None)
    context = LoweringContext(function_named, system)
    if on_node:

        def hooked(tree: Tree, run: Run) -> Run:
            span = tree.get("span")
            return on_node(span, run) if span and tree["type"] not in _PLAIN else run

        context = context._replace(on_node=hooked)
    try:
        run = lower(tree, context)
    except RecursionError:
        raise QuerySyntaxError(
            "SyntaxError: the expression is nested too deeply", text, 0
        ) from None

    def evaluate(data: Json) -> Json:
        found = run(data)
        if found.__class__ is MissingValue:
            raise NotFoundError(found.key)
        return found

    return Query(text, names_in(text), evaluate)


# Expressions with bindings: `$name` at any depth, and a missing field is null.

_CACHED = 256


def bound_queries(
    system: System, functions: Mapping[str, Function]
) -> Callable[[str, Json, Mapping[str, Json]], Json]:
    """Return what evaluates an expression on plain data with bindings.

    `functions` are known besides Kyverno's, and win over them. It raises `QueryError`, as
    `QuerySyntaxError` if the text is not an expression; every number should be a float.
    """

    def named(name: str) -> Function | None:
        return functions.get(name) or function_named(name)

    def evaluate(text: str, data: Json, bindings: Mapping[str, Json]) -> Json:
        found = lower(_parsed(text), LoweringContext(named, system, bindings))(data)
        return None if found.__class__ is MissingValue else found

    return evaluate


@lru_cache(maxsize=_CACHED)
def _parsed(text: str) -> Tree:
    return parse(text, bindings=True)
