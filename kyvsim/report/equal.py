"""Results of `equal` as text, HTML and JSON, and the manifests that `examples` writes."""

from collections.abc import Iterator
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json
from kyvsim.model.comparison import (
    Account,
    Answer,
    Counterexample,
    Evidence,
    Examples,
    MissingExample,
    RuleAction,
)
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.result import Fact, RunEnding, RunVerdict
from kyvsim.report.coverage import point_json, ratio_json
from kyvsim.report.diagnostics import diagnostic_json, place_json
from kyvsim.report.ending import ending_json, error_fact, informing, warning_fact, weighing
from kyvsim.report.evidence import (
    deciding_results,
    effects,
    example_objects,
    example_title,
    headline,
    reached,
    reported_limits,
    shown_evidence,
    unreached,
    without_effect,
)
from kyvsim.report.object_text import to_json, to_yaml
from kyvsim.report.page import ending_of, page
from kyvsim.report.results import rule_title
from kyvsim.report.style import counted, safe_line

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
