"""What a generate rule wants is written, and told.

Source of the rules: upstream pkg/background/generate/controller.go (ApplyGeneratePolicy).
"""

from kyvsim.kube.objects import Json
from kyvsim.model.result import Phase, PolicyResponse, RuleResult, RuleStatus
from kyvsim.rules.generate import Wish
from kyvsim.rules.protocol import Outcome
from kyvsim.sim.background.attempt import Attempt
from kyvsim.sim.background.downstreams import Owner, realize
from kyvsim.sim.kyverno.event_notes import background_succeeded, generated
from kyvsim.sim.kyverno.events import Source
from kyvsim.sim.kyverno.installed import Kyverno
from kyvsim.sim.server import ApiError


def fulfil(wishes: list[Wish], owner: Owner, kyverno: Kyverno) -> Attempt:
    """Write what is wanted; outside a loop, that something is not found is no failure."""
    loops = bool(owner.rule.data["generate"].get("foreach"))
    problems: list[str] = []
    created: list[Json] = []
    for wish in wishes:
        error = _fulfil_one(wish, owner, created, kyverno) if not wish.problem else None
        if wish.problem:
            problems.append(": ".join(filter(None, (wish.place, wish.problem))))
        elif error is not None and not loops and error.reason == "NotFound":
            report(owner, Outcome(RuleStatus.PASS, ""), kyverno)
            return Attempt(note=f"nothing generated: {error.message}")
        elif error is not None:
            problems.append(error.message)
    if not problems:
        _tell_success(created, owner, kyverno)
    return Attempt(tuple(problems))


def _fulfil_one(wish: Wish, owner: Owner, created: list[Json], kyverno: Kyverno) -> ApiError | None:
    """Write the objects of one wish until one fails; `created` grows by those that are new."""
    for obj in wish.objects:
        realized = realize(obj, owner, kyverno.parts)
        if realized.error is not None:
            return realized.error
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
