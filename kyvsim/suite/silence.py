"""Why a rule said nothing of a resource, and what kind of skip a result is."""

from collections.abc import Iterable

from kyvsim.engine.compile import CompiledRule
from kyvsim.engine.policy import open_for
from kyvsim.model.policy import Policy
from kyvsim.model.result import RuleResult
from kyvsim.suite.run import Answers

NO_MATCH = "no match"
EXCLUDED = "excluded"
NOTHING_TO_CHECK = "nothing to check"
PRECONDITION = "precondition"
EXCEPTION = "exception"
NOTHING_TO_CHANGE = "nothing to change"
ANCHOR = "anchor"
OTHER = "other"

_SAID = (
    ("preconditions not met", PRECONDITION),
    ("rule is skipped due to policy exception", EXCEPTION),
    ("no patches applied", NOTHING_TO_CHANGE),
    ("0 elements processed", NOTHING_TO_CHECK),
    ("anchor mismatch", ANCHOR),
)
"""What upstream says of a skip, and the kind that it is."""
_CONDITIONS = frozenset({"skip", "match conditions aren't met"})
"""The same of match conditions, as the whole message."""


def why_silent(policy: Policy, rules: Iterable[CompiledRule], answers: Answers) -> str:
    """Return why rules of a policy have no result for a resource.

    One that matches had nothing to look at (a loop over no elements, a deletion); one that would
    match without its exclude block excludes.
    """
    opened = open_for(policy, answers.request, answers.world)
    if opened is None:
        return NOTHING_TO_CHECK
    excluded = False
    for rule in rules:
        if rule.matches_again(opened.facts):
            return NOTHING_TO_CHECK
        if rule.included is not None and not excluded:
            excluded = rule.included()(opened.facts)
    return EXCLUDED if excluded else NO_MATCH


def kind_of_skip(result: RuleResult) -> str:
    """Return the kind of a skip that a rule gave itself."""
    if result.message in _CONDITIONS:
        return PRECONDITION
    reason = result.message or result.own
    return next((kind for text, kind in _SAID if text in reason), OTHER)
