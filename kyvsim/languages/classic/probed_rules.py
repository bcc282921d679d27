"""Rules that tell what came of them: as a whole, and in each form that autogen gave them."""

from typing import TypeAlias

from kyvsim.compile.compiled import CompiledRule
from kyvsim.compile.followed import compile_tell, told_by
from kyvsim.compile.options import CompileOptions
from kyvsim.languages.classic.autogen import ComputedRules
from kyvsim.languages.classic.rules import rule_types_of
from kyvsim.model.policy import Policy, Rule

Lowered: TypeAlias = dict[int, tuple[CompiledRule, ...]]
"""Compiled rules, one for each phase, by the id of the rule that they were made from."""


def probe_rules(
    policy: Policy, computed: ComputedRules, lowered: Lowered, options: CompileOptions
) -> Lowered:
    """Return compiled rules that tell when they apply.

    A written rule and those derived from it are one point; which of these forms applied is another.
    """
    found: Lowered = {}
    for written in computed.written:
        forms = {"as written": written, **_derived_from(written, computed)}
        for number, rule in enumerate(forms.values()):
            compiled = lowered[id(rule)]
            if compiled:
                ends = next(rule_types_of(rule.data)).ends_of(rule.data)
                tell = compile_tell(ends, options.probe_of(policy, rule), number, tuple(forms))
                compiled = tuple(told_by(one, tell) for one in compiled)
            found[id(rule)] = compiled
    return found


def _derived_from(written: Rule, computed: ComputedRules) -> dict[str, Rule]:
    return {
        "autogen-cronjob" if one.for_cron_jobs else "autogen": one.rule
        for one in computed.derived
        if one.written is written
    }
