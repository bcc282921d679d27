"""Mutate existing objects, with mutate rules and MutatingPolicies."""

from collections.abc import Iterator, Sequence

from kyvsim.engine.background import open_background
from kyvsim.engine.compile import CompiledPolicy, PolicyRules
from kyvsim.engine.compile.compiled import Evaluation
from kyvsim.engine.policy import RuleInput, open_request, result_of, run_policy_rules
from kyvsim.engine.world import OverlayView, World
from kyvsim.kubernetes.discovery import is_builtin, split_api_version
from kyvsim.kubernetes.labels import SelectorError
from kyvsim.kubernetes.objects import KubernetesObject, metadata, object_key, text_field
from kyvsim.kubernetes.quantities import with_whole_numbers
from kyvsim.languages.cel.facts import mutating_facts
from kyvsim.languages.cel.listed_objects import (
    listed_triggers,
    selected_targets,
    target_listings,
    written_part,
)
from kyvsim.languages.cel.mutating_policy import ExistingChange, TargetError
from kyvsim.model.policy import Policy
from kyvsim.model.request import AdmissionRequest, Operation
from kyvsim.model.result import Phase, PolicyResponse, RuleResult, RuleStatus, Stage
from kyvsim.model.simulation import FailureCause, FailureReason
from kyvsim.patch.nodes import same
from kyvsim.simulator.admission.cel import is_called_for, webhook_of
from kyvsim.simulator.api_server import Purpose, errors
from kyvsim.simulator.api_server.authorizer import denial
from kyvsim.simulator.api_server.metadata import with_metadata
from kyvsim.simulator.background.update_requests import (
    CEL_MUTATE,
    Attempt,
    RequestedWork,
    TriggerError,
    applies_to,
    created_trigger,
    failed,
    failure_reason_of,
    find,
    noted,
    request_of,
    submit,
    update_of,
    within,
)
from kyvsim.simulator.configuration import ADMISSION, BACKGROUND, is_filtered
from kyvsim.simulator.events import (
    EventSource,
    background_failed,
    background_succeeded,
    of_response,
)
from kyvsim.simulator.kyverno import Kyverno
from kyvsim.simulator.policies import CEL_KINDS

# One attempt at an UpdateRequest for a mutate rule: its targets are patched and written.
# Source of the rules and texts: upstream pkg/background/mutate/mutate.go.

_FAILED = frozenset({RuleStatus.FAIL, RuleStatus.ERROR, RuleStatus.WARN})


def attempt_mutation(update_request: KubernetesObject, kyverno: Kyverno) -> Attempt:
    """Patch the targets of all mutate existing rules of the policy of an UpdateRequest.

    If the trigger does not exist, there is no further attempt, as in upstream.
    """
    spec = update_request["spec"]
    policy = kyverno.lister.get(spec["policy"])
    rules = [one for one in (policy.policy.rules if policy else ()) if one.mutates_existing]
    if policy is None or spec.get("rule") not in {one.name for one in rules}:
        return noted(FailureCause.RULE_GONE, "the policy no longer has this rule")
    store = kyverno.sim.store
    request, named = request_of(spec.get("context"), store), spec.get("resource") or {}
    try:
        if request is None:
            trigger = find(named, None, store)
        elif request.operation is Operation.CREATE:
            trigger = created_trigger(named, request, store)
        else:
            trigger = request.object or request.old_object or {}
    except TriggerError as error:
        why = "failed to get trigger resource: "
        return Attempt(notes=tuple(within(why, [error.failure_reason])))
    return Attempt(tuple(_mutate(policy, trigger, request, kyverno)))


def _mutate(
    policy: CompiledPolicy,
    trigger: KubernetesObject,
    request: AdmissionRequest | None,
    kyverno: Kyverno,
) -> Iterator[FailureReason]:
    """Write the targets as mutated by all rules of a policy, and yield failures."""
    # Upstream resolves targets by kind, even if no object of the kind exists yet.
    store = kyverno.sim.store
    targets = [one for rule in policy.policy.rules for one in rule.facts.targets]
    named = [(one.api_version, one.kind.partition("/")[0]) for one in targets]
    served = [
        (version, kind)
        for version, kind in named
        for group in [split_api_version(version)[0]]
        if is_builtin(group, kind) or (group, kind) in store.defined
    ]
    world = World(OverlayView(store, kinds=served), account=BACKGROUND)
    given = open_background(policy.policy, trigger, request, world)
    mutating = (one for one in policy.rules if one.phase is Phase.MUTATE)
    rules = tuple(one for one in mutating if one.rule.mutates_existing)
    response = run_policy_rules(PolicyRules(policy, rules), Phase.MUTATE, given, world)
    kyverno.reports.add_results(trigger, [response])
    kyverno.reports.add_results(trigger, [response])
    for result in response.results:
        if result.status in _FAILED:
            text = (
                f"failed to mutate existing resource, rule {result.rule.name}, "
                f"response {result.status.value}: {result.message}"
            )
            rule = f"{policy.policy.key}/{result.rule.name}"
            yield FailureReason(FailureCause.RULE_FAILED, text, on_behalf_of=rule)
        elif result.status is RuleStatus.PASS:
            yield from _write_all(result, policy.policy, kyverno)


def _write_all(result: RuleResult, policy: Policy, kyverno: Kyverno) -> Iterator[FailureReason]:
    """Write and report the targets of a rule, and yield failures."""
    sim, source, rule = kyverno.sim, EventSource.MUTATE, result.rule.name
    named = f"{policy.key}/{rule}"
    client = sim.client(BACKGROUND, Purpose("mutate existing", (named,)))
    for target in result.targets:
        obj = target.object
        if target.subresource == "scale":
            obj = {**obj, "spec": {"replicas": (obj.get("spec") or {}).get("replicas")}}
        error = client.update(obj, target.subresource).error
        if error is None:
            kyverno.events.record(*background_succeeded(sim, source, policy, [target.object]))
            continue
        kyverno.events.record(background_failed(sim, source, policy, error.message, rule=rule))
        yield failure_reason_of(error, object_key(target.object))._replace(on_behalf_of=named)


# One attempt at an UpdateRequest for a MutatingPolicy: targets are selected, changed and written.
#
# A target that cannot be evaluated is silently unchanged: no report, no event, and the
# UpdateRequest counts as successful.
# Source of the rules and texts: upstream pkg/background/mpol/processor.go,
# pkg/cel/policies/mpol/engine.


def attempt_mutation_in_cel(update_request: KubernetesObject, kyverno: Kyverno) -> Attempt:
    """Process an UpdateRequest: change existing objects."""
    spec = update_request["spec"]
    compiled = kyverno.mutating.get(spec["policy"])
    if compiled is None:
        name = str(spec["policy"]).rpartition("/")[2]
        why = f'mutatingpolicies.policies.kyverno.io "{name}" not found'
        return failed(FailureCause.RULE_GONE, f"failed to fetch mpol {spec['policy']}: {why}")
    request = request_of(spec.get("context"), kyverno.sim.store)
    changes = kyverno.cache.existing_changes(compiled.policy)
    if not changes or kyverno.cache.is_left_to_the_server(compiled.policy):
        return noted(FailureCause.NOT_MET, "nothing to do: the policy changes no existing objects")
    attempt = _Attempt(compiled, changes, request, kyverno)
    by_expression = mutating_facts(compiled.policy).by_expression
    targets = [*(attempt.named() if by_expression else attempt.listed())]
    if not targets and not attempt.problems and request is not None:
        return noted(
            FailureCause.NOT_MET, "nothing to do: no existing object is a target of the policy"
        ).on_behalf_of(compiled.policy.key)
    for target, part in targets:
        if not is_filtered(object_key(target), kyverno.sim.store, part):
            attempt.change(target, part)
    result = Attempt(tuple(attempt.problems), tuple(attempt.notes))
    return result.on_behalf_of(compiled.policy.key)


class _Attempt:
    """One evaluation of a policy on its targets."""

    def __init__(
        self,
        compiled: CompiledPolicy,
        changes: Sequence[ExistingChange],
        request: AdmissionRequest | None,
        kyverno: Kyverno,
    ) -> None:
        self._compiled = compiled
        self._policy = compiled.policy
        self._request = request
        self._kyverno = kyverno
        self._store = kyverno.sim.store
        self._world = World(self._store, account=BACKGROUND)
        self._changes = changes
        self.problems: list[FailureReason] = []
        self.notes: list[FailureReason] = []

    def listed(self) -> Iterator[tuple[KubernetesObject, str]]:
        """Yield the targets that the policy's constraints select, with the subresource to write."""
        for listing in target_listings(self._policy, self._store, self._store.defined):
            key, problem = listing.key, None
            if key.namespace and not self._store.is_namespaced(key.api_version, key.kind):
                text = "the server could not find the requested resource"
                problem = FailureReason(FailureCause.NOT_FOUND, text, key)
            elif (refused := denial(BACKGROUND, "list", key, self._store)) is not None:
                problem = failure_reason_of(refused, key)
            if problem is not None:
                what = f"{key.api_version}, Kind={key.kind}"
                shown = what if "/" in what else f"/{what}"
                text = f"failed to fetch targets {shown} for mpol {self._policy.key}: "
                self.problems.append(problem._replace(message=f"{text}{problem.message}"))
                continue
            try:
                for obj in selected_targets(self._policy, listing, self._store):
                    yield (obj, listing.subresource)
            except SelectorError as error:
                self.problems.append(FailureReason(FailureCause.OTHER, str(error)))

    def named(self) -> Iterator[tuple[KubernetesObject, str]]:
        """Yield the targets that the policy's expression returns for the current trigger."""
        trigger = self._trigger()
        if trigger is None or self._request is None:
            return
        try:
            targets = self._changes[0].find(self._evaluation(trigger, self._request))
        except TargetError as error:
            self.problems.append(FailureReason(FailureCause.RULE_FAILED, str(error)))
            return
        for obj in targets:
            yield (obj, written_part(self._policy, obj, self._store.defined))

    def _trigger(self) -> KubernetesObject | None:
        """Return the trigger, its last state if it is deleted; None after recording a problem."""
        request = self._request
        if request is None or not request.subject:
            what = "the fields needed to extract resource data are nil"
            text = f"invalid update request passed, {what}"
            self.problems.append(FailureReason(FailureCause.OTHER, text))
            return None
        if request.object is None:
            return request.old_object
        key = object_key(request.object)
        live, text, uid = None, "name is required", ""
        if key.name:
            live = self._store.get(*key)
            text = errors.not_found(key, self._store.defined).message
            uid = text_field(metadata(request.object), "uid")
        if live is None:
            self.problems.append(FailureReason(FailureCause.TRIGGER_MISSING, text, key, uid))
        return live

    def _evaluation(self, obj: KubernetesObject, request: AdmissionRequest) -> Evaluation:
        opened = open_request(request, self._world, self._policy.name)
        if opened is None:
            raise ValueError("the request has no object")
        return Evaluation(opened.scope, opened.request, obj)

    def change(self, target: KubernetesObject, part: str) -> None:
        """Mutate a target, write it if it changed, and report the results."""
        obj: KubernetesObject | None = None
        responses: list[PolicyResponse] = []
        again, key = [], object_key(target)
        request = self._request or update_of(target, part, self._store)
        for rule, change in zip(self._compiled.rules, self._changes, strict=True):
            seen = obj if obj is not None else target
            outcome = change.change(self._evaluation(seen, request))
            if outcome.object is not None and rule.rule.variant:
                again.append(rule.rule.variant)
            if outcome.status is RuleStatus.PASS and not outcome.exceptions:
                obj = seen if outcome.object is None else outcome.object
            result = result_of(rule, outcome, target, [])
            responses.append(PolicyResponse(self._policy, result.phase, target, (result,)))
            if outcome.status is RuleStatus.ERROR and not rule.rule.variant:
                text = f"{key.title} is left unchanged: {outcome.message}"
                self.notes.append(FailureReason(FailureCause.RULE_FAILED, text, key))
        if again:
            text = f"{key.title} is also changed by the variant for {' and '.join(again)}"
            self.notes.append(FailureReason(FailureCause.CHANGED_AGAIN, text, key))
        if obj is None:
            return
        obj = with_whole_numbers(obj)
        if same(obj, target) or self._write(target, part, obj):
            source = EventSource.ADMISSION  # upstream uses this source in all cases
            for response in responses:
                events = of_response(self._kyverno.sim, source, response, blocked=False)
                self._kyverno.events.record(*events)
            self._kyverno.reports.add_results(target, responses)

    def _write(self, target: KubernetesObject, part: str, obj: KubernetesObject) -> bool:
        """Write a target; return whether that succeeded."""
        key, name, what = object_key(target), self._policy.key, "refresh"
        error = denial(BACKGROUND, "get", key, self._store)
        now = self._store.get(*key)
        if error is None and now is None:
            return False
        if error is None:
            fresh = with_metadata(obj, {"resourceVersion": metadata(now).get("resourceVersion")})
            client = self._kyverno.sim.client(BACKGROUND, Purpose("mutate existing", (name,)))
            error, what = client.update(fresh, part).error, "update"
        if error is not None and (what == "refresh" or error.why is not FailureCause.NOT_FOUND):
            text = f"failed to {what} target resource for mpol {name}: {error.message}"
            self.problems.append(failure_reason_of(error, key)._replace(message=text))
        return error is None


# Requests that trigger MutatingPolicies for existing objects.
# Source of the rules: upstream pkg/webhooks/resource/mpol/handler.go,
# pkg/cel/policies/mpol/engine.


def mutating_work(kyverno: Kyverno, request: AdmissionRequest) -> Iterator[RequestedWork]:
    """Yield the work of policies that change existing objects, for a request.

    Every webhook called for the request creates the work of all of them.
    """
    policies = [
        one
        for one in kyverno.cache.every()
        if one.policy.kind in CEL_KINDS
        and any(rule.stage is Stage.CEL_MUTATE for rule in one.rules)
        and one.policy.facts.admission
        and not kyverno.cache.is_left_to_the_server(one.policy)
    ]
    if not any(mutating_facts(one.policy).changes_existing for one in policies):
        return
    given = open_request(request, World(kyverno.sim.store, account=ADMISSION), "")
    if given is None:
        return
    works = [
        RequestedWork(CEL_MUTATE, one.policy.key, request=request)
        for one in policies
        if applies_to(one.policy, request) and _is_triggered(one, given, kyverno)
    ]
    if not works:
        return
    # The called webhooks with a policy that applies to the user.
    cache, external = kyverno.cache, World(kyverno.sim.store, account=ADMISSION).external
    owns = [one.policy for one in policies]
    names = {one: webhook_of(one, cache.webhook_facts(one)) for one in owns}
    called = {names[one] for one in owns if is_called_for(one, given, cache, external)}
    applicable = {names[one] for one in owns if applies_to(one._replace(namespace=""), request)}
    for _ in called & applicable:
        yield from works


def _is_triggered(policy: CompiledPolicy, given: RuleInput, kyverno: Kyverno) -> bool:
    """Return whether a request matches the constraints and conditions of one of the variants."""
    if not mutating_facts(policy.policy).changes_existing:
        return False
    evaluation = Evaluation(given.scope, given.request, given.object)
    changes = kyverno.cache.existing_changes(policy.policy)
    return any(
        rule.matches(given.facts) and change.wants(evaluation)
        for rule, change in zip(policy.rules, changes, strict=True)
    )


# Work of MutatingPolicies: when they are created or changed, and once an hour.
# Source of the rules: upstream pkg/policy (policy_controller.go, mpol.go).


def start_mutating_policies(kyverno: Kyverno) -> None:
    """Apply new and changed CEL policies to existing objects."""

    def reconcile(policy: Policy, before: Policy | None) -> None:
        if before is None or not before.has_same_spec(policy):
            sync_mutating_policy(policy, kyverno)

    kyverno.mutating.changed.append(reconcile)


def sync_mutating_policy(policy: Policy, kyverno: Kyverno) -> None:
    """Submit the work for existing objects: for each trigger, if an expression has the targets."""
    facts, sim = mutating_facts(policy), kyverno.sim
    if not facts.changes_existing:
        return
    if not facts.by_expression:
        submit(RequestedWork(CEL_MUTATE, policy.key), sim, BACKGROUND)
        return
    for trigger in [*listed_triggers(policy, sim.store, sim.store.defined)]:
        request = update_of(trigger, "", sim.store)
        submit(RequestedWork(CEL_MUTATE, policy.key, request=request), sim, BACKGROUND)
