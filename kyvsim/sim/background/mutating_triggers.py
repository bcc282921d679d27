"""Requests that are triggers of MutatingPolicies for objects that are there.

Source of the rules: upstream pkg/webhooks/resource/mpol/handler.go, pkg/cel/policies/mpol/engine.
"""

from collections.abc import Iterable, Iterator

from kyvsim.compile import CompiledPolicy
from kyvsim.compile.compiled import Evaluation
from kyvsim.engine import World, open_request
from kyvsim.engine.policy import RuleInput
from kyvsim.languages.cel.facts import mutating_facts
from kyvsim.model.policy import Policy
from kyvsim.model.request import AdmissionRequest
from kyvsim.model.result import Stage
from kyvsim.sim.background.update_requests import CEL_MUTATE, Work
from kyvsim.sim.kyverno.cel_admission import is_asked_about, webhook_of
from kyvsim.sim.kyverno.installed import Kyverno
from kyvsim.sim.kyverno.policy_cache import CEL_KINDS
from kyvsim.sim.kyverno.users import ADMISSION, BACKGROUND


def mutating_work(kyverno: Kyverno, request: AdmissionRequest) -> Iterator[Work]:
    """Give the work of policies that change existing objects, for a request.

    Each webhook that is asked about it makes the work of all of them.
    """
    policies = [one for one in kyverno.cache.every() if _mutates(one, kyverno)]
    if not any(mutating_facts(one.policy).changes_existing for one in policies):
        return
    given = open_request(request, World(kyverno.parts.store, account=ADMISSION), "")
    if given is None:
        return
    works = [
        Work(CEL_MUTATE, one.policy.key, request=request)
        for one in policies
        if _hears(one.policy, request) and _is_triggered(one, given, kyverno)
    ]
    if works:
        for _ in _webhooks([one.policy for one in policies], given, kyverno):
            yield from works


def _mutates(policy: CompiledPolicy, kyverno: Kyverno) -> bool:
    """Return whether a policy mutates, and is asked through a webhook."""
    own = policy.policy
    mutates = own.kind in CEL_KINDS and any(one.stage is Stage.CEL_MUTATE for one in policy.rules)
    return mutates and own.facts.admission and not kyverno.cache.is_left_to_the_server(own)


def _hears(policy: Policy, request: AdmissionRequest) -> bool:
    """Return whether the requests of whoever asks count, in their namespace."""
    if policy.namespace and policy.namespace != request.namespace:
        return False
    own = request.user is not None and request.user.username == BACKGROUND.username
    return not own or policy.rules[0].facts.sees_background


def _is_triggered(policy: CompiledPolicy, given: RuleInput, kyverno: Kyverno) -> bool:
    """Return whether a request meets the constraints and conditions of one of the variants."""
    if not mutating_facts(policy.policy).changes_existing:
        return False
    evaluation = Evaluation(given.scope, given.request, given.object)
    changes = kyverno.cache.existing_changes(policy.policy)
    return any(
        rule.matches(given.facts) and change.wants(evaluation)
        for rule, change in zip(policy.rules, changes, strict=True)
    )


def _webhooks(policies: Iterable[Policy], given: RuleInput, kyverno: Kyverno) -> frozenset[str]:
    """Return the webhooks that are asked, and have a policy that hears who asks."""
    every = tuple(policies)
    outside = World(kyverno.parts.store, account=ADMISSION).outside
    names = {id(one): webhook_of(one, kyverno.cache.webhook_facts(one)) for one in every}
    asked = {names[id(one)] for one in every if is_asked_about(one, given, kyverno.cache, outside)}
    hearing = {names[id(one)] for one in every if _hears(one._replace(namespace=""), given.request)}
    return frozenset(asked & hearing)
