"""What checks of pattern nodes are, and those of scalars.

upstream: pkg/engine/validate/validate.go and pkg/engine/anchor/handlers.go.
"""

from collections.abc import Callable
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from kyvsim.kube.go_text import sprint
from kyvsim.kube.objects import Json
from kyvsim.kube.wildcard import plain_alternatives
from kyvsim.pattern import failure_path as paths
from kyvsim.pattern.failure_path import Mismatch, Place, path_text, weigh
from kyvsim.pattern.scalars import Predicate, compile_scalar


class Notes(NamedTuple):
    """What one walk over an object notes, in the order in which it comes by."""

    anchors: dict[str, bool]
    """Conditions and existence anchors met, and whether the object ever had their keys."""
    tags: dict[object, tuple[str, ...]]
    """Keys of labels and annotations whose wildcards have been filled in already."""


Check: TypeAlias = Callable[[Json, Notes | None], Mismatch | None]
"""Takes the object's value; gives None where it matches."""

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


def type_name(value: Json) -> str:
    """Return the type of a value as messages name it."""
    return _TYPE_NAMES[value.__class__]


def plain_mismatch(place: Place, form: str) -> Mismatch:
    """Return a mismatch whose text is `form`, with the path for the `%s` it may hold."""
    before, sign, after = form.partition("%s")

    def text(indices: paths.Indices) -> str:
        return f"{before}{path_text(place, indices)}{after}" if sign else form

    return Mismatch(weigh(form + "".join(place)), place, text)


def scalar_check(pattern: Json, place: Place) -> Check:
    """Return the check of a scalar; of a list as value every element must fit."""
    fits = compile_scalar(pattern)
    mismatch = _scalar_mismatch(pattern, place)
    if pattern.__class__ is str:
        return _text_check(pattern, fits, mismatch)

    def check(value: Json, _: Notes | None) -> Mismatch | None:
        return None if _all_fit(fits, value) else mismatch(value)

    return check


def _all_fit(fits: Predicate, value: Json) -> bool:
    return all(map(fits, value)) if value.__class__ is list else fits(value)


def _text_check(pattern: str, fits: Predicate, mismatch: Callable[[Json], Mismatch]) -> Check:
    """Return the check of a text, with a short way for the value it mostly meets."""
    plain = plain_alternatives(pattern)
    truth = pattern == "true"

    def check_truth(value: Json, _: Notes | None) -> Mismatch | None:
        return None if value is truth or _all_fit(fits, value) else mismatch(value)

    def check(value: Json, _: Notes | None) -> Mismatch | None:
        if value.__class__ is str and value in plain:
            return None
        return None if _all_fit(fits, value) else mismatch(value)

    return check_truth if truth or pattern == "false" else check


def _scalar_mismatch(pattern: Json, place: Place) -> Callable[[Json], Mismatch]:
    wanted = sprint(pattern)
    fixed = wanted + "".join(place)
    usual = weigh(fixed)

    def mismatch(value: Json) -> Mismatch:
        def text(indices: paths.Indices) -> str:
            found = sprint(value)
            where = path_text(place, indices)
            return f"resource value '{found}' does not match '{wanted}' at path {where}"

        kind = value.__class__
        is_wordy = kind is str or kind is list or kind is dict
        return Mismatch(weigh(fixed + sprint(value)) if is_wordy else usual, place, text)

    return mismatch


def present_check(key: str, place: Place) -> Check:
    """Return the check of a member `key: "*"` of the map at `place`: any value but null."""
    mismatch = plain_mismatch(place, f"%s/{key} not found")

    def check(value: Json, _: Notes | None) -> Mismatch | None:
        return mismatch if value is None else None

    return check
