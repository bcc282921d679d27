"""`examples`: policies → small objects that pass and fail each rule."""

import time

from kyvsim.api.equal import ComparisonSetup, comparison_setup
from kyvsim.api.inputs import ApplyInputs, read_inputs
from kyvsim.equivalence.examples import actions, examples
from kyvsim.equivalence.search import Search, SearchBudget
from kyvsim.languages import compile_policies
from kyvsim.model.comparison import ExampleObject, Examples, MissingExample
from kyvsim.model.diagnostic import Severity
from kyvsim.model.policy import Policy

_CASES = 20000
_PATIENCE = 300
"""So many cases in a row without anything new: what is still missing cannot be shown."""


def make_examples(inputs: ApplyInputs, seconds: float, stdin: bytes | None = None) -> Examples:
    """Return objects for all that the rules of some policies do, each policy by itself.

    `seconds` is how long to make cases of one policy; `stdin` holds the bytes that the path `-`
    stands for. Where a policy cannot be used, or a manifest cannot, there are none.
    """
    read = read_inputs(inputs, stdin)
    setup = comparison_setup(read, inputs.now, read.policies)
    said = (*read.diagnostics, *compile_policies(read.policies, setup.options)[1])
    if any(one.severity is Severity.ERROR for one in said):
        return Examples((), (), said)
    found: list[ExampleObject] = []
    missing: list[MissingExample] = []
    for policy in read.policies:
        own, lacking = _of_policy(policy, setup, seconds)
        found += own
        missing += lacking
    return Examples(tuple(found), tuple(missing), said, setup.targets)


def _of_policy(
    policy: Policy, setup: ComparisonSetup, seconds: float
) -> tuple[tuple[ExampleObject, ...], tuple[MissingExample, ...]]:
    """Return the examples of one policy: it is held against none at all."""
    space = setup.space((policy,))
    pair = setup.pair((policy,), ())
    budget = SearchBudget(_CASES, seconds, time.process_time, compares=False, patience=_PATIENCE)
    tried = Search(pair, space, setup.options.kinds, budget).run(setup.given)
    wanted = tuple(actions(pair.old.points()))
    return examples(wanted, tried, setup.quick_pair((policy,), ()))
