"""What a generate rule wants is written, and told.

Source of the rules: upstream pkg/background/generate/controller.go (ApplyGeneratePolicy).
"""

from collections.abc import Sequence

from kyvsim.compile.compiled import Outcome
from kyvsim.kube.objects import Json, object_key
from kyvsim.languages.classic.rules.generate import Wish
from kyvsim.model.obstacle import Obstacle, Reason
from kyvsim.model.result import Phase, PolicyResponse, RuleResult, RuleStatus
from kyvsim.sim.background.attempt import Attempt, obstacle_of, within
from kyvsim.sim.background.downstreams import Owner, realize
from kyvsim.sim.kyverno.event_notes import background_succeeded, generated
from kyvsim.sim.kyverno.events import Source
from kyvsim.sim.kyverno.installed import Kyverno

_NOT_FOUND = frozenset({Reason.NOT_FOUND, Reason.NO_NAMESPACE})


def fulfil(wishes: Sequence[Wish], owner: Owner, kyverno: Kyverno) -> Attempt:
    """Write what is wanted; outside a loop, that something is not found is no failure."""
    generation = owner.rule.facts.generation
    loops = generation is not None and bool(generation.loops)
    problems: list[Obstacle] = []
    created: list[Json] = []
    for wish in wishes:
        if wish.problem:
            told = ": ".join(filter(None, (wish.place, wish.problem)))
            problems.append(Obstacle(wish.reason, told))
            continue
        obstacle = _fulfil_one(wish, owner, created, kyverno)
        if obstacle is not None and not loops and obstacle.reason in _NOT_FOUND:
            report(owner, Outcome(RuleStatus.PASS, ""), kyverno)
            return Attempt(notes=tuple(within("nothing generated: ", [obstacle])))
        problems += [obstacle] if obstacle is not None else []
    if not problems:
        _tell_success(created, owner, kyverno)
    return Attempt(tuple(problems))


def _fulfil_one(wish: Wish, owner: Owner, created: list[Json], kyverno: Kyverno) -> Obstacle | None:
    """Write the objects of one wish until one fails; `created` grows by those that are new."""
    for obj in wish.objects:
        realized = realize(obj, owner, kyverno.parts)
        if realized.error is not None:
            return obstacle_of(realized.error, realized.key or object_key(obj))
        created += [realized.created] if realized.created else []
    return None


def _tell_success(created: list[Json], owner: Owner, kyverno: Kyverno) -> None:
    """Let events tell what a rule made, on each object and on the policy, and the report, too."""
    report(owner, Outcome(RuleStatus.PASS, "", generated=tuple(created)), kyverno)
    policy, source = owner.policy, Source.GENERATE
    kyverno.events.record(
        *(generated(source, policy, owner.rule.name, obj) for obj in created),
        *background_succeeded(kyverno.parts, source, policy, created),
    )
    made = RuleResult(owner.rule, Phase.GENERATE, RuleStatus.PASS, "", tuple(created))
    response = PolicyResponse(policy, Phase.GENERATE, owner.trigger, (made,))
    kyverno.reports.tell(owner.trigger, [response])


def report(owner: Owner, outcome: Outcome, kyverno: Kyverno) -> None:
    """Let the report of a trigger say how a rule ended, and what it made."""
    phase, generated_now = Phase.GENERATE, outcome.generated
    result = RuleResult(owner.rule, phase, outcome.status, outcome.message, generated_now)
    kyverno.reports.tell(
        owner.trigger, [PolicyResponse(owner.policy, phase, owner.trigger, (result,))]
    )
