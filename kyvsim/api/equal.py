"""`equal`: two sets of policies → cases of what they mention → the same or not."""

import json
import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kyvsim.api.equal_sides import ground_of, why
from kyvsim.api.inputs import ApplyInputs, ReadInputs, read_inputs
from kyvsim.equivalence.case import Case
from kyvsim.equivalence.search import Budget, Search
from kyvsim.equivalence.verdict import Bench, evidence_of
from kyvsim.languages import compile_policies
from kyvsim.load.files import Source
from kyvsim.model.diagnostic import Diagnostic, Severity, listed
from kyvsim.model.evidence import Answer, Evidence, Limit, SideReached
from kyvsim.model.policy import Binding, Policy
from kyvsim.model.source import Document
from kyvsim.model.tracing import Ratio


class EqualInputs(NamedTuple):
    """What `kyvsim equal` is given."""

    old: tuple[str | Source, ...]
    new: tuple[str | Source, ...]
    shared: ApplyInputs
    """Resources, values, users, exceptions: whatever both sides are asked with."""
    cases: int = 20000
    """After how many cases to stop at the latest."""
    seconds: float = 8
    """After which time."""
    first_only: bool = False
    """Whether one counterexample is enough."""
    needs_cases: bool = False
    """Whether cases are wanted even where both sides are identical."""
    conditions: frozenset[Limit] = frozenset()
    """Limits that were named beforehand, as conditions of a conversion."""


class Comparison(NamedTuple):
    """What came of it."""

    evidence: Evidence | None
    """None where a side could not be used."""
    diagnostics: tuple[Diagnostic, ...]
    tried: tuple[Case, ...] = ()
    """The cases that reached something new, for tests that others can run."""


def compare(inputs: EqualInputs, stdin: bytes | None = None) -> Comparison:
    """Return whether two sets of policies do the same, as far as cases show it.

    `stdin` holds the bytes that the path `-` stands for. Where a policy or a manifest cannot be
    used there is no evidence: it would be about something else.
    """
    shared = read_inputs(inputs.shared, stdin)
    read = [read_inputs(ApplyInputs(policies=one), stdin) for one in (inputs.old, inputs.new)]
    said = [*shared.diagnostics, *(entry for one in read for entry in one.diagnostics)]
    ground = ground_of(shared, inputs.shared.now, [one for side in read for one in side.policies])
    ground = ground._replace(conditions=inputs.conditions)
    said += [entry for one in read for entry in compile_policies(one.policies, ground.options)[1]]
    if any(one.severity is Severity.ERROR for one in said):
        return Comparison(None, tuple(dict.fromkeys(said)))
    old, new = (one.policies for one in read)
    unlike = _unlike_beside(*read)
    is_identical = not unlike and _contents(old) == _contents(new)
    if is_identical and not inputs.needs_cases:
        return Comparison(_identical(old, new), tuple(dict.fromkeys(said)))
    space = ground.space((*old, *new))
    pair = ground.pair(old, new)
    budget = Budget(inputs.cases, inputs.seconds, time.process_time, inputs.first_only)
    tried = Search(pair, space, ground.options.kinds, budget).run(ground.given)
    bench = Bench(pair, ground.quick_pair(old, new), why(old, ground), why(new, ground))
    evidence = evidence_of(tried, space, bench)
    if is_identical:
        # Whatever the cases did not reach is the same on both sides.
        evidence = evidence._replace(answer=Answer.EQUAL, reasons=(), identical=True)
    if unlike:
        reason = (
            f"objects of kind {listed(unlike)} differ between old and new, and are not compared"
        )
        answer = Answer.NOT_COVERED if evidence.answer is Answer.EQUAL else evidence.answer
        evidence = evidence._replace(answer=answer, reasons=(*evidence.reasons, reason))
    return Comparison(evidence, tuple(dict.fromkeys(said)), tried.cases)


def _contents(policies: Iterable[Policy | Document | Binding]) -> list[str]:
    """Return what policies consist of, in an order of its own: files and comments do not count."""
    documents = (one if isinstance(one, Document) else one.document for one in policies)
    return sorted(json.dumps(one.data, sort_keys=True, default=str) for one in documents)


def _unlike_beside(old: ReadInputs, new: ReadInputs) -> list[str]:
    """Return the kinds of objects beside the policies that differ, and decide what policies do.

    Bindings say where an admission policy counts, GlobalContextEntries what a rule reads. Cases are
    evaluated without both: where they differ, equal policies are no evidence.
    """
    before, after = ({*_contents((*one.bindings, *one.shared_data))} for one in (old, new))
    return sorted({json.loads(one)["kind"] for one in before ^ after})


def _identical(old: Sequence[Policy], new: Sequence[Policy]) -> Evidence:
    """Return the evidence on two sides that are identical: nothing has to be tried."""
    before, after = (
        SideReached(tuple(f"{one.kind} {one.key}" for one in some), 0, Ratio(0, 0), ())
        for some in (old, new)
    )
    return Evidence(
        Answer.EQUAL,
        cases=0,
        given=0,
        denied=0,
        counterexamples=(),
        limited=(),
        reasons=(),
        untried=(),
        old=before,
        new=after,
        identical=True,
    )
