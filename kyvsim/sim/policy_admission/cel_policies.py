"""Policies in CEL: what is refused.

Source of the rules: upstream pkg/cel/policies/vpol/validate.go.
"""

from collections.abc import Iterator

from kyvsim.compile import CompileOptions
from kyvsim.kube.cron import next_times
from kyvsim.kube.go_text import quote
from kyvsim.languages.cel import expression_problems, resources_of
from kyvsim.languages.cel.facts import mutating_facts
from kyvsim.model.policy import Policy
from kyvsim.model.source import Path
from kyvsim.sim.time.clock import START

_IDLE = (
    "spec.evaluation: Forbidden: "
    "disabling both admission and mutateExisting evaluation modes is not allowed"
)
_UNMATCHED = (
    "spec.matchConstraints: Required value: "
    "a matchConstraints with at least one resource rule is required"
)


def cel_policy_problems(policy: Policy, options: CompileOptions) -> Iterator[str]:
    """Yield what is wrong with a policy, each as `field: what: why`."""
    for problem in expression_problems(policy, options):
        text = f"Invalid value: {quote(problem.text)}: {problem.message}"
        yield f"{_field(problem.path)}: {text}"
    if not resources_of(policy):
        yield _UNMATCHED
    if not policy.facts.admission and policy.kind.endswith("MutatingPolicy"):
        yield from () if mutating_facts(policy).changes_existing else (_IDLE,)
    if policy.facts.schedule is not None:
        yield from _schedule_problems(policy.facts.schedule)


def _schedule_problems(schedule: str) -> Iterator[str]:
    try:
        next(iter(next_times(schedule, START, 1)), None)
    except ValueError as error:
        why = "schedule spec in the deletingPolicy is not in proper cron format"
        yield f"spec.schedule: Invalid value: {quote(schedule)}: {why}: {error}"


def _field(path: Path) -> str:
    shown = "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in path)
    return shown.removeprefix(".")
