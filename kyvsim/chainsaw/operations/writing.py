"""Operations that write objects: apply, create, update, patch, delete."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from kyvsim.chainsaw.errors import FailedError
from kyvsim.chainsaw.objects import (
    in_namespace,
    referred,
    require_usable,
    with_grace_period,
    written_objects,
)
from kyvsim.chainsaw.session import REQUEST, Situation, TestOperation, judge, outputs, timeout_of
from kyvsim.kubernetes.objects import Json, ObjectKey, metadata, object_key
from kyvsim.model.request import Operation as Verb
from kyvsim.model.simulation import FailureCause
from kyvsim.simulator.api_server import ApiRequest, ApiResponse

# Writing objects: attempts at requests, what is expected of them, what is cleaned up later.


class Sent(NamedTuple):
    """How an attempt ended."""

    error: str | None
    object: Json
    unexpected: bool = False
    """Whether it is an error whatever was expected: nothing was sent."""
    invalid: bool = False
    """Whether the object cannot be what its kind says."""


Send = Callable[[Situation, Json, bool], Sent]
"""Sends an object once; the last argument says whether it is a dry run."""


def answered(response: ApiResponse, obj: Json) -> Sent:
    """Return how an attempt ended by the server's answer."""
    if response.error is None:
        return Sent(None, response.object)
    invalid = response.error.why is FailureCause.INVALID
    return Sent(response.error.message, obj, invalid=invalid)


def send_all(situation: Situation, spec: Mapping[str, Json], send: Send) -> Mapping[str, Json]:
    """Send the objects of an operation one by one; return its outputs, or raise FailedError."""
    found: dict[str, Json] = {}
    for written in written_objects(situation, spec):
        obj = require_usable(situation.templated(spec, written))
        ending = with_grace_period(
            in_namespace(situation, obj), situation.session.test.grace_period
        )
        found.update(_send_one(situation, spec, ending, send, filled=obj != written))
    return found


def _send_one(
    situation: Situation, spec: Mapping[str, Json], obj: Json, send: Send, *, filled: bool
) -> Mapping[str, Json]:
    dry_run = spec.get("dryRun") is True
    problem: str | None = None
    sent = Sent(None, obj)

    def attempt() -> bool:
        nonlocal problem, sent
        sent = send(situation, obj, dry_run)
        expected = {} if sent.unexpected else spec
        problem = judge(situation, expected, sent.object, sent.error)
        return problem is None

    situation.session.retry(attempt, timeout_of(situation, spec, situation.timeouts.apply))
    if problem is not None:
        if filled and sent.invalid:
            situation.require_explicit(spec)
        raise FailedError(problem)
    return outputs(situation.bind("error", sent.error), spec, sent.object)


def create(situation: Situation, obj: Json, dry_run: bool) -> ApiResponse:
    """Create an object, and remember to delete it."""
    session = situation.session
    response = session.client.create(obj, dry_run=dry_run)
    if response.ok and not dry_run:
        session.created.append(key_of(response.object, obj))
    return response


def key_of(stored: Json, obj: Json) -> ObjectKey:
    """Return the identity of an object that was sent, with the name that it got."""
    return object_key(stored if stored is not None else obj)


# `create`, `apply`, `patch`, `update` and `delete`: objects are written, or deleted.

# `create`: an object is created; it must not be there.

_EXISTS = "the resource already exists in the cluster"


def run_create(situation: Situation, spec: Mapping[str, Json]) -> Mapping[str, Json]:
    """Create the objects, and try again until it works or time is up."""
    return send_all(situation, spec, _create)


def _create(situation: Situation, obj: Json, dry_run: bool) -> Sent:
    key = object_key(obj)
    if key.name and situation.session.client.get(*key) is not None:
        return Sent(_EXISTS, obj, unexpected=True)
    return answered(create(situation, obj, dry_run), obj)


CREATE = TestOperation("create", run_create)

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


APPLY = TestOperation("apply", run_apply)

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


PATCH = TestOperation("patch", run_patch)

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


UPDATE = TestOperation("update", run_update)

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


DELETE = TestOperation("delete", run_delete)
