"""One rule on one request: match, context, preconditions, exceptions, body.

Source of the rules: upstream pkg/engine/engine.go and, for generate, pkg/engine/background.go.
"""

from collections.abc import Mapping
from typing import NamedTuple

from kyvsim.compile import CompiledRule, Properties
from kyvsim.compile.outcome import Evaluation, MatchedException, Outcome, errored, skipped
from kyvsim.conditions import ConditionError
from kyvsim.context import JSONContext
from kyvsim.expr import QueryError, SubstitutionError
from kyvsim.kube.objects import Json
from kyvsim.match import MatchFacts
from kyvsim.model.budget import BudgetError
from kyvsim.model.fault import fault_text
from kyvsim.model.policy import Policy
from kyvsim.model.request import AdmissionRequest, Operation
from kyvsim.model.result import Phase, RuleStatus


class RuleInput(NamedTuple):
    """What a rule is evaluated on."""

    request: AdmissionRequest
    facts: MatchFacts
    scope: JSONContext
    object: Json
    """The object as the rules before left it; None on DELETE."""
    arrived: MatchFacts | None = None
    """The facts as the request brought them, where earlier rules have changed the object.

    Exceptions look at these: upstream keeps the request's object for them.
    """


def confined(given: RuleInput, policy: Policy) -> RuleInput:
    """Return what rules of a policy are evaluated on: one in a namespace asks for what is there."""
    if policy.kind != "Policy":
        return given
    return given._replace(scope=given.scope.confined(policy.namespace or "default"))


def evaluate_rule(rule: CompiledRule, given: RuleInput, *, settled: bool = False) -> Outcome | None:
    """Return how the rule ended, or None where it does not apply or has nothing to say.

    `settled` says that it is known to apply, and that nothing stands between it and its body.
    """
    meter = rule.meter
    if meter is not None and meter.left != meter.given:
        meter.begin_rule()
    try:
        if settled:
            return rule.body(Evaluation(given.scope, given.request, given.object))
        if not rule.matches(given.facts):
            return rule.unmatched
        if rule.concerns is not None and not rule.concerns(given.object):
            return None
        if rule.phase is Phase.GENERATE:
            return _excepted(rule, given) or _evaluate(rule, given)
        return _evaluate(rule, given)
    except BudgetError as error:
        return errored(str(error))
    except Exception as error:  # noqa: BLE001 — INVARIANT: faults of evaluation become errors here
        return errored(fault_text(error))


def _evaluate(rule: CompiledRule, given: RuleInput) -> Outcome | None:
    if rule.entries:
        given = given._replace(scope=given.scope.layer({}, rule.entries))
    if rule.preconditions is not None:
        unmet = _unmet(rule, given)
        if unmet is not None:
            return unmet
    outcome = _judged(rule, given)
    if outcome is None or rule.properties is None:
        return outcome
    written = _rendered(rule.properties, given.scope)
    return outcome._replace(properties={**written, **outcome.properties})


def _rendered(properties: Properties, scope: JSONContext) -> Mapping[str, str]:
    """Return the properties that a rule wants reports to tell; as written where that fails."""
    try:
        found: Mapping[str, Json] = properties.template.render(scope)
    except (SubstitutionError, QueryError):
        found = properties.written
    return {name: str(value) for name, value in found.items()}


def _judged(rule: CompiledRule, given: RuleInput) -> Outcome | None:
    evaluation = Evaluation(given.scope, given.request, given.object)
    if rule.exceptions and rule.weighs_exceptions:
        return rule.body(evaluation._replace(exceptions=_matched(rule, given)))
    if rule.exceptions and rule.phase is not Phase.GENERATE:
        excepted = _excepted(rule, given)
        if excepted is not None:
            return excepted
    return rule.body(evaluation)


def _unmet(rule: CompiledRule, given: RuleInput) -> Outcome | None:
    generates = rule.stage.phase is Phase.GENERATE
    try:
        result = rule.preconditions(given.scope) if rule.preconditions else None
    except (ConditionError, QueryError) as error:
        kind = "conditions" if generates else "preconditions"
        return errored(f"failed to evaluate {kind}", error)
    if result is None or result.met:
        return None
    reason = "; ".join(filter(None, ("preconditions not met", result.messages)))
    # upstream's message of a skipped generate rule is empty: pkg/engine/background.go `filterRule`
    return skipped("")._replace(own=reason) if generates else skipped(reason)


def _excepted(rule: CompiledRule, given: RuleInput) -> Outcome | None:
    keys = tuple(exception.key for exception in _matched(rule, given))
    if not keys:
        return None
    # upstream words it in two ways, and forgets the blank in one of them.
    start = "exception " if rule.phase is Phase.GENERATE else "exceptions"
    return skipped(f"rule is skipped due to policy {start}{', '.join(keys)}", keys)


def _matched(rule: CompiledRule, given: RuleInput) -> tuple[MatchedException, ...]:
    facts = given.arrived or given.facts
    exceptions = rule.find_exceptions(facts) if rule.find_exceptions else rule.exceptions
    return tuple(
        MatchedException(exception.key, exception.controls)
        for exception in exceptions
        if exception.matches(facts) and _holds(exception.conditions, given.scope)
    )


def _holds(conditions: object, scope: JSONContext) -> bool:
    if not callable(conditions):
        return True
    try:
        return bool(conditions(scope).met)
    except (ConditionError, QueryError):
        return False


def keeps_old_violation(rule: CompiledRule, given: RuleInput, outcome: Outcome) -> bool:
    """Return whether a failure may stay because it is one an UPDATE could have found already."""
    return (
        outcome.status is RuleStatus.FAIL
        and rule.tolerates_violations
        and rule.phase is Phase.VALIDATE
        and given.request.operation is Operation.UPDATE
    )
