"""Mutation of existing objects, by mutate rules and by MutatingPolicies."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from kyvsim.engine.background import open_background
from kyvsim.engine.cluster_views import OverlayView
from kyvsim.engine.compile import CompiledPolicy, PolicyRules
from kyvsim.engine.compile.compiled import Evaluation
from kyvsim.engine.policy import RuleInput, open_request, result_of, run_policy_rules
from kyvsim.engine.world import World
from kyvsim.kubernetes.discovery import is_builtin, split_api_version
from kyvsim.kubernetes.labels import SelectorError
from kyvsim.kubernetes.objects import Json, metadata, object_key, text_field
from kyvsim.kubernetes.quantities import with_whole_numbers
from kyvsim.languages.cel.facts import mutating_facts
from kyvsim.languages.cel.listed_objects import (
    Listing,
    listed_triggers,
    selected_targets,
    target_listings,
    written_part,
)
from kyvsim.languages.cel.mutating_policy import ExistingChange, TargetError
from kyvsim.model.policy import Policy
from kyvsim.model.request import AdmissionRequest, Operation
from kyvsim.model.result import PatchedTarget, Phase, PolicyResponse, RuleResult, RuleStatus, Stage
from kyvsim.model.simulation import FailureCause, FailureReason
from kyvsim.patch.nodes import same
from kyvsim.simulator.admission.cel import is_called_for, webhook_of
from kyvsim.simulator.api_server import ApiResponse, ObjectStore, Purpose, errors
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


def _named_targets(policy: Policy) -> Iterable[tuple[str, str]]:
    for rule in policy.rules:
        for target in rule.facts.targets:
            yield target.api_version, target.kind.partition("/")[0]


def _is_served(pair: tuple[str, str], store: ObjectStore) -> bool:
    group = split_api_version(pair[0])[0]
    return is_builtin(group, pair[1]) or (group, pair[1]) in store.defined


# One attempt at an UpdateRequest for a mutate rule: its targets are patched and written.
#
# Source of the rules and texts: upstream pkg/background/mutate/mutate.go.

_FAILED = frozenset({RuleStatus.FAIL, RuleStatus.ERROR, RuleStatus.WARN})


def attempt_mutation(update_request: Json, kyverno: Kyverno) -> Attempt:
    """Patch the targets of the rule that an UpdateRequest names, and those of its sisters.

    That the trigger is not there ends the work, without another attempt, as upstream has it.
    """
    spec = update_request["spec"]
    policy = kyverno.lister.get(spec["policy"])
    rules = policy.policy.rules if policy else ()
    if policy is None or not any(
        bool(one.name == spec.get("rule")) for one in rules if one.mutates_existing
    ):
        return noted(FailureCause.RULE_GONE, "the policy has no such rule any more")
    request = request_of(spec.get("context"), kyverno.sim.store)
    try:
        trigger = _trigger(spec.get("resource") or {}, request, kyverno)
    except TriggerError as error:
        return Attempt(
            notes=tuple(within("failed to get trigger resource: ", [error.failure_reason]))
        )
    return Attempt(tuple(_mutate(policy, trigger, request, kyverno)))


def _trigger(trigger: Json, request: AdmissionRequest | None, kyverno: Kyverno) -> Json:
    store = kyverno.sim.store
    if request is None:
        return find(trigger, None, store)
    if request.operation is Operation.CREATE:
        return created_trigger(trigger, request, store)
    return request.object or request.old_object


def _mutate(
    policy: CompiledPolicy, trigger: Json, request: AdmissionRequest | None, kyverno: Kyverno
) -> Iterator[FailureReason]:
    """Write the targets as all rules of a policy leave them, and give what failed."""
    # Upstream looks targets up by their kinds, also kinds of which there is no object yet.
    store = kyverno.sim.store
    named = (pair for pair in _named_targets(policy.policy) if _is_served(pair, store))
    world = World(OverlayView(store, kinds=named), account=BACKGROUND)
    given = open_background(policy.policy, trigger, request, world)
    rules = tuple(
        one for one in policy.rules if one.phase is Phase.MUTATE and one.rule.mutates_existing
    )
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
            yield FailureReason(FailureCause.RULE_FAILED, text, wanted_by=rule)
        elif result.status is RuleStatus.PASS:
            yield from _write_all(result, policy.policy, kyverno)


def _write_all(result: RuleResult, policy: Policy, kyverno: Kyverno) -> Iterator[FailureReason]:
    """Write and report the targets of a rule, and yield what failed."""
    sim, source, rule = kyverno.sim, EventSource.MUTATE, result.rule.name
    for target in result.targets:
        named = f"{policy.key}/{rule}"
        error = _write(target, named, kyverno).error
        if error is None:
            events = background_succeeded(sim, source, policy, [target.object])
            kyverno.events.record(*events)
            continue
        kyverno.events.record(background_failed(sim, source, policy, error.message, rule=rule))
        yield failure_reason_of(error, object_key(target.object))._replace(wanted_by=named)


def _write(target: PatchedTarget, rule: str, kyverno: Kyverno) -> ApiResponse:
    sim = kyverno.sim
    obj, part = target.object, target.subresource
    if part == "scale":
        obj = {**obj, "spec": {"replicas": (obj.get("spec") or {}).get("replicas")}}
    return sim.client(BACKGROUND, Purpose("mutate existing", (rule,))).update(obj, part)


# MutatingPolicies for existing objects: their triggers, and attempts at their UpdateRequests.

# One attempt at an UpdateRequest for a MutatingPolicy: its targets are found, changed and written.
#
# A target that cannot be evaluated is left unchanged, and silently: no report, no event, and
# the UpdateRequest counts as done.
#
# Source of the rules and texts: upstream pkg/background/mpol/processor.go,
# pkg/cel/policies/mpol/engine.


class _MutationTarget(NamedTuple):
    """An object that may have to be changed."""

    object: Json
    subresource: str


class _Changed(NamedTuple):
    """What the variants of a policy made of a target."""

    object: Json
    """None where no variant was evaluated."""
    responses: tuple[PolicyResponse, ...]
    fault: str
    """Why the policy as it is written could not be evaluated; "" where it could."""
    again: tuple[str, ...]
    """The variants for controllers that changed it further."""


def attempt_mutation_in_cel(update_request: Json, kyverno: Kyverno) -> Attempt:
    """Process an UpdateRequest: change existing objects."""
    spec = update_request["spec"]
    found = kyverno.mutating.get(spec["policy"])
    if found is None:
        name = str(spec["policy"]).rpartition("/")[2]
        why = f'mutatingpolicies.policies.kyverno.io "{name}" not found'
        return failed(FailureCause.RULE_GONE, f"failed to fetch mpol {spec['policy']}: {why}")
    request = request_of(spec.get("context"), kyverno.sim.store)
    changes = kyverno.cache.existing_changes(found.policy)
    if not changes or kyverno.cache.is_left_to_the_server(found.policy):
        return noted(FailureCause.NOT_MET, "nothing to do: the policy changes no existing objects")
    attempt = _Attempt(found, changes, request, kyverno)
    attempt.run()
    key = found.policy.key
    problems, notes = (
        tuple(one._replace(wanted_by=key) for one in some)
        for some in (attempt.problems, attempt.notes)
    )
    return Attempt(problems, notes)


class _Attempt:
    """One run of a policy over its targets."""

    def __init__(
        self,
        found: CompiledPolicy,
        changes: Sequence[ExistingChange],
        request: AdmissionRequest | None,
        kyverno: Kyverno,
    ) -> None:
        self._found = found
        self._policy: Policy = found.policy
        self._request = request
        self._kyverno = kyverno
        self._store: ObjectStore = kyverno.sim.store
        self._world = World(self._store, account=BACKGROUND)
        self._changes = changes
        self.problems: list[FailureReason] = []
        self.notes: list[FailureReason] = []

    def run(self) -> None:
        """Change what is found, one after the other."""
        by_expression = mutating_facts(self._policy).by_expression
        for target in [*(self._named() if by_expression else self._listed())]:
            key = object_key(target.object)
            if not is_filtered(key, self._store, target.subresource):
                self._change(target)

    def _listed(self) -> Iterator[_MutationTarget]:
        for listing in target_listings(self._policy, self._store, self._store.defined):
            problem = self._unlisted(listing)
            if problem is not None:
                what = f"{listing.key.api_version}, Kind={listing.key.kind}"
                shown = what if "/" in what else f"/{what}"
                text = f"failed to fetch targets {shown} for mpol {self._policy.key}: "
                self.problems.append(problem._replace(message=f"{text}{problem.message}"))
                continue
            try:
                for obj in selected_targets(self._policy, listing, self._store):
                    yield _MutationTarget(obj, listing.subresource)
            except SelectorError as error:
                self.problems.append(FailureReason(FailureCause.OTHER, str(error)))

    def _unlisted(self, listing: Listing) -> FailureReason | None:
        """Return why a list cannot be had, or None."""
        key = listing.key
        if key.namespace and not self._store.is_namespaced(key.api_version, key.kind):
            text = "the server could not find the requested resource"
            return FailureReason(FailureCause.NOT_FOUND, text, key)
        refused = denial(BACKGROUND, "list", key, self._store)
        return failure_reason_of(refused, key) if refused else None

    def _named(self) -> Iterator[_MutationTarget]:
        """Yield what the policy's expression names for the trigger, as that is now."""
        trigger = self._trigger()
        if trigger is None or self._request is None:
            return
        try:
            found = self._changes[0].find(self._evaluation(trigger, self._request))
        except TargetError as error:
            self.problems.append(FailureReason(FailureCause.RULE_FAILED, str(error)))
            return
        for obj in found:
            yield _MutationTarget(obj, written_part(self._policy, obj, self._store.defined))

    def _trigger(self) -> Json | None:
        """Return the trigger: where it is gone, as it was; None with a problem noted."""
        request = self._request
        if request is None or not request.subject:
            text = (
                "invalid update request passed, the fields needed to extract resource data are nil"
            )
            self.problems.append(FailureReason(FailureCause.OTHER, text))
            return None
        if request.object is None:
            return request.old_object
        key = object_key(request.object)
        if not key.name:
            self.problems.append(
                FailureReason(FailureCause.TRIGGER_MISSING, "name is required", key)
            )
            return None
        found = self._store.get(*key)
        if found is None:
            uid = text_field(metadata(request.object), "uid")
            missing = errors.not_found(key, self._store.defined)
            failure_reason = FailureReason(FailureCause.TRIGGER_MISSING, missing.message, key, uid)
            self.problems.append(failure_reason)
        return found

    def _evaluation(self, obj: Json, request: AdmissionRequest) -> Evaluation:
        opened = open_request(request, self._world, self._policy.name)
        if opened is None:
            raise ValueError("a request is about an object")
        return Evaluation(opened.scope, opened.request, obj)

    def _change(self, target: _MutationTarget) -> None:
        """Mutate a target, write it if it changed, and report that."""
        changed = self._changed(target)
        if changed.fault:
            self.notes.append(
                FailureReason(
                    FailureCause.RULE_FAILED,
                    f"{_described(target.object)} is left as it is: {changed.fault}",
                    object_key(target.object),
                )
            )
        if changed.again:
            text = (
                f"{_described(target.object)} is changed again as {' and '.join(changed.again)} are"
            )
            self.notes.append(
                FailureReason(FailureCause.CHANGED_AGAIN, text, object_key(target.object))
            )
        if changed.object is None:
            return
        if same(changed.object, target.object) or self._write(target, changed.object):
            source = EventSource.ADMISSION  # upstream names this one, whoever does it
            for response in changed.responses:
                events = of_response(self._kyverno.sim, source, response, blocked=False)
                self._kyverno.events.record(*events)
            self._kyverno.reports.add_results(target.object, changed.responses)

    def _changed(self, target: _MutationTarget) -> _Changed:
        obj: Json = None
        responses: list[PolicyResponse] = []
        fault, again = "", []
        request = self._request or update_of(target.object, target.subresource, self._store)
        for rule, change in zip(self._found.rules, self._changes, strict=True):
            seen = obj if obj is not None else target.object
            outcome = change.change(self._evaluation(seen, request))
            if outcome.object is not None and rule.rule.variant:
                again.append(rule.rule.variant)
            if outcome.status is RuleStatus.PASS and not outcome.exceptions:
                obj = seen if outcome.object is None else outcome.object
            result = result_of(rule, outcome, target.object, [])
            responses.append(PolicyResponse(self._policy, result.phase, target.object, (result,)))
            if outcome.status is RuleStatus.ERROR and not rule.rule.variant:
                fault = outcome.message
        return _Changed(with_whole_numbers(obj), tuple(responses), fault, tuple(again))

    def _write(self, target: _MutationTarget, obj: Json) -> bool:
        """Write a target; return whether that succeeded."""
        key, sim = object_key(target.object), self._kyverno.sim
        name = self._policy.key
        refused = denial(BACKGROUND, "get", key, self._store)
        now = self._store.get(*key)
        if refused is not None:
            text = f"failed to refresh target resource for mpol {name}: {refused.message}"
            self.problems.append(failure_reason_of(refused, key)._replace(message=text))
            return False
        if now is None:
            return False
        fresh = with_metadata(obj, {"resourceVersion": metadata(now).get("resourceVersion")})
        client = sim.client(BACKGROUND, Purpose("mutate existing", (name,)))
        error = client.update(fresh, target.subresource).error
        if error is None:
            return True
        if error.why is not FailureCause.NOT_FOUND:
            text = f"failed to update target resource for mpol {name}: {error.message}"
            self.problems.append(failure_reason_of(error, key)._replace(message=text))
        return False


def _described(obj: Json) -> str:
    key = object_key(obj)
    return f"{key.kind} {'/'.join(filter(None, (key.namespace, key.name)))}"


# Requests that are triggers of MutatingPolicies for objects that are there.
#
# Source of the rules: upstream pkg/webhooks/resource/mpol/handler.go,
# pkg/cel/policies/mpol/engine.


def mutating_work(kyverno: Kyverno, request: AdmissionRequest) -> Iterator[RequestedWork]:
    """Give the work of policies that change existing objects, for a request.

    Each webhook that is asked about it makes the work of all of them.
    """
    policies = [one for one in kyverno.cache.every() if _mutates(one, kyverno)]
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
    if works:
        for _ in _webhooks([one.policy for one in policies], given, kyverno):
            yield from works


def _mutates(policy: CompiledPolicy, kyverno: Kyverno) -> bool:
    """Return whether a policy mutates, and is called through a webhook."""
    own = policy.policy
    mutates = own.kind in CEL_KINDS and any(one.stage is Stage.CEL_MUTATE for one in policy.rules)
    return mutates and own.facts.admission and not kyverno.cache.is_left_to_the_server(own)


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
    """Return the called webhooks with a policy that applies to the user."""
    every = tuple(policies)
    external = World(kyverno.sim.store, account=ADMISSION).external
    names = {one: webhook_of(one, kyverno.cache.webhook_facts(one)) for one in every}
    called = {names[one] for one in every if is_called_for(one, given, kyverno.cache, external)}
    hearing = {names[one] for one in every if applies_to(replace(one, namespace=""), given.request)}
    return frozenset(called & hearing)


# Work that MutatingPolicies make themselves: when they come and change, and once an hour.
#
# Source of the rules: upstream pkg/policy (policy_controller.go, mpol.go).


def start_mutating_policies(kyverno: Kyverno) -> None:
    """Let policies in CEL that come or change look at the objects that are there."""
    kyverno.mutating.changed.append(lambda policy, before: _reconcile(policy, before, kyverno))


def sync_mutating_policies(kyverno: Kyverno) -> None:
    """Let those look again that name no targets by an expression."""
    for one in kyverno.mutating.every():
        if not mutating_facts(one.policy).by_expression:
            _sync(one.policy, kyverno)


def _reconcile(policy: Policy, before: Policy | None, kyverno: Kyverno) -> None:
    if before is None or not before.has_same_spec(policy):
        _sync(policy, kyverno)


def _sync(policy: Policy, kyverno: Kyverno) -> None:
    """Make the work for what is there: for each trigger where that names the targets."""
    facts, sim = mutating_facts(policy), kyverno.sim
    if not facts.changes_existing:
        return
    if not facts.by_expression:
        submit(RequestedWork(CEL_MUTATE, policy.key), sim, BACKGROUND)
        return
    for trigger in [*listed_triggers(policy, sim.store, sim.store.defined)]:
        request = update_of(trigger, "", sim.store)
        submit(RequestedWork(CEL_MUTATE, policy.key, request=request), sim, BACKGROUND)
