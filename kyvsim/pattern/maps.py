"""Checks of maps: their members, and the anchors that decide whether a map counts.

upstream: validateMap in pkg/engine/validate/validate.go, pkg/engine/anchor/handlers.go.
"""

from collections.abc import Callable
from typing import NamedTuple

from kyvsim.kube.objects import Json
from kyvsim.pattern import failure_path as paths
from kyvsim.pattern.failure_path import Mismatch, Place, Weight, path_text, weigh
from kyvsim.pattern.nodes import Check, Notes, type_name


class Member(NamedTuple):
    """One key of a pattern's map."""

    key: str
    check: Check
    as_null: bool = False
    """Whether the object's lack of the key is checked as null."""
    absent: Mismatch | None = None
    """The outcome, otherwise, where the object lacks the key."""


def map_check(first: tuple[Member, ...], second: tuple[Member, ...], place: Place) -> Check:
    """Return the check of a map with anchors that may skip: all of them run before the rest."""
    rest, no_map = plain_map_check(second, place), structure_mismatch(place)

    def check(value: Json, notes: Notes | None) -> Mismatch | None:
        if value.__class__ is not dict:
            return no_map(value)
        mismatch = _check_anchors(first, value, notes, place)
        return rest(value, notes) if mismatch is None else mismatch

    return check


def _check_anchors(
    members: tuple[Member, ...], value: Json, notes: Notes | None, place: Place
) -> Mismatch | None:
    """Check anchors in order; those that skip are collected.

    A skip counts when no anchor of the map matched, or when one of the skips is a single anchor's
    and not that of a whole map or list below. From then on other mismatches are ignored.
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
        return paths.collect(skips, place)
    return None


def plain_map_check(members: tuple[Member, ...], place: Place) -> Check:
    """Return the check of a map whose members are checked one after the other."""
    if len(members) == 1 and members[0].absent is None:
        return _single_map_check(members[0], place)
    if all(not member.as_null and member.absent is None for member in members):
        return _optional_map_check(tuple((key, check) for key, check, *_ in members), place)
    no_map = structure_mismatch(place)

    def check(value: Json, notes: Notes | None) -> Mismatch | None:
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


def _single_map_check(member: Member, place: Place) -> Check:
    """Return the check of a map with one member, which most maps of patterns are."""
    key, member_check, as_null, _ = member
    no_map = structure_mismatch(place)

    def check(value: Json, notes: Notes | None) -> Mismatch | None:
        if value.__class__ is not dict:
            return no_map(value)
        if key in value:
            return member_check(value[key], notes)
        return member_check(None, notes) if as_null else None

    return check


def _optional_map_check(members: tuple[tuple[str, Check], ...], place: Place) -> Check:
    """Return the check of a map whose members only count where the object has their keys."""
    no_map = structure_mismatch(place)

    def check(value: Json, notes: Notes | None) -> Mismatch | None:
        if value.__class__ is not dict:
            return no_map(value)
        for key, member_check in members:
            if key in value:
                mismatch = member_check(value[key], notes)
                if mismatch is not None:
                    return mismatch
        return None

    return check


def structure_mismatch(place: Place) -> Callable[[Json], Mismatch]:
    """Return what makes the mismatch of a value that should be a map."""
    weight = weigh("".join(place))

    def mismatch(value: Json) -> Mismatch:
        def text(indices: paths.Indices) -> str:
            return (
                "pattern and resource have different structures. "
                f"Path: {path_text(place, indices)}. "
                f"Expected map[string]interface {{}}, found {type_name(value)}"
            )

        return Mismatch(weight, place, text)

    return mismatch


def noting(check: Check, tracked: tuple[tuple[str, str], ...]) -> Check:
    """Return `check`, which also notes whether the keys of the map's anchors occurred."""

    def noted(value: Json, notes: Notes | None) -> Mismatch | None:
        if notes is not None and value.__class__ is dict:
            for text, key in tracked:
                notes.anchors[text] = notes.anchors.get(text, False) or key in value
        return check(value, notes)

    return noted


def absent_condition(place: Place) -> Mismatch:
    """Return the mismatch of a condition whose key the object lacks."""
    text = f"{paths.CONDITIONAL}: conditional anchor key doesn't exist in the resource"
    return Mismatch(Weight.SKIP, place, lambda _: text)


def skipping_check(check: Check, prefix: str) -> Check:
    """Return the check under a condition or global anchor: its mismatch skips the rule."""

    def skipping(value: Json, notes: Notes | None) -> Mismatch | None:
        mismatch = check(value, notes)
        return None if mismatch is None else paths.skipping(mismatch, prefix)

    return skipping


def negation_check(place: Place) -> Check:
    """Return the check under a negation anchor: it fails because the key is there."""

    def text(indices: paths.Indices) -> str:
        return f"{paths.NEGATED}: {path_text(place, indices)} is not allowed"

    mismatch = Mismatch(Weight.NEGATION, place, text)
    return lambda _value, _notes: mismatch
