"""The objects that a response changed or created, each with the rule that did it."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json
from kyvsim.model.policy import Policy
from kyvsim.model.result import EngineResponse, Phase, PolicyResponse, RuleResult, RuleStatus


class Change(NamedTuple):
    """An object that one rule patched (`before` holds what it was) or created."""

    policy: Policy
    rule: str
    object: Json
    before: Json = None
    settings: Mapping[str, Json] = MappingProxyType({})
    """What the rule says about later changes of a generated object."""

    @property
    def author(self) -> str:
        """The policy and rule, as a sentence names them."""
        rule = f", rule {self.rule}" if self.rule else ""
        return f"policy {self.policy.key}{rule}"


def has_changes(response: EngineResponse) -> bool:
    """Return whether a response may have changed or created anything."""
    return any(
        answer.changed or any(one.generated or one.targets for one in answer.results)
        for answer in response.evaluated
    )


def mutations(response: EngineResponse) -> list[PolicyResponse]:
    """Return the answers of the policies that changed the trigger, in order.

    Images that were only found wanting leave their verdicts in annotations: that is no change.
    """
    return [answer for answer in response.evaluated if answer.changed and _shows(answer)]


def _shows(answer: PolicyResponse) -> bool:
    return answer.phase is Phase.MUTATE or bool(passed_rules(answer))


def passed_rules(answer: PolicyResponse) -> list[str]:
    """Return the names of a policy's rules that passed."""
    return [result.rule.name for result in answer.results if result.status is RuleStatus.PASS]


def generated(response: EngineResponse) -> Iterator[Change]:
    """Yield the objects created for the trigger."""
    for policy, result in _results(response):
        for obj in result.generated:
            yield Change(policy, result.rule.name, obj, settings=result.rule.facts.upkeep)


def patched_targets(response: EngineResponse) -> Iterator[Change]:
    """Yield the existing objects that rules changed on behalf of the trigger."""
    for policy, result in _results(response):
        for target in result.targets:
            if target.changed:
                yield Change(policy, result.rule.name, target.object, target.before)


def _results(response: EngineResponse) -> Iterator[tuple[Policy, RuleResult]]:
    for answer in response.evaluated:
        for result in answer.results:
            if result.generated or result.targets:
                yield answer.policy, result
