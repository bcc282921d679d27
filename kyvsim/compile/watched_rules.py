"""Rules that tell what came of them: as a whole, and in each form that autogen gave them."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from kyvsim.compile.autogen import ComputedRules
from kyvsim.compile.compiled import CompiledRule
from kyvsim.compile.options import CompileOptions
from kyvsim.model.coverage import PointKind
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.result import RuleStatus
from kyvsim.model.watch import Watch
from kyvsim.rules.protocol import Evaluation, Outcome

_Tell: TypeAlias = Callable[[Outcome], None]
_Lowered: TypeAlias = dict[int, tuple[CompiledRule, ...]]
"""Compiled rules, one for each phase, by the id of the rule that they were made from."""

_CHECKED = MappingProxyType({RuleStatus.PASS: "passed", RuleStatus.FAIL: "failed"})
_DENIED = MappingProxyType({RuleStatus.FAIL: "failed"})
_APPLIED = MappingProxyType({RuleStatus.PASS: "applied"})


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
                tell = _compile_tell(rule, options.watch_of(policy, rule), number, tuple(forms))
                compiled = tuple(_told(one, tell) for one in compiled)
            found[id(rule)] = compiled
    return found


def watch_cleanup(compiled: CompiledRule, watch: Watch) -> CompiledRule:
    """Return the rule that stands for a cleanup policy as one that tells when it applies."""
    return _told(compiled, _compile_tell(compiled.rule, watch, 0, ()))


def _derived_from(written: Rule, computed: ComputedRules) -> dict[str, Rule]:
    return {
        "autogen-cronjob" if one.for_cron_jobs else "autogen": one.rule
        for one in computed.derived
        if one.rule.path == written.path
    }


def _compile_tell(rule: Rule, watch: Watch, number: int, forms: tuple[str, ...]) -> _Tell:
    """Return what tells how a rule ended, and that the form of this number applied."""
    ends = _ends(rule)
    names = tuple(ends.values())
    of_rule = watch.point(PointKind.RULE, *names)
    of_form = watch.point(PointKind.VARIANT, *forms) if len(forms) > 1 else None
    generates = rule.data.get("generate") is not None

    def tell(outcome: Outcome) -> None:
        end = ends.get(outcome.status)
        if end is None or (generates and not outcome.generated):
            return
        if of_rule:
            of_rule(names.index(end))
        if of_form:
            of_form(number)

    return tell


def _ends(rule: Rule) -> Mapping[RuleStatus, str]:
    """Return what can come of a rule; one that denies without conditions can't pass."""
    validate = rule.data.get("validate")
    if validate is None:
        return _APPLIED if rule.data.get("verifyImages") is None else _CHECKED
    deny = validate.get("deny")
    return _DENIED if deny is not None and not deny.get("conditions") else _CHECKED


def _told(compiled: CompiledRule, tell: _Tell) -> CompiledRule:
    body = compiled.body

    def told(evaluation: Evaluation) -> Outcome | None:
        outcome = body(evaluation)
        for one in (outcome, *outcome.further) if outcome else ():
            tell(one)
        return outcome

    return compiled._replace(body=told)
