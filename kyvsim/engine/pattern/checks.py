"""Checks of the parts of a pattern: scalars, lists and maps, with their anchors."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import partial
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from kyvsim.kubernetes.go_text import sprint
from kyvsim.kubernetes.quantities import float_equals, int_equals
from kyvsim.kubernetes.wildcard import compile_text_pattern, plain_alternatives
from kyvsim.policy.anchors import ANCHORS, CONDITION, NEGATION
from kyvsim.policy.tree import PatternEntry

# Mismatches and their paths: created only when a check fails.
#
# A path is known when a pattern is compiled, except for list indices. So a failing leaf has its
# path, and every list that contains it prepends one index.
#
# upstream: pkg/engine/validate (PatternError) and pkg/engine/anchor/error.go.

Place: TypeAlias = tuple[str, ...]
"""Parts of a path; a list index is between each two: ("/spec/containers/", "/image/")."""
Indices: TypeAlias = tuple[int, ...]

ROOT: Final[Place] = ("/",)

_MISMATCH = "anchor mismatch"
_SKIPPING = tuple(f"{kind.name} {_MISMATCH}" for kind in ANCHORS.values() if kind.skips)
_NEGATED = f"{ANCHORS[NEGATION].name} anchor matched in resource"
_COMMON = "anchor m"
"""Part of all three phrases: most texts are ruled out by searching for it alone."""


class FailureKind(Enum):
    """The effect of a mismatch on the rule."""

    SKIP = "skip"
    """A conditional or global anchor did not match: the rule does not apply."""
    FAIL = "fail"
    """The object violates the pattern at `PatternFailure.path`."""
    ERROR = "error"
    """The object violates the pattern, but an anchor's key never occurred: there is no path."""


class Weight(Enum):
    """The effect of a mismatch on surrounding anchors."""

    PLAIN = "plain"
    SKIP = "skip"
    NEGATION = "negation"


class Mismatch(NamedTuple):
    """One failed check, propagated through the pattern."""

    weight: Weight
    place: Place | None
    """None if upstream reports no path."""
    text: Callable[[Indices], str]
    indices: Indices = ()
    collected: bool = False
    """Whether it combines the mismatches of a whole map or list."""


class PatternFailure(NamedTuple):
    """The reason why an object does not match a pattern."""

    kind: FailureKind
    path: str
    """Such as `/spec/containers/0/image/`; empty unless `kind` is FAIL."""
    mismatch: Mismatch

    @property
    def message(self) -> str:
        """Upstream's text of the mismatch; created on demand, since few results show it."""
        return self.mismatch.text(self.mismatch.indices)


def weigh(text: str) -> Weight:
    """Return the weight of a plain error's text.

    upstream: an error that lost its type is recognised by its text, even if that comes from
    the object or the pattern.
    """
    if _COMMON not in text:
        return Weight.PLAIN
    if any(one in text for one in _SKIPPING):
        return Weight.SKIP
    return Weight.NEGATION if _NEGATED in text else Weight.PLAIN


def below(place: Place, key: str) -> Place:
    """Return the place of `key` in the map at `place`."""
    return (*place[:-1], f"{place[-1]}{key}/")


def inside(place: Place) -> Place:
    """Return the place of the elements of the list at `place`."""
    return (*place, "/")


def path_text(place: Place, indices: Indices) -> str:
    """Return the path of a place, with the list indices filled in."""
    path = place[0]
    for at, index in enumerate(indices, 1):
        path += f"{index}{place[at]}"
    return path


def in_element(mismatch: Mismatch, index: int) -> Mismatch:
    """Return the mismatch of a list for a mismatch of its element."""
    weight, place, text, indices, collected = mismatch
    return Mismatch(weight, place, text, (index, *indices), collected)


def collect(mismatches: Sequence[Mismatch], place: Place) -> Mismatch:
    """Return one skipping mismatch for several, with their texts joined."""
    found = tuple(mismatches)

    def text(indices: Indices) -> str:
        return "; ".join(each.text(indices + each.indices) for each in found)

    return Mismatch(Weight.SKIP, place, text, (), collected=True)


def skipping(mismatch: Mismatch, prefix: str) -> Mismatch:
    """Return a mismatch under a conditional or global anchor as a mismatch of that anchor."""
    inner = mismatch.text
    return Mismatch(
        Weight.SKIP, mismatch.place, lambda indices: f"{prefix}: {inner(indices)}", mismatch.indices
    )


# Scalars of patterns: compiles one pattern value to one predicate.
#
# upstream: pkg/engine/pattern/pattern.go.

Predicate: TypeAlias = Callable[[object], bool]


def compile_scalar(pattern: object) -> Predicate:
    """Return a predicate: whether one value (not a list) matches `pattern`.

    A map as pattern matches any map; a list matches nothing.
    """
    if pattern.__class__ is str:
        return compile_text_pattern(pattern)
    if pattern.__class__ is bool:
        return lambda value: value is pattern
    if pattern.__class__ is int:
        return partial(int_equals, pattern)
    if pattern.__class__ is float:
        return partial(float_equals, pattern)
    if pattern.__class__ is dict:
        return lambda value: value.__class__ is dict
    return _is_nothing if pattern is None else lambda _: False


def _is_nothing(value: object) -> bool:
    """Return whether a value is null or its type's zero value; maps and lists never are."""
    return value.__class__ is not dict and value.__class__ is not list and not value


# Checks of pattern nodes, and checks of scalars.
#
# upstream: pkg/engine/validate/validate.go and pkg/engine/anchor/handlers.go.


class Notes(NamedTuple):
    """Records of one traversal of an object."""

    anchors: dict[str, bool]
    """Condition and existence anchors that were reached, and whether the object had their keys."""
    tags: dict[object, tuple[str, ...]]
    """Keys of labels and annotations whose wildcards have been replaced."""


Check: TypeAlias = Callable[[object, Notes | None], Mismatch | None]
"""Checks a value of the object; returns None if it matches."""

_TYPE_NAMES = MappingProxyType(
    {
        str: "string",
        float: "float64",
        int: "int64",
        bool: "bool",
        type(None): "<nil>",
        list: "[]interface {}",
        dict: "map[string]interface {}",
    }
)


def type_name(value: object) -> str:
    """Return the type of a value as in messages."""
    return _TYPE_NAMES[value.__class__]


def plain_mismatch(place: Place, form: str) -> Mismatch:
    """Return a mismatch with the text `form`, in which `%s` is replaced by the path."""
    before, sign, after = form.partition("%s")

    def text(indices: Indices) -> str:
        return f"{before}{path_text(place, indices)}{after}" if sign else form

    return Mismatch(weigh(form + "".join(place)), place, text)


def scalar_check(pattern: object, place: Place) -> Check:
    """Return the check of a scalar; if the value is a list, every element must match."""
    fits = compile_scalar(pattern)
    wanted = sprint(pattern)
    fixed = wanted + "".join(place)
    usual = weigh(fixed)

    def mismatch(value: object) -> Mismatch:
        def text(indices: Indices) -> str:
            found = sprint(value)
            where = path_text(place, indices)
            return f"resource value '{found}' does not match '{wanted}' at path {where}"

        kind = value.__class__
        is_wordy = kind is str or kind is list or kind is dict
        return Mismatch(weigh(fixed + sprint(value)) if is_wordy else usual, place, text)

    if pattern.__class__ is str:
        plain = plain_alternatives(pattern)
        truth = pattern == "true"

        def check_truth(value: object, _: Notes | None) -> Mismatch | None:
            return None if value is truth or _all_fit(fits, value) else mismatch(value)

        def check_text(value: object, _: Notes | None) -> Mismatch | None:
            if value.__class__ is str and value in plain:
                return None
            return None if _all_fit(fits, value) else mismatch(value)

        return check_truth if truth or pattern == "false" else check_text

    def check(value: object, _: Notes | None) -> Mismatch | None:
        return None if _all_fit(fits, value) else mismatch(value)

    return check


def _all_fit(fits: Predicate, value: object) -> bool:
    return all(map(fits, value)) if value.__class__ is list else fits(value)


def present_check(key: str, place: Place) -> Check:
    """Return the check of a member `key: "*"` of the map at `place`: any value but null."""
    mismatch = plain_mismatch(place, f"%s/{key} not found")

    def check(value: object, _: Notes | None) -> Mismatch | None:
        return mismatch if value is None else None

    return check


# Checks of lists, and of lists under existence anchors.
#
# upstream: validateArray and validateArrayOfMaps in pkg/engine/validate/validate.go,
# existenceHandler in pkg/engine/anchor/handlers.go.


def _list_mismatch(place: Place) -> Mismatch:
    form = (
        "validation rule failed at path %s, resource does not satisfy the expected overlay pattern"
    )
    return plain_mismatch(place, form)


def failing_list_check(place: Place, text: str) -> Check:
    """Return the check of a list pattern that no list matches."""
    wrong_type, wrong = _list_mismatch(place), plain_mismatch(place, text)
    return lambda value, _: wrong if value.__class__ is list else wrong_type


def scalar_list_check(scalar: Check, place: Place) -> Check:
    """Return the check of a list pattern that starts with a scalar: all elements must match it."""
    wrong_type = _list_mismatch(place)
    return lambda value, notes: scalar(value, notes) if value.__class__ is list else wrong_type


def each_check(element: Check, place: Place) -> Check:
    """Return the check of a list all of whose elements must match one map pattern.

    Skipped elements are ignored; if all of them are skipped, so is the list.
    """
    wrong_type = _list_mismatch(place)

    def check(value: object, notes: Notes | None) -> Mismatch | None:
        if value.__class__ is not list:
            return wrong_type
        skips = None
        for index, item in enumerate(value):
            mismatch = element(item, notes)
            if mismatch is None:
                continue
            if mismatch.weight is not Weight.SKIP:
                return in_element(mismatch, index)
            skips = [] if skips is None else skips
            skips.append(in_element(mismatch, index))
        if skips is not None and len(skips) == len(value):
            return collect(skips, place)
        return None

    return check


def paired_check(elements: tuple[Check, ...], place: Place) -> Check:
    """Return the check of a list of lists: each pattern applies to the element at its index."""
    wrong_type = _list_mismatch(place)

    def check(value: object, notes: Notes | None) -> Mismatch | None:
        if value.__class__ is not list:
            return wrong_type
        if len(value) < len(elements):
            text = (
                "validate Array failed, array length mismatch, "
                f"resource Array len is {len(value)} and pattern Array len is {len(elements)}"
            )
            return Mismatch(Weight.PLAIN, None, lambda _: text)
        skips = []
        for index, element in enumerate(elements):
            mismatch = element(value[index], notes)
            if mismatch is not None:
                mismatch = in_element(mismatch, index)
                if mismatch.weight is not Weight.SKIP:
                    return mismatch
                skips.append(mismatch)
        return collect(skips, place) if len(skips) == len(elements) else None

    return check


def existence_check(elements: tuple[Check, ...], place: Place) -> Check:
    """Return the check under an existence anchor: each pattern must match some list element."""
    nothing_matches = plain_mismatch(place, "existence anchor validation failed at path %s")

    def check(value: object, notes: Notes | None) -> Mismatch | None:
        if value.__class__ is not list:
            return _no_list_mismatch(value, place)
        for element in elements:
            if all(element(item, notes) is not None for item in value):
                return nothing_matches
        return None

    return check


def misused_existence_check(place: Place, text: str) -> Check:
    """Return the check under an existence anchor whose pattern is not a list of maps."""
    misused = plain_mismatch(place, text)
    return lambda value, _: misused if value.__class__ is list else _no_list_mismatch(value, place)


def _no_list_mismatch(value: object, place: Place) -> Mismatch:
    text = f"invalid resource type {type_name(value)}: Existence ^ () anchor can be used only on"
    return plain_mismatch(place, f"{text} list/array type resource")


# Checks of maps: their members, and the anchors that decide whether a map is checked.
#
# upstream: validateMap in pkg/engine/validate/validate.go, pkg/engine/anchor/handlers.go.


Member: TypeAlias = tuple[str, Check, bool, Mismatch | None]
"""A key of a pattern's map, the check of its value, whether a missing key is checked as null, and
the outcome of a missing key if it is not."""


def map_check(first: tuple[Member, ...], second: tuple[Member, ...], place: Place) -> Check:
    """Return the check of a map with anchors that may skip: these run before the others."""
    rest, no_map = plain_map_check(second, place), structure_mismatch(place)

    def check(value: object, notes: Notes | None) -> Mismatch | None:
        if value.__class__ is not dict:
            return no_map(value)
        mismatch = _check_anchors(first, value, notes, place)
        return rest(value, notes) if mismatch is None else mismatch

    return check


def _check_anchors(
    members: tuple[Member, ...], value: Mapping[str, object], notes: Notes | None, place: Place
) -> Mismatch | None:
    """Check anchors in order; those that skip are collected.

    A skip counts if no anchor of the map matched, or if one of the skips is due to a single anchor
    and not to a whole nested map or list. After that, other mismatches are ignored.
    """
    skips: list[Mismatch] = []
    is_applied = is_single = False
    for key, member_check, _, absent in members:
        mismatch = member_check(value[key], notes) if key in value else absent
        if mismatch is None:
            is_applied = True
        elif mismatch.weight is Weight.SKIP:
            skips.append(mismatch)
            is_single = is_single or not mismatch.collected
        elif not is_single:
            return mismatch
    if skips and (is_single or not is_applied):
        return collect(skips, place)
    return None


def plain_map_check(members: tuple[Member, ...], place: Place) -> Check:
    """Return the check of a map whose members are checked in order."""
    no_map = structure_mismatch(place)

    def check(value: object, notes: Notes | None) -> Mismatch | None:
        if value.__class__ is not dict:
            return no_map(value)
        for key, member_check, as_null, absent in members:
            if key in value:
                mismatch = member_check(value[key], notes)
            elif as_null:
                mismatch = member_check(None, notes)
            else:
                mismatch = absent
            if mismatch is not None:
                return mismatch
        return None

    return check


def structure_mismatch(place: Place) -> Callable[[object], Mismatch]:
    """Return a function that creates the mismatch of a value that should be a map."""
    weight = weigh("".join(place))

    def mismatch(value: object) -> Mismatch:
        def text(indices: Indices) -> str:
            return (
                "pattern and resource have different structures. "
                f"Path: {path_text(place, indices)}. "
                f"Expected map[string]interface {{}}, found {type_name(value)}"
            )

        return Mismatch(weight, place, text)

    return mismatch


def noting(check: Check, entries: Iterable[PatternEntry]) -> Check:
    """Return `check`, which also records whether the keys of some anchors of the map occurred."""
    tracked = tuple((entry.text, entry.key) for entry in entries)

    def noted(value: object, notes: Notes | None) -> Mismatch | None:
        if notes is not None and value.__class__ is dict:
            for text, key in tracked:
                notes.anchors[text] = notes.anchors.get(text, False) or key in value
        return check(value, notes)

    return noted


def absent_condition(place: Place) -> Mismatch:
    """Return the mismatch of a condition whose key is missing in the object."""
    name = ANCHORS[CONDITION].name
    text = f"{name} {_MISMATCH}: {name} anchor key doesn't exist in the resource"
    return Mismatch(Weight.SKIP, place, lambda _: text)


def skipping_check(check: Check, name: str) -> Check:
    """Return the check under a conditional or global anchor: a mismatch skips the rule."""
    prefix = f"{name} {_MISMATCH}"

    def checked(value: object, notes: Notes | None) -> Mismatch | None:
        mismatch = check(value, notes)
        return None if mismatch is None else skipping(mismatch, prefix)

    return checked


def negation_check(place: Place) -> Check:
    """Return the check under a negation anchor: it fails if the key exists."""

    def text(indices: Indices) -> str:
        return f"{_NEGATED}: {path_text(place, indices)} is not allowed"

    mismatch = Mismatch(Weight.NEGATION, place, text)
    return lambda _value, _notes: mismatch
