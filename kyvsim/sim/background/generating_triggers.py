"""Requests that policies in CEL generate for: they come, change and leave.

Source of the rules: upstream pkg/webhooks/resource/gpol/handler.go.
"""

from collections.abc import Iterator

from kyvsim.engine import World, open_request
from kyvsim.languages.cel.facts import generates, generating_facts
from kyvsim.model.policy import Policy
from kyvsim.model.request import AdmissionRequest, Operation
from kyvsim.sim.background.update_requests import CEL_GENERATE, Work, cel_context, reference
from kyvsim.sim.kyverno.asked_webhooks import AskedWebhook, tell_taken_up, tell_unasked
from kyvsim.sim.kyverno.cel_admission import is_asked_about
from kyvsim.sim.kyverno.installed import Kyverno
from kyvsim.sim.kyverno.users import ADMISSION, BACKGROUND


def generating_work(kyverno: Kyverno, request: AdmissionRequest) -> Iterator[Work]:
    """Give the work of all policies in CEL that generate, for a request that webhooks tell of."""
    found = [one for one in kyverno.cache.every() if generates(one.policy.kind)]
    if not found:
        return
    world = World(kyverno.parts.store, account=ADMISSION)
    for compiled in found:
        policy = compiled.policy
        if not _hears(policy, request):
            continue
        given = open_request(request, world, policy.name)
        if given is None:
            continue
        is_asked = is_asked_about(policy, given, kyverno.cache, world.outside)
        tell = tell_taken_up if is_asked else tell_unasked
        facts = kyverno.cache.webhook_facts(policy)
        asked = AskedWebhook(policy, compiled.rules, facts, given, world.outside)
        tell(kyverno.parts.inquirer, asked)
        if is_asked:
            yield from _work(policy, request)


def _hears(policy: Policy, request: AdmissionRequest) -> bool:
    """Return whether a policy is told of requests in a namespace, by whoever makes them."""
    if not policy.facts.admission or (policy.namespace and policy.namespace != request.namespace):
        return False
    own = request.user is not None and request.user.username == BACKGROUND.username
    return not own or policy.rules[0].facts.sees_background


def _work(policy: Policy, request: AdmissionRequest) -> Iterator[Work]:
    facts = generating_facts(policy)
    deletes = request.operation is Operation.DELETE and not facts.heeds_deletions
    if deletes and not facts.synchronizes:
        return
    synchronizes = request.operation is Operation.UPDATE and facts.synchronizes
    trigger = reference(request.subject)
    context = cel_context(policy.key, trigger, deletes=deletes, synchronizes=synchronizes)
    yield Work(CEL_GENERATE, policy.key, (context,), request=request)
