"""`equal`: two sets of policies → cases of what they mention → the same or not."""

import time

from kyvsim.api.equal_sides import ground_of, why
from kyvsim.api.inputs import ApplyInputs, read_inputs
from kyvsim.evidence.case import Case
from kyvsim.evidence.search import Budget, Search
from kyvsim.evidence.verdict import Bench, evidence_of
from kyvsim.languages import compile_policies
from kyvsim.light.named_tuple import NamedTuple
from kyvsim.load.files import Source
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.evidence import Evidence


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
    said += [entry for one in read for entry in compile_policies(one.policies, ground.options)[1]]
    if any(one.severity is Severity.ERROR for one in said):
        return Comparison(None, tuple(dict.fromkeys(said)))
    old, new = (one.policies for one in read)
    space = ground.space((*old, *new))
    pair = ground.pair(old, new)
    budget = Budget(inputs.cases, inputs.seconds, time.process_time)
    tried = Search(pair, space, ground.options.kinds, budget).run(ground.given)
    bench = Bench(pair, ground.quick_pair(old, new), why(old, ground), why(new, ground))
    evidence = evidence_of(tried, space, bench)
    return Comparison(evidence, tuple(dict.fromkeys(said)), tried.cases)
