"""Variables `{{ }}` in strings: their positions, queries, and access paths.

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
    """A template that could not be rendered; `not_found` if a missing field is the cause."""

    def __init__(self, message: str, *, not_found: bool = False) -> None:
        super().__init__(message)
        self.not_found = not_found


# The positions of variables `{{ }}` in a string.
#
# upstream: pkg/engine/variables/regex and the first half of `substituteVariablesIfAny` in
# pkg/engine/variables/vars.go. Inside of a variable one level of braces is allowed; a backslash
# before it escapes it; a variable directly after another one is found only after the first one
# was replaced.

VARIABLE: Final = re.compile(r"(^|[^\\])(\{\{(?:\{[^{}]*\}|[^{}])*+\}\})")
"""A variable: group 1 is the preceding character, group 2 the variable itself."""

_REFERENCE: Final = re.compile(r"[^\x00-\x7f]\$\(")
_LONGEST_SHOWN: Final = 60


class Variable(NamedTuple):
    """One variable of a string."""

    start: int
    """The position of its braces."""
    text: str
    """The variable with its braces."""
    expression: str
    """The query without braces and surrounding blanks."""
    shallow: bool
    """Whether it is `{{- x }}`: variables in its value are not replaced."""


def find_variables(text: str) -> tuple[Variable, ...]:
    """Return the variables of a string that one round of replacement finds, from left to right."""
    return tuple(
        _variable(found.start(2), found[2], remains_of(found[1]))
        for found in VARIABLE.finditer(text)
    )


def remains_of(before: str) -> str:
    """Return the remainder of the character before a variable, as part of the query.

    Upstream drops one byte instead of one character (`v = v[1:]` in pkg/engine/variables/vars.go),
    so that with the other bytes of `»` or `é` the query cannot be parsed. Each of them counts as
    the character with which Go replaces invalid UTF-8.
    """
    if not before or before.isascii():
        return ""
    return "\ufffd" * (len(before.encode("utf-8", "surrogatepass")) - 1)


def note_on_cut(text: str) -> str:
    """Return how to fix a string in which a variable follows a non-ASCII character, or ""."""
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
    """Return the texts around the variables: one more than there are variables."""
    starts = [variable.start for variable in variables]
    ends = [variable.start + len(variable.text) for variable in variables]
    return [text[end:start] for end, start in zip([0, *ends], [*starts, len(text)], strict=True)]


def unescape(text: str) -> str:
    """Return the text with its escaped braces unescaped."""
    return text.replace("\\{{", "{{")


def is_plain(value: object) -> bool:
    """Return whether no string or key in the value contains `{{`: there is nothing to replace."""
    if value.__class__ is str:
        return "{{" not in value
    if value.__class__ is dict:
        return not any("{{" in key for key in value) and all(map(is_plain, value.values()))
    return value.__class__ is not list or all(map(is_plain, value))


def _variable(start: int, text: str, remains: str) -> Variable:
    expression = (remains + text.replace("{{", "").replace("}}", "")).strip()
    shallow = expression.startswith("-")
    return Variable(start, text, expression[1:].strip() if shallow else expression, shallow)


# The data for expressions.


class RuleScope(Protocol):
    """The data of one rule evaluation; expensive entries are loaded on first access."""

    deleting: bool
    """Whether the request is a DELETE: `request.object` in variables then reads the old object."""

    def root(self, names: frozenset[str]) -> Mapping[str, Json]:
        """Return the data for queries, with the entries among the top-level `names` loaded.

        Raises `QueryError` if such an entry cannot be loaded.
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
    """Return the expression for the string at `path`, below `start`.

    Everything up to `foreach` is omitted, then the first two parts (such as `validate/pattern`).
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


# The query for a variable's value, with upstream's error messages.
#
# upstream: the loop of `substituteVariablesIfAny` in pkg/engine/variables/vars.go and
# pkg/engine/context/evaluate.go.


class Resolver(NamedTuple):
    """The query for one variable, and the names of context entries that it may load."""

    resolve: Callable[[RuleScope, str], Json]
    """Takes the scope and the path of the string, for messages; raises `SubstitutionError`."""
    names: frozenset[str]


_TARGET = frozenset({"target"})


def compile_variable(
    expression: str, path: str, system: System, on_node: NodeHook | None = None
) -> Resolver:
    """Return the resolver of a variable in the string at `path`; invalid ones fail when called.

    `on_node` wraps the parts of the written query, but not `@`, which is replaced.
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
    """Return the resolver of a query that reads the old object in DELETE requests.

    It is cached, so that variables that only exist at evaluation are not parsed every time;
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
        if deletion is None:  # few runs have DELETE requests
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
# With the path, values can be read from an object without evaluating the expression.

_LOADED = frozenset({"images"})
"""Names that every request can load; expressions with these names may fail."""


class Spread(Enum):
    """A step to several values."""

    ELEMENTS = "elements"
    """The elements of a list."""
    KEYS = "keys"
    """The keys of a map."""


class FieldStep(NamedTuple):
    """A step to the value of a key."""

    key: str
    optional: bool
    """Whether a missing key is null; if not, it is an error."""


class Lists(NamedTuple):
    """A step to the lists at some keys, concatenated."""

    keys: tuple[str, ...]


PathStep: TypeAlias = FieldStep | Lists | Spread


class AccessPath(NamedTuple):
    """The path that an expression reads."""

    steps: tuple[PathStep, ...]
    default: tuple[object, ...] = ()
    """The default for a value that is null or empty; () for none."""
    besides: str | None = None
    """A string that is omitted from the values."""

    @property
    def is_many(self) -> bool:
        """Whether it reads a list of values."""
        return any(isinstance(step, Spread) for step in self.steps)

    def below(self, *start: str) -> "AccessPath | None":
        """Return the rest of a path that begins with some keys, or None for any other path."""
        first = tuple(step.key for step in self.steps[: len(start)] if isinstance(step, FieldStep))
        return self._replace(steps=self.steps[len(start) :]) if first == start else None


class _OtherTreeError(Exception):
    """An expression that is not only a path."""


def path_of_text(text: object) -> AccessPath | None:
    """Return the path of a string that is one variable, or None."""
    variables = find_variables(text) if text.__class__ is str else ()
    return path_of(variables[0].expression) if variables and variables[0].text == text else None


@lru_cache(maxsize=256)
def path_of(expression: str) -> AccessPath | None:
    """Return the path of an expression, or None if it does anything else."""
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
    # The filter `[?@ != 'text']` omits a string.
    if condition["type"] == "comparator" and condition["value"] == "ne":
        one, other = condition["children"]
        is_text = other["type"] == "literal" and other["value"].__class__ is str
        if one["type"] == "current" and is_text:
            return AccessPath(steps, default, other["value"])
    raise _OtherTreeError


def _checked_steps(steps: tuple[PathStep, ...]) -> tuple[PathStep, ...]:
    """Return the steps; keys must be the last step, and those of several maps one list."""
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
        # Any path to lists can be flattened; a simple projection keeps nested lists, so it must
        # start at a field.
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
    """Yield the steps of a part that consists of fields, or of the keys of a map."""
    for step in () if tree["type"] == "identity" else _steps(tree):
        if not isinstance(step, FieldStep) and step is not Spread.KEYS:
            raise _OtherTreeError
        yield step


def _optional(steps: Iterator[PathStep]) -> Iterator[PathStep]:
    """Yield the steps of a part that is null if it is missing."""
    for step in steps:
        yield step._replace(optional=True) if isinstance(step, FieldStep) else step
