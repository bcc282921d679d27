"""UpdateRequests: work for later, the request that it is about, and how attempts end."""

from collections.abc import Iterable, Iterator
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.engine.policy import RuleInput
from kyvsim.kubernetes.discovery import plural, split_api_version
from kyvsim.kubernetes.labels import compile_selector
from kyvsim.kubernetes.objects import Json, ObjectKey, labels, metadata, object_key, text_field
from kyvsim.model.request import AdmissionRequest, Operation, UserInfo
from kyvsim.model.simulation import Obstacle, Reason
from kyvsim.simulator.api_server import ApiError, Purpose, Store
from kyvsim.simulator.kyverno.configuration import NAMESPACE, settings_of
from kyvsim.simulator.parts import Parts

# How one attempt at an UpdateRequest ended.


class Attempt(NamedTuple):
    """Whether there is more to do, and what stood in the way."""

    problems: tuple[Obstacle, ...] = ()
    """Why it failed; it is tried again."""
    notes: tuple[Obstacle, ...] = ()
    """Why nothing was done where that counts as done."""


def obstacle_of(error: ApiError, key: ObjectKey) -> Obstacle:
    """Return the refusal of a request about an object as an obstacle."""
    return Obstacle(error.why, error.message, key)


def noted(reason: Reason, message: str) -> Attempt:
    """Return an attempt that counts as done although nothing was."""
    return Attempt(notes=(Obstacle(reason, message),))


def failed(reason: Reason, message: str) -> Attempt:
    """Return an attempt that failed."""
    return Attempt((Obstacle(reason, message),))


def told(obstacles: Iterable[Obstacle]) -> str:
    """Return what obstacles say, each once."""
    return "; ".join(dict.fromkeys(one.message for one in obstacles))


def within(start: str, obstacles: Iterable[Obstacle]) -> Iterator[Obstacle]:
    """Yield obstacles with a text before what each says."""
    return (one._replace(message=f"{start}{one.message}") for one in obstacles)


# Work that no request made, of rules that ask who made it.

_SOMEONE = MappingProxyType(
    {
        "userInfo": {"username": "someone", "uid": "someone", "groups": ["someone"]},
        "roles": ["someone"],
        "clusterRoles": ["someone"],
    }
)
_ACCOUNT = MappingProxyType({"serviceAccountName": "someone", "serviceAccountNamespace": "someone"})


def as_by_someone(given: RuleInput) -> RuleInput:
    """Return what a rule is evaluated on as if someone had made a request.

    What cannot be evaluated without that, and can with it, is wanting for its user alone.
    """
    request = {**given.scope.root(frozenset({"request"}))["request"], **_SOMEONE}
    return given._replace(scope=given.scope.layer({"request": request, **_ACCOUNT}))


# Admission requests as data of an UpdateRequest, and back.
#
# Source of the form: k8s.io/api admission/v1, upstream api/kyverno/v2/update_request_types.go.

_DETAILS = ("uid", "kind", "resource", "requestKind", "requestResource", "name", "dryRun")
_SUBRESOURCES = ("subResource", "requestSubResource")


def recorded(request: AdmissionRequest | None) -> dict[str, Json]:
    """Return the context of an UpdateRequest, bare where no request led to it."""
    if request is None:
        return {"admissionRequestInfo": {}, "userInfo": {"userInfo": {}}}
    user = request.user or UserInfo()
    asked: dict[str, Json] = {
        "username": user.username,
        "groups": list(user.groups),
        "uid": user.uid,
    }
    if user.extra:
        asked["extra"] = dict(user.extra)
    info: dict[str, Json] = {"userInfo": asked}
    if user.roles:
        info["roles"] = list(user.roles)
    if user.cluster_roles:
        info["clusterRoles"] = list(user.cluster_roles)
    operation = request.operation.value
    fields: dict[str, Json] = {
        **(request.details or {}),
        "operation": operation,
        "namespace": request.namespace,
        "userInfo": asked,
        "object": request.object,
        "oldObject": request.old_object,
    }
    admission = {"admissionRequest": fields, "operation": operation}
    return {"admissionRequestInfo": admission, "userInfo": info}


def update_of(obj: Json, subresource: str, store: Store) -> AdmissionRequest:
    """Return the update, by nobody, as which Kyverno takes an object that is there."""
    key = object_key(obj)
    group, version = split_api_version(key.api_version)
    details: dict[str, Json] = {
        "kind": {"group": group, "version": version, "kind": key.kind},
        "resource": {
            "group": group,
            "version": version,
            "resource": plural(group, key.kind, store.defined),
        },
        "name": key.name,
    }
    if subresource:
        details["subResource"] = subresource
    return AdmissionRequest(
        operation=Operation.UPDATE,
        object=obj,
        namespace=key.namespace,
        user=UserInfo(),
        details=details,
    )


def request_of(context: Json, store: Store) -> AdmissionRequest | None:
    """Return the request that the context of an UpdateRequest holds, or None."""
    info = (context or {}).get("admissionRequestInfo") or {}
    fields = info.get("admissionRequest")
    if not fields:
        return None
    subresource = text_field(fields, "subResource")
    details = {name: fields[name] for name in (*_DETAILS, *_SUBRESOURCES) if name in fields}
    return AdmissionRequest(
        operation=Operation(fields["operation"]),
        object=fields.get("object"),
        old_object=fields.get("oldObject"),
        namespace=text_field(fields, "namespace"),
        user=_user(context.get("userInfo") or {}),
        subresource=subresource,
        parent_kind=_parent(fields, store) if subresource else None,
        details=details,
    )


def _user(info: Json) -> UserInfo:
    asked = info.get("userInfo") or {}
    return UserInfo(
        username=text_field(asked, "username"),
        uid=text_field(asked, "uid"),
        groups=tuple(asked.get("groups") or ()),
        extra=asked.get("extra"),
        roles=tuple(info.get("roles") or ()),
        cluster_roles=tuple(info.get("clusterRoles") or ()),
    )


def _parent(fields: Json, store: Store) -> tuple[str, str, str]:
    """Return the kind whose subresource a request is about."""
    resource = fields.get("resource") or {}
    group, version = text_field(resource, "group"), text_field(resource, "version")
    api_version = f"{group}/{version}" if group else version
    return group, version, store.kind_of(api_version, text_field(resource, "resource"))


# UpdateRequests: what is to be done later, written down for the background controller.
#
# Source of the rules: upstream api/kyverno/v2/update_request_types.go,
# pkg/webhooks/updaterequest,
# pkg/policy/updaterequest.go, pkg/utils/generator, pkg/background/common/labels.go.

KIND = ("kyverno.io/v2", "UpdateRequest")
GENERATE, MUTATE = "generate", "mutate"
CEL_GENERATE, CEL_MUTATE = "cel-generate", "cel-mutate"
PENDING, FAILED, COMPLETED = "Pending", "Failed", "Completed"
_MOST_CONTEXTS = 100
"""How many rules and triggers one UpdateRequest of a policy event holds."""
_THRESHOLD = 1000
_LONGEST_LABEL = 63
_MUTATE = "mutate.updaterequest.kyverno.io/"


class Work(NamedTuple):
    """What one UpdateRequest asks for."""

    type: str
    policy: str
    """The policy's key."""
    contexts: tuple[Json, ...] = ()
    """Of generate rules: rule, trigger, and whether its objects are to be deleted."""
    rule: str = ""
    """Of a mutate rule: its name."""
    trigger: Json = None
    """Of a mutate rule: the trigger, as `reference` gives it."""
    request: AdmissionRequest | None = None
    """The request that made the work, if it was one."""
    generated: tuple[Json, ...] = ()
    """References to objects that are to be deleted."""


def reference(obj: Json) -> dict[str, Json]:
    """Return what an UpdateRequest says of an object to find it again."""
    api_version, kind, namespace, name = object_key(obj)
    uid = text_field(metadata(obj), "uid")
    return {
        "apiVersion": api_version,
        "kind": kind,
        "namespace": namespace,
        "name": name,
        "uid": uid,
    }


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
    """Return the entry of an UpdateRequest for a policy in CEL and one trigger.

    `restores` asks only which objects are there already, so that they are watched.
    """
    context = rule_context(policy, trigger, deletes=deletes)
    return {**context, "synchronize": synchronizes, "cacheRestore": restores}


def in_batches(work: Work) -> Iterator[Work]:
    """Give the work in parts of a size that an API server stores; none where there is none."""
    for start in range(0, len(work.contexts), _MOST_CONTEXTS):
        yield work._replace(contexts=work.contexts[start : start + _MOST_CONTEXTS])


def submit(work: Work, parts: Parts, user: UserInfo) -> None:
    """Write an UpdateRequest down, unless there are too many; it is pending at once."""
    if _are_too_many(parts):
        key = ObjectKey(*KIND, NAMESPACE, "")
        message = "UpdateRequest creation skipped: there are too many of them"
        parts.timeline.record(
            "admission", "update-request", key, outcome="skipped", message=message
        )
        return
    client = parts.client(user)
    obj = _object(work)
    created = parts.client(user, _purpose(work, obj["spec"])).create(obj)
    if created.object is not None:
        status: dict[str, Json] = {"state": PENDING}
        if work.generated:
            status["generatedResources"] = list(work.generated)
        client.update({**created.object, "status": status}, "status")


def _are_too_many(parts: Parts) -> bool:
    # The list is asked only where it can matter: it is a read of every UpdateRequest.
    most = _threshold(parts)
    return parts.store.ever(*KIND) >= most and len(parts.store.list(*KIND, "")) >= most


def _threshold(parts: Parts) -> int:
    text = str(settings_of(parts.store).get("updateRequestThreshold") or "")
    return int(text) if text.isdecimal() else _THRESHOLD


def _object(work: Work) -> Json:
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
    meta = {"generateName": "ur-", "namespace": NAMESPACE, "labels": _labels(work)}
    return {"apiVersion": KIND[0], "kind": KIND[1], "metadata": meta, "spec": spec}


def _labels(work: Work) -> dict[str, str]:
    name = work.policy.rpartition("/")[2]
    if work.type == CEL_MUTATE:
        return {}
    if work.type != MUTATE:
        return {"generate.kyverno.io/policy-name": name}
    return mutate_labels(name, work.trigger)


def mutate_labels(policy_name: str, trigger: Json) -> dict[str, str]:
    """Return the labels of an UpdateRequest for a mutate rule."""
    return {
        f"{_MUTATE}policy-name": policy_name,
        f"{_MUTATE}trigger-name": trigger["name"][:_LONGEST_LABEL],
        f"{_MUTATE}trigger-namespace": trigger["namespace"],
        f"{_MUTATE}trigger-kind": trigger["kind"],
        f"{_MUTATE}trigger-apiversion": trigger["apiVersion"].replace("/", "-"),
    }


def of_mutation(parts: Parts, policy_name: str, trigger: Json = None) -> list[Json]:
    """Return the UpdateRequests for mutate rules of a policy, all or those of one trigger."""
    wanted = {f"{_MUTATE}policy-name": policy_name}
    fits = compile_selector(
        {"matchLabels": mutate_labels(policy_name, trigger) if trigger else wanted}
    )
    return [one for one in parts.store.list(*KIND, NAMESPACE) if fits(labels(one))]


def rules_of(spec: Json) -> tuple[str, ...]:
    """Return the rules that an UpdateRequest is about, as `policy/rule`; policies without rules."""
    if spec.get("requestType") in {CEL_GENERATE, CEL_MUTATE}:
        return (str(spec.get("policy")),)
    names = [spec.get("rule"), *(one.get("rule") for one in spec.get("ruleContext") or ())]
    return tuple(dict.fromkeys(f"{spec.get('policy')}/{name}" for name in names if name))


def triggers_of(spec: Json) -> str:
    """Return the triggers that an UpdateRequest is about, as text."""
    every = [one.get("trigger") for one in spec.get("ruleContext") or ()] or [spec.get("resource")]
    if spec.get("requestType") == CEL_MUTATE:
        every = [_requested(spec)]
    return ", ".join(dict.fromkeys(_title(one) for one in every if one)) or "what is there"


def _requested(spec: Json) -> Json:
    """Return a reference to the object of the request that an UpdateRequest holds, or None."""
    info = (spec.get("context") or {}).get("admissionRequestInfo") or {}
    asked = info.get("admissionRequest") or {}
    obj = asked.get("object") or asked.get("oldObject")
    return reference(obj) if obj else None


def _title(trigger: Json) -> str:
    named = trigger.get("name") or f"with uid {trigger.get('uid')}"
    place = "/".join(filter(None, (trigger.get("namespace"), named)))
    return f"{trigger.get('kind')} {place}"


def _purpose(work: Work, spec: Json) -> Purpose:
    """Return what the creation of an UpdateRequest is for."""
    deletes = any(_deletions(work.contexts))
    what = "delete what was generated" if deletes else work.type
    return Purpose("update-request", rules_of(spec), f"{what} for {triggers_of(spec)}")


def _deletions(contexts: Iterable[Json]) -> Iterator[bool]:
    return (bool(one.get("deleteDownstream")) for one in contexts)
