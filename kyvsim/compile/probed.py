"""Rules that tell what came of them, to who counts what tests reach."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from kyvsim.compile.compiled import CompiledRule
from kyvsim.compile.outcome import CompiledBody, Evaluation, Outcome
from kyvsim.model.coverage import PointKind
from kyvsim.model.probe import Probe
from kyvsim.model.result import RuleStatus

Tell: TypeAlias = Callable[[Outcome], None]


class Ends(NamedTuple):
    """What can come of a rule where it applies, as coverage counts it."""

    names: tuple[str, ...]
    of: Callable[[Outcome], str | None]
    """Returns which of them an outcome is, if any."""


def _ends(**names: str) -> Ends:
    by_status = {RuleStatus(status): name for status, name in names.items()}
    return Ends(tuple(by_status.values()), lambda outcome: by_status.get(outcome.status))


CHECKED = _ends(**{"pass": "passed", "fail": "failed"})
DENIED = _ends(fail="failed")
APPLIED = _ends(**{"pass": "applied"})


def compile_tell(ends: Ends, probe: Probe, number: int, forms: tuple[str, ...]) -> Tell:
    """Return what tells how a rule ended, and that the form of this number applied."""
    of_rule = probe.point(PointKind.RULE, *ends.names)
    of_form = probe.point(PointKind.VARIANT, *forms) if len(forms) > 1 else None

    def tell(outcome: Outcome) -> None:
        end = ends.of(outcome)
        if end is None:
            return
        if of_rule:
            of_rule(ends.names.index(end))
        if of_form:
            of_form(number)

    return tell


def told_by(compiled: CompiledRule, tell: Tell) -> CompiledRule:
    """Return a rule that tells every outcome of its body, on objects and on payloads."""

    def told(body: CompiledBody) -> CompiledBody:
        def run(evaluation: Evaluation) -> Outcome | None:
            outcome = body(evaluation)
            for one in (outcome, *outcome.further) if outcome else ():
                tell(one)
            return outcome

        return run

    payloads = {mode: told(body) for mode, body in compiled.payloads.items()}
    return compiled._replace(body=told(compiled.body), payloads=payloads)
