"""The background controller: attempts at UpdateRequests until they succeed or are given up."""

from types import MappingProxyType
from typing import Final

from kyvsim.kubernetes.objects import Json, ObjectKey, object_key, text_field
from kyvsim.model.simulation import TimelineEvent
from kyvsim.simulator.api_server import Change
from kyvsim.simulator.background.generate import attempt_generate
from kyvsim.simulator.background.generate_in_cel import attempt_generate_in_cel
from kyvsim.simulator.background.mutate_existing import attempt_mutation
from kyvsim.simulator.background.mutate_existing_in_cel import attempt_mutation_in_cel
from kyvsim.simulator.background.update_requests import (
    CEL_GENERATE,
    CEL_MUTATE,
    COMPLETED,
    FAILED,
    GENERATE,
    KIND,
    MUTATE,
    PENDING,
    Attempt,
    of_mutation,
    rules_of,
    told,
    triggers_of,
)
from kyvsim.simulator.kyverno.configuration import BACKGROUND, NAMESPACE
from kyvsim.simulator.kyverno.installed import Kyverno
from kyvsim.simulator.kyverno.restart import Process, restart
from kyvsim.simulator.latency import NOTICE, PICK_UP

# The background controller: attempts at UpdateRequests until they succeed or are given up.
#
# Source of the rules: upstream pkg/background/update_request_controller.go,
# pkg/background/common/util.go.

_ACTOR = "background-controller"
_MOST_RETRIES = 4
_ATTEMPTS = MappingProxyType(
    {
        GENERATE: attempt_generate,
        MUTATE: attempt_mutation,
        CEL_GENERATE: attempt_generate_in_cel,
        CEL_MUTATE: attempt_mutation_in_cel,
    }
)


def start_background_controller(kyverno: Kyverno) -> None:
    """Let UpdateRequests be worked on as they come."""

    def observe(change: Change) -> None:
        if change.new is not None:
            take_up(change.new, kyverno)

    kyverno.parts.store.watch(observe, {KIND})


def take_up(obj: Json, kyverno: Kyverno) -> None:
    """Schedule what is to be done about an object, if it is an UpdateRequest that waits for it."""
    key, scheduler = object_key(obj), kyverno.parts.scheduler
    if key[:2] != KIND or key.namespace != NAMESPACE:
        return
    state = _status(obj).get("state")
    if state == PENDING:
        scheduler.after(PICK_UP, _ACTOR, lambda: _attempt(key, kyverno))
    elif state == FAILED:
        scheduler.after(NOTICE, _ACTOR, lambda: _retry(key, kyverno))


def _status(obj: Json) -> Json:
    return obj.get("status") or {}


def _attempt(key: ObjectKey, kyverno: Kyverno) -> None:
    """Work on an UpdateRequest once, and write down how it went."""
    parts = kyverno.parts
    obj = parts.store.get(*key)
    if obj is None or _status(obj).get("state") != PENDING:
        return
    spec = obj.get("spec") or {}
    work = _ATTEMPTS.get(text_field(spec, "requestType"))
    if work is None:
        return
    if spec["requestType"] == MUTATE and kyverno.lister.get(spec["policy"]) is None:
        _drop_mutations(spec["policy"], kyverno)
        return
    event = _begin(obj, kyverno)
    with parts.timeline.following(event.number):
        _settle(obj, work(obj, kyverno), event, kyverno)


def _drop_mutations(policy: str, kyverno: Kyverno) -> None:
    """Delete all UpdateRequests for mutate rules of a policy that is gone."""
    for one in of_mutation(kyverno.parts, policy.rpartition("/")[2]):
        kyverno.parts.client(BACKGROUND).delete(object_key(one))


def _begin(obj: Json, kyverno: Kyverno) -> TimelineEvent:
    spec = obj["spec"]
    timeline = kyverno.parts.timeline
    number = int(_status(obj).get("retryCount") or 0) + 1
    message = f"attempt {number} of {_MOST_RETRIES + 1} for {triggers_of(spec)}"
    key = object_key(obj)
    with timeline.following(timeline.first_about(key)):
        event = timeline.record("background", "attempt", key, message=message)
    return timeline.amend(event, policies=rules_of(spec))


def _settle(obj: Json, attempt: Attempt, event: TimelineEvent, kyverno: Kyverno) -> None:
    parts = kyverno.parts
    client = parts.client(BACKGROUND)
    status = _status(obj)
    retries = int(status.get("retryCount") or 0)
    fails = bool(attempt.problems)
    parts.timeline.settle(
        event,
        obstacles=(*attempt.problems, *attempt.notes),
        failed=fails,
        given_up=fails and retries >= _MOST_RETRIES,
    )
    if not attempt.problems:
        settled = {**status, "state": COMPLETED, "message": ""}
        client.update({**obj, "status": settled}, "status")
    elif retries < _MOST_RETRIES:
        failed = {
            "state": FAILED,
            "message": told(attempt.problems),
            "retryCount": retries + 1,
        }
        client.update({**obj, "status": {**status, **failed}}, "status")
        return
    client.delete(object_key(obj))


def _retry(key: ObjectKey, kyverno: Kyverno) -> None:
    """Let an attempt that failed be made again."""
    obj = kyverno.parts.store.get(*key)
    if obj is None or _status(obj).get("state") != FAILED:
        return
    pending = {**_status(obj), "state": PENDING}
    kyverno.parts.client(BACKGROUND).update({**obj, "status": pending}, "status")


# The background controller started anew: policies and UpdateRequests are seen again.

_PROCESS: Final = Process(
    "kyverno-background-controller",
    frozenset({"background-controller", "policy-controller"}),
    "background",
)


def restart_background_controller(kyverno: Kyverno) -> None:
    """Let the background controller end, and be at work again some time later.

    Policies that are deleted meanwhile are never noticed, as their informer's events are lost.
    """

    def relist() -> None:
        kyverno.downstreams.restart()
        kyverno.lister.relist()
        kyverno.generating.relist()
        kyverno.mutating.relist()
        for one in kyverno.parts.store.list(*KIND, NAMESPACE):
            take_up(one, kyverno)

    restart(kyverno.parts, _PROCESS, relist)
