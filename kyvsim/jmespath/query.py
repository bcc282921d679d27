"""Compiled expressions: the text, the names that it may read, and the closure."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

from kyvsim.jmespath.closures import LoweringContext, MissingValue, Run, lower
from kyvsim.jmespath.functions import Function, QueryError, function_named, functions
from kyvsim.jmespath.parse import QuerySyntaxError, Tree, parse
from kyvsim.kubernetes.objects import Json
from kyvsim.model.diagnostic import likely
from kyvsim.model.ports import System

# Which context entries a query may read, determined by its text, as in upstream.
#
# upstream: pkg/engine/context/deferred.go. An entry `x` is loaded before a query whose text
# contains `x` as a whole word, without a dot before it. So `a.x` does not load `x`, and the raw
# string `'x'` does.

_RUN: Final = re.compile(r"[0-9A-Za-z_-]+")
_QUOTED: Final = re.compile(r"""(?<=["'`])[^"'`]++(?=["'`])""")
"""The text between quotes: an entry may have a name such as `two words`."""

_LONGEST_NAME: Final = 80
_LONGEST_TEXT: Final = 1 << 16
"""Longer text is data (a hash, a certificate), not a name; enumerating its parts takes too long."""


def names_in(text: str) -> frozenset[str]:
    """Return all possible names of entries that are loaded for this query."""
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


class NotFoundError(QueryError):
    """An expression that reads a field which a map lacks."""

    def __init__(self, key: str) -> None:
        super().__init__(f'Unknown key "{key}" in path')
        self.key = key


class Query(NamedTuple):
    """A compiled expression; immutable."""

    text: str
    names: frozenset[str]
    """Names of the context entries that upstream would load for it."""
    evaluate: Callable[[object], Json]
    """Takes plain data; raises `QueryError`, as `NotFoundError` if a map lacks a key."""


_PLAIN: Final = frozenset({"literal", "identity", "current", "variable", "expref", "empty"})
"""Node types whose values are not traced."""


# Patterns of notes on errors are compiled when they are needed, which is rare.
_KEY = (
    r"\b(?P<map>labels|annotations|data|matchLabels|nodeSelector)\.(?P<name>\w[\w./-]*[/-][\w./-]*)"
    r"|(?P<owner>\w+)\.(?P<dashed>[A-Za-z_]\w*(?:-\w+)+)"
    r"|(?P<field>\w+)\[(?P<quote>['\"])(?P<index>[^'\"]+)(?P=quote)\]"
)
"""Keys that are not identifiers, without quotes, or in brackets as in other languages."""


_BARE_NUMBER = r"(?:[<>]=?|[!=]=|\|\||&&)\s*(\d+(?:\.\d+)?)(?![\w`])"


_CHOICES = (
    (r"\?\?", "a default is `a || 'b'`"),
    (r"(?<!\[)\?.*:", "JMESPath has no `a ? b : c`: write `a && b || c`"),
)
_OTHERS = (
    (r"^\s*\w+(?:-\w+)+", "a name with `-` needs double quotes"),
    (r"\.\d", "an element of a list is in brackets: `[0]`"),
    (r"(?i)\s(?:and|or|not)\s|^\s*not\s", "the operators are `&&`, `||` and `!`"),
    (r"\sin\s", "a list is searched with `contains(list, value)`"),
    (r"(?<![=!<>])=(?!=)", "equality is `==`"),
    (r"\s[-+*/%]\s", "arithmetic is done by functions, such as `add`, `subtract` and `multiply`"),
    (r"\.\w+\(", "functions are not methods: write `starts_with(value, 'a')`"),
)
"""Signs of other languages, with what JMESPath has instead."""


def note_on_syntax(text: str) -> str:
    """Return how to write what cannot be parsed, or ""."""
    bare = re.sub("'[^']*'|`[^`]*`", "", text)
    choice = next((f"note: {note}" for sign, note in _CHOICES if re.search(sign, bare)), "")
    if choice:
        return choice
    if any(bare.count(pair[0]) != bare.count(pair[1]) for pair in ("()", "[]", "{}")):
        return "note: a bracket or parenthesis is not closed, or closed twice"
    number = re.search(_BARE_NUMBER, text)
    if number:
        return f"note: numbers are in backticks in JMESPath: write `` `{number[1]}` ``"
    found = re.search(_KEY, text)
    if found is None:
        return next((f"note: {note}" for sign, note in _OTHERS if re.search(sign, text)), "")
    owner = found["map"] or found["owner"] or found["field"]
    key = found["name"] or found["dashed"] or found["index"]
    return (
        "note: a key with other characters than letters, digits and `_` needs double quotes: "
        f'`{owner}."{key}"`'
    )


def with_quoted_keys(expression: str) -> str:
    """Return JMESPath with double quotes around keys that need them."""

    def quoted(found: re.Match[str]) -> str:
        owner = found["map"] or found["owner"] or found["field"]
        key = found["name"] or found["dashed"] or found["index"]
        return f'{owner}."{key}"' if owner else found[0]

    return re.sub(rf"'[^']*'|`[^`]*`|\"[^\"]*\"|{_KEY}", quoted, expression)


_INSTEAD: Final[Mapping[str, str]] = {
    "default": ": a default is `a || 'b'`",
    **dict.fromkeys(("len", "size", "count"), ": did you mean `length`?"),
    "has": ": a missing field is null, as in `length(keys(object))` or `field || 'default'`",
    **dict.fromkeys(
        ("all", "exists"), ": a filter is `list[?test]`, and `length` counts its result"
    ),
    **dict.fromkeys(("startsWith", "startswith"), ": did you mean `starts_with`?"),
    **dict.fromkeys(("endsWith", "endswith"), ": did you mean `ends_with`?"),
    **dict.fromkeys(("matches", "regex"), ": did you mean `regex_match`?"),
}
"""Functions of other languages that have another name in JMESPath."""


def instead_of(name: str) -> str:
    """Return which function an unknown name may mean, after a colon, or ""."""
    return _INSTEAD.get(name) or likely(name, functions())


def impossible_calls(expression: str) -> Iterator[str]:
    """Yield why function calls in an expression always fail, whatever their arguments are.

    upstream: kyverno/go-jmespath `functions.go`, CallFunction
    """
    try:
        pending = [parse(expression)]
    except QuerySyntaxError:
        return
    while pending:
        node = pending.pop()
        children = [child for child in node["children"] if child.__class__ is dict]
        pending += reversed(children)
        if node["type"] == "function_expression":
            name = node["value"]
            function = function_named(name)
            if function is None:
                yield f"unknown function `{name}`{instead_of(name)}"
            elif refusal := function.refusal(len(children)):
                yield refusal


NodeHook: TypeAlias = Callable[[tuple[int, int], Run], Run]
"""Takes start and end of a part of an expression, and its closure; returns the replacement.

It is not called for parts without text of their own, nor for parts that are evaluated for each
element of a list.
"""


def compile_query(text: str, system: System, on_node: NodeHook | None = None) -> Query:
    """Return the compiled expression; raise `QuerySyntaxError` if it is invalid."""
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

    def evaluate(data: object) -> Json:
        found = run(data)
        if found.__class__ is MissingValue:
            raise NotFoundError(found.key)
        return found

    return Query(text, names_in(text), evaluate)


# Expressions with bindings: `$name` at any depth, and a missing field is null.


def bound_queries(
    system: System, functions: Mapping[str, Function]
) -> Callable[[str, object, Mapping[str, object]], Json]:
    """Return a function that evaluates an expression on plain data with bindings.

    `functions` take precedence over Kyverno's. It raises `QueryError`, as `QuerySyntaxError` if the
    text is not an expression; every number should be a float.
    """

    def named(name: str) -> Function | None:
        return functions.get(name) or function_named(name)

    def evaluate(text: str, data: object, bindings: Mapping[str, object]) -> Json:
        found = lower(parse(text, bindings=True), LoweringContext(named, system, bindings))(data)
        return None if found.__class__ is MissingValue else found

    return evaluate
