"""Rules that tell what came of them: as a whole, and in each form that autogen gave them."""

from collections.abc import Callable
from typing import TypeAlias

from kyvsim.compile.autogen import ComputedRules
from kyvsim.compile.compiled import CompiledRule
from kyvsim.compile.options import CompileOptions
from kyvsim.model.coverage import PointKind
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.watch import Watch
from kyvsim.rules import rule_types_of
from kyvsim.rules.protocol import APPLIED, Ends, Evaluation, Outcome

_Tell: TypeAlias = Callable[[Outcome], None]
_Lowered: TypeAlias = dict[int, tuple[CompiledRule, ...]]
"""Compiled rules, one for each phase, by the id of the rule that they were made from."""


def watch_rules(
    policy: Policy, computed: ComputedRules, lowered: _Lowered, options: CompileOptions
) -> _Lowered:
    """Return compiled rules that tell when they apply.

    A written rule and those derived from it are one point; which of these forms applied is another.
    """
    found: _Lowered = {}
    for written in computed.written:
        forms = {"as written": written, **_derived_from(written, computed)}
        for number, rule in enumerate(forms.values()):
            compiled = lowered[id(rule)]
            if compiled:
                ends = next(rule_types_of(rule.data)).ends_of(rule.data)
                tell = _compile_tell(ends, options.watch_of(policy, rule), number, tuple(forms))
                compiled = tuple(_told(one, tell) for one in compiled)
            found[id(rule)] = compiled
    return found


def watch_cleanup(compiled: CompiledRule, watch: Watch) -> CompiledRule:
    """Return the rule that stands for a cleanup policy as one that tells when it applies."""
    return _told(compiled, _compile_tell(APPLIED, watch, 0, ()))


def _derived_from(written: Rule, computed: ComputedRules) -> dict[str, Rule]:
    return {
        "autogen-cronjob" if one.for_cron_jobs else "autogen": one.rule
        for one in computed.derived
        if one.rule.path == written.path
    }


def _compile_tell(ends: Ends, watch: Watch, number: int, forms: tuple[str, ...]) -> _Tell:
    """Return what tells how a rule ended, and that the form of this number applied."""
    of_rule = watch.point(PointKind.RULE, *ends.names)
    of_form = watch.point(PointKind.VARIANT, *forms) if len(forms) > 1 else None

    def tell(outcome: Outcome) -> None:
        end = ends.of(outcome)
        if end is None:
            return
        if of_rule:
            of_rule(ends.names.index(end))
        if of_form:
            of_form(number)

    return tell


def _told(compiled: CompiledRule, tell: _Tell) -> CompiledRule:
    body = compiled.body

    def told(evaluation: Evaluation) -> Outcome | None:
        outcome = body(evaluation)
        for one in (outcome, *outcome.further) if outcome else ():
            tell(one)
        return outcome

    return compiled._replace(body=told)
