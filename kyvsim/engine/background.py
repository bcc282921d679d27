"""Background rules: whether one applies to a trigger, now or before a change.

Source of the rules: upstream pkg/engine/background.go, pkg/background/common/context.go.
"""

from kyvsim.engine.compile import CompiledRule
from kyvsim.engine.compile.compiled import CompiledBody, Evaluation, Outcome, failed, passed
from kyvsim.engine.context import request_context
from kyvsim.engine.match import MatchFacts, match_facts
from kyvsim.engine.policy import RuleInput, confined, evaluate_rule
from kyvsim.engine.world import World
from kyvsim.kubernetes.objects import KubernetesObject, object_key
from kyvsim.model.policy import Policy
from kyvsim.model.request import AdmissionRequest, Operation, UserInfo
from kyvsim.model.result import RuleStatus, Stage

_NOBODY = UserInfo()


def open_background(
    policy: Policy, trigger: KubernetesObject, request: AdmissionRequest | None, world: World
) -> RuleInput:
    """Return the input of a policy's rules for a trigger, as part of its request.

    Without a request there is no operation and no user.
    """
    key = object_key(trigger)
    if request is None:
        bare = AdmissionRequest(Operation.CREATE, trigger, None, key.namespace, _NOBODY)
        given = _opened(bare, trigger, world)
        fields = {**given.scope.root(frozenset())["request"], "operation": ""}
        given = given._replace(
            facts=given.facts._replace(operation="", user=None),
            scope=given.scope.layer({"request": fields}),
        )
    else:
        given = _opened(request._replace(object=trigger), trigger, world)
    return confined(given, policy)


def _opened(request: AdmissionRequest, subject: KubernetesObject, world: World) -> RuleInput:
    scope = request_context(request, world.external, {})
    return RuleInput(request, _facts(request, subject, world), scope, subject)


def _facts(request: AdmissionRequest, subject: KubernetesObject, world: World) -> MatchFacts:
    labels = world.cluster.namespace_labels(object_key(subject).namespace)
    facts = match_facts(request, subject, labels)
    if facts is None:
        raise ValueError("a trigger must be an object")
    return facts


def old_facts(request: AdmissionRequest, world: World) -> MatchFacts | None:
    """Return the facts of the object before a request, or None if there was none."""
    return _facts(request, request.old_object, world) if request.old_object else None


def _passes(_: Evaluation) -> Outcome:
    return passed("")


def check_rule(
    rule: CompiledRule, new: RuleInput | None, old: MatchFacts | None, body: CompiledBody = _passes
) -> Outcome | None:
    """Return whether a rule applies to a trigger, or None if it never did.

    If it applies, it passes, and `body` is run. A generate rule fails if it applied to the old
    object. `new` is None for a deletion.
    """
    rule = rule._replace(stage=Stage.GENERATE, body=body, concerns=None, unmatched=None)
    if new is None:
        return _gone(rule, old)
    always = rule._replace(matches=lambda _: True, entries=(), preconditions=None, body=_passes)
    excepted = evaluate_rule(always, new)
    if excepted is None or excepted.status is not RuleStatus.PASS:
        return excepted
    rule = rule._replace(exceptions=())
    outcome = evaluate_rule(rule, new)
    if outcome is None:
        return _gone(rule, old)
    before = new.request.old_object
    if outcome.status is not RuleStatus.SKIP or not before:
        return outcome
    earlier = evaluate_rule(
        rule._replace(body=_passes), new._replace(scope=new.scope.with_object(before))
    )
    if earlier is None or earlier.status is RuleStatus.SKIP:
        return outcome
    return failed("") if earlier.status is RuleStatus.PASS else earlier


def _gone(rule: CompiledRule, old: MatchFacts | None) -> Outcome | None:
    if not rule.rule.generates or old is None or not rule.matches(old):
        return None
    return failed("")
