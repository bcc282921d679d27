"""Patterns as shapes: what an object that matches looks like, where that is all there is to it.

It mirrors `build.py`: a shape that holds means that the check there finds no mismatch. Anchors
that skip, existence anchors and lists of lists have no shape.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from kyvsim.engine.pattern import checks as paths
from kyvsim.engine.pattern.checks import Check, Weight, scalar_check, scalar_list_check
from kyvsim.engine.prefilter import (
    FieldShape,
    ItemShape,
    KeysShape,
    MapShape,
    Shape,
    UndecidableError,
    ValueShape,
    fits_null,
    is_scalar,
    together,
)
from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.quantities import with_floats
from kyvsim.kubernetes.wildcard import compile_wildcard, has_wildcard
from kyvsim.policy import anchors
from kyvsim.policy.anchors import parse_anchor

_TAGS = ("labels", "annotations")


class PatternShape(NamedTuple):
    """The shape of a pattern."""

    shape: Shape
    exact: bool
    """Whether everything that matches has it, too."""


class _NoShapeError(Exception):
    """A part of a pattern that has no shape."""


def pattern_shape(pattern: Json) -> PatternShape | None:
    """Return the shape of what certainly matches a pattern, or None where that is not known."""
    if paths.weigh(str(pattern)) is not Weight.PLAIN:
        return None
    try:
        return PatternShape(_shape(pattern), not anchors.has_wildcard_key(pattern))
    except _NoShapeError:
        return None


def alternative_shapes(patterns: list[Json]) -> Iterator[PatternShape | None]:
    """Yield the same for each pattern of an `anyPattern`, as `compile_any_pattern` reads them."""
    return (pattern_shape(with_floats(pattern)) for pattern in patterns)


def _shape(pattern: Json) -> Shape:
    if pattern.__class__ is dict:
        return _map_shape(pattern, in_metadata=False)
    if pattern.__class__ is not list:
        return ValueShape(_fits(scalar_check(pattern, paths.ROOT)))
    if not pattern or pattern[0].__class__ is list:
        raise _NoShapeError
    if pattern[0].__class__ is dict:
        return ItemShape(_shape(pattern[0]))
    return ValueShape(_fits(scalar_list_check(scalar_check(pattern[0], paths.ROOT), paths.ROOT)))


def _fits(check: Check) -> Callable[[Json], bool | None]:
    """Return what says whether a value has no mismatch.

    One whose text weighs more than it says is a doubt: around such a value even an element that
    does not match may be passed over. That of a list may be one of its elements.
    """

    def fits(value: Json) -> bool | None:
        mismatch = check(value, None)
        if mismatch is None:
            return True
        if mismatch.weight is Weight.SKIP:
            raise UndecidableError
        return False if mismatch.weight is Weight.PLAIN and is_scalar(value) else None

    return fits


def _map_shape(pattern: Mapping[str, Json], *, in_metadata: bool) -> Shape:
    return MapShape(
        tuple(_entry(text, value, in_metadata=in_metadata) for text, value in pattern.items())
    )


def _entry(text: str, pattern: Json, *, in_metadata: bool) -> FieldShape:
    anchor = parse_anchor(text)
    if anchor is None or anchor.sign == anchors.ADDITION:
        if pattern == "*":
            return FieldShape(text, ValueShape(lambda value: value is not None), absent=False)
        shape = _member_shape(text, pattern, in_metadata=in_metadata)
        return FieldShape(text, shape, fits_null(shape))
    if anchor.sign == anchors.NEGATION:
        return FieldShape(anchor.key, None, absent=True)
    if anchor.sign == anchors.EQUALITY:
        shape = _member_shape(anchor.key, pattern, in_metadata=in_metadata)
        return FieldShape(anchor.key, shape, absent=True)
    raise _NoShapeError


def _member_shape(key: str, pattern: Json, *, in_metadata: bool) -> Shape:
    if pattern.__class__ is not dict:
        return _shape(pattern)
    if in_metadata and key in _TAGS:
        # Other values than strings are not checked.
        texts = {key: value for key, value in pattern.items() if value.__class__ is str}
        wild = [key for key in texts if has_wildcard(key)]
        plain = _map_shape(
            {key: value for key, value in texts.items() if key not in wild}, in_metadata=False
        )
        return together([plain, *(KeysShape(_other_than(key)) for key in wild)])
    return _map_shape(pattern, in_metadata=key == "metadata")


def _other_than(text: str) -> Callable[[str], bool]:
    anchor = parse_anchor(text)
    if anchor is None or anchor.sign not in {anchors.EQUALITY, anchors.NEGATION}:
        raise _NoShapeError
    is_meant = compile_wildcard(anchor.key)
    return lambda key: not is_meant(key)
