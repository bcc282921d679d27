"""Generate objects for generate rules and GeneratingPolicies."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

from kyvsim.engine.background import check_rule, old_facts, open_background
from kyvsim.engine.compile import CompiledPolicy, CompiledRule, PolicyRules
from kyvsim.engine.compile.compiled import Evaluation, Outcome, passed
from kyvsim.engine.match import MatchFacts
from kyvsim.engine.policy import RuleInput, evaluate_rule, open_request
from kyvsim.engine.world import World, creation_of
from kyvsim.kubernetes.discovery import parse_kind_selector, split_api_version
from kyvsim.kubernetes.objects import (
    Json,
    KubernetesObject,
    ObjectKey,
    labels,
    metadata,
    object_key,
    text_field,
)
from kyvsim.languages.cel.facts import generates, generating_facts
from kyvsim.languages.cel.listed_objects import listed_triggers
from kyvsim.languages.classic.rules.generate import GeneratedSet, GeneratedSets, with_owner_labels
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.ports import BudgetError
from kyvsim.model.request import AdmissionRequest, Operation
from kyvsim.model.result import Phase, PolicyResponse, RuleResult, RuleStatus
from kyvsim.model.simulation import FailureCause, FailureReason
from kyvsim.patch.json_patch import merge_patch
from kyvsim.simulator.admission.cel import is_called_for, trace_webhook
from kyvsim.simulator.api_server import ApiRequest, ApiResponse, Client, Purpose
from kyvsim.simulator.api_server.authorizer import denial
from kyvsim.simulator.api_server.metadata import with_metadata
from kyvsim.simulator.background.update_requests import (
    CEL_GENERATE,
    LABEL,
    REFERENCE,
    Attempt,
    RequestedWork,
    TriggerError,
    applies_to,
    as_by_someone,
    cel_context,
    failed,
    failure_reason_of,
    in_batches,
    joined,
    live_trigger,
    messages,
    noted,
    policy_labels,
    reference,
    request_of,
    rules_of,
    selected,
    submit,
    trigger_from_labels,
    within,
)
from kyvsim.simulator.configuration import ADMISSION, BACKGROUND, MANAGED, is_filtered
from kyvsim.simulator.context import SimulationContext
from kyvsim.simulator.downstream_watch import OF_SERVER
from kyvsim.simulator.events import (
    EventSource,
    background_failed,
    background_succeeded,
    excepted,
    generated,
)
from kyvsim.simulator.kyverno import Kyverno

# Generated objects: how they are written, selected and deleted.
# Source of the rules: upstream pkg/background/generate (generator.go, data.go, clone.go,
# cleanup.go, source.go).

_UNWRITTEN = dict.fromkeys(
    ("uid", "creationTimestamp", "resourceVersion", "generation", "managedFields")
)
"""The fields of `metadata` that clients do not write."""


class Owner(NamedTuple):
    """The rule and trigger for which an object is generated."""

    policy: Policy
    rule: Rule
    trigger: KubernetesObject

    def client(self, action: str, sim: SimulationContext) -> Client:
        """Return the API client for requests that an action of the rule sends."""
        return sim.client(BACKGROUND, Purpose(action, (f"{self.policy.key}/{self.rule.name}",)))


def write_generated(
    desired: KubernetesObject, owner: Owner, sim: SimulationContext
) -> tuple[KubernetesObject | None, FailureReason | None]:
    """Write a generated object; return it if it is new, or why that failed."""
    key, marks = object_key(desired), labels(desired)
    uid, kind = (marks.get(f"{LABEL}source-{part}", "") for part in ("uid", "kind"))
    source = sim.store.by_uid(desired["apiVersion"], kind, uid) if uid else None
    for read in (object_key(source), key) if source is not None else (key,):
        refused = denial(BACKGROUND, "get", read, sim.store)
        if refused is not None:
            return None, failure_reason_of(refused, read)
    # The copied object gets a label, so that its changes are noticed.
    mark = f"{LABEL}clone-source"
    if source is not None and mark not in labels(source):
        marked = with_metadata(source, {"labels": {**labels(source), mark: ""}})
        owner.client("label source", sim).update(marked)
    owned = with_owner_labels(desired, owner.policy, owner.rule, owner.trigger)
    live = sim.store.get(*key)
    if live is None:
        response = owner.client("generate", sim).create(owned)
        if response.error is not None and response.error.reason == "AlreadyExists":
            return owned, None
    elif not ((generation := owner.rule.facts.generation) and generation.synchronizes) or (
        f"{LABEL}source-uid" in marks
        and with_metadata(owned, _UNWRITTEN) == with_metadata(live, _UNWRITTEN)
    ):
        return None, None
    else:
        server_side = owner.policy.facts.applies_server_side
        response = _update(owner.client("synchronize", sim), owned, live, server_side=server_side)
    failure = failure_reason_of(response.error, key) if response.error else None
    return (response.object if live is None else None), failure


def _update(
    client: Client, desired: KubernetesObject, live: KubernetesObject, *, server_side: bool
) -> ApiResponse:
    """Update an existing object, by server-side apply or as a whole."""
    key, meta = object_key(live), metadata(live)
    if server_side:
        applied = merge_patch(live, desired)
        return client.send(ApiRequest(Operation.UPDATE, key, BACKGROUND, applied, patch="apply"))
    kept = {name: meta.get(name) for name in ("uid", "resourceVersion")}
    return client.update(with_metadata(desired, kept))


def downstreams_of(
    policy: Policy, rule: Rule, trigger: KubernetesObject, sim: SimulationContext
) -> Iterator[KubernetesObject]:
    """Yield the objects that a policy generated for a trigger, of the kinds of a rule.

    The name of the rule is not compared, as in upstream.
    """
    group, version = split_api_version(text_field(trigger, "apiVersion"))
    fields = {field: text_field(trigger, field) for field in ("namespace", "kind")}
    fields |= {"group": group, "version": version}
    required = {f"{LABEL}trigger-{field}": value for field, value in fields.items()}
    required |= policy_labels(policy)
    by_uid = {**required, f"{LABEL}trigger-uid": text_field(trigger, "uid")}
    by_name = {**required, f"{LABEL}trigger-name": text_field(trigger, "name")}
    for api_version, kind in kinds_of(rule):
        downstreams = selected(sim.store, api_version, kind, by_uid)
        yield from downstreams or selected(sim.store, api_version, kind, by_name)


def kinds_of(rule: Rule) -> Iterator[tuple[str, str]]:
    """Yield apiVersion and kind of the objects that a rule generates, for each pattern."""
    generation = rule.facts.generation
    for pattern in generation.patterns if generation else ():
        if pattern.kind:
            yield pattern.api_version, pattern.kind
            continue
        for selector in map(parse_kind_selector, pattern.clone_kinds):
            group = "" if selector.group == "*" else f"{selector.group}/"
            yield f"{group}{selector.version}", selector.kind


# Objects that a changed rule no longer generates: they lose the labels of their policy.
# Source of the rules: upstream pkg/policy/generate.go (ruleChange, unlabelDownstream).


def release_stale_targets(before: Policy, policy: Policy, sim: SimulationContext) -> None:
    """Remove the owner labels from objects of rules whose target or source has changed."""
    owner = tuple(f"{LABEL}{name}" for name in ("policy-name", "policy-namespace", "rule-name"))
    for rule, kind in _stale_kinds(before, policy):
        why = "the rule generates a different object now"
        purpose = Purpose("release", (f"{policy.key}/{rule}",), why)
        required = dict(zip(owner, (policy.name, policy.namespace, rule), strict=True))
        named = parse_kind_selector(kind).kind
        places = [place for place in sim.store.kinds() if place[1] == named]
        for obj in (one for place in places for one in selected(sim.store, *place, required)):
            kept = {name: value for name, value in labels(obj).items() if name not in owner}
            sim.client(BACKGROUND, purpose).update(with_metadata(obj, {"labels": kept}))


def _stale_kinds(before: Policy, policy: Policy) -> Iterator[tuple[str, str]]:
    """Yield the rules, each with a kind of objects that it no longer generates."""
    now = {rule.name: rule.facts.generation for rule in policy.rules}
    for rule in before.rules:
        old, new = rule.facts.generation, now.get(rule.name)
        if old is None or new is None:
            continue
        loops = product(old.loops or (), new.loops or ())
        pairs = [(one, other) for one, other in loops if one.list == other.list]
        for one, other in [(old.whole, new.whole), *pairs]:
            was, is_now = (
                (made.api_version, made.kind, made.namespace, made.name, made.clone)
                for made in (one, other)
            )
            # upstream uses the kind of the rule, even if that of a loop has changed.
            if was != is_now and old.whole.kind:
                yield rule.name, old.whole.kind
            if one.clone_list != other.clone_list:
                yield from ((rule.name, kind) for kind in old.whole.clone_kinds)


# Writing and reporting the objects of a generate rule.
# Source of the rules: upstream pkg/background/generate/controller.go (ApplyGeneratePolicy).

_NOT_FOUND = frozenset({FailureCause.NOT_FOUND, FailureCause.NO_NAMESPACE})


def apply_generated(
    generated_sets: Sequence[GeneratedSet], owner: Owner, kyverno: Kyverno
) -> Attempt:
    """Write the generated objects; outside a loop, a missing object is not a failure."""
    generation = owner.rule.facts.generation
    loops = generation is not None and bool(generation.loops)
    problems: list[FailureReason] = []
    created: list[KubernetesObject] = []
    for generated_set in generated_sets:
        if generated_set.problem:
            messages = ": ".join(filter(None, (generated_set.place, generated_set.problem)))
            problems.append(FailureReason(generated_set.reason, messages))
            continue
        failure_reason = None
        for obj in generated_set.objects:
            new, failure_reason = write_generated(obj, owner, kyverno.sim)
            if failure_reason is not None:
                break
            created += [new] if new else []
        if failure_reason is not None and not loops and failure_reason.reason in _NOT_FOUND:
            report(owner, Outcome(RuleStatus.PASS, ""), kyverno)
            return Attempt(notes=tuple(within("nothing generated: ", [failure_reason])))
        problems += [failure_reason] if failure_reason is not None else []
    if not problems:
        outcome = Outcome(RuleStatus.PASS, "", generated=tuple(created))
        report(owner, outcome, kyverno)
        policy, source = owner.policy, EventSource.GENERATE
        kyverno.events.record(
            *(generated(source, policy, owner.rule.name, obj) for obj in created),
            *background_succeeded(kyverno.sim, source, policy, created),
        )
        report(owner, outcome, kyverno)
    return Attempt(tuple(problems))


def report(owner: Owner, outcome: Outcome, kyverno: Kyverno) -> None:
    """Add the outcome of a rule and its objects to the report of a trigger."""
    phase, generated_now = Phase.GENERATE, outcome.generated
    result = RuleResult(owner.rule, phase, outcome.status, outcome.message, generated_now)
    kyverno.reports.add_results(
        owner.trigger, [PolicyResponse(owner.policy, phase, owner.trigger, (result,))]
    )


# One attempt at an UpdateRequest for generate rules.
# Source of the rules and texts: upstream pkg/background/generate/controller.go.


def attempt_generate(update_request: KubernetesObject, kyverno: Kyverno) -> Attempt:
    """Process an UpdateRequest: generate or delete objects."""
    spec = update_request["spec"]
    store = kyverno.sim.store
    request = request_of(spec.get("context"), store)
    policy = kyverno.lister.get(spec["policy"])
    attempts: list[Attempt] = []
    for context in spec.get("ruleContext") or ():
        rule = text_field(context, "rule")
        try:
            trigger = live_trigger(context.get("trigger") or {}, request, store)
        except TriggerError as error:
            why = "failed to fetch trigger resource: "
            attempt = Attempt(tuple(within(why, [error.failure_reason])))
        else:
            if policy is None or context.get("deleteDownstream"):
                attempt = _delete(update_request, context, policy, kyverno)
            else:
                attempt = _apply(rule, trigger, request, policy, kyverno)
            if attempt.problems and policy is not None:
                text, source = messages(attempt.problems), EventSource.GENERATE
                event = background_failed(kyverno.sim, source, policy.policy, text, rule=rule)
                kyverno.events.record(event)
        problems = tuple(within(f"rule {rule} failed: ", attempt.problems))
        attempts.append(Attempt(problems, attempt.notes).on_behalf_of(f"{spec['policy']}/{rule}"))
    return joined(attempts)


def _delete(
    update_request: KubernetesObject, context: Json, policy: CompiledPolicy | None, kyverno: Kyverno
) -> Attempt:
    """Delete the objects that the UpdateRequest lists, or those generated for the trigger."""
    references = (update_request.get("status") or {}).get("generatedResources")
    cause = "policy deletion"
    if not references:
        if policy is None:
            return noted(FailureCause.RULE_GONE, "the policy was deleted")
        cause = "source deletion"
        references = [
            reference(obj)
            for rule in policy.policy.rules
            if rule.name == context.get("rule") and rule.generates
            for obj in downstreams_of(policy.policy, rule, context["trigger"], kyverno.sim)
        ]
    problems = []
    purpose = Purpose("delete downstream", rules_of(update_request["spec"]))
    client = kyverno.sim.client(BACKGROUND, purpose)
    for one in references:
        key = ObjectKey(*(text_field(one, field) for field in REFERENCE))
        error = client.delete(key).error
        if error is not None and error.reason != "NotFound":
            problems.append(failure_reason_of(error, key))
    why = f"failed to clean up downstream resources on {cause}: "
    return Attempt(tuple(within(why, problems)))


def _apply(
    name: str,
    trigger: KubernetesObject,
    request: AdmissionRequest | None,
    policy: CompiledPolicy,
    kyverno: Kyverno,
) -> Attempt:
    """Check again whether a rule applies, and generate its objects."""
    rule = next((one for one in policy.rules if one.rule.name == name), None)
    if rule is None or not rule.rule.generates:
        return noted(FailureCause.RULE_GONE, "the policy no longer has this rule")
    sent = request.object if request and request.operation is not Operation.DELETE else None
    expected, actual = object_key(trigger), object_key(sent) if sent else object_key(trigger)
    if expected != actual:
        expected_name, actual_name = (f"{one.namespace}/{one.name}" for one in (expected, actual))
        text = f"resources don't match, want: {expected_name}, got: {actual_name}"
        return failed(FailureCause.TRIGGER_DIFFERS, text)
    world = World(kyverno.sim.store, account=BACKGROUND)
    opened = open_background(policy.policy, trigger, request, world)
    old = old_facts(request, world) if request else None
    sets_of = kyverno.lister.generated_sets(policy, rule)
    outcome, sets, problem = _generation(rule, opened, old, sets_of)
    # Evaluate a second time only if it failed.
    if request is None and problem is not None:
        *_, again = _generation(rule, as_by_someone(opened), old, sets_of)
        problem = problem if again else FailureCause.USER_UNKNOWN
    owner = Owner(policy.policy, rule.rule, trigger)
    if outcome is None:
        return failed(FailureCause.NOT_MET, "policy does not apply to resource")
    if sets is None:
        report(owner, outcome, kyverno)
        text = f"nothing to do: {outcome.message or 'the rule does not match'}"
        return noted(problem or FailureCause.NOT_MET, text)
    if problem is FailureCause.USER_UNKNOWN:
        sets = tuple(one._replace(reason=problem) for one in sets)
    return apply_generated(sets, owner, kyverno)


def _generation(
    rule: CompiledRule, given: RuleInput, old: MatchFacts | None, sets_of: GeneratedSets
) -> tuple[Outcome | None, tuple[GeneratedSet, ...] | None, FailureCause | None]:
    """Return the outcome of a rule for a trigger, its objects, and why they cannot be computed.

    The outcome is None if the rule does not match, the objects are None if it generates none.
    """
    met: list[Evaluation] = []

    def note(evaluation: Evaluation) -> Outcome:
        met.append(evaluation)
        return passed("")

    outcome = check_rule(rule, given, old, note)
    if not met:
        fails = outcome is not None and outcome.status is RuleStatus.ERROR
        return outcome, None, FailureCause.RULE_FAILED if fails else None
    if rule.meter is not None:
        rule.meter.begin_rule()
    try:
        generated_sets = tuple(sets_of(met[0].scope))
    except BudgetError as error:
        generated_sets = (GeneratedSet(problem=str(error)),)
    problems = (one.reason for one in generated_sets if one.problem)
    return outcome, generated_sets, next(problems, None)


# The objects that a CEL policy generates: written one by one during the evaluation.
# Source of the rules: upstream pkg/cel/libs/context.go (GenerateResources).


class GeneratedObjects:
    """Writes objects to the cluster on behalf of a policy, and collects the stored objects."""

    def __init__(
        self, policy: Policy, request: AdmissionRequest, sim: SimulationContext, *, restores: bool
    ) -> None:
        """If `restores`, write nothing and collect only existing objects."""
        self._policy = policy
        self._sim = sim
        self._restores = restores
        key = object_key(request.subject)
        group, version = split_api_version(key.api_version)
        # A deletion has no object, so neither its namespace nor its uid is known.
        gone = request.operation is Operation.DELETE
        self._marks = {
            **MANAGED,
            f"{LABEL}policy-name": policy.name,
            f"{LABEL}trigger-name": text_field(request.details or {}, "name") or key.name,
            f"{LABEL}trigger-namespace": "" if gone else key.namespace,
            f"{LABEL}trigger-uid": "" if gone else text_field(metadata(request.object), "uid"),
            f"{LABEL}trigger-kind": key.kind,
            f"{LABEL}trigger-group": group,
            f"{LABEL}trigger-version": version,
        }
        self.written: list[KubernetesObject] = []
        self.failure_reason: FailureReason | None = None

    def write(self, namespace: str, obj: KubernetesObject) -> None:
        """Write a generated object to a namespace; raises ValueError."""
        desired = self._placed(namespace, obj)
        key, store = object_key(desired), self._sim.store
        refused = denial(BACKGROUND, "get", key, store)
        if refused is not None:
            self._fail(failure_reason_of(refused, key))
        live = store.get(*key)
        names = (*MANAGED, f"{LABEL}policy-name", f"{LABEL}trigger-uid")
        if live is None:
            if not self._restores:
                self._keep(self._client("generate").create(desired), key)
        elif any(labels(live).get(name, "") != self._marks[name] for name in names):
            return  # it belongs to another trigger or policy
        elif self._restores:
            self.written.append(live)
        else:
            server_side = generating_facts(self._policy).applies_server_side
            client = self._client("synchronize")
            self._keep(_update(client, desired, live, server_side=server_side), key)

    def _placed(self, namespace: str, obj: KubernetesObject) -> KubernetesObject:
        """Return an object in its namespace, with the labels of its owner."""
        key = object_key(obj)
        if key.api_version.count("/") > 1:
            text = f"unexpected GroupVersion string: {key.api_version}"
            self._fail(FailureReason(FailureCause.NO_KIND, text, key))
        is_namespaced = self._sim.store.is_namespaced(key.api_version, key.kind)
        if namespace and self._policy.namespace and not is_namespaced:
            raise ValueError(
                f'cross-scope generation denied: a policy scoped to namespace "{namespace}" '
                f"cannot generate cluster-scoped resource {key.api_version}/{key.kind}"
            )
        target = namespace if is_namespaced else ""
        marks = {**labels(obj), **self._marks}
        if text_field(metadata(obj), "resourceVersion"):
            marks[f"{LABEL}source-uid"] = text_field(metadata(obj), "uid")
        fields = {**OF_SERVER, "labels": marks, "namespace": target or None}
        if key.namespace and key.namespace != target:
            fields["ownerReferences"] = None
        return with_metadata(obj, fields)

    def _client(self, action: str) -> Client:
        return self._sim.client(BACKGROUND, Purpose(action, (self._policy.key,)))

    def _keep(self, response: ApiResponse, key: ObjectKey) -> None:
        if response.error is not None:
            self._fail(failure_reason_of(response.error, key))
        self.written += [response.object] if response.object is not None else []

    def _fail(self, failure_reason: FailureReason) -> None:
        self.failure_reason = failure_reason
        raise ValueError(failure_reason.message)


# One attempt at an UpdateRequest for a generating CEL policy.
# Source of the rules and texts: upstream pkg/background/gpol/generate_controller.go.

_FAILED = frozenset({RuleStatus.ERROR, RuleStatus.FAIL})


def attempt_generate_in_cel(update_request: KubernetesObject, kyverno: Kyverno) -> Attempt:
    """Process an UpdateRequest: generate or delete objects."""
    spec = update_request["spec"]
    policy = spec["policy"]
    request = request_of(spec.get("context"), kyverno.sim.store)
    attempts: list[Attempt] = []
    for context in spec.get("ruleContext") or ():
        if context.get("deleteDownstream"):
            kyverno.downstreams.delete(policy, text_field(context["trigger"], "uid"))
        else:
            attempts.append(_attempt(policy, context, request, kyverno).on_behalf_of(policy))
    return joined(attempts)


def _attempt(
    policy: str, context: Json, request: AdmissionRequest | None, kyverno: Kyverno
) -> Attempt:
    store = kyverno.sim.store
    try:
        trigger = live_trigger(context.get("trigger") or {}, request, store)
    except TriggerError as error:
        why = f"gpol {policy} failed: failed to fetch trigger resource: "
        return Attempt(tuple(within(why, [error.failure_reason])))
    if is_filtered(object_key(trigger), store):
        return noted(FailureCause.NOT_MET, "nothing to do: a resource filter excludes the trigger")
    compiled = kyverno.generating.get(policy)
    if compiled is None:
        return failed(FailureCause.RULE_GONE, f"gpol {policy} failed: the policy was deleted")
    effective = request or creation_of(trigger, None, None)
    return _generate(compiled, context, trigger, effective, kyverno)


def _generate(
    compiled: CompiledPolicy,
    context: Json,
    trigger: KubernetesObject,
    request: AdmissionRequest,
    kyverno: Kyverno,
) -> Attempt:
    """Evaluate the policy, which writes the generated objects, and record the outcome."""
    policy, watch, uid = compiled.policy, kyverno.downstreams, text_field(context["trigger"], "uid")
    synchronizes, restores = bool(context.get("synchronize")), bool(context.get("cacheRestore"))
    objects = GeneratedObjects(policy, request, kyverno.sim, restores=restores)
    world = World(kyverno.sim.store, account=BACKGROUND, writes=objects.write)
    opened = open_request(request, world, policy.name)
    outcome = evaluate_rule(compiled.rules[0], opened) if opened else None
    if outcome is None:
        if synchronizes:
            watch.delete(policy.key, uid)
        return noted(FailureCause.NOT_MET, "nothing to do: the policy does not match")
    outcome = outcome._replace(generated=tuple(objects.written))
    _record_outcome(compiled, trigger, outcome, kyverno)
    if outcome.status in _FAILED:
        shown = "/".join(text_field(context["trigger"], name) for name in REFERENCE)
        text = (
            f"gpol {policy.key} rule {outcome.rule_name or policy.name} {outcome.status} "
            f"for trigger {shown}: {outcome.message}"
        )
        reason = objects.failure_reason or FailureReason(FailureCause.RULE_FAILED, "")
        return Attempt((reason._replace(message=text),))
    keeps = outcome.status is RuleStatus.PASS and generating_facts(policy).synchronizes
    if keeps and objects.written:
        watch.take(policy.key, uid, objects.written)
    if keeps and synchronizes:
        watch.delete_others(policy.key, uid, objects.written)
    return Attempt()


def _record_outcome(
    compiled: CompiledPolicy, trigger: KubernetesObject, outcome: Outcome, kyverno: Kyverno
) -> None:
    """Record the outcome of a policy as events and in the trigger's report."""
    policy, sim, source = compiled.policy, kyverno.sim, EventSource.GENERATE
    rule = compiled.rules[0].rule._replace(name=outcome.rule_name or policy.name)
    result = RuleResult(
        rule,
        Phase.GENERATE,
        outcome.status,
        outcome.message,
        outcome.generated,
        exceptions=outcome.exceptions,
        properties=outcome.properties,
    )
    response = PolicyResponse(policy, Phase.GENERATE, trigger, (result,))
    if outcome.status is RuleStatus.SKIP:
        kyverno.events.record(*excepted(sim, source, response, result))
    elif outcome.status in _FAILED:
        event = background_failed(sim, source, policy, outcome.message, rule=rule.name)
        kyverno.events.record(event)
    else:
        kyverno.events.record(
            *background_succeeded(sim, source, policy, outcome.generated),
            *(generated(source, policy, rule.name, obj) for obj in outcome.generated),
        )
    kyverno.reports.add_results(trigger, [response])


# Requests for which CEL policies generate objects: creations, updates and deletions.
# Source of the rules: upstream pkg/webhooks/resource/gpol/handler.go.


def generating_work(kyverno: Kyverno, request: AdmissionRequest) -> Iterator[RequestedWork]:
    """Yield the work of all GeneratingPolicies for an admission request."""
    policies = [one for one in kyverno.cache.every() if generates(one.policy.kind)]
    if not policies:
        return
    world = World(kyverno.sim.store, account=ADMISSION)
    for compiled in policies:
        policy = compiled.policy
        if not (policy.facts.admission and applies_to(policy, request)):
            continue
        given = open_request(request, world, policy.name)
        if given is None:
            continue
        is_asked = is_called_for(policy, given, kyverno.cache, world.external)
        turn = PolicyRules(compiled, compiled.rules)
        of_webhook = kyverno.cache.webhook_facts(policy)
        trace_webhook(kyverno.sim.tracer, turn, of_webhook, given, world.external, called=is_asked)
        facts = generating_facts(policy)
        deletes = request.operation is Operation.DELETE and not facts.heeds_deletions
        if not is_asked or (deletes and not facts.synchronizes):
            continue
        updates = request.operation is Operation.UPDATE and facts.synchronizes
        subject = reference(request.subject)
        context = cel_context(policy.key, subject, deletes=deletes, synchronizes=updates)
        yield RequestedWork(CEL_GENERATE, policy.key, (context,), request=request)


# Work of generating CEL policies that are created, changed or deleted.
# Source of the rules: upstream pkg/policy (policy_controller.go, gpol.go).


def start_generating_policies(kyverno: Kyverno) -> None:
    """Reconcile the objects of CEL policies that are created, changed or deleted."""

    def reconcile(policy: Policy, before: Policy | None) -> None:
        if before is not None and before.has_same_spec(policy):
            return
        stops = before is not None and generating_facts(before).synchronizes
        if stops and not generating_facts(policy).synchronizes:
            kyverno.downstreams.leave(policy.key, deletes=False)
        sync_generating_policy(policy, kyverno)

    kyverno.generating.changed.append(reconcile)
    kyverno.generating.dropped.append(
        lambda policy: kyverno.downstreams.leave(
            policy.key, deletes=not generating_facts(policy).orphans
        )
    )


def sync_generating_policy(policy: Policy, kyverno: Kyverno) -> None:
    """Submit the work of a policy for existing objects."""
    sim, facts, watch = kyverno.sim, generating_facts(policy), kyverno.downstreams

    cleans_up = watch.renews_in_place and facts.synchronizes

    def context(trigger: Json, *, restores: bool = False) -> Json:
        return cel_context(policy.key, trigger, synchronizes=cleans_up, restores=restores)

    def of_triggers(*, restores: bool) -> Iterator[Json]:
        for one in listed_triggers(policy, sim.store, watch.kinds):
            yield context(reference(one), restores=restores)

    known = watch.of(policy.key) if facts.synchronizes else []
    contexts: Iterable[Json] = ()
    if known:
        contexts = [context(trigger_from_labels(labels(obj))) for obj in known]
        watch.renew(policy.key)
    elif facts.synchronizes:
        # If none is known, existing objects are collected.
        contexts = of_triggers(restores=True)
    for some in (contexts, of_triggers(restores=False) if facts.looks_back else ()):
        for work in in_batches(RequestedWork(CEL_GENERATE, policy.key, tuple(some))):
            submit(work, sim, BACKGROUND)
