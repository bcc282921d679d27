"""Compiles patterns to checks, by the kind of each part."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from kyvsim.engine.pattern import checks
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
from kyvsim.kubernetes.quantities import with_floats
from kyvsim.kubernetes.wildcard import compile_wildcard, has_wildcard
from kyvsim.model.explanation import Step, StepKind, Value
from kyvsim.model.ports import FEW, Meter
from kyvsim.model.result import RuleStatus
from kyvsim.model.tracing import NO_TRACE, TraceContext, trace_step, traced, untraced
from kyvsim.policy import anchors
from kyvsim.policy.anchors import Demand, Lack, parse_anchor
from kyvsim.policy.read import pattern_map, with_data
from kyvsim.policy.tree import (
    Pattern,
    PatternEntry,
    PatternLeaf,
    PatternList,
    PatternMap,
    PatternNode,
)
from kyvsim.policy.visit import has_wildcard_key


def _traced_absences(
    check: Check, entries: Sequence[PatternEntry], members: Sequence[Member], trace: TraceContext
) -> Check:
    """Return the check of a map that also traces anchors whose keys are missing in the object."""
    optional = [
        (entry, key, absent)
        for entry, (key, _, as_null, absent) in zip(entries, members, strict=True)
        if absent is not None or not as_null
    ]
    if not optional:
        return check

    def wrapper(value: object, notes: Notes | None) -> Mismatch | None:
        mismatch = check(value, notes)
        if value.__class__ is dict and (mismatch is None or mismatch.weight is Weight.SKIP):
            for entry, key, absent in optional:
                if key not in value:
                    answer = True if absent is None else RuleStatus.SKIP
                    step = Step(StepKind.PATTERN, entry.text, answer=answer, note="missing")
                    trace_step(trace.to(entry.path), step._replace(path=(key,)))
        return mismatch

    return wrapper


def _traced_elements(
    checks: tuple[Check, ...],
    patterns: Sequence[PatternNode],
    make: Callable[[tuple[Check, ...]], Check],
    trace: TraceContext,
) -> Check:
    """Return the check of a list that traces each element that its patterns check.

    A pattern checks the elements in order, or, if each pattern has its own element, the one at its
    index.
    """
    paired = isinstance(patterns[0], PatternList)
    numbers = [0] * len(checks)

    def element(which: int) -> Check:
        check, pattern = checks[which], patterns[which]

        def numbered(value: object, notes: Notes | None) -> Mismatch | None:
            number = numbers[which]
            numbers[which] += 1
            begun = Step(
                StepKind.PATTERN, f"[{number}]", wanted=Value(pattern.data), path=(number,)
            )
            return traced(trace.to(pattern.path), check, begun, _completed)(value, notes)

        return numbered

    check = make(tuple(map(element, range(len(checks)))))

    def run(value: object, notes: Notes | None) -> Mismatch | None:
        numbers[:] = range(len(checks)) if paired else [0] * len(checks)
        return check(value, notes)

    return run


def _completed(step: Step, mismatch: Mismatch | None, value: object, _: Notes | None) -> Step:
    return step._replace(
        answer=mismatch is None or (RuleStatus.SKIP if mismatch.weight is Weight.SKIP else False),
        found=Value(value),
    )


# Compiles patterns to checks, by the kind of each part.
#
# upstream: pkg/engine/validate/validate.go, pkg/engine/anchor/handlers.go and, for wildcards in the
# keys of labels and annotations, pkg/engine/wildcards/wildcards.go.

TAGS = frozenset({"labels", "annotations"})
"""Fields of metadata whose keys may contain wildcards."""
_CACHED_EXPANSIONS = 256
_CACHED_WILDCARDS = 1024


class _Part(NamedTuple):
    """The inputs for compiling a part of a pattern."""

    place: Place
    """The path in messages."""
    trace: TraceContext
    meter: Meter | None = None
    """Counts steps that grow with the pattern times the object; None if nothing is counted."""

    def below(self, key: str) -> "_Part":
        """Return the part for a member."""
        return self._replace(place=below(self.place, key))

    def inside(self) -> "_Part":
        """Return the part for the elements."""
        return self._replace(place=inside(self.place))


_ValueCompiler: TypeAlias = Callable[[str, PatternNode, _Part], Check]


def compile_pattern(
    pattern: PatternNode, trace: TraceContext = NO_TRACE, meter: Meter | None = None
) -> Callable[[object], PatternFailure | None]:
    """Return a function that matches an object against `pattern`; it returns None for a match.

    `trace` receives the result of each part of the pattern. The function raises BudgetError if
    `meter` has no steps left.

    upstream: MatchPattern in pkg/engine/validate.
    """
    check = compiled = _compile(pattern, _Part(checks.ROOT, trace, meter))
    is_tracking = anchors.is_tracking(pattern)
    is_noting = has_wildcard_key(pattern)
    here = trace.to(pattern.path)
    if trace.takes_steps:
        begun = Step(StepKind.PATTERN, here.name, wanted=Value(pattern.data), path=())
        check = traced(here, check, begun, _completed)

    def lacks_anchor_key(value: object) -> bool:
        """Check again with notes: return whether the key of an anchor never occurred."""
        notes = Notes({}, {})
        untraced(here, lambda: compiled(value, notes))
        return not all(notes.anchors.values())

    def match(value: object) -> PatternFailure | None:
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


def any_pattern_nodes(alternatives: Iterable[Pattern]) -> Iterator[PatternNode]:
    """Yield the patterns of an `anyPattern` as they are compiled.

    Their whole numbers are floats, since they were converted to JSON and back.
    """
    return (with_data(one, with_floats(one.data)).root for one in alternatives)


def compile_any_pattern(
    alternatives: Iterable[Pattern], trace: TraceContext = NO_TRACE, meter: Meter | None = None
) -> tuple[Callable[[object], PatternFailure | None], ...]:
    """Return one function for each pattern of an `anyPattern`."""
    return tuple(compile_pattern(one, trace, meter) for one in any_pattern_nodes(alternatives))


def _compile(pattern: PatternNode, part: _Part) -> Check:
    match pattern:
        case PatternMap():
            return _compile_map(pattern, part, _member_value)
        case PatternList():
            return _compile_list(pattern, part)
        case PatternLeaf():
            return scalar_check(pattern.data, part.place)


def _compile_list(pattern: PatternList, part: _Part) -> Check:
    items, place = pattern.items, part.place
    if not items:
        return checks.failing_list_check(place, "pattern Array empty")
    match items[0]:
        case PatternMap():
            return _compile_elements(items[:1], part, lambda one: checks.each_check(one[0], place))
        case PatternList():
            return _compile_elements(items, part, lambda each: checks.paired_check(each, place))
        case PatternLeaf():
            return checks.scalar_list_check(scalar_check(items[0].data, place), place)


def _compile_elements(
    patterns: Sequence[PatternNode], part: _Part, make: Callable[[tuple[Check, ...]], Check]
) -> Check:
    elements = tuple(_compile(one, part.inside()) for one in patterns)
    if not part.trace.takes_steps:
        return make(elements)
    return _traced_elements(elements, patterns, make, part.trace)


def _compile_map(pattern: PatternMap, part: _Part, compile_value: _ValueCompiler) -> Check:
    phases = anchors.checking_order(pattern)
    first, second = (
        tuple(_compile_member(entry, part, compile_value) for entry in entries)
        for entries in phases
    )
    if any(map(anchors.may_skip, phases[0])):
        check = checks.map_check(first, second, part.place)
    else:
        check = checks.plain_map_check(first + second, part.place)
    if part.trace.takes_steps:
        check = _traced_absences(check, phases[0] + phases[1], first + second, part.trace)
    tracked = tuple(one for one in pattern.entries if anchors.kind_of(one).tracked)
    return checks.noting(check, tracked) if tracked else check


def _compile_member(entry: PatternEntry, part: _Part, compile_value: _ValueCompiler) -> Member:
    kind, key = anchors.kind_of(entry), anchors.field_of(entry)
    here = part.below(key)
    match anchors.demand_of(entry):
        case Demand.FIT:
            check = compile_value(key, entry.value, here)
        case Demand.ELEMENTS:
            check = _compile_existence(entry.value, here)
        case Demand.PRESENCE:
            check = present_check(key, part.place)
        case Demand.ABSENCE:
            check = checks.negation_check(here.place)
    if kind.skips:
        check = checks.skipping_check(check, kind.name)
    if part.trace.takes_steps:
        begun = Step(StepKind.PATTERN, entry.text, wanted=Value(entry.value.data), path=(key,))
        check = traced(part.trace.to(entry.path), check, begun, _completed)
    absent = checks.absent_condition(here.place) if kind.lack is Lack.SKIP else None
    return key, check, kind.lack is Lack.NULL, absent


def _compile_existence(pattern: PatternNode, part: _Part) -> Check:
    kind, place = type_name(pattern.data), part.place
    if not isinstance(pattern, PatternList):
        text = f"invalid pattern type {kind}: Pattern has to be of list to compare against resource"
        return checks.misused_existence_check(place, text)
    if not all(isinstance(item, PatternMap) for item in pattern.items):
        text = (
            f"invalid pattern type {kind}: "
            "Pattern has to be of type map to compare against items in resource"
        )
        return checks.misused_existence_check(place, text)
    return _compile_elements(pattern.items, part, lambda each: checks.existence_check(each, place))


def _member_value(key: str, pattern: PatternNode, part: _Part) -> Check:
    """Compile the value of a member of any map; `metadata` is special."""
    if key == "metadata" and isinstance(pattern, PatternMap):
        return _compile_map(pattern, part, _metadata_value)
    return _compile(pattern, part)


def _metadata_value(key: str, pattern: PatternNode, part: _Part) -> Check:
    if key in TAGS and isinstance(pattern, PatternMap):
        return _compile_tags(pattern, part)
    return _member_value(key, pattern, part)


def _compile_tags(pattern: PatternMap, part: _Part) -> Check:
    """Return the check of labels or annotations, whose keys may contain wildcards.

    Members whose value is not a string are not checked: upstream drops them. Within one traversal,
    for example of a list, a key keeps the name that it matched first: upstream writes it into the
    pattern.
    """
    texts = {key: value for key, value in pattern.data.items() if value.__class__ is str}
    written, values = tuple(texts), tuple(texts.values())
    no_map = structure_mismatch(part.place)
    identity = object()

    @lru_cache(maxsize=_CACHED_EXPANSIONS)
    def expanded(keys: tuple[str, ...]) -> Check:
        # With the name of a tag, a key may become an anchor.
        tags = pattern_map(dict(zip(keys, values, strict=True)), pattern.path)
        return _compile_map(tags, part, _member_value)

    if not any(map(has_wildcard, texts)):
        return expanded(written)

    def check(value: object, notes: Notes | None) -> Mismatch | None:
        if value.__class__ is not dict:
            return no_map(value)
        keys = written if notes is None else notes.tags.get(identity, written)
        tags = sorted(tag for tag, text in value.items() if text.__class__ is str)
        found = tuple(_expand(key, tags, part.meter) for key in keys)
        if notes is not None:
            notes.tags[identity] = found
        return expanded(found)(value, notes)

    return check


def _expand(key: str, tags: Sequence[str], meter: Meter | None) -> str:
    """Return a key whose wildcards are replaced by the first of the sorted tags that it matches.

    upstream uses a random one of the matching tags. They begin with the key's prefix before its
    first wildcard, so that most others are skipped quickly; the remaining ones are counted, since
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
