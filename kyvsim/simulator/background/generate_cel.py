"""Generation by GeneratingPolicies: triggers, attempts, objects."""

from collections.abc import Iterator

from kyvsim.engine.compile import CompiledPolicy, PolicyRules
from kyvsim.engine.compile.compiled import Outcome
from kyvsim.engine.policy import evaluate_rule, open_request
from kyvsim.engine.world import World, creation_of
from kyvsim.kubernetes.discovery import split_api_version
from kyvsim.kubernetes.objects import Json, ObjectKey, labels, metadata, object_key, text_field
from kyvsim.languages.cel.facts import generates, generating_facts
from kyvsim.languages.cel.listed_objects import listed_triggers
from kyvsim.model.policy import Policy
from kyvsim.model.request import AdmissionRequest, Operation
from kyvsim.model.result import Phase, PolicyResponse, RuleResult, RuleStatus
from kyvsim.model.simulation import FailureCause, FailureReason
from kyvsim.patch.json_patch import merge_patch
from kyvsim.simulator.admission.cel import is_called_for, trace_webhook
from kyvsim.simulator.api_server import ApiError, ApiRequest, ApiResponse, Client, Purpose
from kyvsim.simulator.api_server.authorizer import denial
from kyvsim.simulator.api_server.metadata import with_metadata
from kyvsim.simulator.background.update_requests import (
    CEL_GENERATE,
    LABEL,
    Attempt,
    RequestedWork,
    TriggerError,
    applies_to,
    cel_context,
    failed,
    failure_reason_of,
    in_batches,
    live_trigger,
    noted,
    reference,
    request_of,
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

# The objects that a policy in CEL generates: written one after the other, as it goes.
#
# Source of the rules: upstream pkg/cel/libs/context.go (GenerateResources).


class GeneratedObjects:
    """Writes objects into the cluster on behalf of a policy, and keeps them as they are there."""

    def __init__(
        self, policy: Policy, request: AdmissionRequest, sim: SimulationContext, *, restores: bool
    ) -> None:
        """Write nothing if `restores`: what is there already is looked for."""
        self._policy = policy
        self._sim = sim
        self._restores = restores
        key = object_key(request.subject)
        group, version = split_api_version(key.api_version)
        # Of a deletion there is no object, and so neither its namespace nor its uid.
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
        self.written: list[Json] = []
        self.failure_reason: FailureReason | None = None

    def write(self, namespace: str, obj: Json) -> None:
        """Let an object be in a namespace as it is wanted; raises ValueError."""
        wanted = self._placed(namespace, obj)
        key, store = object_key(wanted), self._sim.store
        refused = denial(BACKGROUND, "get", key, store)
        if refused is not None:
            self._fail(refused, key)
        live = store.get(*key)
        names = (*MANAGED, f"{LABEL}policy-name", f"{LABEL}trigger-uid")
        if live is None:
            if not self._restores:
                self._keep(self._client("generate").create(wanted), key)
        elif any(labels(live).get(name, "") != self._marks[name] for name in names):
            return  # it belongs to another
        elif self._restores:
            self.written.append(live)
        else:
            self._keep(self._update(wanted, live), key)

    def _placed(self, namespace: str, obj: Json) -> Json:
        """Return an object in its namespace, with the labels of its owner."""
        key = object_key(obj)
        if key.api_version.count("/") > 1:
            text = f"unexpected GroupVersion string: {key.api_version}"
            self.failure_reason = FailureReason(FailureCause.NO_KIND, text, key)
            raise ValueError(text)
        target = namespace
        if not self._sim.store.is_namespaced(key.api_version, key.kind):
            if namespace and self._policy.namespace:
                raise ValueError(
                    f'cross-scope generation denied: a policy scoped to namespace "{namespace}" '
                    f"cannot generate cluster-scoped resource {key.api_version}/{key.kind}"
                )
            target = ""
        meta = metadata(obj)
        marks = {**labels(obj), **self._marks}
        if text_field(meta, "resourceVersion"):
            marks[f"{LABEL}source-uid"] = text_field(meta, "uid")
        fields = {**OF_SERVER, "labels": marks, "namespace": target or None}
        if key.namespace and key.namespace != target:
            fields["ownerReferences"] = None
        return with_metadata(obj, fields)

    def _update(self, wanted: Json, live: Json) -> ApiResponse:
        client = self._client("synchronize")
        if generating_facts(self._policy).applies_server_side:
            applied = merge_patch(live, wanted)
            return client.send(
                ApiRequest(Operation.UPDATE, object_key(live), BACKGROUND, applied, patch="apply")
            )
        meta = metadata(live)
        same = {name: meta.get(name) for name in ("uid", "resourceVersion")}
        return client.update(with_metadata(wanted, same))

    def _client(self, action: str) -> Client:
        return self._sim.client(BACKGROUND, Purpose(action, (self._policy.key,)))

    def _keep(self, response: ApiResponse, key: ObjectKey) -> None:
        if response.error is not None:
            self._fail(response.error, key)
        self.written.append(response.object)

    def _fail(self, error: ApiError, key: ObjectKey) -> None:
        self.failure_reason = failure_reason_of(error, key)
        raise ValueError(error.message)


# One attempt at an UpdateRequest for a policy in CEL that generates.
#
# Source of the rules and texts: upstream pkg/background/gpol/generate_controller.go.

_FAILED = frozenset({RuleStatus.ERROR, RuleStatus.FAIL})


def attempt_generate_in_cel(update_request: Json, kyverno: Kyverno) -> Attempt:
    """Process an UpdateRequest: generate or delete objects."""
    spec = update_request["spec"]
    policy = spec["policy"]
    request = request_of(spec.get("context"), kyverno.sim.store)
    problems: list[FailureReason] = []
    notes: list[FailureReason] = []
    for context in spec.get("ruleContext") or ():
        if context.get("deleteDownstream"):
            kyverno.downstreams.delete(policy, text_field(context["trigger"], "uid"))
            continue
        attempt = _attempt(policy, context, request, kyverno)
        problems += (one._replace(wanted_by=policy) for one in attempt.problems)
        notes += (one._replace(wanted_by=policy) for one in attempt.notes)
    return Attempt(tuple(problems), tuple(notes))


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
    found = kyverno.generating.get(policy)
    if found is None:
        return failed(FailureCause.RULE_GONE, f"gpol {policy} failed: the policy was deleted")
    effective = request or creation_of(trigger, None, None)
    return _generate(found, context, trigger, effective, kyverno)


def _generate(
    compiled: CompiledPolicy,
    context: Json,
    trigger: Json,
    request: AdmissionRequest,
    kyverno: Kyverno,
) -> Attempt:
    """Evaluate the policy, which writes what it generates, and record the outcome."""
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
        names = ("apiVersion", "kind", "namespace", "name")
        shown = "/".join(text_field(context["trigger"], name) for name in names)
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
    compiled: CompiledPolicy, trigger: Json, outcome: Outcome, kyverno: Kyverno
) -> None:
    """Write the outcome of a policy to events and to the trigger's report."""
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


# Requests that policies in CEL generate for: they come, change and leave.
#
# Source of the rules: upstream pkg/webhooks/resource/gpol/handler.go.


def generating_work(kyverno: Kyverno, request: AdmissionRequest) -> Iterator[RequestedWork]:
    """Yield the work of all GeneratingPolicies for an admission request."""
    found = [one for one in kyverno.cache.every() if generates(one.policy.kind)]
    if not found:
        return
    world = World(kyverno.sim.store, account=ADMISSION)
    for compiled in found:
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
        context = cel_context(
            policy.key,
            reference(request.subject),
            deletes=deletes,
            synchronizes=request.operation is Operation.UPDATE and facts.synchronizes,
        )
        yield RequestedWork(CEL_GENERATE, policy.key, (context,), request=request)


# Work that policies in CEL that generate make themselves: when they come, change and go.
#
# Source of the rules: upstream pkg/policy (policy_controller.go, gpol.go).


def start_generating_policies(kyverno: Kyverno) -> None:
    """Let policies in CEL that come, change or go bring their objects along."""

    def reconcile(policy: Policy, before: Policy | None) -> None:
        if before is not None and before.has_same_spec(policy):
            return
        stops = before is not None and generating_facts(before).synchronizes
        if stops and not generating_facts(policy).synchronizes:
            kyverno.downstreams.leave(policy.key, deletes=False)
        _sync(policy, kyverno)

    def drop(policy: Policy) -> None:
        kyverno.downstreams.leave(policy.key, deletes=not generating_facts(policy).orphans)

    kyverno.generating.changed.append(reconcile)
    kyverno.generating.dropped.append(drop)


def sync_generating_policies(kyverno: Kyverno) -> None:
    """Let all of them look at the cluster again."""
    for one in kyverno.generating.every():
        _sync(one.policy, kyverno)


def _sync(policy: Policy, kyverno: Kyverno) -> None:
    """Make the work for what a policy finds in the cluster."""
    facts, contexts = generating_facts(policy), []
    known = kyverno.downstreams.of(policy.key) if facts.synchronizes else []
    kinds = kyverno.downstreams.kinds
    if known:
        # What is known to be generated is deleted and made anew.
        contexts = [cel_context(policy.key, trigger_from_labels(labels(obj))) for obj in known]
        kyverno.downstreams.delete(policy.key)
    elif facts.synchronizes:
        # Where nothing is known, it is found out which objects are there.
        contexts = [
            cel_context(policy.key, reference(one), restores=True)
            for one in listed_triggers(policy, kyverno.sim.store, kinds)
        ]
    _submit(policy, contexts, kyverno)
    if facts.looks_back:
        found = listed_triggers(policy, kyverno.sim.store, kinds)
        _submit(policy, [cel_context(policy.key, reference(one)) for one in found], kyverno)


def _submit(policy: Policy, contexts: list[Json], kyverno: Kyverno) -> None:
    for work in in_batches(RequestedWork(CEL_GENERATE, policy.key, tuple(contexts))):
        submit(work, kyverno.sim, BACKGROUND)
