"""Evidence that two policy sets are equal or differ: in words, and as values for pages."""

from collections.abc import Iterator
from typing import NamedTuple

from kyvsim.model.comparison import (
    Account,
    Answer,
    CaseResult,
    Counterexample,
    DifferenceKind,
    Evidence,
    Limit,
    SideReached,
)
from kyvsim.model.source import Location
from kyvsim.model.tracing import Point
from kyvsim.report.object_text import Marked, compact_lines, hunks, marked_yaml
from kyvsim.report.style import counted

# Evidence in words, for text and pages alike.

_UNSEEN = frozenset({Limit.NOT_ACCEPTED, Limit.UNTYPED, Limit.DEFAULTS})
"""Differences on objects that policies in a cluster hardly see."""
_NAMED = frozenset({Limit.DELETIONS, Limit.OTHER_OPERATIONS, Limit.READ_AMOUNTS, Limit.READ_TEXTS})
"""Differences that conditions of a conversion are about."""
_CHANGES = frozenset({DifferenceKind.OBJECT, DifferenceKind.ORDER})


def headline(evidence: Evidence) -> str:
    """Return the answer, with how many cases it is on."""
    answer = evidence.answer.value
    if evidence.answer is Answer.EQUAL and any(one.limit in _UNSEEN for one in evidence.limited):
        answer = "equal for objects that an API server accepts"
    if evidence.answer is Answer.EQUAL and any(one.limit in _NAMED for one in evidence.limited):
        answer += ", if the conditions of the conversion hold"
    if evidence.identical:
        return f"{answer}: old and new are identical"
    given = f", {evidence.given} of them from manifests" if evidence.given else ""
    return f"{answer}: {counted(evidence.cases, 'case')}{given}, {evidence.denied} denied"


def reported_limits(evidence: Evidence) -> Iterator[Counterexample]:
    """Yield what does not count: objects that no cluster sees only where all else is the same."""
    for one in evidence.limited:
        if one.limit not in _UNSEEN or evidence.answer is not Answer.COUNTEREXAMPLE:
            yield one


def reached(side: SideReached) -> str:
    """Return what the cases reached of one set of policies."""
    outcomes = f"{side.ratio.reached} of {side.ratio.total} outcomes reached"
    return f"{', '.join(side.policies)}: acted in {counted(side.acted, 'case')}, {outcomes}"


def unreached(point: Point) -> str:
    """Return which outcomes of a point never came up."""
    missing = ", ".join(one.name for one in point.outcomes if not one.times)
    return f"{missing}: {point.kind.value} at {point.location}"


def example_title(one: Counterexample) -> str:
    """Return what differs, and at what."""
    given = " (in a given manifest)" if one.given else ""
    return f"{one.difference.value} on {one.operation}{given}"


def example_objects(one: Counterexample) -> Iterator[tuple[str, list[str]]]:
    """Yield the object of a case, called "", and what else belongs to it: names, lines of YAML."""
    yield "", compact_lines(one.object)
    for name, value in (
        ("old object", one.old_object),
        ("user", one.user),
        ("namespace labels", one.namespace_labels),
    ):
        if value:
            yield name, compact_lines(value)
    for obj in one.there:
        yield "looked up", compact_lines(obj)


def deciding_results(account: Account) -> tuple[CaseResult, ...]:
    """Return the verdicts of one side that are reported: those that deny, or else the first."""
    refused = tuple(said for said in account.said if said.status not in {"pass", "skip"})
    return refused or account.said[:1]


def effects(account: Account, one: Counterexample) -> tuple[Marked, ...]:
    """Return what one side did to objects, where that is what differs, as lines with marks."""
    if one.difference in _CHANGES and account.object is not None:
        return tuple(hunks(marked_yaml(one.object, account.object)))
    if one.difference is DifferenceKind.GENERATED:
        return tuple(("+", line) for obj in account.generated for line in compact_lines(obj))
    return ()


def without_effect(account: Account, one: Counterexample) -> str:
    """Return what one side leaves undone, where that is what differs, "" if it does something."""
    if one.difference in _CHANGES and account.object is None:
        return "does not change the object"
    if one.difference is DifferenceKind.GENERATED and not account.generated:
        return "generates nothing"
    return ""


# Evidence as pages for a browser show it: values for `evidence.html` among the templates.


class ShownAccount(NamedTuple):
    """What one side did in a case."""

    side: str
    said: tuple[CaseResult, ...]
    deleted: bool
    undone: str
    lines: tuple[Marked, ...]
    later: tuple[str, ...]
    decided: str
    place: Location | None


class ShownExample(NamedTuple):
    """A case in which both differ."""

    title: str
    looks: str
    """`bad`, or `warn` where it does not count."""
    why: str
    """Why it does not count."""
    objects: tuple[tuple[str, str], ...]
    """Names, "" for the object itself, and YAML."""
    accounts: tuple[ShownAccount, ...]


class ShownEvidence(NamedTuple):
    """What comparing two sets of policies showed."""

    headline: str
    looks: str
    sides: tuple[tuple[str, str, tuple[str, ...]], ...]
    """Names, what was reached, and what never came up."""
    reasons: tuple[str, ...]
    untried: tuple[str, ...]
    examples: tuple[ShownExample, ...]


def shown_evidence(evidence: Evidence) -> ShownEvidence:
    """Return evidence as a template shows it."""
    limits = tuple(reported_limits(evidence))
    sides = (("old", evidence.old), ("new", evidence.new))
    return ShownEvidence(
        headline=headline(evidence),
        looks={Answer.EQUAL: "good", Answer.COUNTEREXAMPLE: "bad"}.get(evidence.answer, "warn"),
        sides=tuple(
            (name, reached(side), tuple(map(unreached, side.unreached))) for name, side in sides
        ),
        reasons=evidence.reasons,
        untried=evidence.untried,
        examples=(*map(_example, evidence.counterexamples), *map(_example, limits)),
    )


def _example(one: Counterexample) -> ShownExample:
    return ShownExample(
        title=example_title(one),
        looks="bad" if one.limit is None else "warn",
        why=one.limit.value if one.limit else "",
        objects=tuple((name, "\n".join(lines)) for name, lines in example_objects(one)),
        accounts=(_account("old", one.old, one), _account("new", one.new, one)),
    )


def _account(side: str, account: Account, one: Counterexample) -> ShownAccount:
    return ShownAccount(
        side=side,
        said=deciding_results(account),
        deleted=account.deleted,
        undone=without_effect(account, one),
        lines=effects(account, one),
        later=account.later,
        decided=account.decided,
        place=account.place,
    )
