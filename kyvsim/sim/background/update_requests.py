"""UpdateRequests: what is to be done later, written down for the background controller.

Source of the rules: upstream api/kyverno/v2/update_request_types.go, pkg/webhooks/updaterequest,
pkg/policy/updaterequest.go, pkg/utils/generator, pkg/background/common/labels.go.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kyvsim.kube.labels import compile_selector
from kyvsim.kube.objects import Json, ObjectKey, labels, metadata, object_key, text_field
from kyvsim.model.request import AdmissionRequest, UserInfo
from kyvsim.sim.background.recorded_requests import recorded
from kyvsim.sim.kyverno.configuration import settings_of
from kyvsim.sim.kyverno.users import NAMESPACE
from kyvsim.sim.parts import Parts
from kyvsim.sim.server import Purpose

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
