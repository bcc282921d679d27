"""Patterns to checks: decides what each part of a pattern is and compiles it."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import NamedTuple, TypeAlias

from kyvsim.engine.pattern import checks
from kyvsim.engine.pattern import checks as paths
from kyvsim.engine.pattern.checks import (
    Check,
    FailureKind,
    Member,
    Mismatch,
    Notes,
    PatternFailure,
    Place,
    Weight,
    below,
    inside,
    path_text,
    present_check,
    scalar_check,
    structure_mismatch,
    type_name,
)
from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.quantities import with_floats
from kyvsim.kubernetes.wildcard import compile_wildcard, has_wildcard
from kyvsim.model.explanation import Step, StepKind, Value
from kyvsim.model.ports import FEW, Meter
from kyvsim.model.result import RuleStatus
from kyvsim.model.tracing import NO_TRACE, TraceContext, trace_step, traced, untraced
from kyvsim.policy import anchors
from kyvsim.policy.anchors import parse_anchor

# Checks of patterns that report what each part of a pattern found.


_ABSENT = "missing"


def traced_pattern(
    check: Check, lacks_anchor_key: Callable[[Json], bool], pattern: Json, trace: TraceContext
) -> tuple[Check, Callable[[Json], bool]]:
    """Return the traced check of a whole pattern, and its second pass without tracing."""
    asked = Step(StepKind.PATTERN, trace.name, wanted=Value(pattern), path=())
    return (
        traced(trace, check, asked, _completed),
        lambda value: untraced(trace, lambda: lacks_anchor_key(value)),
    )


def traced_absences(
    check: Check, texts: Sequence[str], members: Sequence[Member], trace: TraceContext
) -> Check:
    """Return the check of a map that also reports anchors whose keys the object lacks."""
    asked = [
        (one, text)
        for one, text in zip(members, texts, strict=True)
        if one.absent is not None or not one.as_null
    ]
    if not asked:
        return check

    def wrapper(value: Json, notes: Notes | None) -> Mismatch | None:
        mismatch = check(value, notes)
        if value.__class__ is dict and (mismatch is None or mismatch.weight is Weight.SKIP):
            for one, text in asked:
                if one.key not in value:
                    answer = True if one.absent is None else RuleStatus.SKIP
                    step = Step(StepKind.PATTERN, text, answer=answer, note=_ABSENT)
                    trace_step(trace.at(text), step._replace(path=(one.key,)))
        return mismatch

    return wrapper


def traced_list(
    checks: tuple[Check, ...],
    patterns: Sequence[Json],
    make: Callable[[tuple[Check, ...]], Check],
    trace: TraceContext,
) -> Check:
    """Return the check of a list that reports each element which its patterns read.

    A pattern looks at the elements in order: from the first one on, or where each pattern has its
    own element, at that one.
    """
    paired = patterns[0].__class__ is list
    numbers = [0] * len(checks)

    def element(which: int) -> Check:
        check, inside = checks[which], trace.at(which)

        def numbered(value: Json, notes: Notes | None) -> Mismatch | None:
            number = numbers[which]
            numbers[which] += 1
            asked = Step(
                StepKind.PATTERN, f"[{number}]", wanted=Value(patterns[which]), path=(number,)
            )
            return traced(inside, check, asked, _completed)(value, notes)

        return numbered

    check = make(tuple(map(element, range(len(checks)))))

    def run(value: Json, notes: Notes | None) -> Mismatch | None:
        numbers[:] = range(len(checks)) if paired else [0] * len(checks)
        return check(value, notes)

    return run


def _completed(step: Step, mismatch: Mismatch | None, value: Json, _: Notes | None) -> Step:
    return step._replace(
        answer=mismatch is None or (RuleStatus.SKIP if mismatch.weight is Weight.SKIP else False),
        found=Value(value),
    )


# Patterns to checks: decides what each part of a pattern is and compiles it.
#
# upstream: pkg/engine/validate/validate.go, pkg/engine/anchor/handlers.go and, for wildcards in the
# keys of labels and annotations, pkg/engine/wildcards/wildcards.go.


_TAGS = ("labels", "annotations")
_CACHED_EXPANSIONS = 256
_CACHED_WILDCARDS = 1024


class PatternPlace(NamedTuple):
    """Where a part of a pattern stands: what paths in messages call it, and where it is written."""

    place: Place
    trace: TraceContext
    meter: Meter | None = None
    """Counts what grows with the pattern times the object; None where nothing is counted."""

    def below(self, text: str, key: str) -> "PatternPlace":
        """Return the spot of a member that the pattern writes as `text`."""
        return PatternPlace(below(self.place, key), self.trace.at(text), self.meter)

    def inside(self, index: int) -> "PatternPlace":
        """Return the spot of an element."""
        return PatternPlace(inside(self.place), self.trace.at(index), self.meter)


_ValueCompiler: TypeAlias = Callable[[str, Json, PatternPlace], Check]


def compile_pattern(
    pattern: Json, trace: TraceContext = NO_TRACE, meter: Meter | None = None
) -> Callable[[Json], PatternFailure | None]:
    """Return a function that matches an object against `pattern`; None says that it matches.

    The tracer of `trace` gets what each part of the pattern found. The function raises
    BudgetError where `meter` has no steps left.

    upstream: MatchPattern in pkg/engine/validate.
    """
    check = _compile(pattern, PatternPlace(paths.ROOT, trace, meter))
    is_tracking = anchors.is_tracking(pattern)
    is_noting = anchors.has_wildcard_key(pattern)
    lacks_anchor_key: Callable[[Json], bool] = partial(_lacks_anchor_key, check)
    if trace.tracer is not None:
        check, lacks_anchor_key = traced_pattern(check, lacks_anchor_key, pattern, trace)

    def match(value: Json) -> PatternFailure | None:
        mismatch = check(value, Notes({}, {}) if is_noting else None)
        if mismatch is None:
            return None
        if mismatch.weight is Weight.SKIP:
            return PatternFailure(FailureKind.SKIP, "", mismatch)
        if mismatch.place is None or (
            is_tracking and mismatch.weight is Weight.PLAIN and lacks_anchor_key(value)
        ):
            return PatternFailure(FailureKind.ERROR, "", mismatch)
        path = path_text(mismatch.place, mismatch.indices)
        return PatternFailure(FailureKind.FAIL, path, mismatch)

    return match


def compile_any_pattern(
    alternatives: list[Json], trace: TraceContext = NO_TRACE, meter: Meter | None = None
) -> tuple[Callable[[Json], PatternFailure | None], ...]:
    """Return one function for each pattern of an `anyPattern`.

    Whole numbers there have gone through JSON once more and are floats.
    """
    return tuple(
        compile_pattern(with_floats(pattern), trace.at(index), meter)
        for index, pattern in enumerate(alternatives)
    )


def _lacks_anchor_key(check: Check, value: Json) -> bool:
    """Check once more, noting anchors: return whether the key of one never occurred."""
    notes = Notes({}, {})
    check(value, notes)
    return not all(notes.anchors.values())


def _compile(pattern: Json, spot: PatternPlace) -> Check:
    if pattern.__class__ is dict:
        return _compile_map(pattern, spot, _member_value)
    if pattern.__class__ is list:
        place = spot.place
        if not pattern:
            return checks.failing_list_check(place, "pattern Array empty")
        first = pattern[0]
        if first.__class__ is dict:
            return _compile_elements(
                pattern[:1], spot, lambda one: checks.each_check(one[0], place)
            )
        if first.__class__ is not list:
            return checks.scalar_list_check(scalar_check(first, place), place)
        return _compile_elements(pattern, spot, lambda all_of: checks.paired_check(all_of, place))
    return scalar_check(pattern, spot.place)


def _compile_elements(
    patterns: list[Json], spot: PatternPlace, make: Callable[[tuple[Check, ...]], Check]
) -> Check:
    checks = tuple(_compile(one, spot.inside(index)) for index, one in enumerate(patterns))
    if spot.trace.tracer is None:
        return make(checks)

    return traced_list(checks, patterns, make, spot.trace)


# ---------------------------------------------------------------------------- maps


def _compile_map(
    pattern: Mapping[str, Json], spot: PatternPlace, compile_value: _ValueCompiler
) -> Check:
    phases = anchors.checking_order(pattern)
    first, second = (
        tuple(_traced_member(key, pattern[key], spot, compile_value) for key in keys)
        for keys in phases
    )
    tracked = anchors.tracked_keys(pattern)
    if anchors.may_skip({key: pattern[key] for key in phases[0]}):
        check = checks.map_check(first, second, spot.place)
    else:
        check = checks.plain_map_check(first + second, spot.place)
    if spot.trace.tracer is not None:
        check = traced_absences(check, phases[0] + phases[1], first + second, spot.trace)
    return checks.noting(check, tracked) if tracked else check


def _traced_member(
    text: str, pattern: Json, spot: PatternPlace, compile_value: _ValueCompiler
) -> Member:
    member = _compile_member(text, pattern, spot, compile_value)
    if spot.trace.tracer is None:
        return member

    asked = Step(StepKind.PATTERN, text, wanted=Value(pattern), path=(member.key,))
    return member._replace(check=traced(spot.trace.at(text), member.check, asked, _completed))


def _compile_member(
    text: str, pattern: Json, spot: PatternPlace, compile_value: _ValueCompiler
) -> Member:
    anchor = parse_anchor(text)
    if anchor is None or anchor.sign == anchors.ADDITION:
        if pattern == "*":
            return Member(text, present_check(text, spot.place), as_null=True)
        return Member(text, compile_value(text, pattern, spot.below(text, text)), as_null=True)
    key = anchor.key
    here = spot.below(text, key)
    if anchor.sign == anchors.NEGATION:
        return Member(key, checks.negation_check(here.place))
    if anchor.sign == anchors.EXISTENCE:
        return Member(key, _compile_existence(pattern, here))
    check = compile_value(key, pattern, here)
    if anchor.sign == anchors.CONDITION:
        skipping = checks.skipping_check(check, paths.CONDITIONAL)
        return Member(key, skipping, absent=checks.absent_condition(here.place))
    if anchor.sign == anchors.GLOBAL:
        return Member(key, checks.skipping_check(check, paths.GLOBAL))
    return Member(key, check)


def _compile_existence(pattern: Json, spot: PatternPlace) -> Check:
    kind, place = type_name(pattern), spot.place
    if pattern.__class__ is not list:
        text = f"invalid pattern type {kind}: Pattern has to be of list to compare against resource"
        return checks.misused_existence_check(place, text)
    if not all(element.__class__ is dict for element in pattern):
        text = (
            f"invalid pattern type {kind}: "
            "Pattern has to be of type map to compare against items in resource"
        )
        return checks.misused_existence_check(place, text)
    return _compile_elements(pattern, spot, lambda all_of: checks.existence_check(all_of, place))


# ---------------------------------------------------------------------------- metadata


def _member_value(key: str, pattern: Json, spot: PatternPlace) -> Check:
    """Compile the value of a member of any map; `metadata` has rules of its own."""
    if key == "metadata" and pattern.__class__ is dict:
        return _compile_map(pattern, spot, _metadata_value)
    return _compile(pattern, spot)


def _metadata_value(key: str, pattern: Json, spot: PatternPlace) -> Check:
    if key in _TAGS and pattern.__class__ is dict:
        return _compile_tags(pattern, spot)
    return _member_value(key, pattern, spot)


def _compile_tags(pattern: Mapping[str, Json], spot: PatternPlace) -> Check:
    """Return the check of labels or annotations, whose keys may be wildcards.

    Members whose value is not a string are not checked: upstream loses them. Within one walk,
    say over a list, a key stays what the first tags made of it: upstream writes it into the
    pattern.
    """
    texts = {key: value for key, value in pattern.items() if value.__class__ is str}
    if not any(map(has_wildcard, texts)):
        return _compile_map(texts, spot, _member_value)
    written, values = tuple(texts), tuple(texts.values())
    no_map = structure_mismatch(spot.place)
    identity = object()

    @lru_cache(maxsize=_CACHED_EXPANSIONS)
    def expanded(keys: tuple[str, ...]) -> Check:
        return _compile_map(dict(zip(keys, values, strict=True)), spot, _member_value)

    def check(value: Json, notes: Notes | None) -> Mismatch | None:
        if value.__class__ is not dict:
            return no_map(value)
        keys = written if notes is None else notes.tags.get(identity, written)
        tags = sorted(tag for tag, text in value.items() if text.__class__ is str)
        found = tuple(_expand(key, tags, spot.meter) for key in keys)
        if notes is not None:
            notes.tags[identity] = found
        return expanded(found)(value, notes)

    return check


def _expand(key: str, tags: Sequence[str], meter: Meter | None) -> str:
    """Return a key with the first of the sorted tags that its wildcards fit in their place.

    upstream takes any of those that fit, as chance has it. Tags that fit begin with what the key
    has before its first wildcard, so that most others are passed over; the others are counted, as
    there may be as many of them as the pattern has keys.
    """
    if not has_wildcard(key):
        return key
    anchor = parse_anchor(key)
    bare = key if anchor is None else anchor.key
    start = bare.split("*", 1)[0].split("?", 1)[0]
    first = bisect_left(tags, start)
    alike = tags[first : bisect_right(tags, start, key=lambda tag: tag[: len(start)])]
    if meter is not None and len(alike) > FEW:
        meter.spend(len(alike))
    found = next(filter(_fitting(bare), alike), bare)
    return found if anchor is None else str(anchor._replace(key=found))


@lru_cache(maxsize=_CACHED_WILDCARDS)
def _fitting(wildcard: str) -> Callable[[str], bool]:
    return compile_wildcard(wildcard)
