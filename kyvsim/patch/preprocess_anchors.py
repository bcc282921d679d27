"""Anchors of a strategic merge patch: computes the resulting patch for one object.

upstream: `pkg/engine/mutate/patch/strategicPreprocessing.go`. `(key)` and `<(key)` are conditions,
`+(key)` adds a key that is missing in the object. An element of a list with anchors is a template:
for each of the object's elements that meets its conditions a copy with that element's `name` is
added to the patch, and the template is removed. A template is one value for all elements, so the
result of `+(key)` for the first of them applies to all. Empty maps are removed from the patch.

Upstream changes a copy of the patch for each object. Here a patch is parsed once, and its parts
are immutable: values of an object lead from one state of a part to another, which is computed on
first use. There are few states, since little of a patch depends on the object.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import compress
from types import MappingProxyType
from typing import Final, TypeAlias

from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.quantities import with_floats
from kyvsim.kubernetes.wildcard import fits_itself_only
from kyvsim.patch.nodes import (
    ABSENT,
    ADDITION,
    CONDITION,
    CONDITIONS,
    DECIDING,
    GLOBAL,
    PatchError,
    anchors_of,
    field_of,
    has_anchors,
    is_named,
    modifier,
    text,
    texts_at,
    wrong_kind,
)

CompileCondition: TypeAlias = Callable[[object], Callable[[object], bool]]
"""Returns a predicate: whether a value matches the pattern of a condition."""

_GONE: Final[object] = object()
"""The result of a part that is removed from the patch."""
TWICE: Final = "\0twice"
"""The field of a preprocessed patch's map with the names of duplicate keys.

Without its parentheses an anchor may be a key that the map already has. upstream's nodes contain
both: a merge reads the first, but if the whole map is added to the object, it cannot be decoded.
"""
_FEW = 16
"""The number of items that are checked one by one."""
_MOST_STATES = 256
_NOTHING: Mapping[str, object] = MappingProxyType({})


class ConditionsFailed(Exception):  # noqa: N818 — names a state, not an error
    """A condition does not hold: the element, or (if it is global) the patch, does not apply."""

    def __init__(self, *, everywhere: bool) -> None:
        super().__init__()
        self.everywhere = everywhere


_Failed: TypeAlias = bool | None
"""Whether a condition that does not hold is a global one; None if all hold."""
_Part: TypeAlias = Json
"""A _Map, a _List, a _Copy, or a scalar."""
_Template: TypeAlias = tuple[_Part, bool]
"""An element with anchors, and whether they include a global condition."""


def compile_preprocess(
    patch: object, compile_condition: CompileCondition
) -> Callable[[object], object]:
    """Return a function that returns the plain patch for an object, which must not be changed.

    It raises ConditionsFailed if the patch does not apply, and PatchError if it cannot be
    computed.
    """
    root = _taken_apart(_sorted(patch), compile_condition)

    def preprocess(resource: object) -> object:
        part, failed = root.instantiate(resource)
        if failed is not None:
            raise ConditionsFailed(everywhere=failed)
        return part.left_at_root

    return preprocess


def may_double(patch: object) -> bool:
    """Return whether a map of a patch has an anchor and a key, or two anchors, of the same name."""
    if patch.__class__ is list:
        return any(map(may_double, patch))
    if patch.__class__ is not dict:
        return False
    anchored = [key for _, key in anchors_of(patch, DECIDING)]
    plain = [key for key in patch if modifier(key) not in DECIDING]
    if len({*anchored, *plain}) < len(anchored) + len(plain):
        return True
    return any(map(may_double, patch.values()))


def check_list(value: object) -> None:
    """Raise PatchError if the patch has a list of maps, but the object has another type."""
    if value is not ABSENT and value is not None and value.__class__ is not list:
        raise PatchError(f"failed to preProcess rule: {wrong_kind('SequenceNode', value)}")


class _Map:
    """A map of a patch, in one of its states."""

    __slots__ = (
        *("_at_root", "_copied", "_left", "additions", "anchored", "checks", "compile"),
        *("conditions", "entered", "fields", "lasting", "shadowed", "states"),
    )

    def __init__(
        self,
        fields: Mapping[str, _Part],
        compile_condition: CompileCondition,
        shadowed: Mapping[str, _Part] = _NOTHING,
    ) -> None:
        self.fields = fields
        self.shadowed = shadowed
        """The fields after an anchor of the same name."""
        self.compile = compile_condition
        self.additions = tuple(anchors_of(fields, ADDITION))
        self.conditions = (
            *((written, key, True) for written, key in anchors_of(fields, GLOBAL)),
            *((written, key, False) for written, key in anchors_of(fields, CONDITION)),
        )
        self.entered = [
            name
            for name, part in fields.items()
            if _depends_on_object(part) and modifier(name) not in DECIDING
        ]
        self.anchored = any(
            modifier(name) in DECIDING or _is_anchored(part) for name, part in fields.items()
        )
        self.lasting = True
        """Whether other objects can lead to this state, too."""
        self.checks: dict[str, Callable[[object], bool]] = {}
        self.begin()

    def begin(self) -> None:
        self.states: dict[object, _Map] = {}
        self._left = self._at_root = ABSENT
        self._copied: tuple[Json, bool] | None = None

    def instantiate(self, value: object) -> tuple["_Map", _Failed]:
        """Return the map for a value of the object, and the reason if it is incomplete."""
        part = self.resolved(value) if self.additions else self
        for written, key, everywhere in part.conditions:
            found, pattern = field_of(value, key), part.fields[written]
            # A condition whose map has additions holds for every existing value.
            if found is not ABSENT and pattern.__class__ is _Map and pattern.additions:
                part = part.exchanged(written, pattern.resolved(found))
            elif found is ABSENT or not part.check(written)(_as_checked(found)):
                return part, everywhere
        for name in part.entered:
            below = part.fields[name]
            after, failed = below.instantiate(field_of(value, name))
            if after is not below:
                part = part.exchanged(name, after)
            if failed is not None:
                return part, failed
        return part, None

    def resolved(self, value: object) -> "_Map":
        """Return the map without `+(key)` of existing keys; others become plain keys."""
        there = tuple([field_of(value, key) is not ABSENT for _, key in self.additions])
        found = self.states.get(there)
        if found is None:
            fields, shadowed = dict(self.fields), dict(self.shadowed)
            for (written, key), is_there in zip(self.additions, there, strict=True):
                below = fields.pop(written)
                if not is_there:
                    if key in fields:
                        shadowed[key] = fields[key]
                    fields[key] = below
            found = self.remember(there, _Map(fields, self.compile, shadowed))
        return found

    def exchanged(self, name: str, part: _Part) -> "_Map":
        """Return the map with another state of one of its fields."""
        found = self.states.get((name, part)) if part.lasting else None
        if found is None:
            found = _Map.__new__(_Map)
            found.fields, found.shadowed = {**self.fields, name: part}, self.shadowed
            found.compile, found.additions = self.compile, self.additions
            found.conditions, found.entered = self.conditions, self.entered
            found.anchored, found.lasting = self.anchored, self.lasting and part.lasting
            found.checks = self.checks if name in self.entered else {}
            found.begin()
            if found.lasting:
                self.remember((name, part), found)
        return found

    def remember(self, about: object, state: "_Map") -> "_Map":
        if len(self.states) == _MOST_STATES:
            self.states.clear()
        self.states[about] = state
        return state

    def check(self, written: str) -> Callable[[object], bool]:
        if written not in self.checks:
            self.checks[written] = self.compile(_as_checked(_whole(self.fields[written])))
        return self.checks[written]

    @property
    def left(self) -> object:
        """The map without conditions and empty maps."""
        if self._left is not ABSENT:
            return self._left
        fields, shadowed = dict(self.fields), dict(self.shadowed)
        for written, key in anchors_of(self.fields, CONDITIONS):
            left = _left(fields.pop(written), scalar_goes=True)
            if left is not _GONE:
                if key in fields:
                    shadowed[key] = fields[key]
                fields[key] = _taken_apart(left, self.compile)  # and processed once more
        self._left = _doubled(_filled(fields, lambda _: False), shadowed) or _GONE
        return self._left

    @property
    def left_at_root(self) -> object:
        """The whole patch, in which the keys of conditions are not changed."""
        if self._at_root is ABSENT:
            left = _filled(self.fields, lambda key: modifier(key) in CONDITIONS)
            self._at_root = _doubled(left, self.shadowed)
        return self._at_root

    def copy_for(self, item: object) -> _Part:
        """Return the copy of a template for an item; _GONE if it is empty or the item nameless."""
        name = field_of(item, "name")
        if not is_named(name):
            return _GONE
        if self._copied is None:
            self._copied = self._copy()
        left, is_plain = self._copied
        if left is _GONE:
            return _GONE
        new = {**left, "name": name}
        if is_plain and not (_is_container(name) or has_anchors(name)):
            return _Copy(new)
        return _taken_apart(new, self.compile)

    def _copy(self) -> tuple[Json, bool]:
        """Return the contents of a copy, and whether it is final except for its name."""
        left = _left(_taken_apart(_sorted(_whole(self)), self.compile), scalar_goes=True)
        if left is _GONE:
            return left, True
        again = _taken_apart({**left, "name": ""}, self.compile)
        return left, not again.anchored and again.left == {**left, "name": ""}


class _Copy:
    """The final copy of a template for one item."""

    __slots__ = ("left",)

    def __init__(self, left: object) -> None:
        self.left = left


class _List:
    """A list of a patch, with the copies of its templates for the items of an object."""

    __slots__ = ("elements", "lasting", "templates")

    def __init__(self, elements: list[_Part], templates: list[_Template], *, lasting: bool) -> None:
        self.elements = elements
        self.templates = templates
        self.lasting = lasting

    def instantiate(self, value: object) -> tuple["_List", _Failed]:
        """Return the list with the copies for a value's items; PatchError if it is not a list."""
        check_list(value)
        items = value if value.__class__ is list else (ABSENT,) if value is ABSENT else ()
        copies: list[_Part] = []
        failed: _Failed = None
        for template, is_global in self.templates:
            failed = _add_copies(copies, template, items, is_global=is_global)
            if failed is not None:
                break
        if not copies:
            return self, failed
        templates = [*self.templates, *_templates(copies)]
        return _List([*self.elements, *copies], templates, lasting=False), failed

    @property
    def left(self) -> object:
        """The list without templates and empty maps."""
        node = list(self.elements)
        for place, element in enumerate(self.elements):
            if _is_anchored(element) or _left(element, scalar_goes=False) is _GONE:
                # As in the reference, the index is that in the original list, which is wrong after
                # the first removal. Beyond the end, where it panics, the right element is removed.
                own = (at for at, item in enumerate(node) if item is element)
                del node[place if place < len(node) else next(own, -1)]
        if self.elements and not node:
            return _GONE
        return [_staying(element) for element in node]


def _taken_apart(value: object, compile_condition: CompileCondition) -> _Part:
    if value.__class__ is dict:
        fields = {key: _taken_apart(item, compile_condition) for key, item in value.items()}
        return _Map(fields, compile_condition)
    if value.__class__ is list:
        elements = [_taken_apart(item, compile_condition) for item in value]
        return _List(elements, _templates(elements), lasting=True)
    return value


def _sorted(value: object) -> object:
    """Return a value with sorted keys; rules are decoded as JSON, so that ints become floats."""
    if value.__class__ is dict:
        return {key: _sorted(value[key]) for key in sorted(value)}
    if value.__class__ is list:
        return [_sorted(item) for item in value]
    return float(value) if value.__class__ is int else value


def _whole(part: _Part) -> object:
    if part.__class__ is _Map:
        return {name: _whole(below) for name, below in part.fields.items()}
    if part.__class__ is _List:
        return [_whole(element) for element in part.elements]
    return part.left if part.__class__ is _Copy else part


def _depends_on_object(part: _Part) -> bool:
    """Return whether a part depends on the object, or may reject it."""
    if part.__class__ is _List:
        return bool(part.elements) and part.elements[0].__class__ in {_Map, _Copy}
    return part.__class__ is _Map and bool(part.additions or part.conditions or part.entered)


def _is_anchored(part: _Part) -> bool:
    if part.__class__ is _Map:
        return bool(part.anchored)
    if part.__class__ is _List:
        return bool(part.templates)
    return part.__class__ is str and has_anchors(part)


def _templates(elements: Iterable[_Part]) -> list[_Template]:
    return [(one, has_anchors(_whole(one), GLOBAL)) for one in elements if _is_anchored(one)]


def _add_copies(
    copies: list[_Part], template: _Part, items: Sequence[object], *, is_global: bool
) -> _Failed:
    """Add the copy of a template for each item that meets its conditions."""
    passed, failed_everywhere = False, False
    can_look = _depends_on_object(template)
    for item in items if is_global else _candidates(template, items):
        failed = None
        if can_look:
            after, failed = template.instantiate(item)
            if after is not template:
                template, can_look = after, _depends_on_object(after)
        if failed is not None:
            failed_everywhere = failed_everywhere or failed
        elif is_global:
            passed = True
        elif item is not ABSENT and template.__class__ is _Map:
            copy = template.copy_for(item)
            if copy is not _GONE:
                copies.append(copy)
    return True if failed_everywhere and not passed else None


def _candidates(template: _Part, items: Sequence[object]) -> Sequence[object]:
    """Return the items that may meet the conditions of a template; others have no effect.

    In a loop that patches each element of a long list by name, this is one of many items.
    """
    if len(items) <= _FEW or template.__class__ is not _Map:
        return items
    if template.additions or not template.conditions:
        return items
    written, key, _ = template.conditions[0]
    pattern = template.fields[written]
    if pattern.__class__ is not str or not fits_itself_only(pattern):
        return items
    found = texts_at(items, key)
    return items if found is None else [*compress(items, map(pattern.__eq__, found))]


def _as_checked(value: object) -> object:
    """Return a value for conditions: the text of a scalar; maps and lists with float numbers."""
    return with_floats(value) if _is_container(value) else text(value)


def _is_container(value: object) -> bool:
    return value.__class__ is dict or value.__class__ is list


def _filled(fields: Mapping[str, _Part], scalar_goes: Callable[[str], bool]) -> dict[str, object]:
    """Return the fields that are not removed."""
    found = {name: _left(part, scalar_goes=scalar_goes(name)) for name, part in fields.items()}
    return {name: left for name, left in found.items() if left is not _GONE}


def _doubled(fields: dict[str, object], shadowed: Mapping[str, _Part]) -> dict[str, object]:
    """Return the fields of a map, including hidden fields, whose names are in TWICE."""
    found = {name: _left(part, scalar_goes=False) for name, part in shadowed.items()}
    others = {name: left for name, left in found.items() if left is not _GONE}
    twice = sorted(others.keys() & fields.keys())
    return {**others, **fields, **({TWICE: twice} if twice else {})} if others else fields


def _left(part: _Part, *, scalar_goes: bool) -> Json:
    if part.__class__ is _Map or part.__class__ is _List or part.__class__ is _Copy:
        return part.left
    return _GONE if scalar_goes else part


def _staying(element: _Part) -> object:
    """Return the value of an element that is not removed from its list."""
    if _is_anchored(element):
        return _whole(element)
    left = _left(element, scalar_goes=False)
    return left if left is not _GONE else {} if element.__class__ is _Map else []
