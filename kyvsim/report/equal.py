"""Evidence that policy sets are equal or differ, in all formats; manifests of `examples`."""

from collections.abc import Iterator
from typing import NamedTuple

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
from kyvsim.model.release import NEWEST
from kyvsim.model.result import Fact, RunEnding, RunVerdict
from kyvsim.report.coverage import point_json, ratio_json
from kyvsim.report.diagnostics import diagnostic_json, place_json
from kyvsim.report.object_text import (
    Marked,
    compact_lines,
    document_origin,
    hunks,
    marked_yaml,
    to_json,
    to_yaml,
)
from kyvsim.report.page import ending_of, page
from kyvsim.report.results import rule_title
from kyvsim.report.run import ending_json, error_fact, info_fact, verdict_fact, warning_fact
from kyvsim.report.style import counted, safe_line, truncated

_UNSEEN = frozenset({Limit.NOT_ACCEPTED, Limit.UNTYPED, Limit.DEFAULTS})
"""Limits of differences on objects that policies in a cluster hardly ever evaluate."""
_NAMED = frozenset({Limit.DELETIONS, Limit.OTHER_OPERATIONS, Limit.READ_AMOUNTS, Limit.READ_TEXTS})
"""Limits that correspond to conditions of a conversion."""
_CHANGES = frozenset({DifferenceKind.OBJECT, DifferenceKind.ORDER})


def headline(evidence: Evidence) -> str:
    """Return the answer with the number of cases."""
    answer = evidence.answer.value
    limits = {example.limit for example in evidence.limited}
    if evidence.answer is Answer.EQUAL and not limits.isdisjoint(_UNSEEN):
        answer = "equal for objects that an API server accepts"
    if evidence.answer is Answer.EQUAL and not limits.isdisjoint(_NAMED):
        answer += ", if the conditions of the conversion hold"
    if evidence.identical:
        return f"{answer}: old and new are identical"
    from_manifests = f", {evidence.given} of them from manifests" if evidence.given else ""
    cases = f"{counted(evidence.cases, 'case')}{from_manifests}, {evidence.denied} denied"
    missing = not_reached(evidence)
    return f"{answer}: {cases}{f', {missing}' if missing else ''}"


def not_reached(evidence: Evidence) -> str:
    """Return the number of outcomes that no case reached although the answer is equal, or ""."""
    number = evidence.unreached
    is_complete = evidence.identical or not number
    if evidence.answer is not Answer.EQUAL or is_complete:
        return ""
    return f"{counted(number, 'outcome')} not reached"


def reported_limits(evidence: Evidence) -> Iterator[Counterexample]:
    """Yield uncounted differences; those on objects that no cluster has only if sets are equal."""
    for example in evidence.limited:
        if example.limit not in _UNSEEN or evidence.answer is not Answer.COUNTEREXAMPLE:
            yield example


def reached(side: SideReached) -> str:
    """Return the number of cases in which a policy set acted, and of the reached outcomes."""
    outcomes = f"{side.ratio.reached} of {side.ratio.total} outcomes reached"
    return f"{', '.join(side.policies)}: acted in {counted(side.acted, 'case')}, {outcomes}"


def unreached(point: Point) -> str:
    """Return the outcomes of a point that no case reached, with its position."""
    missing = ", ".join(outcome.name for outcome in point.outcomes if not outcome.times)
    return f"{missing}: {point.kind.value} at {point.location}"


def example_title(example: Counterexample) -> str:
    """Return the kind of difference and the operation."""
    source = " (in a given manifest)" if example.given else ""
    return f"{example.difference.value} on {example.operation}{source}"


def example_objects(example: Counterexample) -> Iterator[tuple[str, list[str]]]:
    """Yield the object of a case, named "", and related objects: names and lines of YAML."""
    yield "", compact_lines(example.object)
    for name, value in (
        ("old object", example.old_object),
        ("user", example.user),
        ("namespace labels", example.namespace_labels),
    ):
        if value:
            yield name, compact_lines(value)
    for obj in example.there:
        yield "looked up", compact_lines(obj)


def deciding_results(account: Account) -> tuple[CaseResult, ...]:
    """Return the results of one side to report: those that deny, or else the first."""
    refused = tuple(result for result in account.said if result.status not in {"pass", "skip"})
    return refused or account.said[:1]


def effects(account: Account, example: Counterexample) -> tuple[Marked, ...]:
    """Return the changes by one side as lines with marks, if they are the difference."""
    if example.difference in _CHANGES and account.object is not None:
        return tuple(hunks(marked_yaml(example.object, account.object)))
    if example.difference is DifferenceKind.GENERATED:
        return tuple(("+", line) for obj in account.generated for line in compact_lines(obj))
    return ()


def without_effect(account: Account, example: Counterexample) -> str:
    """Return the missing effect of one side, if that is the difference; "" if it has one."""
    if example.difference in _CHANGES and account.object is None:
        return "does not change the object"
    if example.difference is DifferenceKind.GENERATED and not account.generated:
        return "generates nothing"
    return ""


def shown_evidence(evidence: Evidence) -> dict[str, object]:
    """Return evidence as values for the template `evidence.html`."""
    sides = (("old", evidence.old), ("new", evidence.new))
    examples = (*evidence.counterexamples, *reported_limits(evidence))
    return {
        "headline": headline(evidence),
        "style": {Answer.EQUAL: "good", Answer.COUNTEREXAMPLE: "bad"}.get(evidence.answer, "warn"),
        "sides": [(name, reached(side), [*map(unreached, side.unreached)]) for name, side in sides],
        "reasons": evidence.reasons,
        "untried": evidence.untried,
        "examples": [*map(_example, examples)],
    }


def _example(example: Counterexample) -> dict[str, object]:
    return {
        "title": example_title(example),
        "style": "bad" if example.limit is None else "warn",
        # Why it does not count.
        "why": example.limit.value if example.limit else "",
        "objects": [(name, "\n".join(lines)) for name, lines in example_objects(example)],
        # For each side: its account, results, changes and missing effects.
        "accounts": [
            (side, one, deciding_results(one), effects(one, example), without_effect(one, example))
            for side, one in (("old", example.old), ("new", example.new))
        ],
    }


class Equality(NamedTuple):
    """The evidence, or why there is none."""

    evidence: Evidence | None
    diagnostics: tuple[Diagnostic, ...]
    release: str = NEWEST.name
    """The release of Kyverno that is emulated."""

    @property
    def ending(self) -> RunEnding:
        """The result of the run; uncovered cases fail it like a counterexample."""
        facts = [error_fact(self.diagnostics), warning_fact(self.diagnostics)]
        evidence = self.evidence
        if evidence:
            shown, equal = len(evidence.counterexamples), evidence.answer is Answer.EQUAL
            text = "equal" if equal else ""
            text = "equal (identical policies)" if evidence.identical else text
            uncovered = int(evidence.answer is Answer.NOT_COVERED)
            facts += [
                verdict_fact("counterexamples", shown, counted(shown, "counterexample")),
                verdict_fact("notCovered", uncovered, "not covered"),
                Fact("equal", int(equal), text),
                info_fact("unreached", evidence.unreached, not_reached(evidence)),
                info_fact("cases", evidence.cases, counted(evidence.cases, "case")),
                info_fact("denied", evidence.denied, f"{evidence.denied} denied"),
            ]
        return RunEnding(tuple(facts), release=self.release)


_MOST_POINTS = 8


def render_text(equality: Equality) -> Iterator[str]:
    """Yield the evidence part by part; nothing without evidence."""
    evidence = equality.evidence
    if evidence is None:
        return
    yield f"{headline(evidence)}\n"
    if evidence.identical and not evidence.cases:
        return
    yield from coverage_lines(evidence)
    total = len(evidence.counterexamples)
    for number, example in enumerate(evidence.counterexamples, 1):
        yield f"\ncounterexample {number} of {total}: {example_title(example)}\n"
        yield from _example_lines(example)
    for example in reported_limits(evidence):
        yield f"\nnot counted: {example_title(example)}\n"
        yield f"  {example.limit.value if example.limit else ''}\n"
        yield from _example_lines(example)


def coverage_lines(evidence: Evidence) -> Iterator[str]:
    """Yield what the cases reached of each side, and what they did not try."""
    for name, side in (("old", evidence.old), ("new", evidence.new)):
        yield f"  {name}  {safe_line(reached(side))}\n"
        for point in side.unreached[:_MOST_POINTS]:
            yield f"       never: {safe_line(unreached(point))}\n"
        if len(side.unreached) > _MOST_POINTS:
            yield f"       and {len(side.unreached) - _MOST_POINTS} more\n"
    yield from (f"  not covered: {safe_line(reason)}\n" for reason in evidence.reasons)
    yield from (f"  not tried: {safe_line(what)}\n" for what in evidence.untried)


def _example_lines(example: Counterexample) -> Iterator[str]:
    for name, lines in example_objects(example):
        if name:
            yield f"  {name}:\n"
        yield from (f"    {safe_line(line)}\n" for line in lines)
    for side, account in (("old", example.old), ("new", example.new)):
        yield from (f"{line}\n" for line in _account_lines(side, account, example))


def _account_lines(name: str, account: Account, example: Counterexample) -> Iterator[str]:
    shown = deciding_results(account)
    for result in shown:
        rule = rule_title(result.policy, result.rule)
        text = safe_line(f"{rule}: {result.message}")
        yield f"  {name}  {result.status.upper():<5}  {text}"
    if not shown:
        yield f"  {name}  no rule matches"
    if account.deleted:
        yield f"  {name}  would delete it"
    for mark, line in effects(account, example):
        yield f"       {mark} {safe_line(line)}" if mark != "@" else "         ..."
    if undone := without_effect(account, example):
        yield f"       {undone}"
    yield from (f"       later: {safe_line(rendered)}" for rendered in account.later)
    if account.decided:
        # Shortened to one line; the position shows the full expression.
        because = " ".join(map(safe_line, account.decided.split()))
        yield f"       because {truncated(because, 240)}"
    if account.place is not None:
        yield f"       {safe_line(str(account.place))}"


def render_json(equality: Equality) -> Iterator[str]:
    """Yield the document: `diagnostics`, `ending`, and `evidence`, null if there is none."""
    shown = {
        "diagnostics": [diagnostic_json(diagnostic) for diagnostic in equality.diagnostics],
        "ending": ending_json(equality.ending),
        "evidence": None if equality.evidence is None else evidence_json(equality.evidence),
        "kyvsim": document_origin("equal"),
    }
    yield f"{to_json(shown)}\n"


def evidence_json(evidence: Evidence) -> dict[str, object]:
    """Return evidence as JSON data."""
    return {
        "answer": evidence.answer.value,
        "identical": evidence.identical,
        "cases": evidence.cases,
        "given": evidence.given,
        "denied": evidence.denied,
        "counterexamples": [example_json(example) for example in evidence.counterexamples],
        "notCounted": [example_json(example) for example in evidence.limited],
        "notCovered": list(evidence.reasons),
        "notTried": list(evidence.untried),
        **{
            name: {
                "policies": list(side.policies),
                "acted": side.acted,
                **ratio_json(side.ratio),
                "unreached": [point_json(point) for point in side.unreached],
            }
            for name, side in (("old", evidence.old), ("new", evidence.new))
        },
    }


def example_json(example: Counterexample) -> dict[str, object]:
    """Return a case in which two policy sets differ, with the accounts of both."""
    return {
        "difference": example.difference.value,
        "operation": example.operation,
        "object": example.object,
        "oldObject": example.old_object,
        "userInfo": example.user,
        "namespaceLabels": example.namespace_labels,
        "lookedUp": list(example.there),
        "given": example.given,
        "reason": None if example.limit is None else example.limit.value,
        "old": _account_json(example.old),
        "new": _account_json(example.new),
    }


def _account_json(account: Account) -> dict[str, object]:
    return {
        "results": [result._asdict() for result in account.said],
        "object": account.object,
        "generated": list(account.generated),
        "deletes": account.deleted,
        "later": list(account.later),
        "decided": {"text": account.decided, "policy": place_json(account.place)},
    }


def render_html(equality: Equality) -> Iterator[str]:
    """Yield the page in pieces."""
    return page(
        "equal.html",
        style=("evidence.css",),
        ending=ending_of(equality.ending),
        diagnostics=equality.diagnostics,
        found=None if equality.evidence is None else shown_evidence(equality.evidence),
    )


def stream(examples: Examples) -> Iterator[str]:
    """Yield a document for each object, with its rules and the missing examples as comments."""
    for number, example in enumerate(examples.found):
        yield "---\n" if number else ""
        yield from (f"# {safe_line(_action_text(shown))}\n" for shown in example.shows)
        yield to_yaml(example.object)
        for obj in example.lookups:
            yield f"---\n# looked up by the policy for the object above\n{to_yaml(obj)}"
    yield from (f"# {safe_line(missing_example_text(example))}\n" for example in examples.missing)


def targets_stream(examples: Examples) -> Iterator[str]:
    """Yield a document for each object that has to exist for the examples."""
    for number, obj in enumerate(examples.targets):
        yield "---\n" if number else ""
        yield f"# existing object for rules that mutate existing objects\n{to_yaml(obj)}"


def _action_text(action: RuleAction) -> str:
    return f"{action.outcome}: {rule_title(action.policy, action.rule)} ({action.location})"


def missing_example_text(example: MissingExample) -> str:
    """Return an outcome without an example as text, with the rule's position and the reason."""
    return f"no example found: {_action_text(example.doing)}: {example.reason}"


def examples_ending(examples: Examples) -> RunEnding:
    """Return the result of `examples`; missing examples fail it."""
    missing, number = len(examples.missing), len(examples.found)
    verdict = RunVerdict.PASSED if number or missing else RunVerdict.NOTHING
    return RunEnding(
        (
            error_fact(examples.diagnostics),
            verdict_fact("missing", missing, f"{counted(missing, 'outcome')} without an example"),
            Fact("examples", number, counted(number, "example"), verdict),
            warning_fact(examples.diagnostics),
        )
    )
