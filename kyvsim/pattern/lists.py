"""Checks of lists, also under existence anchors.

upstream: validateArray and validateArrayOfMaps in pkg/engine/validate/validate.go,
existenceHandler in pkg/engine/anchor/handlers.go.
"""

from kyvsim.kube.objects import Json
from kyvsim.pattern import failure_path as paths
from kyvsim.pattern.failure_path import Mismatch, Place, Weight, in_element
from kyvsim.pattern.nodes import Check, Notes, plain_mismatch, type_name


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
    """Return the check of a list pattern that starts with a scalar: all elements must fit it."""
    wrong_type = _list_mismatch(place)
    return lambda value, notes: scalar(value, notes) if value.__class__ is list else wrong_type


def each_check(element: Check, place: Place) -> Check:
    """Return the check of a list all of whose elements must match one map pattern.

    Elements that skip are left out; when all of them do, so does the list.
    """
    wrong_type = _list_mismatch(place)

    def check(value: Json, notes: Notes | None) -> Mismatch | None:
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
            return paths.collect(skips, place)
        return None

    return check


def paired_check(elements: tuple[Check, ...], place: Place) -> Check:
    """Return the check of a list of lists: each pattern against the element at its index."""
    wrong_type = _list_mismatch(place)

    def check(value: Json, notes: Notes | None) -> Mismatch | None:
        if value.__class__ is not list:
            return wrong_type
        if len(value) < len(elements):
            return _length_mismatch(len(value), len(elements))
        skips = []
        for index, element in enumerate(elements):
            mismatch = element(value[index], notes)
            if mismatch is not None:
                mismatch = in_element(mismatch, index)
                if mismatch.weight is not Weight.SKIP:
                    return mismatch
                skips.append(mismatch)
        return paths.collect(skips, place) if len(skips) == len(elements) else None

    return check


def _length_mismatch(found: int, wanted: int) -> Mismatch:
    text = (
        "validate Array failed, array length mismatch, "
        f"resource Array len is {found} and pattern Array len is {wanted}"
    )
    return Mismatch(Weight.PLAIN, None, lambda _: text)


def existence_check(elements: tuple[Check, ...], place: Place) -> Check:
    """Return the check under an existence anchor: each pattern must match some list element."""
    nothing_matches = plain_mismatch(place, "existence anchor validation failed at path %s")

    def check(value: Json, notes: Notes | None) -> Mismatch | None:
        if value.__class__ is not list:
            return _no_list_mismatch(value, place)
        for element in elements:
            if all(element(item, notes) is not None for item in value):
                return nothing_matches
        return None

    return check


def misused_existence_check(place: Place, text: str) -> Check:
    """Return the check under an existence anchor whose pattern is no list of maps."""
    misused = plain_mismatch(place, text)
    return lambda value, _: misused if value.__class__ is list else _no_list_mismatch(value, place)


def _no_list_mismatch(value: Json, place: Place) -> Mismatch:
    text = f"invalid resource type {type_name(value)}: Existence ^ () anchor can be used only on"
    return plain_mismatch(place, f"{text} list/array type resource")
