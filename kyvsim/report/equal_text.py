"""Evidence for people: the answer, the small objects that show a difference, what is left open."""

from collections.abc import Iterator

from kyvsim.kube.objects import Json
from kyvsim.model.coverage import Point
from kyvsim.model.evidence import (
    Account,
    Answer,
    Counterexample,
    Difference,
    Evidence,
    Limit,
    SideReached,
)
from kyvsim.report.compact_yaml import compact_lines
from kyvsim.report.diff import hunks
from kyvsim.report.equality import Equality
from kyvsim.report.object_diff import marked_yaml
from kyvsim.report.style import counted, safe_line

_MOST_POINTS = 8
_LONGEST = 240
_UNSEEN = frozenset({Limit.NOT_ACCEPTED, Limit.UNTYPED, Limit.DEFAULTS})
"""Differences on objects that policies in a cluster hardly see."""
_CHANGES = frozenset({Difference.OBJECT, Difference.ORDER})


def render(found: Equality) -> Iterator[str]:
    """Yield the evidence a part at a time; nothing where there is none."""
    if found.evidence is not None:
        yield from (f"{line}\n" for line in _lines(found.evidence))


def _lines(evidence: Evidence) -> Iterator[str]:
    yield _headline(evidence)
    yield from _side("old", evidence.old)
    yield from _side("new", evidence.new)
    for reason in evidence.reasons:
        yield f"  not covered: {safe_line(reason)}"
    for what in evidence.untried:
        yield f"  not tried: {safe_line(what)}"
    total = len(evidence.counterexamples)
    for number, one in enumerate(evidence.counterexamples, 1):
        yield ""
        yield f"counterexample {number} of {total}: {_title(one)}"
        yield from _example(one)
    for one in _told(evidence):
        yield ""
        yield f"not counted: {_title(one)}"
        yield f"  {one.limit.value if one.limit else ''}"
        yield from _example(one)


def _told(evidence: Evidence) -> Iterator[Counterexample]:
    """Yield what does not count: objects that no cluster sees only where all else is the same."""
    for one in evidence.limited:
        if one.limit not in _UNSEEN or evidence.answer is not Answer.COUNTEREXAMPLE:
            yield one


def _headline(evidence: Evidence) -> str:
    answer = evidence.answer.value
    if evidence.answer is Answer.EQUAL and any(one.limit in _UNSEEN for one in evidence.limited):
        answer = "equal on objects that an API server would take"
    given = f", {evidence.given} of them given" if evidence.given else ""
    return f"{answer}: {counted(evidence.cases, 'case')}{given}, {evidence.denied} denied"


def _side(name: str, side: SideReached) -> Iterator[str]:
    policies = safe_line(", ".join(side.policies))
    reached = f"{side.ratio.reached} of {side.ratio.total} outcomes reached"
    yield f"  {name}  {policies}: did something in {counted(side.acted, 'case')}, {reached}"
    for point in side.unreached[:_MOST_POINTS]:
        yield f"       never: {_point(point)}"
    if len(side.unreached) > _MOST_POINTS:
        yield f"       and {len(side.unreached) - _MOST_POINTS} more"


def _point(point: Point) -> str:
    missing = ", ".join(one.name for one in point.outcomes if not one.times)
    return safe_line(f"{missing}: {point.kind.value} at {point.location}")


def _title(one: Counterexample) -> str:
    given = " (found in an object that was given)" if one.given else ""
    return f"{one.difference.value} on {one.operation}{given}"


def _example(one: Counterexample) -> Iterator[str]:
    yield from _indented(one.object)
    for name, value in (
        ("as it was before", one.old_object),
        ("sent by", one.user),
        ("labels of the Namespace", one.namespace_labels),
    ):
        if value:
            yield f"  {name}:"
            yield from _indented(value)
    yield from _account("old", one.old, one)
    yield from _account("new", one.new, one)


def _indented(value: Json) -> Iterator[str]:
    return (f"    {safe_line(line)}" for line in compact_lines(value))


def _account(name: str, account: Account, one: Counterexample) -> Iterator[str]:
    """Yield what one side did: its verdicts, and what decided."""
    refused = [said for said in account.said if said.status not in {"pass", "skip"}]
    shown = refused or account.said[:1]
    for said in shown:
        rule = " / ".join(filter(None, (said.policy, said.rule)))
        yield f"  {name}  {said.status.upper():<5}  {safe_line(rule)}: {safe_line(said.message)}"
    if not shown:
        yield f"  {name}  no rule is about it"
    if account.deleted:
        yield f"  {name}  would delete it"
    yield from _effects(account, one)
    yield from (f"       later: {safe_line(told)}" for told in account.later)
    if account.decided:
        yield f"       because {_shortened(account.decided)}"
    if account.place is not None:
        yield f"       {safe_line(str(account.place))}"


def _shortened(text: str) -> str:
    """Return a text on one line, cut where it is long: a place says where all of it stands."""
    line = " ".join(safe_line(part) for part in text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _effects(account: Account, one: Counterexample) -> Iterator[str]:
    if one.difference in _CHANGES:
        if account.object is None:
            yield "       leaves the object as it is"
        else:
            for mark, line in hunks(marked_yaml(one.object, account.object)):
                yield f"       {mark} {safe_line(line)}" if mark != "@" else "         ..."
    if one.difference is Difference.GENERATED:
        for obj in account.generated:
            yield from (f"       + {safe_line(line)}" for line in compact_lines(obj))
        if not account.generated:
            yield "       generates nothing"
