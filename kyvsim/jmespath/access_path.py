"""Expressions that are only a path to values: `request.object.spec.[a, b][].image || 'none'`.

Whoever knows the path can read an object without evaluating the expression.
"""

from collections.abc import Iterator
from enum import Enum
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from kyvsim.jmespath.errors import QuerySyntaxError
from kyvsim.jmespath.parse import Tree, parse
from kyvsim.jmespath.query import names_in
from kyvsim.jmespath.variables import find_variables
from kyvsim.kubernetes.objects import Json

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
    default: tuple[Json, ...] = ()
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


def path_of_text(text: Json) -> AccessPath | None:
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
    default: tuple[Json, ...] = ()
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
    return AccessPath(steps, default, _unlike(condition))


def _checked_steps(steps: tuple[PathStep, ...]) -> tuple[PathStep, ...]:
    """Return the steps; keys have to be the end, and those of many maps one list."""
    if Spread.KEYS in steps:
        place = steps.index(Spread.KEYS)
        before, after = steps[:place], steps[place + 1 :]
        joined = after == (Spread.ELEMENTS,)
        if not joined and (after or Spread.ELEMENTS in before):
            raise _OtherTreeError
    return steps


def _unlike(condition: Tree) -> str:
    """Return the text that a filter `[?@ != 'text']` leaves out."""
    if condition["type"] == "comparator" and condition["value"] == "ne":
        left, right = condition["children"]
        is_text = right["type"] == "literal" and right["value"].__class__ is str
        if left["type"] == "current" and is_text:
            return str(right["value"])
    raise _OtherTreeError


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
