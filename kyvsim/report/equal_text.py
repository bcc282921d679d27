"""Evidence for people: the answer, the small objects that show a difference, what is left open."""

from collections.abc import Iterator

from kyvsim.model.evidence import Account, Counterexample, Evidence, SideReached
from kyvsim.report.equality import Equality
from kyvsim.report.evidence_words import (
    effects,
    example_objects,
    example_title,
    headline,
    reached,
    telling,
    told_limits,
    unreached,
    without_effect,
)
from kyvsim.report.style import safe_line

_MOST_POINTS = 8
_LONGEST = 240


def render(found: Equality) -> Iterator[str]:
    """Yield the evidence a part at a time; nothing where there is none."""
    if found.evidence is not None:
        yield from (f"{line}\n" for line in _lines(found.evidence))


def _lines(evidence: Evidence) -> Iterator[str]:
    yield headline(evidence)
    if evidence.identical and not evidence.cases:
        return
    yield from _side("old", evidence.old)
    yield from _side("new", evidence.new)
    for reason in evidence.reasons:
        yield f"  not covered: {safe_line(reason)}"
    for what in evidence.untried:
        yield f"  not tried: {safe_line(what)}"
    total = len(evidence.counterexamples)
    for number, one in enumerate(evidence.counterexamples, 1):
        yield ""
        yield f"counterexample {number} of {total}: {example_title(one)}"
        yield from _example(one)
    for one in told_limits(evidence):
        yield ""
        yield f"not counted: {example_title(one)}"
        yield f"  {one.limit.value if one.limit else ''}"
        yield from _example(one)


def _side(name: str, side: SideReached) -> Iterator[str]:
    yield f"  {name}  {safe_line(reached(side))}"
    for point in side.unreached[:_MOST_POINTS]:
        yield f"       never: {safe_line(unreached(point))}"
    if len(side.unreached) > _MOST_POINTS:
        yield f"       and {len(side.unreached) - _MOST_POINTS} more"


def _example(one: Counterexample) -> Iterator[str]:
    for name, lines in example_objects(one):
        if name:
            yield f"  {name}:"
        yield from (f"    {safe_line(line)}" for line in lines)
    yield from _account("old", one.old, one)
    yield from _account("new", one.new, one)


def _account(name: str, account: Account, one: Counterexample) -> Iterator[str]:
    """Yield what one side did: its verdicts, and what decided."""
    shown = telling(account)
    for said in shown:
        rule = " / ".join(filter(None, (said.policy, said.rule)))
        yield f"  {name}  {said.status.upper():<5}  {safe_line(rule)}: {safe_line(said.message)}"
    if not shown:
        yield f"  {name}  no rule is about it"
    if account.deleted:
        yield f"  {name}  would delete it"
    for mark, line in effects(account, one):
        yield f"       {mark} {safe_line(line)}" if mark != "@" else "         ..."
    if undone := without_effect(account, one):
        yield f"       {undone}"
    yield from (f"       later: {safe_line(told)}" for told in account.later)
    if account.decided:
        yield f"       because {_shortened(account.decided)}"
    if account.place is not None:
        yield f"       {safe_line(str(account.place))}"


def _shortened(text: str) -> str:
    """Return a text on one line, cut where it is long: a place says where all of it stands."""
    line = " ".join(safe_line(part) for part in text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
