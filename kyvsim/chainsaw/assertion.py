"""Assertion trees: whether a value is as a tree of keys, expressions and scalars says.

Source of the rules: kyverno-json, pkg/core/assertion.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kyvsim.chainsaw.ending import HardError
from kyvsim.chainsaw.expressions import Ask, Bindings, Expression, ask_expression, parse_expression
from kyvsim.kubernetes.objects import Json

_NUMBERS = (int, float)


class Mismatch(NamedTuple):
    """One place at which a value is not as it should be."""

    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}: {self.text}" if self.path else self.text


def check_tree(tree: Json, value: Json, bindings: Bindings, ask: Ask) -> tuple[Mismatch, ...]:
    """Return where `value` is not as `tree` says; none where it is.

    Raises HardError for values that cannot be compared and expressions that cannot be evaluated.
    """
    return tuple(_check(tree, value, _Place("", bindings, ask)))


class _Place(NamedTuple):
    path: str
    bindings: Bindings
    ask: Ask

    def under(self, name: str) -> "_Place":
        return self._replace(path=f"{self.path}.{name}" if self.path else name)

    def item(self, index: str) -> "_Place":
        return self._replace(path=f"{self.path}[{index}]")

    def binding(self, name: str, value: Json) -> "_Place":
        return self._replace(bindings={**self.bindings, name: value}) if name else self


def _check(tree: Json, value: Json, at: _Place) -> Iterator[Mismatch]:
    if tree.__class__ is dict:
        yield from _check_map(tree, value, at)
    elif tree.__class__ is list:
        yield from _check_list(tree, value, at)
    else:
        yield from _check_scalar(tree, value, at)


def _check_map(tree: Mapping[str, Json], value: Json, at: _Place) -> Iterator[Mismatch]:
    if not tree:
        if value is None:
            yield Mismatch(at.path, "is null, but should be there")
        return
    for key, wanted in tree.items():
        expression = parse_expression(str(key))
        place = at.under(str(key))
        if not expression.engine and not _has(value, expression.text):
            yield Mismatch(place.path, "field not found in the input object")
            continue
        found = _project(expression, value, at)
        place = place.binding(expression.binding, found)
        if expression.foreach:
            yield from _check_each(wanted, found, expression, place)
        else:
            yield from _check(wanted, found, place)


def _has(value: Json, key: str) -> bool:
    return value.__class__ is dict and key in value


def _project(expression: Expression, value: Json, at: _Place) -> Json:
    if not expression.engine:
        return value[expression.text]
    return ask_expression(expression, value, at.bindings, at.ask)


def _check_each(tree: Json, found: Json, expression: Expression, at: _Place) -> Iterator[Mismatch]:
    if found.__class__ is list:
        entries = list(enumerate(found))
    elif found.__class__ is dict:
        entries = sorted(found.items())
    else:
        yield Mismatch(at.path, f"expected a list or a map, not {_kind(found)}")
        return
    for index, member in entries:
        place = at.item(str(index)).binding(expression.place, index)
        yield from _check(tree, member, place)


def _check_list(tree: list[Json], value: Json, at: _Place) -> Iterator[Mismatch]:
    if value is None:
        yield Mismatch(at.path, "is null, but should be a list")
        return
    if value.__class__ is not list:
        raise HardError(f"{at.path}: expected a list, not {_kind(value)}")
    if len(tree) != len(value):
        yield Mismatch(at.path, f"the list has {len(value)} items, not {len(tree)}")
        return
    for index, (wanted, member) in enumerate(zip(tree, value, strict=True)):
        yield from _check(wanted, member, at.item(str(index)))


def _check_scalar(tree: Json, value: Json, at: _Place) -> Iterator[Mismatch]:
    wanted = tree
    if tree.__class__ is str:
        expression = parse_expression(tree)
        if expression.engine:
            wanted = ask_expression(expression, value, at.bindings, at.ask)
        elif not expression.foreach and not expression.binding:
            wanted = expression.text
    if not _equal(wanted, value, at):
        yield Mismatch(at.path, f"is {_shown(value)}, but should be {_shown(wanted)}")


def _equal(wanted: Json, value: Json, at: _Place) -> bool:
    """Return whether two values are equal; raise HardError where they cannot be compared."""
    if wanted is None or value is None:
        return wanted is value
    kinds = {wanted.__class__, value.__class__}
    if len(kinds) == 1 or kinds == set(_NUMBERS):
        return bool(wanted == value)
    raise HardError(f"{at.path}: {_kind(wanted)} and {_kind(value)} cannot be compared")


def _kind(value: Json) -> str:
    if value is None:
        return "null"
    names = {dict: "a map", list: "a list", str: "a text", bool: "a truth value"}
    return names.get(value.__class__, "a number")


def _shown(value: Json) -> str:
    return f"`{value}`" if value.__class__ is str else str(value)
