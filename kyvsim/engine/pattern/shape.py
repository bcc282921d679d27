"""Shapes of objects that match patterns.

They mirror `build.py`: if a shape holds, the check there finds no mismatch. Anchors that skip,
existence anchors and lists of lists have no shape.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from kyvsim.engine.pattern import checks
from kyvsim.engine.pattern.build import TAGS, any_pattern_nodes
from kyvsim.engine.pattern.checks import Weight, scalar_check, scalar_list_check
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
from kyvsim.kubernetes.wildcard import compile_wildcard, has_wildcard
from kyvsim.policy import anchors
from kyvsim.policy.anchors import Demand, Lack
from kyvsim.policy.tree import (
    Pattern,
    PatternEntry,
    PatternLeaf,
    PatternList,
    PatternMap,
    PatternNode,
)
from kyvsim.policy.visit import has_wildcard_key

PatternShape: TypeAlias = tuple[Shape, bool]
"""The shape of a pattern, and whether every matching object has it."""


class _NoShapeError(Exception):
    """A part of a pattern without shape."""


def pattern_shape(pattern: PatternNode) -> PatternShape | None:
    """Return a shape of objects that certainly match a pattern, or None if it has none."""
    if checks.weigh(str(pattern.data)) is not Weight.PLAIN:
        return None
    try:
        return _shape(pattern), not has_wildcard_key(pattern)
    except _NoShapeError:
        return None


def alternative_shapes(patterns: Iterable[Pattern]) -> Iterator[PatternShape | None]:
    """Yield the shape of each pattern of an `anyPattern`, as `compile_any_pattern` reads them."""
    return map(pattern_shape, any_pattern_nodes(patterns))


def _shape(pattern: PatternNode) -> Shape:
    match pattern:
        case PatternMap():
            return _map_shape(pattern.entries, in_metadata=False)
        case PatternLeaf():
            return ValueShape(_fits(scalar_check(pattern.data, checks.ROOT)))
        case PatternList(items=(PatternMap() as first, *_)):
            return ItemShape(_shape(first))
        case PatternList(items=(PatternLeaf() as first, *_)):
            scalar = scalar_check(first.data, checks.ROOT)
            return ValueShape(_fits(scalar_list_check(scalar, checks.ROOT)))
    raise _NoShapeError


def _fits(check: checks.Check) -> Callable[[object], bool | None]:
    """Return a predicate: whether a value has no mismatch.

    It is undecided if the text of the mismatch looks like that of an anchor: around such a value,
    even a mismatching element may be skipped. The value may be an element of a list.
    """

    def fits(value: object) -> bool | None:
        mismatch = check(value, None)
        if mismatch is None:
            return True
        if mismatch.weight is Weight.SKIP:
            raise UndecidableError
        return False if mismatch.weight is Weight.PLAIN and is_scalar(value) else None

    return fits


def _map_shape(entries: Iterable[PatternEntry], *, in_metadata: bool) -> Shape:
    return MapShape(tuple(_field_shape(entry, in_metadata=in_metadata) for entry in entries))


def _field_shape(entry: PatternEntry, *, in_metadata: bool) -> FieldShape:
    kind, key, demand = anchors.kind_of(entry), anchors.field_of(entry), anchors.demand_of(entry)
    if kind.skips or demand is Demand.ELEMENTS:
        raise _NoShapeError
    if demand is Demand.ABSENCE:
        return FieldShape(key, None, absent=True)
    if demand is Demand.PRESENCE:
        return FieldShape(key, ValueShape(lambda value: value is not None), absent=False)
    shape = _member_shape(key, entry.value, in_metadata=in_metadata)
    return FieldShape(key, shape, kind.lack is Lack.FREE or fits_null(shape))


def _member_shape(key: str, pattern: PatternNode, *, in_metadata: bool) -> Shape:
    if not isinstance(pattern, PatternMap):
        return _shape(pattern)
    if in_metadata and key in TAGS:
        # Only string values are checked.
        texts = [one for one in pattern.entries if one.value.data.__class__ is str]
        wild = [one for one in texts if has_wildcard(one.text)]
        plain = _map_shape((one for one in texts if one not in wild), in_metadata=False)
        return together([plain, *(KeysShape(_lacks_tag(one)) for one in wild)])
    return _map_shape(pattern.entries, in_metadata=key == "metadata")


def _lacks_tag(entry: PatternEntry) -> Callable[[str], bool]:
    """Return a predicate: whether a tag does not match an entry, which then does not check it."""
    kind = anchors.kind_of(entry)
    if kind.skips or kind.demand is Demand.ELEMENTS or kind.lack is not Lack.FREE:
        raise _NoShapeError
    is_meant = compile_wildcard(entry.key)
    return lambda key: not is_meant(key)
