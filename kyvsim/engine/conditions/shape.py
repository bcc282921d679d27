"""Shapes of objects for which conditions certainly hold, or do not.

If a shape holds, the evaluation in `block.py` has this outcome, without an error.
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
from kyvsim.jmespath.variables import (
    AccessPath,
    FieldStep,
    Lists,
    Spread,
    is_plain,
    path_of,
    path_of_text,
)
from kyvsim.kubernetes.wildcard import has_wildcard
from kyvsim.model.ports import FEW
from kyvsim.policy.tree import Condition, Conditions

_SPREADING: Final = frozenset({"AnyIn", "AnyNotIn"})
"""Operators that are false for a list if they are false for each of its elements."""
_CONTAINING: Final = (("AnyIn", True), ("AllIn", True), ("AnyNotIn", False), ("AllNotIn", False))
"""Operators whose outcome for a string and a list is known if the string is in the list."""


def refuting_shape(conditions: Conditions | None, start: tuple[str, ...]) -> Shape | None:
    """Return the shape of the value at `start` for which a block certainly does not hold."""
    some, every = _any_and_all(conditions)
    if some and not every:
        return _all(some, start, outcome=False)
    # The first condition that does not hold decides: the others could only add errors.
    return _condition_shape(every[0], start, outcome=False) if every and some is None else None


def is_seen_whole(conditions: Conditions | None) -> bool:
    """Return whether a block reads only what its refuting shape reads.

    Then its outcome and messages are the same for all objects with the same bits.
    """
    some, every = _any_and_all(conditions)
    listed = (*(some or ()), *(every or ()))
    is_first_all = not every or len(listed) == 1
    return is_first_all and all(_is_fixed(one.message) for one in listed)


def confirming_shape(conditions: Conditions | None, start: tuple[str, ...]) -> Shape | None:
    """Return the shape of the value at `start` for which a block certainly holds."""
    some, every = _any_and_all(conditions)
    if every and some is None:
        return _all(every, start, outcome=True)
    # The first condition that holds decides.
    return _condition_shape(some[0], start, outcome=True) if some and not every else None


def elements_shape(expression: str, element: Shape, *start: str) -> Shape | None:
    """Return the shape of a value in which all elements of a list expression have a shape.

    One of the lists of elements in the whole shape must have an element.
    """
    found = path_of(expression)
    path = found.below(*start) if found else None
    if path is None or not path.steps or path.default or Spread.KEYS in path.steps:
        return None
    # Loops skip null elements: a list of nothing else has no result.
    element = together((ValueShape(_is_given), element))
    steps = path.steps[:-1] if path.steps[-1] is Spread.ELEMENTS else path.steps
    keys = [step.key for step in steps if isinstance(step, FieldStep)]
    if len(keys) == len(steps):
        # If a key is missing, a loop has no elements; this is no error, unlike in conditions.
        shape: Shape = ItemShape(element, counted=True)
        for key in reversed(keys):
            shape = MapShape((FieldShape(key, shape, absent=True),))
        return shape
    if path.steps[-1] is not Spread.ELEMENTS:
        return None
    return _shape_at(path, element, absent=True, counted=True)


def reads_only(conditions: Conditions | None, *keys: str) -> bool:
    """Return whether a block reads nothing but the value at these keys."""
    listed = conditions.conditions if conditions else ()
    sides = (side for one in listed for side in (one.key, one.value))
    return all(
        _is_fixed(side) or ((found := _access_path(side, keys)) is not None and not found.steps)
        for side in sides
    )


def _any_and_all(
    conditions: Conditions | None,
) -> tuple[Sequence[Condition] | None, Sequence[Condition] | None]:
    """Return the `any` and `all` conditions of a block; None twice for a list."""
    if conditions is None or conditions.is_list:
        return None, None
    return next(((group.any, group.all) for group in conditions.groups), (None, None))


def _all(conditions: Sequence[Condition], start: tuple[str, ...], *, outcome: bool) -> Shape | None:
    shapes = [_condition_shape(one, start, outcome=outcome) for one in conditions]
    known = [shape for shape in shapes if shape is not None]
    return together(known) if len(known) == len(shapes) else None


def _condition_shape(
    condition: Condition, start: tuple[str, ...], *, outcome: bool
) -> Shape | None:
    name, key, value = condition.operator, condition.key, condition.value
    operator = operators.get(name)
    if operator is None:
        return None
    if _is_fixed(value):
        path = _access_path(key, start)
        fixed = float(value) if value.__class__ is int else value
        if path is None:
            return None
        if not path.is_many:
            test = operator.test(fixed)
            default = test(path.default[0]) is outcome if path.default else None

            def fits(value: object) -> bool | None:
                if not is_scalar(value):
                    return None
                if default is not None and not value and value.__class__ is not float:
                    return default
                # The value of a string with variables is unknown.
                return test(value) is outcome or (
                    None if value.__class__ is str and "{{" in value else False
                )

            return _shape_at(path, ValueShape(fits), absent=default is True)
        if name in _SPREADING and not outcome and fixed.__class__ in (list, str):
            return _spreading_shape(path, operator.test(fixed), one_by_one=fixed.__class__ is list)
        return None
    if (name, outcome) in _CONTAINING and key.__class__ is str and _is_fixed(key):
        path = _access_path(value, start)
        return None if path is None else _containing_shape(path, key)
    return None


def _access_path(text: object, start: tuple[str, ...]) -> AccessPath | None:
    path = path_of_text(text)
    return path.below(*start) if path and is_plain(list(path.default)) else None


def _is_fixed(value: object) -> bool:
    """Return whether a side is constant: without variables and references."""
    if value.__class__ is str:
        return "{{" not in value and "$(" not in value
    if value.__class__ is list:
        return all(map(_is_fixed, value))
    return value.__class__ is not dict


def _spreading_shape(path: AccessPath, test: Test, *, one_by_one: bool) -> Shape | None:
    """Return the shape of an object in which a test holds for none of the values at a path.

    Values are tested only if they are tested `one_by_one` in a list, too; otherwise there must be
    none.
    """
    empty = path.default or (None,)
    if test(empty[0]) or test([]):
        return None

    def fits(value: object) -> bool | None:
        if not one_by_one or not _is_plain_text(value):
            return None
        return value == path.besides or not test([value])

    return _shape_at(path, ValueShape(fits), absent=True)


def _containing_shape(path: AccessPath, text: str) -> Shape | None:
    """Return the shape of an object in which a list of strings contains this string.

    If it does not, a wildcard in the list may still match it.
    """
    *before, last = path.steps or (None,)
    if last is not Spread.ELEMENTS or Spread.KEYS in before or path.besides is not None:
        return None
    if not all(isinstance(step, FieldStep) for step in before):
        return None

    def fits(value: object) -> bool | None:
        if value.__class__ is not list or not all(map(_is_plain_text, value)):
            return None
        if text in value:
            return True
        return None if len(value) > FEW or any(map(has_wildcard, [text, *value])) else False

    return _shape_at(AccessPath(tuple(before)), ValueShape(fits), absent=False)


def _is_plain_text(value: object) -> bool:
    return value.__class__ is str and "{{" not in value


def _shape_at(
    path: AccessPath, shape: Shape, *, absent: bool, counted: bool = False
) -> Shape | None:
    """Return the shape of an object in which all values at a path have a shape.

    `absent` is whether keys may be missing on the path, `counted` whether there must be an
    element at its end.
    """
    follows: Spread | None = None
    for before, step in reversed(tuple(zip((None, *path.steps), path.steps, strict=False))):
        if step is Spread.KEYS:
            if not isinstance(shape, ValueShape):
                return None
            shape = KeysShape(shape.fits)
        elif step is Spread.ELEMENTS:
            # The keys of a map are its elements.
            if before is not Spread.KEYS:
                shape, counted = ItemShape(shape, counted=counted), False
        elif isinstance(step, Lists):
            if follows is not Spread.ELEMENTS:
                return None
            shape = MapShape(tuple(FieldShape(key, shape, absent=True) for key in step.keys))
        else:
            shape = MapShape(
                (FieldShape(step.key, shape, absent and (step.optional or not path.is_many)),)
            )
        follows = step if isinstance(step, Spread) else None
    return shape


def _is_given(value: object) -> bool | None:
    return None if value is None else True
