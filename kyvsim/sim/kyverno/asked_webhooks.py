"""Whether the API server asked the webhook of a policy in CEL, told to whoever inquires."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from kyvsim.compile import CompiledRule
from kyvsim.engine.policy import RuleInput
from kyvsim.kube.objects import object_key
from kyvsim.languages.cel.webhook_facts import WebhookFacts
from kyvsim.model.outside import Outside
from kyvsim.model.policy import Policy
from kyvsim.model.probe import PolicyPlace, Probe
from kyvsim.sim.inquirer import Inquirer
from kyvsim.sim.kyverno.match_conditions import tell_conditions

_UNREGISTERED = "its webhook is not registered for such requests"
_UNMET = "a condition of its webhook does not hold"


class AskedWebhook(NamedTuple):
    """The webhook of a policy, and a request that it may be asked about."""

    policy: Policy
    rules: Iterable[CompiledRule]
    facts: WebhookFacts
    given: RuleInput
    outside: Outside


def tell_unasked(inquirer: Inquirer | None, asked: AskedWebhook) -> None:
    """Tell why rules were not asked about a request: the webhook is for others, or a condition."""
    if inquirer is None:
        return
    subject = object_key(asked.given.request.subject)
    if not asked.facts.takes(asked.given.facts):
        inquirer.pass_by(asked.policy, asked.rules, subject, _UNREGISTERED)
        return
    tell = _conditions(inquirer, asked)
    inquirer.pass_by(asked.policy, asked.rules, subject, _UNMET, tell=tell)


def tell_taken_up(inquirer: Inquirer | None, asked: AskedWebhook) -> None:
    """Tell that the webhook of a policy was asked, which leaves the rest to a controller."""
    if inquirer is not None:
        subject = object_key(asked.given.request.subject)
        inquirer.take_up(asked.policy, asked.rules, subject, _conditions(inquirer, asked))


def _conditions(inquirer: Inquirer, asked: AskedWebhook) -> Callable[[], None]:
    policy, _, facts, given, outside = asked
    place = PolicyPlace(policy.document, policy.key, "", ("spec",), ("matchConditions",))
    probe = Probe(place, follower=inquirer)
    texts = [text for _, text in facts.conditions]
    return lambda: tell_conditions(texts, given.request, outside, probe)
