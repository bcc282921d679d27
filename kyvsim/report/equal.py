"""Evidence that two policy sets are equal or differ: in words, text, HTML and JSON.

The manifests that `examples` writes are here, too.
"""

from collections.abc import Iterator
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json
from kyvsim.model.comparison import (
    Account,
    Answer,
    CaseResult,
    Counterexample,
    DifferenceKind,
    Evidence,
    Examples,
    Limit,
    MissingExample,
    RuleAction,
    SideReached,
)
from kyvsim.model.coverage import Point
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.result import Fact, RunEnding, RunVerdict
from kyvsim.model.source import Location
from kyvsim.report.coverage import point_json, ratio_json
from kyvsim.report.diagnostics import diagnostic_json, place_json
from kyvsim.report.ending import ending_json, error_fact, informing, warning_fact, weighing
from kyvsim.report.object_text import Marked, compact_lines, hunks, marked_yaml, to_json, to_yaml
from kyvsim.report.page import ending_of, page
from kyvsim.report.results import rule_title
from kyvsim.report.style import counted, safe_line

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


# What `equal` found, and how it ended.


class Equality(NamedTuple):
    """The evidence, or why there is none."""

    evidence: Evidence | None
    diagnostics: tuple[Diagnostic, ...]

    @property
    def ending(self) -> RunEnding:
        """How the run ended: what is not covered weighs as much as a counterexample."""
        facts = [error_fact(self.diagnostics), warning_fact(self.diagnostics)]
        evidence = self.evidence
        if evidence:
            shown, equal = len(evidence.counterexamples), evidence.answer is Answer.EQUAL
            uncovered = evidence.answer is Answer.NOT_COVERED
            text = "equal" if equal else ""
            text = "equal (identical policies)" if evidence.identical else text
            facts += [
                weighing("counterexamples", shown, counted(shown, "counterexample")),
                weighing("notCovered", int(uncovered), "not covered"),
                Fact("equal", int(equal), text),
                informing("cases", evidence.cases, counted(evidence.cases, "case")),
                informing("denied", evidence.denied, f"{evidence.denied} denied"),
            ]
        return RunEnding(tuple(facts))


# Evidence for people: the answer, the small objects that show a difference, what is left open.

_MOST_POINTS = 8
_LONGEST = 240


def render_text(found: Equality) -> Iterator[str]:
    """Yield the evidence a part at a time; nothing where there is none."""
    evidence = found.evidence
    if evidence is None:
        return
    yield f"{headline(evidence)}\n"
    if evidence.identical and not evidence.cases:
        return
    for name, side in (("old", evidence.old), ("new", evidence.new)):
        yield f"  {name}  {safe_line(reached(side))}\n"
        for point in side.unreached[:_MOST_POINTS]:
            yield f"       never: {safe_line(unreached(point))}\n"
        if len(side.unreached) > _MOST_POINTS:
            yield f"       and {len(side.unreached) - _MOST_POINTS} more\n"
    yield from (f"  not covered: {safe_line(reason)}\n" for reason in evidence.reasons)
    yield from (f"  not tried: {safe_line(what)}\n" for what in evidence.untried)
    total = len(evidence.counterexamples)
    for number, one in enumerate(evidence.counterexamples, 1):
        yield f"\ncounterexample {number} of {total}: {example_title(one)}\n"
        yield from (f"{line}\n" for line in _example_lines(one))
    for one in reported_limits(evidence):
        yield f"\nnot counted: {example_title(one)}\n"
        yield f"  {one.limit.value if one.limit else ''}\n"
        yield from (f"{line}\n" for line in _example_lines(one))


def _example_lines(one: Counterexample) -> Iterator[str]:
    for name, lines in example_objects(one):
        if name:
            yield f"  {name}:"
        yield from (f"    {safe_line(line)}" for line in lines)
    yield from _account_lines("old", one.old, one)
    yield from _account_lines("new", one.new, one)


def _account_lines(name: str, account: Account, one: Counterexample) -> Iterator[str]:
    """Yield what one side did: its verdicts, and what decided."""
    shown = deciding_results(account)
    for said in shown:
        rule = rule_title(said.policy, said.rule)
        yield f"  {name}  {said.status.upper():<5}  {safe_line(rule)}: {safe_line(said.message)}"
    if not shown:
        yield f"  {name}  no rule matches"
    if account.deleted:
        yield f"  {name}  would delete it"
    for mark, line in effects(account, one):
        yield f"       {mark} {safe_line(line)}" if mark != "@" else "         ..."
    if undone := without_effect(account, one):
        yield f"       {undone}"
    yield from (f"       later: {safe_line(rendered)}" for rendered in account.later)
    if account.decided:
        # On one line, cut where it is long: a place says where all of it is.
        because = " ".join(map(safe_line, account.decided.split()))
        cut = because if len(because) <= _LONGEST else f"{because[: _LONGEST - 1]}…"
        yield f"       because {cut}"
    if account.place is not None:
        yield f"       {safe_line(str(account.place))}"


# Evidence as one JSON document, for programs.


def render_json(found: Equality) -> Iterator[str]:
    """Yield the document: `diagnostics`, `ending`, and `evidence`, null where there is none."""
    shown = {
        "diagnostics": [diagnostic_json(one) for one in found.diagnostics],
        "ending": ending_json(found.ending),
        "evidence": None if found.evidence is None else evidence_json(found.evidence),
    }
    yield f"{to_json(shown)}\n"


def evidence_json(evidence: Evidence) -> Json:
    """Return evidence as data."""
    return {
        "answer": evidence.answer.value,
        "identical": evidence.identical,
        "cases": evidence.cases,
        "given": evidence.given,
        "denied": evidence.denied,
        "counterexamples": [example_json(one) for one in evidence.counterexamples],
        "notCounted": [example_json(one) for one in evidence.limited],
        "notCovered": list(evidence.reasons),
        "notTried": list(evidence.untried),
        **{
            name: {
                "policies": list(side.policies),
                "acted": side.acted,
                **ratio_json(side.ratio),
                "unreached": [point_json(one) for one in side.unreached],
            }
            for name, side in (("old", evidence.old), ("new", evidence.new))
        },
    }


def example_json(one: Counterexample) -> Json:
    """Return a case in which two sets of policies differ, with both accounts of it."""
    return {
        "difference": one.difference.value,
        "operation": one.operation,
        "object": one.object,
        "oldObject": one.old_object,
        "userInfo": one.user,
        "namespaceLabels": one.namespace_labels,
        "lookedUp": list(one.there),
        "given": one.given,
        "reason": None if one.limit is None else one.limit.value,
        "old": _account_json(one.old),
        "new": _account_json(one.new),
    }


def _account_json(account: Account) -> Json:
    return {
        "results": [one._asdict() for one in account.said],
        "object": account.object,
        "generated": list(account.generated),
        "deletes": account.deleted,
        "later": list(account.later),
        "decided": {"text": account.decided, "policy": place_json(account.place)},
    }


def render_html(found: Equality) -> Iterator[str]:
    """Yield the page in pieces."""
    return page(
        "equal.html",
        style=("evidence.css",),
        ending=ending_of(found.ending),
        remarks=found.diagnostics,
        found=None if found.evidence is None else shown_evidence(found.evidence),
    )


# Examples of what rules do as a stream of manifests, and how making them ended.


def stream(examples: Examples) -> Iterator[str]:
    """Yield a document for each object, below comments that say what it shows.

    Comments at the end name the outcomes without an example, and why there is none.
    """
    for number, one in enumerate(examples.found):
        yield "---\n" if number else ""
        yield from (f"# {safe_line(doing_text(shown))}\n" for shown in one.shows)
        yield to_yaml(one.object)
    yield from (f"# {safe_line(missing_text(one))}\n" for one in examples.missing)


def targets_stream(examples: Examples) -> Iterator[str]:
    """Yield a document for each object that has to be there for the examples."""
    for number, one in enumerate(examples.targets):
        yield "---\n" if number else ""
        yield f"# existing object for rules that mutate existing objects\n{to_yaml(one)}"


def doing_text(one: RuleAction) -> str:
    """Return what a rule does, in words, and where it is."""
    name = rule_title(one.policy, one.rule)
    return f"{one.outcome}: {name} ({one.location})"


def missing_text(one: MissingExample) -> str:
    """Return an outcome without an example, in words, where its rule is, and the reason."""
    return f"no example found: {doing_text(one.doing)}: {one.reason}"


def examples_ending(examples: Examples) -> RunEnding:
    """Return how it ended: what there is no example of makes it fail."""
    missing, found = len(examples.missing), len(examples.found)
    verdict = RunVerdict.PASSED if found or missing else RunVerdict.NOTHING
    return RunEnding(
        (
            error_fact(examples.diagnostics),
            weighing("missing", missing, f"{counted(missing, 'outcome')} without an example"),
            Fact("examples", found, counted(found, "example"), verdict),
            warning_fact(examples.diagnostics),
        )
    )
