"""Patterns to checks: decides what each part of a pattern is and compiles it.

upstream: pkg/engine/validate/validate.go, pkg/engine/anchor/handlers.go and, for wildcards in the
keys of labels and annotations, pkg/engine/wildcards/wildcards.go.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache

from kyvsim.kube.numbers import with_floats
from kyvsim.kube.objects import Json
from kyvsim.kube.wildcard import has_wildcard, matches
from kyvsim.pattern import anchors, lists, maps
from kyvsim.pattern import failure_path as paths
from kyvsim.pattern.anchors import parse_anchor
from kyvsim.pattern.failure_path import (
    FailureKind,
    Mismatch,
    PatternFailure,
    Place,
    Weight,
    below,
    inside,
    path_text,
)
from kyvsim.pattern.maps import Member, structure_mismatch
from kyvsim.pattern.nodes import Check, Notes, present_check, scalar_check, type_name

_TAGS = ("labels", "annotations")
_CACHED_EXPANSIONS = 256


def compile_pattern(pattern: Json) -> Callable[[Json], PatternFailure | None]:
    """Return a function that matches an object against `pattern`; None says that it matches.

    upstream: MatchPattern in pkg/engine/validate.
    """
    check = _compile(pattern, paths.ROOT)
    is_tracking = anchors.is_tracking(pattern)
    is_noting = anchors.has_wildcard_key(pattern)

    def match(value: Json) -> PatternFailure | None:
        mismatch = check(value, Notes({}, {}) if is_noting else None)
        if mismatch is None:
            return None
        if mismatch.weight is Weight.SKIP:
            return PatternFailure(FailureKind.SKIP, "", mismatch)
        if mismatch.place is None or (
            is_tracking and mismatch.weight is Weight.PLAIN and _lacks_anchor_key(check, value)
        ):
            return PatternFailure(FailureKind.ERROR, "", mismatch)
        path = path_text(mismatch.place, mismatch.indices)
        return PatternFailure(FailureKind.FAIL, path, mismatch)

    return match


def compile_any_pattern(
    alternatives: list[Json],
) -> tuple[Callable[[Json], PatternFailure | None], ...]:
    """Return one function for each pattern of an `anyPattern`.

    Whole numbers there have gone through JSON once more and are floats.
    """
    return tuple(compile_pattern(with_floats(pattern)) for pattern in alternatives)


def _lacks_anchor_key(check: Check, value: Json) -> bool:
    """Check once more, noting anchors: return whether the key of one never occurred."""
    notes = Notes({}, {})
    check(value, notes)
    return not all(notes.anchors.values())


def _compile(pattern: Json, place: Place) -> Check:
    if pattern.__class__ is dict:
        return _compile_map(pattern, place, _member_value)
    if pattern.__class__ is list:
        return _compile_list(pattern, place)
    return scalar_check(pattern, place)


def _compile_list(pattern: list[Json], place: Place) -> Check:
    if not pattern:
        return lists.failing_list_check(place, "pattern Array empty")
    first = pattern[0]
    if first.__class__ is dict:
        return lists.each_check(_compile(first, inside(place)), place)
    if first.__class__ is not list:
        return lists.scalar_list_check(scalar_check(first, place), place)
    elements = tuple(_compile(element, inside(place)) for element in pattern)
    return lists.paired_check(elements, place)


# ---------------------------------------------------------------------------- maps


def _compile_map(
    pattern: Mapping[str, Json], place: Place, compile_value: Callable[[str, Json, Place], Check]
) -> Check:
    """Return the check of a map; `compile_value` compiles what stands under a bare key."""
    phases = anchors.checking_order(pattern)
    first, second = (
        tuple(_compile_member(key, pattern[key], place, compile_value) for key in keys)
        for keys in phases
    )
    tracked = anchors.tracked_keys(pattern)
    if anchors.may_skip({key: pattern[key] for key in phases[0]}):
        check = maps.map_check(first, second, place)
    else:
        check = maps.plain_map_check(first + second, place)
    return maps.noting(check, tracked) if tracked else check


def _compile_member(
    text: str, pattern: Json, place: Place, compile_value: Callable[[str, Json, Place], Check]
) -> Member:
    anchor = parse_anchor(text)
    if anchor is None or anchor.sign == anchors.ADDITION:
        if pattern == "*":
            return Member(text, present_check(text, place), as_null=True)
        return Member(text, compile_value(text, pattern, below(place, text)), as_null=True)
    key = anchor.key
    here = below(place, key)
    if anchor.sign == anchors.NEGATION:
        return Member(key, maps.negation_check(here))
    if anchor.sign == anchors.EXISTENCE:
        return Member(key, _compile_existence(pattern, here))
    check = compile_value(key, pattern, here)
    if anchor.sign == anchors.CONDITION:
        skipping = maps.skipping_check(check, paths.CONDITIONAL)
        return Member(key, skipping, absent=maps.absent_condition(here))
    if anchor.sign == anchors.GLOBAL:
        return Member(key, maps.skipping_check(check, paths.GLOBAL))
    return Member(key, check)


def _compile_existence(pattern: Json, place: Place) -> Check:
    kind = type_name(pattern)
    if pattern.__class__ is not list:
        text = f"invalid pattern type {kind}: Pattern has to be of list to compare against resource"
        return lists.misused_existence_check(place, text)
    if not all(element.__class__ is dict for element in pattern):
        text = (
            f"invalid pattern type {kind}: "
            "Pattern has to be of type map to compare against items in resource"
        )
        return lists.misused_existence_check(place, text)
    elements = tuple(_compile(element, inside(place)) for element in pattern)
    return lists.existence_check(elements, place)


# ---------------------------------------------------------------------------- metadata


def _member_value(key: str, pattern: Json, place: Place) -> Check:
    """Compile the value of a member of any map; `metadata` has rules of its own."""
    if key == "metadata" and pattern.__class__ is dict:
        return _compile_map(pattern, place, _metadata_value)
    return _compile(pattern, place)


def _metadata_value(key: str, pattern: Json, place: Place) -> Check:
    if key in _TAGS and pattern.__class__ is dict:
        return _compile_tags(pattern, place)
    return _member_value(key, pattern, place)


def _compile_tags(pattern: Mapping[str, Json], place: Place) -> Check:
    """Return the check of labels or annotations, whose keys may be wildcards.

    Members whose value is no text are not checked at all: upstream loses them. Within one walk,
    say over a list, a key stays what the first tags made of it: upstream writes it into the
    pattern.
    """
    texts = {key: value for key, value in pattern.items() if value.__class__ is str}
    if not any(map(has_wildcard, texts)):
        return _compile_map(texts, place, _member_value)
    written, values = tuple(texts), tuple(texts.values())
    no_map = structure_mismatch(place)
    identity = object()

    @lru_cache(maxsize=_CACHED_EXPANSIONS)
    def expanded(keys: tuple[str, ...]) -> Check:
        return _compile_map(dict(zip(keys, values, strict=True)), place, _member_value)

    def check(value: Json, notes: Notes | None) -> Mismatch | None:
        if value.__class__ is not dict:
            return no_map(value)
        keys = written if notes is None else notes.tags.get(identity, written)
        found = tuple(_expand(key, value) for key in keys)
        if notes is not None:
            notes.tags[identity] = found
        return expanded(found)(value, notes)

    return check


def _expand(key: str, tags: Mapping[str, Json]) -> str:
    """Return a key with the first tag, by name, that its wildcards fit in their place.

    upstream takes any of those that fit, as chance has it.
    """
    if not has_wildcard(key):
        return key
    anchor = parse_anchor(key)
    bare = key if anchor is None else anchor.key
    found = next(
        (tag for tag in sorted(tags) if tags[tag].__class__ is str and matches(bare, tag)), bare
    )
    return found if anchor is None else str(anchor._replace(key=found))
