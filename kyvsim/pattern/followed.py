"""Checks of patterns that tell what each part of a pattern found."""

from collections.abc import Callable, Sequence

from kyvsim.kube.objects import Json
from kyvsim.model.explanation import Answer, Step, StepKind, Value
from kyvsim.model.following import following, tell, unheard
from kyvsim.model.probe import Probe
from kyvsim.model.result import RuleStatus
from kyvsim.pattern.failure_path import Mismatch, Weight
from kyvsim.pattern.maps import Member
from kyvsim.pattern.nodes import Check, Notes

_ABSENT = "not there"


def whole(
    check: Check, lacks_anchor_key: Callable[[Json], bool], pattern: Json, probe: Probe
) -> tuple[Check, Callable[[Json], bool]]:
    """Return the check of a whole pattern as one that tells, and its second look as one unheard."""
    asked = Step(StepKind.PATTERN, probe.name, wanted=Value(pattern), path=())
    return (
        following(probe, check, asked, _told),
        lambda value: unheard(probe, lambda: lacks_anchor_key(value)),
    )


def member(compiled: Member, text: str, pattern: Json, probe: Probe) -> Member:
    """Return the check of a key as one that tells; `text` is the key as it is written."""
    asked = Step(StepKind.PATTERN, text, wanted=Value(pattern), path=(compiled.key,))
    return compiled._replace(check=following(probe.at(text), compiled.check, asked, _told))


def absences(check: Check, texts: Sequence[str], members: Sequence[Member], probe: Probe) -> Check:
    """Return the check of a map that also tells of anchors whose keys the object lacks."""
    asked = [
        (one, text)
        for one, text in zip(members, texts, strict=True)
        if one.absent is not None or not one.as_null
    ]
    if not asked:
        return check

    def told(value: Json, notes: Notes | None) -> Mismatch | None:
        mismatch = check(value, notes)
        if value.__class__ is dict and (mismatch is None or mismatch.weight is Weight.SKIP):
            for one, text in asked:
                if one.key not in value:
                    answer = True if one.absent is None else RuleStatus.SKIP
                    step = Step(StepKind.PATTERN, text, answer=answer, note=_ABSENT)
                    tell(probe.at(text), step._replace(path=(one.key,)))
        return mismatch

    return told


def listed(
    checks: tuple[Check, ...],
    patterns: Sequence[Json],
    make: Callable[[tuple[Check, ...]], Check],
    probe: Probe,
) -> Check:
    """Return the check of a list that tells of each element which its patterns look at.

    A pattern looks at the elements in order: from the first one on, or where each pattern has its
    own element, at that one.
    """
    paired = patterns[0].__class__ is list
    numbers = [0] * len(checks)

    def element(which: int) -> Check:
        check, inside = checks[which], probe.at(which)

        def numbered(value: Json, notes: Notes | None) -> Mismatch | None:
            number = numbers[which]
            numbers[which] += 1
            asked = Step(
                StepKind.PATTERN, f"[{number}]", wanted=Value(patterns[which]), path=(number,)
            )
            return following(inside, check, asked, _told)(value, notes)

        return numbered

    check = make(tuple(map(element, range(len(checks)))))

    def run(value: Json, notes: Notes | None) -> Mismatch | None:
        numbers[:] = range(len(checks)) if paired else [0] * len(checks)
        return check(value, notes)

    return run


def _told(step: Step, mismatch: Mismatch | None, value: Json, _: Notes | None) -> Step:
    return step._replace(answer=_answer(mismatch), found=Value(value))


def _answer(mismatch: Mismatch | None) -> Answer:
    if mismatch is None:
        return True
    return RuleStatus.SKIP if mismatch.weight is Weight.SKIP else False
