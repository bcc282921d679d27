"""`create`, `apply`, `patch`, `update` and `delete`: objects are written, or deleted."""

from collections.abc import Mapping

from kyvsim.chainsaw import sending
from kyvsim.chainsaw.checks import judge
from kyvsim.chainsaw.durations import timeout_of
from kyvsim.chainsaw.ending import FailedError
from kyvsim.chainsaw.objects import referred
from kyvsim.chainsaw.operations.protocol import Operation
from kyvsim.chainsaw.sending import Sent, answered, create, send_all
from kyvsim.chainsaw.session import REQUEST, Situation
from kyvsim.kubernetes.objects import Json, ObjectKey, metadata, object_key
from kyvsim.model.request import Operation as Verb
from kyvsim.simulator.api_server import ApiRequest

# `create`: an object is created; it must not be there.

_EXISTS = "the resource already exists in the cluster"


def run_create(situation: Situation, spec: Mapping[str, Json]) -> Mapping[str, Json]:
    """Create the objects, and try again until it works or time is up."""
    return sending.send_all(situation, spec, _create)


def _create(situation: Situation, obj: Json, dry_run: bool) -> sending.Sent:
    key = object_key(obj)
    if key.name and situation.session.client.get(*key) is not None:
        return sending.Sent(_EXISTS, obj, unexpected=True)
    return sending.answered(sending.create(situation, obj, dry_run), obj)


CREATE = Operation("create", run_create)

# `apply`: an object is created, or merged into the one that is there.


def run_apply(situation: Situation, spec: Mapping[str, Json]) -> Mapping[str, Json]:
    """Apply the objects, and try again until it works or time is up."""
    return send_all(situation, spec, _apply)


def _apply(situation: Situation, obj: Json, dry_run: bool) -> Sent:
    key = object_key(obj)
    client = situation.session.client
    now = client.get(*key) if key.name else None
    if now is None:
        return answered(create(situation, obj, dry_run), obj)
    meta = {**metadata(obj), "resourceVersion": metadata(now)["resourceVersion"]}
    return answered(client.merge(key, {**obj, "metadata": meta}, dry_run=dry_run), obj)


APPLY = Operation("apply", run_apply)

# `patch`: an object is merged into the one that is there.


def run_patch(situation: Situation, spec: Mapping[str, Json]) -> Mapping[str, Json]:
    """Patch the objects, and try again until it works or time is up."""
    return send_all(situation, spec, _patch)


def _patch(situation: Situation, obj: Json, dry_run: bool) -> Sent:
    key = object_key(obj)
    client = situation.session.client
    now = client.get(*key)
    version = {} if now is None else {"resourceVersion": metadata(now)["resourceVersion"]}
    patch = {**obj, "metadata": {**metadata(obj), **version}}
    return answered(client.merge(key, patch, dry_run=dry_run), obj)


PATCH = Operation("patch", run_patch)

# `update`: an object takes the place of the one that is there.


def run_update(situation: Situation, spec: Mapping[str, Json]) -> Mapping[str, Json]:
    """Update the objects, and try again until it works or time is up."""
    return send_all(situation, spec, _update)


def _update(situation: Situation, obj: Json, dry_run: bool) -> Sent:
    client = situation.session.client
    key = object_key(obj)
    now = client.get(*key)
    version = {} if now is None else {"resourceVersion": metadata(now)["resourceVersion"]}
    wanted = {**obj, "metadata": {**metadata(obj), **version}}
    request = ApiRequest(Verb.UPDATE, key, client.user, wanted, dry_run=dry_run)
    return answered(client.send(request), obj)


UPDATE = Operation("update", run_update)

# `delete`: objects are deleted, and gone when it ends.


def run_delete(situation: Situation, spec: Mapping[str, Json]) -> Mapping[str, Json]:
    """Delete what is named and there; what is not there is no mistake."""
    propagation = str(spec.get("deletionPropagationPolicy") or situation.propagation)
    limit = timeout_of(situation, spec, situation.timeouts.delete)
    for key in referred(situation, spec):
        before = situation.session.client.get(*key)
        error = delete_one(situation, key, propagation, limit)
        problem = judge(situation, spec, before, error)
        if problem is not None:
            raise FailedError(problem)
    return {}


def delete_one(situation: Situation, key: ObjectKey, propagation: str, limit: float) -> str | None:
    """Delete an object and wait until it is gone; return why that failed, or None."""
    session = situation.session
    before = session.client.get(*key)
    if before is None:
        return None
    response = session.client.delete(key, propagation)
    session.wait(REQUEST)
    if response.error is not None:
        return None if response.error.reason == "NotFound" else response.error.message

    def gone() -> bool:
        now = session.client.get(*key)
        return now is None or metadata(now).get("uid") != metadata(before).get("uid")

    if session.wait_until(gone, limit):
        return None
    return f"{key.kind} `{key.name}` is still there after {limit:g} s"


DELETE = Operation("delete", run_delete)
