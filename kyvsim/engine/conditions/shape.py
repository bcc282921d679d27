"""Conditions as shapes: what an object looks like for which they certainly hold, or do not.

A shape that holds means that the evaluation in `block.py` gives this outcome, without an error.
"""

from collections.abc import Sequence
from typing import Final

from kyvsim.engine.conditions.operators import Test, operators
from kyvsim.engine.prefilter import (
    FieldShape,
    ItemShape,
    KeysShape,
    MapShape,
    Shape,
    ValueShape,
    is_scalar,
    together,
)
from kyvsim.jmespath.access_path import AccessPath, FieldStep, Lists, Spread, path_of, path_of_text
from kyvsim.jmespath.variables import is_plain
from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.wildcard import has_wildcard
from kyvsim.model.ports import FEW
from kyvsim.policy.tree import Condition, Conditions

_SPREADING: Final = frozenset({"AnyIn", "AnyNotIn"})
"""Operators that do not hold of a list if they hold of none of its elements."""
_HAVING: Final = (("AnyIn", True), ("AllIn", True), ("AnyNotIn", False), ("AllNotIn", False))
"""Operators whose outcome for a text and a list is known once the text is in the list."""


def refuting_shape(conditions: Conditions | None, start: tuple[str, ...]) -> Shape | None:
    """Return the shape of what is under `start` for which a block certainly does not hold."""
    some, every = _lists(conditions)
    if some and not every:
        return _all(some, start, wanted=False)
    return _first(every, start, wanted=False) if every and some is None else None


def is_seen_whole(conditions: Conditions | None) -> bool:
    """Return whether a block looks at nothing but what its refuting shape looks at.

    However it ends then, it ends so for all that looks the same, in the same words.
    """
    some, every = _lists(conditions)
    listed = (*(some or ()), *(every or ()))
    is_first_all = not every or len(listed) == 1
    return is_first_all and all(_is_fixed(one.message) for one in listed)


def confirming_shape(conditions: Conditions | None, start: tuple[str, ...]) -> Shape | None:
    """Return the shape of what is under `start` for which a block certainly holds."""
    some, every = _lists(conditions)
    if every and some is None:
        return _all(every, start, wanted=True)
    return _first(some, start, wanted=True) if some and not every else None


def elements_shape(expression: str, element: Shape, *start: str) -> Shape | None:
    """Return the shape of what has elements, all of them of a shape, where an expression leads."""
    found = path_of(expression)
    way = found.below(*start) if found else None
    if way is None or way.steps[-1:] != (Spread.ELEMENTS,) or Spread.KEYS in way.steps:
        return None
    return _led(way, element, absent=True, counted=True)


def reads_only(conditions: Conditions | None, *way: str) -> bool:
    """Return whether a block looks at nothing but the value that some keys lead to."""
    listed = conditions.conditions if conditions else ()
    sides = (side for one in listed for side in (one.key, one.value))
    return all(_is_fixed(side) or _ends(side, way) for side in sides)


def _ends(side: Json, way: tuple[str, ...]) -> bool:
    found = _way(side, way)
    return found is not None and not found.steps


def _lists(
    conditions: Conditions | None,
) -> tuple[Sequence[Condition] | None, Sequence[Condition] | None]:
    """Return what a block has under `any` and `all`; None twice for a list."""
    if conditions is None or conditions.is_list:
        return None, None
    return next(((group.any, group.all) for group in conditions.groups), (None, None))


def _all(conditions: Sequence[Condition], start: tuple[str, ...], *, wanted: bool) -> Shape | None:
    shapes = [_condition_shape(one, start, wanted=wanted) for one in conditions]
    known = [shape for shape in shapes if shape is not None]
    return together(known) if len(known) == len(shapes) else None


def _first(
    conditions: Sequence[Condition], start: tuple[str, ...], *, wanted: bool
) -> Shape | None:
    """Return the shape that settles a block with its first condition; errors come after it."""
    return _condition_shape(conditions[0], start, wanted=wanted)


def _condition_shape(condition: Condition, start: tuple[str, ...], *, wanted: bool) -> Shape | None:
    name, key, value = condition.operator, condition.key, condition.value
    operator = operators.get(name)
    if operator is None:
        return None
    if _is_fixed(value):
        way = _way(key, start)
        fixed = float(value) if value.__class__ is int else value
        if way is None:
            return None
        if not way.is_many:
            test = operator.test(fixed)
            default = test(way.default[0]) is wanted if way.default else None

            def fits(value: Json) -> bool | None:
                if not is_scalar(value):
                    return None
                if default is not None and not value and value.__class__ is not float:
                    return default
                # The value of a text with variables is unknown.
                return test(value) is wanted or (
                    None if value.__class__ is str and "{{" in value else False
                )

            return _led(way, ValueShape(fits), absent=default is True)
        if name in _SPREADING and not wanted and fixed.__class__ is list:
            return _spread(way, operator.test(fixed))
        return None
    if (name, wanted) in _HAVING and key.__class__ is str and _is_fixed(key):
        way = _way(value, start)
        return None if way is None else _having(way, key)
    return None


def _way(text: Json, start: tuple[str, ...]) -> AccessPath | None:
    way = path_of_text(text)
    return way.below(*start) if way and is_plain(list(way.default)) else None


def _is_fixed(value: Json) -> bool:
    """Return whether a side has no variables and no references, and so stands for itself."""
    if value.__class__ is str:
        return "{{" not in value and "$(" not in value
    if value.__class__ is list:
        return all(map(_is_fixed, value))
    return value.__class__ is not dict


# ---------------------------------------------------------------------------- ways


def _spread(way: AccessPath, test: Test) -> Shape | None:
    empty = way.default or (None,)
    if test(empty[0]) or test([]):
        return None

    def fits(value: Json) -> bool | None:
        if not _is_plain_text(value):
            return None
        return value == way.besides or not test([value])

    return _led(way, ValueShape(fits), absent=True)


def _having(way: AccessPath, text: str) -> Shape | None:
    """Return the shape of an object in which a list of texts has this one.

    Without it a wildcard in the list may still stand for it.
    """
    *before, last = way.steps or (None,)
    if last is not Spread.ELEMENTS or Spread.KEYS in before or way.besides is not None:
        return None
    if not all(isinstance(step, FieldStep) for step in before):
        return None

    def fits(value: Json) -> bool | None:
        if value.__class__ is not list or not all(map(_is_plain_text, value)):
            return None
        if text in value:
            return True
        return None if len(value) > FEW or any(map(has_wildcard, [text, *value])) else False

    return _led(AccessPath(tuple(before)), ValueShape(fits), absent=False)


def _is_plain_text(value: Json) -> bool:
    return value.__class__ is str and "{{" not in value


def _led(way: AccessPath, shape: Shape, *, absent: bool, counted: bool = False) -> Shape | None:
    """Return the shape of an object in which all that a way leads to has a shape.

    `absent` says whether keys may be lacking on the way, `counted` whether there has to be an
    element at its end.
    """
    follows: Spread | None = None
    for before, step in reversed(tuple(zip((None, *way.steps), way.steps, strict=False))):
        if step is Spread.KEYS:
            if not isinstance(shape, ValueShape):
                return None
            shape = KeysShape(shape.fits)
        elif step is Spread.ELEMENTS:
            # The keys of a map are its elements already.
            if before is not Spread.KEYS:
                shape, counted = ItemShape(shape, counted=counted), False
        elif isinstance(step, Lists):
            if follows is not Spread.ELEMENTS:
                return None
            shape = MapShape(tuple(FieldShape(key, shape, absent=True) for key in step.keys))
        else:
            shape = MapShape(
                (FieldShape(step.key, shape, absent and (step.optional or not way.is_many)),)
            )
        follows = step if isinstance(step, Spread) else None
    return shape
