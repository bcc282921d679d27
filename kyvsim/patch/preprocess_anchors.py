"""Anchors of a strategic merge patch: what is left of it for one object.

upstream: `pkg/engine/mutate/patch/strategicPreprocessing.go`. `(key)` and `<(key)` are conditions,
`+(key)` adds where the object lacks the key. An element of a list that has anchors is a template:
for each of the object's elements that meets its conditions a copy with that element's `name` joins
the patch, and the template goes. A template is one value for all elements, so what its `+(key)`
becomes at the first of them holds for all. Maps that end up empty leave the patch.

The work is done on an own copy of the patch, which is changed in place.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from kyvsim.kube.numbers import with_floats
from kyvsim.kube.objects import Json
from kyvsim.light.named_tuple import NamedTuple
from kyvsim.patch.errors import PatchError
from kyvsim.patch.nodes import ABSENT, field_of, is_named, text, wrong_kind

Matches = Callable[[Json, Json], bool]
"""`matches(pattern, value)`: whether a value satisfies the pattern of a condition."""

_ANCHOR = re.compile(r"([+<=X^])?\((.+)\)")
_GLOBAL = frozenset({"<"})
_CONDITION = frozenset({""})
_CONDITIONS = _GLOBAL | _CONDITION
_ADDITION = frozenset({"+"})
_DECIDING = _CONDITIONS | _ADDITION


class ConditionsFailed(Exception):  # noqa: N818 — says what is so, which is no error
    """A condition is not met: the element, or with a global one the whole patch, does not apply."""

    def __init__(self, *, everywhere: bool) -> None:
        super().__init__()
        self.everywhere = everywhere


class _Anchor(NamedTuple):
    modifier: str
    key: str


def preprocess(patch: Json, resource: Json, matches: Matches) -> Json:
    """Return the plain patch that `patch` is for `resource`.

    Raises ConditionsFailed when it does not apply and PatchError when it cannot be worked out.
    """
    pattern = _copy(patch)
    _walk(pattern, resource, matches)
    return _strip_root(pattern)


def without_anchors(patch: Json) -> Json:
    """Return the plain patch that a patch without anchors is for any object."""
    return _strip_root(_copy(patch))


def has_anchors(patch: Json, kinds: frozenset[str] = _DECIDING) -> bool:
    """Tell whether a key below is an anchor of the kinds, or a text looks like a condition."""
    if patch.__class__ is dict:
        return any(
            _modifier(key) in kinds or (is_named(value) and has_anchors(value, kinds))
            for key, value in patch.items()
        )
    if patch.__class__ is list:
        return any(has_anchors(item, kinds) for item in patch)
    return patch.__class__ is str and _modifier(patch) in _CONDITIONS


def lists_of_maps(patch: Json, place: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the place of each list below that begins with a map, lists in lists left out."""
    if patch.__class__ is dict:
        for key in sorted(patch):
            yield from lists_of_maps(patch[key], (*place, key))
    elif patch.__class__ is list and patch and patch[0].__class__ is dict:
        yield place


def check_list(value: Json) -> None:
    """Raise PatchError if the object has something else where the patch has a list of maps."""
    if value is not ABSENT and value is not None and value.__class__ is not list:
        raise PatchError(f"failed to preProcess rule: {wrong_kind('SequenceNode', value)}")


@lru_cache(maxsize=4096)
def _parse(key: str) -> _Anchor | None:
    found = _ANCHOR.fullmatch(key.strip())
    return _Anchor(found[1] or "", found[2]) if found else None


def _modifier(key: str) -> str | None:
    anchor = _parse(key) if key.endswith((")", " ", "\t", "\n")) else None
    return anchor.modifier if anchor else None


def _anchors(pattern: Json, kinds: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Yield written key and bare key of a map's anchors; the map may change meanwhile."""
    for written in list(pattern) if pattern.__class__ is dict else ():
        anchor = _parse(written)
        if anchor and anchor.modifier in kinds:
            yield written, anchor.key


def _copy(value: Json) -> Json:
    """Return an own copy with sorted keys; rules are read as JSON, so that ints become floats."""
    if value.__class__ is dict:
        return {key: _copy(value[key]) for key in sorted(value)}
    if value.__class__ is list:
        return [_copy(item) for item in value]
    return float(value) if value.__class__ is int else value


def _walk(pattern: Json, value: Json, matches: Matches) -> None:
    if pattern.__class__ is dict:
        _resolve_additions(pattern, value)
        _check_conditions(pattern, value, matches)
        for key, below in list(pattern.items()):
            if _modifier(key) not in _DECIDING:
                _walk(below, field_of(value, key), matches)
    elif pattern.__class__ is list and pattern and pattern[0].__class__ is dict:
        _walk_elements(pattern, value, matches)


def _resolve_additions(pattern: Json, value: Json) -> bool:
    """Drop each `+(key)` that the object has, rename the others; tell whether there were any."""
    found = False
    for written, key in _anchors(pattern, _ADDITION):
        found = True
        below = pattern.pop(written)
        if field_of(value, key) is ABSENT:
            pattern[key] = below
    return found


def _check_conditions(pattern: Json, value: Json, matches: Matches) -> None:
    for kinds in (_GLOBAL, _CONDITION):
        for written, key in _anchors(pattern, kinds):
            found, wanted = field_of(value, key), pattern[written]
            # A condition's map with additions counts as met.
            if found is not ABSENT and _resolve_additions(wanted, found):
                continue
            if found is ABSENT or not matches(_as_checked(wanted), _as_checked(found)):
                raise ConditionsFailed(everywhere=kinds is _GLOBAL)


def _as_checked(value: Json) -> Json:
    """Return what conditions compare: the text of a scalar; maps and lists with float numbers."""
    return with_floats(value) if value.__class__ in {dict, list} else text(value)


def _walk_elements(pattern: list[Json], value: Json, matches: Matches) -> None:
    check_list(value)
    items = value if value.__class__ is list else ()
    for element in list(pattern):
        if has_anchors(element):
            _walk_template(pattern, element, (ABSENT,) if value is ABSENT else items, matches)


def _walk_template(pattern: list[Json], element: Json, items: Json, matches: Matches) -> None:
    """Apply an element with anchors to the items of the object's list; (ABSENT,): there is none."""
    is_global = has_anchors(element, _GLOBAL)
    template = _copy(element)
    passed, failed = False, None
    for item in items:
        try:
            _walk(template, item, matches)
        except ConditionsFailed as failure:
            failed = failure if failure.everywhere else failed
            continue
        if is_global:
            passed = True
        elif item is not ABSENT:
            _add_named(pattern, template, item)
    if failed and not passed:
        raise failed


def _add_named(pattern: list[Json], template: Json, item: Json) -> None:
    """Append what the template is for one item; items without a name cannot be patched."""
    name = field_of(item, "name")
    if not is_named(name):
        return
    new = _copy(template)
    if not _strip(new, scalar_goes=True) and new.__class__ is dict:
        new["name"] = name
        pattern.append(new)


def _strip_root(pattern: Json) -> Json:
    for key, below in list(pattern.items()):
        if _strip(below, scalar_goes=_modifier(key) in _CONDITIONS):
            del pattern[key]
    return pattern


def _strip(node: Json, *, scalar_goes: bool) -> bool:
    """Take conditions and emptied maps out below `node`; tell whether `node` itself goes."""
    if node.__class__ is dict:
        return _strip_map(node)
    return _strip_list(node) if node.__class__ is list else scalar_goes


def _strip_map(node: dict[str, Json]) -> bool:
    for written, key in _anchors(node, _CONDITIONS):
        below = node.pop(written)
        if not _strip(below, scalar_goes=True):
            node[key] = below
    for key, below in list(node.items()):
        if _strip(below, scalar_goes=False):
            del node[key]
    return not node


def _strip_list(node: list[Json]) -> bool:
    elements = list(node)
    for place, element in enumerate(elements):
        if has_anchors(element) or _strip(element, scalar_goes=False):
            # The place is that of the untouched list: after a first removal it is the wrong one.
            # Beyond the end, where the reference dies, the element meant is taken out.
            del node[place if place < len(node) else _place_of(node, element)]
    return bool(elements) and not node


def _place_of(node: list[Json], element: Json) -> int:
    return next((at for at, item in enumerate(node) if item is element), -1)
