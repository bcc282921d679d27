"""UpdateRequests: work of the background controller, and the triggers that cause it."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from kyvsim.engine.background import check_rule, open_background
from kyvsim.engine.compile import CompiledPolicy, CompiledRule
from kyvsim.engine.policy import RuleInput
from kyvsim.engine.world import World
from kyvsim.kubernetes.discovery import parse_kind_selector, plural, split_api_version
from kyvsim.kubernetes.labels import compile_selector
from kyvsim.kubernetes.objects import (
    Json,
    KubernetesObject,
    ObjectKey,
    labels,
    metadata,
    object_key,
    text_field,
)
from kyvsim.kubernetes.wildcard import matches
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.request import AdmissionRequest, Operation, UserInfo
from kyvsim.model.result import RuleStatus
from kyvsim.model.simulation import FailureCause, FailureReason
from kyvsim.policy.tree import ResourceFilter
from kyvsim.simulator.admission.review import concerns, from_background
from kyvsim.simulator.api_server import ApiError, ObjectStore, Purpose, errors
from kyvsim.simulator.api_server.authorizer import denial
from kyvsim.simulator.configuration import BACKGROUND, MANAGED, NAMESPACE, settings_of
from kyvsim.simulator.context import SimulationContext
from kyvsim.simulator.kyverno import Kyverno

# The labels that name the owner of a generated object, and how objects are selected by them.
# Source of the rules: upstream pkg/background/common (labels.go, util.go),
# pkg/background/generate/utils.go.

LABEL = "generate.kyverno.io/"


def selected(
    store: ObjectStore,
    api_version: str,
    kind: str,
    required: Mapping[str, str],
    namespace: str = "",
) -> list[KubernetesObject]:
    """Return the objects of a kind that have the required labels."""
    objects = store.list(api_version, kind, namespace)
    return [obj for obj in objects if required.items() <= labels(obj).items()]


def policy_labels(policy: Policy) -> dict[str, str]:
    """Return the labels of all objects that a policy generated."""
    owner = {f"{LABEL}policy-name": policy.name, f"{LABEL}policy-namespace": policy.namespace}
    return {**MANAGED, **owner}


def trigger_from_labels(marks: Mapping[str, str]) -> dict[str, Json]:
    """Return the reference to the trigger in the labels of a generated object."""
    group, version = (marks.get(f"{LABEL}trigger-{part}", "") for part in ("group", "version"))
    names = ("kind", "namespace", "name", "uid")
    fields = {name: marks.get(f"{LABEL}trigger-{name}", "") for name in names}
    return {"apiVersion": f"{group}/{version}" if group else version, **fields}


class Attempt(NamedTuple):
    """The failures and notes of one attempt."""

    problems: tuple[FailureReason, ...] = ()
    """Why it failed; it is retried."""
    notes: tuple[FailureReason, ...] = ()
    """Why nothing was done although the attempt counts as successful."""

    def on_behalf_of(self, name: str) -> "Attempt":
        """Return the attempt with the rule or policy name added to each reason."""
        return Attempt(*(tuple(one._replace(on_behalf_of=name) for one in some) for some in self))


def joined(attempts: Iterable[Attempt]) -> Attempt:
    """Merge several attempts."""
    return Attempt(*(tuple(chain.from_iterable(some)) for some in zip(*attempts, strict=True)))


def failure_reason_of(error: ApiError, key: ObjectKey) -> FailureReason:
    """Return the error of a request for an object as a failure reason."""
    return FailureReason(error.why, error.message, key)


def noted(reason: FailureCause, message: str) -> Attempt:
    """Return an attempt that counts as successful although nothing was done."""
    return Attempt(notes=(FailureReason(reason, message),))


def failed(reason: FailureCause, message: str) -> Attempt:
    """Return an attempt that failed."""
    return Attempt((FailureReason(reason, message),))


def messages(failures: Iterable[FailureReason]) -> str:
    """Return the messages of failures, each once."""
    return "; ".join(dict.fromkeys(one.message for one in failures))


def within(start: str, failures: Iterable[FailureReason]) -> Iterator[FailureReason]:
    """Yield failures with a prefix for each message."""
    return (one._replace(message=f"{start}{one.message}") for one in failures)


def as_by_someone(given: RuleInput) -> RuleInput:
    """Return the input of a rule as if some user had sent the request.

    If a rule fails without and succeeds with it, it only lacks the user.
    """
    name = "someone"
    request = {
        **given.scope.root(frozenset({"request"}))["request"],
        "userInfo": {"username": name, "uid": name, "groups": [name]},
        "roles": [name],
        "clusterRoles": [name],
    }
    account = {"serviceAccountName": name, "serviceAccountNamespace": name}
    return given._replace(scope=given.scope.layer({"request": request, **account}))


# Admission requests as data of an UpdateRequest, and back.
# Source of the form: k8s.io/api admission/v1, upstream api/kyverno/v2/update_request_types.go.

_DETAILS = (
    *("uid", "kind", "resource", "requestKind", "requestResource", "name", "dryRun"),
    *("subResource", "requestSubResource"),
)


def recorded(request: AdmissionRequest | None) -> dict[str, Json]:
    """Return the context of an UpdateRequest, with empty fields if no request caused it."""
    if request is None:
        return {"admissionRequestInfo": {}, "userInfo": {"userInfo": {}}}
    user = request.user or UserInfo()
    user_info = {
        "username": user.username,
        "groups": list(user.groups),
        "uid": user.uid,
        **({"extra": dict(user.extra)} if user.extra else {}),
    }
    pairs = (("roles", user.roles), ("clusterRoles", user.cluster_roles))
    info = {"userInfo": user_info, **{field: list(roles) for field, roles in pairs if roles}}
    fields = {
        **(request.details or {}),
        "operation": request.operation.value,
        "namespace": request.namespace,
        "userInfo": user_info,
        "object": request.object,
        "oldObject": request.old_object,
    }
    admission = {"admissionRequest": fields, "operation": request.operation.value}
    return {"admissionRequestInfo": admission, "userInfo": info}


def update_of(obj: KubernetesObject, subresource: str, store: ObjectStore) -> AdmissionRequest:
    """Return the update of an existing object without user information, as Kyverno builds it."""
    key = object_key(obj)
    group, version = split_api_version(key.api_version)
    gv, resource = {"group": group, "version": version}, plural(group, key.kind, store.defined)
    details = {
        "kind": {**gv, "kind": key.kind},
        "resource": {**gv, "resource": resource},
        "name": key.name,
        **({"subResource": subresource} if subresource else {}),
    }
    user, place = UserInfo(), key.namespace
    return AdmissionRequest(Operation.UPDATE, obj, namespace=place, user=user, details=details)


def request_of(context: Json, store: ObjectStore) -> AdmissionRequest | None:
    """Return the request in the context of an UpdateRequest, or None."""
    info = (context or {}).get("admissionRequestInfo") or {}
    fields = info.get("admissionRequest")
    if not fields:
        return None
    subresource, parent = text_field(fields, "subResource"), None
    if subresource:
        resource = fields.get("resource") or {}
        group, version, name = (
            text_field(resource, field) for field in ("group", "version", "resource")
        )
        parent = group, version, store.kind_of(f"{group}/{version}" if group else version, name)
    details = {name: fields[name] for name in _DETAILS if name in fields}
    info = context.get("userInfo") or {}
    user_info = info.get("userInfo") or {}
    return AdmissionRequest(
        operation=Operation(fields["operation"]),
        object=fields.get("object"),
        old_object=fields.get("oldObject"),
        namespace=text_field(fields, "namespace"),
        user=UserInfo(
            username=text_field(user_info, "username"),
            uid=text_field(user_info, "uid"),
            groups=tuple(user_info.get("groups") or ()),
            extra=user_info.get("extra"),
            roles=tuple(info.get("roles") or ()),
            cluster_roles=tuple(info.get("clusterRoles") or ()),
        ),
        subresource=subresource,
        parent_kind=parent,
        details=details,
    )


# UpdateRequests: the queue of the background controller.
# Source of the rules: upstream api/kyverno/v2/update_request_types.go, pkg/webhooks/updaterequest,
# pkg/policy/updaterequest.go, pkg/utils/generator, pkg/background/common/labels.go.

KIND = ("kyverno.io/v2", "UpdateRequest")
GENERATE, MUTATE = "generate", "mutate"
CEL_GENERATE, CEL_MUTATE = "cel-generate", "cel-mutate"
PENDING, FAILED, COMPLETED = "Pending", "Failed", "Completed"
_MOST_CONTEXTS = 100
"""Maximum number of rule contexts in one UpdateRequest of a policy event."""
_MUTATE = "mutate.updaterequest.kyverno.io/"

REFERENCE = ("apiVersion", "kind", "namespace", "name")
"""The fields of a reference besides `uid`, named as in ObjectKey."""


class RequestedWork(NamedTuple):
    """The work of one UpdateRequest."""

    type: str
    policy: str
    contexts: tuple[Json, ...] = ()
    """Of generate rules: rule, trigger, and whether to delete the generated objects."""
    rule: str = ""
    """Of a mutate rule: its name."""
    trigger: Json = None
    """Of a mutate rule: the trigger, as `reference` returns it."""
    request: AdmissionRequest | None = None
    generated: tuple[Json, ...] = ()
    """References to objects to delete."""


def reference(obj: KubernetesObject | None) -> dict[str, str]:
    """Return the reference to an object in an UpdateRequest."""
    uid = text_field(metadata(obj), "uid")
    return {**dict(zip(REFERENCE, object_key(obj), strict=True)), "uid": uid}


def applies_to(policy: Policy, request: AdmissionRequest) -> bool:
    """Return whether a CEL policy applies to requests of this user in this namespace.

    By default it ignores requests of the background controller, which writes generated objects.
    """
    if policy.namespace and policy.namespace != request.namespace:
        return False
    return not from_background(request) or policy.rules[0].facts.sees_background


def rule_context(rule: str, trigger: Json, *, deletes: bool = False) -> dict[str, Json]:
    """Return the entry of an UpdateRequest for one rule and one trigger."""
    return {"rule": rule, "deleteDownstream": deletes, "trigger": trigger}


def cel_context(
    policy: str,
    trigger: Json,
    *,
    deletes: bool = False,
    synchronizes: bool = False,
    restores: bool = False,
) -> dict[str, Json]:
    """Return the entry of an UpdateRequest for a CEL policy and one trigger.

    With `restores`, existing objects are only collected, so that they are watched.
    """
    context = rule_context(policy, trigger, deletes=deletes)
    return {**context, "synchronize": synchronizes, "cacheRestore": restores}


def in_batches(work: RequestedWork) -> Iterator[RequestedWork]:
    """Yield the work in batches that an API server can store; none if it has no contexts."""
    for start in range(0, len(work.contexts), _MOST_CONTEXTS):
        yield work._replace(contexts=work.contexts[start : start + _MOST_CONTEXTS])


def submit(work: RequestedWork, sim: SimulationContext, user: UserInfo) -> None:
    """Create a pending UpdateRequest, unless there are too many."""
    # Counted first with `ever`: listing reads every UpdateRequest.
    text = str(settings_of(sim.store).get("updateRequestThreshold") or "")
    most = int(text) if text.isdecimal() else 1000
    if sim.store.ever(*KIND) >= most and len(sim.store.list(*KIND, "")) >= most:
        key = ObjectKey(*KIND, NAMESPACE, "")
        message = "UpdateRequest creation skipped: there are too many UpdateRequests"
        sim.timeline.record("admission", "update-request", key, outcome="skipped", message=message)
        return
    spec = {
        "requestType": work.type,
        "policy": work.policy,
        "rule": work.rule,
        "deleteDownstream": False,
        "resource": work.trigger or {},
        "context": recorded(work.request),
    }
    if work.contexts:
        spec["ruleContext"] = list(work.contexts)
    name = work.policy.rpartition("/")[2]
    marks = {} if work.type == CEL_MUTATE else {f"{LABEL}policy-name": name}
    if work.type == MUTATE:
        marks = mutate_labels(name, work.trigger)
    meta = {"generateName": "ur-", "namespace": NAMESPACE, "labels": marks}
    obj = {"apiVersion": KIND[0], "kind": KIND[1], "metadata": meta, "spec": spec}
    deletes = any(bool(one.get("deleteDownstream")) for one in work.contexts)
    what = "delete generated objects" if deletes else work.type
    purpose = Purpose("update-request", rules_of(spec), f"{what} for {triggers_of(spec)}")
    created = sim.client(user, purpose).create(obj).object
    if created is not None:
        listed = {"generatedResources": list(work.generated)} if work.generated else {}
        sim.client(user).update({**created, "status": {"state": PENDING, **listed}}, "status")


def mutate_labels(policy_name: str, trigger: Json) -> dict[str, str]:
    """Return the labels of an UpdateRequest for a mutate rule."""
    return {
        f"{_MUTATE}policy-name": policy_name,
        f"{_MUTATE}trigger-name": trigger["name"][:63],
        f"{_MUTATE}trigger-namespace": trigger["namespace"],
        f"{_MUTATE}trigger-kind": trigger["kind"],
        f"{_MUTATE}trigger-apiversion": trigger["apiVersion"].replace("/", "-"),
    }


def of_mutation(
    sim: SimulationContext, policy_name: str, trigger: Json = None
) -> list[KubernetesObject]:
    """Return the UpdateRequests for mutate rules of a policy, of one trigger [default: all]."""
    required = {f"{_MUTATE}policy-name": policy_name}
    required = mutate_labels(policy_name, trigger) if trigger else required
    return selected(sim.store, *KIND, required, NAMESPACE)


def rules_of(spec: Json) -> tuple[str, ...]:
    """Return the rules of an UpdateRequest as `policy/rule`; for CEL policies the policy."""
    if spec.get("requestType") in {CEL_GENERATE, CEL_MUTATE}:
        return (str(spec.get("policy")),)
    names = [spec.get("rule"), *(one.get("rule") for one in spec.get("ruleContext") or ())]
    return tuple(dict.fromkeys(f"{spec.get('policy')}/{name}" for name in names if name))


def triggers_of(spec: Json) -> str:
    """Describe the triggers of an UpdateRequest."""
    every = [one.get("trigger") for one in spec.get("ruleContext") or ()] or [spec.get("resource")]
    if spec.get("requestType") == CEL_MUTATE:
        info = (spec.get("context") or {}).get("admissionRequestInfo") or {}
        admission = info.get("admissionRequest") or {}
        obj = admission.get("object") or admission.get("oldObject")
        every = [(reference(obj) if obj else None)]
    titles: dict[str, None] = {}
    for one in filter(None, every):
        named = one.get("name") or f"with uid {one.get('uid')}"
        place = "/".join(filter(None, (one.get("namespace"), named)))
        titles[f"{one.get('kind')} {place}"] = None
    return ", ".join(titles) or "existing objects"


# The trigger of an UpdateRequest, as it is stored now.
# Source of the rules and texts: upstream pkg/background/common/resource.go.


class TriggerError(Exception):
    """A trigger that is missing, exists although it should be deleted, or cannot be read."""

    def __init__(self, failure_reason: FailureReason) -> None:
        super().__init__(failure_reason.message)
        self.failure_reason = failure_reason


def live_trigger(
    trigger: Json, request: AdmissionRequest | None, store: ObjectStore
) -> KubernetesObject:
    """Return the trigger of a generate rule.

    Raises `TriggerError` if its request was not stored, or not yet.
    """
    operation = request.operation if request is not None else Operation.UPDATE
    if request is None or operation is Operation.UPDATE:
        return find(trigger, request, store)
    if operation is Operation.CONNECT:
        return request.object or request.old_object or {}
    if operation is Operation.CREATE:
        return created_trigger(trigger, request, store)
    old = request.old_object or {}
    if labels(old).get(f"{LABEL}policy-name"):
        return find(trigger, request, store)
    key, uid = object_key(old), text_field(metadata(old), "uid")
    live = metadata(store.get(*key))
    if live and live.get("uid") == uid and not live.get("deletionTimestamp"):
        text = (
            f"trigger resource {key.api_version}/{key.kind} {key.namespace}/{key.name} with uid "
            f"{uid} still exists in the cluster, the delete request may have been rejected by the "
            "API server"
        )
        raise TriggerError(FailureReason(FailureCause.TRIGGER_STAYS, text, key, uid))
    return old


def created_trigger(
    trigger: Json, request: AdmissionRequest, store: ObjectStore
) -> KubernetesObject:
    """Return the trigger of a creation; for a subresource, the object sent to it.

    Raises `TriggerError` if there is none.
    """
    try:
        return find(trigger, request, store)
    except TriggerError:
        if not request.subresource:
            raise
    return request.object or {}


def find(trigger: Json, request: AdmissionRequest | None, store: ObjectStore) -> KubernetesObject:
    """Return the object of a reference, by its uid if it has one.

    Raises `TriggerError` if there is none.
    """
    api_version, kind, namespace, name = (text_field(trigger, field) for field in REFERENCE)
    uid, place = text_field(trigger, "uid"), "" if kind == "Namespace" else namespace
    named = store.get(api_version, kind, place, name) if name else None
    if uid:
        anywhere = ObjectKey(api_version, kind, namespace, "")
        refused = denial(BACKGROUND, "list", anywhere, store)
        if refused is not None:
            text = f"failed to list trigger resources: {refused.message}"
            raise TriggerError(FailureReason(refused.why, text, anywhere))
        # A reference with a name can only match the object of that name.
        candidates = [named] if name else store.list(api_version, kind, namespace)
        for obj in candidates:
            if obj is not None and metadata(obj).get("uid") == uid:
                return obj
        text = (
            f"trigger resource {api_version}/{kind} {namespace}/{name} with uid {uid} not found "
            "in the cluster, the corresponding admission request may have been rejected by the "
            "API server"
        )
        key = anywhere._replace(name=name)
        raise TriggerError(FailureReason(FailureCause.TRIGGER_MISSING, text, key, uid))
    if name and named is None:
        key = ObjectKey(api_version, kind, place, name)
        missing = errors.not_found(key, store.defined)
        text = f"resource {api_version}/{kind}/{place}/{name}: {missing.message}"
        raise TriggerError(FailureReason(FailureCause.TRIGGER_MISSING, text, key))
    if named is None and request is None:
        raise TriggerError(FailureReason(FailureCause.TRIGGER_MISSING, "resource not found"))
    return named or (request.subject if request else {})


# Triggers that are older than their policy.
# Source of the rules: upstream pkg/policy (generate.go, mutate.go, policy_controller.go,
# utils.go).


def existing_generation(policy: CompiledPolicy, kyverno: Kyverno) -> RequestedWork:
    """Return the work of generate rules for existing triggers."""
    own = policy.policy
    contexts: list[Json] = []
    for rule in own.rules:
        generation = rule.facts.generation
        if generation is None:
            continue
        triggers, tracer = _triggers(own, rule, kyverno.sim.store), kyverno.sim.tracer
        if generation.looks_back:
            contexts += (
                rule_context(rule.name, reference(trigger))
                for trigger in triggers
                # upstream checks whether any rule of the policy has a result.
                if any(_status_for(policy, one, trigger, kyverno) for one in policy.rules)
            )
        elif tracer is not None:
            rules = [one for one in policy.rules if one.rule is rule]
            why = "the object is older than the policy, and `generateExisting` is not true"
            for trigger in triggers:
                tracer.skip(own, rules, object_key(trigger), why)
    return RequestedWork(GENERATE, own.key, tuple(contexts))


def existing_mutations(policy: CompiledPolicy, kyverno: Kyverno) -> Iterator[RequestedWork]:
    """Yield the work of mutate rules on existing objects for existing triggers."""
    own = policy.policy
    for compiled in policy.rules:
        rule = compiled.rule
        runs = rule.facts.runs_on_policy_update
        if not runs or rule not in own.rules or not rule.mutates_existing:
            continue
        for trigger in _triggers(own, rule, kyverno.sim.store):
            named = reference(trigger)
            if of_mutation(kyverno.sim, own.name, named):
                continue
            if _status_for(policy, compiled, trigger, kyverno) is RuleStatus.PASS:
                yield RequestedWork(MUTATE, own.key, rule=rule.name, trigger=named)


def _status_for(
    policy: CompiledPolicy, rule: CompiledRule, trigger: Json, kyverno: Kyverno
) -> RuleStatus | None:
    """Return the status of a background rule for a trigger without a request."""
    if not rule.rule.generates and not rule.rule.mutates_existing:
        return None
    world = World(kyverno.sim.store, account=BACKGROUND)
    given = open_background(policy.policy, trigger, None, world)
    if not concerns(policy.policy, given.request, world.external):
        return None
    outcome = check_rule(rule, given, None)
    return outcome.status if outcome else None


def _triggers(policy: Policy, rule: Rule, store: ObjectStore) -> Iterator[KubernetesObject]:
    """Yield the objects that the match block of a rule selects by kind, name and labels."""
    place = policy.namespace if policy.kind == "Policy" else ""
    for one in rule.tree.match.filters:
        selects = compile_selector(one.selector or {})
        kinds = [
            pair
            for text in one.kinds
            for pair in store.kinds()
            if all(map(matches, parse_kind_selector(text), (*split_api_version(pair[0]), pair[1])))
        ]
        for obj in (obj for pair in kinds for obj in store.list(*pair, place)):
            if selects(labels(obj)) and _is_named(obj, one, confined=bool(place)):
                yield obj


def _is_named(obj: KubernetesObject, named: ResourceFilter, *, confined: bool) -> bool:
    key = object_key(obj)
    if named.name and not matches(named.name, key.name):
        return False
    if named.names and not any(matches(one, key.name) for one in named.names):
        return False
    inside = any(matches(one, key.namespace) for one in named.namespaces)
    return confined or not named.namespaces or inside
