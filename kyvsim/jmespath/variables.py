"""Variables `{{ }}` in strings: positions, the query for the value of one, and where it leads.

upstream: pkg/engine/variables (regex, vars.go)
"""

import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple, NoReturn, Protocol, TypeAlias

from kyvsim.jmespath.functions import QueryError
from kyvsim.jmespath.parse import QuerySyntaxError, Tree, parse
from kyvsim.jmespath.query import NodeHook, NotFoundError, compile_query, names_in
from kyvsim.kubernetes.objects import Json
from kyvsim.model.ports import System


class SubstitutionError(QueryError):
    """A template that could not be filled; `not_found` when a missing field is the cause."""

    def __init__(self, message: str, *, not_found: bool = False) -> None:
        super().__init__(message)
        self.not_found = not_found


# The positions of variables `{{ }}` in a string.
#
# upstream: pkg/engine/variables/regex and the first half of `substituteVariablesIfAny` in
# pkg/engine/variables/vars.go. Inside of a variable one level of braces is allowed; a backslash
# before it makes it plain text; a variable that follows another one directly is seen only after
# that one was filled in.


VARIABLE: Final = re.compile(r"(^|[^\\])(\{\{(?:\{[^{}]*\}|[^{}])*+\}\})")
"""A variable: group 1 is what precedes it, group 2 the variable itself."""


_REFERENCE: Final = re.compile(r"[^\x00-\x7f]\$\(")
_LONGEST_SHOWN: Final = 60


class Variable(NamedTuple):
    """One variable of a text."""

    start: int
    """Where its braces open."""
    text: str
    """All of it, with the braces."""
    expression: str
    """The query: no braces, no blanks around."""
    shallow: bool
    """Written `{{- x }}`: variables in its value are not filled in."""


def find_variables(text: str) -> tuple[Variable, ...]:
    """Return the variables of a text that one round of filling in sees, from left to right."""
    return tuple(
        _variable(found.start(2), found[2], remains_of(found[1]))
        for found in VARIABLE.finditer(text)
    )


def remains_of(before: str) -> str:
    """Return what upstream leaves of the character before a variable, as part of the query.

    It drops one byte where it means one character (`v = v[1:]` in pkg/engine/variables/vars.go), so
    that the other bytes of `»` or `é` make every query behind them one that cannot be parsed. Each
    of them counts as the character that Go shows for what is not UTF-8.
    """
    if not before or before.isascii():
        return ""
    return "\ufffd" * (len(before.encode("utf-8", "surrogatepass")) - 1)


def note_on_cut(text: str) -> str:
    """Return how to fix a text in which a variable follows a character beyond ASCII, or ""."""
    for found in VARIABLE.finditer(text):
        if remains_of(found[1]):
            query = _variable(found.start(2), found[2], "").expression
            query = query if len(query) <= _LONGEST_SHOWN and "{{" not in query else "…"
            return (
                f"note: Kyverno drops a byte of the `{found[1]}` before the variable: put an "
                "ASCII character such as a space between them, or join them in the expression: "
                f"{{{{ join('', ['{found[1]}', to_string({query})]) }}}}"
            )
    found_reference = _REFERENCE.search(text) if "$(" in text else None
    if found_reference is None:
        return ""
    return (
        f"note: Kyverno drops a byte of the `{found_reference[0][0]}` before the reference: put "
        "an ASCII character such as a space between them"
    )


def plain_pieces(text: str, variables: tuple[Variable, ...]) -> list[str]:
    """Return the plain texts around the variables: one more than there are variables."""
    starts = [variable.start for variable in variables]
    ends = [variable.start + len(variable.text) for variable in variables]
    return [text[end:start] for end, start in zip([0, *ends], [*starts, len(text)], strict=True)]


def unescape(text: str) -> str:
    """Return the text with its escaped braces unescaped."""
    return text.replace("\\{{", "{{")


def is_plain(value: object) -> bool:
    """Tell whether no text or key anywhere in the value has `{{`, so that filling in is idle."""
    if value.__class__ is str:
        return "{{" not in value
    if value.__class__ is dict:
        return not any("{{" in key for key in value) and all(map(is_plain, value.values()))
    return value.__class__ is not list or all(map(is_plain, value))


def _variable(start: int, text: str, remains: str) -> Variable:
    expression = (remains + text.replace("{{", "").replace("}}", "")).strip()
    shallow = expression.startswith("-")
    return Variable(start, text, expression[1:].strip() if shallow else expression, shallow)


# What an expression is evaluated against.


class RuleScope(Protocol):
    """The data of one rule evaluation; entries that cost something load when they are asked for."""

    deleting: bool
    """Whether the request is a DELETE: `request.object` in variables then reads the old object."""

    def root(self, names: frozenset[str]) -> Mapping[str, Json]:
        """Return the data queries run on, with the top-level `names` loaded if they are entries.

        Raises `QueryError` where such an entry cannot be loaded.
        """


# The path of a string in its document as a JMESPath expression: the value of `{{@}}`.
#
# upstream: pkg/utils/jsonpointer and `substituteVariablesIfAny` in pkg/engine/variables/vars.go.


_PLAIN: Final = r"[(A-Za-z_][)0-9A-Za-z_]*"
_PART: Final = r"(?s)(?:\\.|[^/\\])+"
_ESCAPED: Final = r"(?s)\\(.)"
_SPECIAL: Final = r'["\\/\x00-\x1f]'
_NAMED_ESCAPES: Final = MappingProxyType(dict(zip('"\\/\b\f\n\r\t', '"\\/bfnrt', strict=True)))


def current_path(path: str, start: tuple[str, ...]) -> str:
    """Return the expression for the text at `path`, below `start`.

    Everything up to `foreach` is left out, then the first two parts (such as `validate/pattern`).
    """
    parts = [re.sub(_ESCAPED, r"\1", part) for part in re.findall(_PART, path)]
    if "foreach" in parts:
        parts = parts[parts.index("foreach") + 1 :]
    written = ""
    for part in (*start, *parts[2:]):
        if part.isascii() and part.isdigit():
            written += f"[{part}]"
            continue
        written += "." if written else ""
        written += part if re.fullmatch(_PLAIN, part) else f'"{re.sub(_SPECIAL, _escape, part)}"'
    return written


def _escape(found: re.Match[str]) -> str:
    named = _NAMED_ESCAPES.get(found[0])
    return f"\\{named}" if named is not None else f"\\u{ord(found[0]):04x}"


# One variable → the query for its value, with upstream's error texts.
#
# upstream: the loop of `substituteVariablesIfAny` in pkg/engine/variables/vars.go and
# pkg/engine/context/evaluate.go.


class Resolver(NamedTuple):
    """The query for one variable, and the names of context entries that it may load."""

    resolve: Callable[[RuleScope, str], Json]
    """Takes the scope and the path of the text, for messages; raises `SubstitutionError`."""
    names: frozenset[str]


_TARGET = frozenset({"target"})


def compile_variable(
    expression: str, path: str, system: System, on_node: NodeHook | None = None
) -> Resolver:
    """Return the resolver of a variable in the text at `path`; faulty ones fail when asked.

    `on_node` wraps the parts of what is written; not `@`, which stands for something else.
    """
    if on_node and expression != "@":
        return _of_both(expression, system, on_node)
    if expression != "@":
        return _with_deletion(expression, system)
    target = _with_deletion(current_path(path, ("target",)), system)
    trigger = _with_deletion(current_path(path, ("request", "object")), system)

    def resolve(scope: RuleScope, path: str) -> Json:
        try:
            has_target = "target" in scope.root(_TARGET)
        except QueryError:
            has_target = False
        return (target if has_target else trigger).resolve(scope, path)

    return Resolver(resolve, target.names | trigger.names | _TARGET)


@lru_cache(maxsize=2048)
def _with_deletion(expression: str, system: System) -> Resolver:
    """A DELETE request has its object under `request.oldObject`: the query's text is changed.

    The cache is what keeps variables that only exist at evaluation from being parsed every time;
    policies share many of the others.
    """
    return _of_both(expression, system)


def _of_both(expression: str, system: System, on_node: NodeHook | None = None) -> Resolver:
    usual = _resolver(expression, system, on_node)
    if "request.object" not in expression:
        return usual
    of_old = expression.replace("request.object", "request.oldObject")
    deletion: Resolver | None = None

    def resolve(scope: RuleScope, path: str) -> Json:
        if not scope.deleting:
            return usual.resolve(scope, path)
        nonlocal deletion
        if deletion is None:  # few runs delete
            deletion = _resolver(of_old, system)
        return deletion.resolve(scope, path)

    return Resolver(resolve, usual.names | names_in(of_old))


def _resolver(expression: str, system: System, on_node: NodeHook | None = None) -> Resolver:
    if not expression:
        return _failing(expression, "invalid query (nil)")
    try:
        query = compile_query(expression, system, on_node)
    except QuerySyntaxError as error:
        return _failing(expression, f"incorrect query {expression}: {error.message}")
    names, evaluate = query.names, query.evaluate

    def resolve(scope: RuleScope, path: str) -> Json:
        try:
            data = scope.root(names)
        except QueryError as error:
            raise _failure(expression, path, error, error.message) from error
        try:
            return evaluate(data)
        except QueryError as error:
            cause = f"JMESPath query failed: {error.message}"
            raise _failure(expression, path, error, cause) from error

    return Resolver(resolve, names)


def _failing(expression: str, message: str) -> Resolver:
    def resolve(_: RuleScope, path: str) -> NoReturn:
        raise SubstitutionError(f"failed to resolve {expression} at path {path}: {message}")

    return Resolver(resolve, frozenset())


def _failure(expression: str, path: str, error: QueryError, cause: str) -> SubstitutionError:
    missing = isinstance(error, NotFoundError) or getattr(error, "not_found", False)
    text = f"failed to resolve {expression} at path {path}: {cause}"
    return SubstitutionError(text, not_found=missing)


# Variables that are only a path to values: `request.object.spec.[a, b][].image || 'none'`.
#
# Whoever knows the path can read an object without evaluating the expression.

_LOADED = frozenset({"images"})
"""Names that every request can load; expressions that name them may fail."""


class Spread(Enum):
    """A step that leads to many values at once."""

    ELEMENTS = "elements"
    """The elements of a list."""
    KEYS = "keys"
    """The keys of a map."""


class FieldStep(NamedTuple):
    """A step to the value of a key."""

    key: str
    optional: bool
    """Whether it is as good as null where a map lacks the key; else that is an error."""


class Lists(NamedTuple):
    """A step to the lists under some keys, as one list."""

    keys: tuple[str, ...]


PathStep: TypeAlias = FieldStep | Lists | Spread


class AccessPath(NamedTuple):
    """Where an expression leads."""

    steps: tuple[PathStep, ...]
    default: tuple[object, ...] = ()
    """The default for a value that is null or empty; () for none."""
    besides: str | None = None
    """A text that is left out of what is found."""

    @property
    def is_many(self) -> bool:
        """Whether it leads to a list of values."""
        return any(isinstance(step, Spread) for step in self.steps)

    def below(self, *start: str) -> "AccessPath | None":
        """Return the rest of a path that begins with some keys, or None for any other path."""
        first = tuple(step.key for step in self.steps[: len(start)] if isinstance(step, FieldStep))
        return self._replace(steps=self.steps[len(start) :]) if first == start else None


class _OtherTreeError(Exception):
    """An expression that does more than lead somewhere."""


def path_of_text(text: object) -> AccessPath | None:
    """Return where the variable leads that a text is, or None."""
    variables = find_variables(text) if text.__class__ is str else ()
    return path_of(variables[0].expression) if variables and variables[0].text == text else None


@lru_cache(maxsize=256)
def path_of(expression: str) -> AccessPath | None:
    """Return where an expression leads, or None where that is not all there is to it."""
    if not _LOADED.isdisjoint(names_in(expression)):
        return None
    try:
        return _path_of_tree(parse(expression.strip()))
    except (QuerySyntaxError, _OtherTreeError):
        return None


def _path_of_tree(tree: Tree) -> AccessPath:
    default: tuple[object, ...] = ()
    if tree["type"] == "or_expression":
        tree, other = tree["children"]
        if other["type"] != "literal":
            raise _OtherTreeError
        default = (other["value"],)
    if tree["type"] != "filter_projection":
        return AccessPath(_checked_steps(tuple(_steps(tree))), default)
    listed, right, condition = tree["children"]
    steps = _checked_steps(tuple(_steps(listed)))
    if right["type"] != "identity" or steps[-1] is not Spread.KEYS:
        raise _OtherTreeError
    # The filter `[?@ != 'text']` leaves out a text.
    if condition["type"] == "comparator" and condition["value"] == "ne":
        one, other = condition["children"]
        is_text = other["type"] == "literal" and other["value"].__class__ is str
        if one["type"] == "current" and is_text:
            return AccessPath(steps, default, other["value"])
    raise _OtherTreeError


def _checked_steps(steps: tuple[PathStep, ...]) -> tuple[PathStep, ...]:
    """Return the steps; keys have to be the end, and those of many maps one list."""
    if Spread.KEYS in steps:
        place = steps.index(Spread.KEYS)
        before, after = steps[:place], steps[place + 1 :]
        joined = after == (Spread.ELEMENTS,)
        if not joined and (after or Spread.ELEMENTS in before):
            raise _OtherTreeError
    return steps


def _steps(tree: Tree) -> Iterator[PathStep]:
    kind, children = tree["type"], tree["children"]
    if kind == "field":
        yield FieldStep(tree["value"], optional=False)
    elif kind == "subexpression":
        *before, last = (tuple(_steps(child)) for child in children)
        if not all(isinstance(step, FieldStep) for part in before for step in part):
            raise _OtherTreeError
        yield from (step for part in (*before, last) for step in part)
    elif kind == "projection":
        # What is flattened may be anything that leads to lists; a plain projection keeps lists of
        # lists, so it starts at a field.
        left, right = children
        listed = left["children"][0] if left["type"] == "flatten" else left
        if listed is left and left["type"] != "field":
            raise _OtherTreeError
        yield from _optional(_steps(listed))
        yield Spread.ELEMENTS
        yield from _optional(_fields(right))
    elif kind == "multi_select_list" and all(child["type"] == "field" for child in children):
        yield Lists(tuple(child["value"] for child in children))
    elif kind == "function_expression" and (
        tree["value"] == "keys" and [one["type"] for one in tree["children"]] == ["current"]
    ):
        yield Spread.KEYS
    else:
        raise _OtherTreeError


def _fields(tree: Tree) -> Iterator[PathStep]:
    """Yield the steps of a part that may lead through fields, and to keys."""
    for step in () if tree["type"] == "identity" else _steps(tree):
        if not isinstance(step, FieldStep) and step is not Spread.KEYS:
            raise _OtherTreeError
        yield step


def _optional(steps: Iterator[PathStep]) -> Iterator[PathStep]:
    """Yield the steps as those of a part whose absence is null."""
    for step in steps:
        yield step._replace(optional=True) if isinstance(step, FieldStep) else step
