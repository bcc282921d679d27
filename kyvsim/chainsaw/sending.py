"""Writing objects: attempts at requests, what is expected of them, what is cleaned up later."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from kyvsim.chainsaw.checks import judge, outputs
from kyvsim.chainsaw.durations import timeout_of
from kyvsim.chainsaw.ending import FailedError
from kyvsim.chainsaw.grace import with_grace_period
from kyvsim.chainsaw.objects import in_namespace, require_usable, written_objects
from kyvsim.chainsaw.session import Situation
from kyvsim.kubernetes.objects import Json, ObjectKey, object_key
from kyvsim.model.simulation import Reason
from kyvsim.simulator.api_server import ApiResponse


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
    invalid = response.error.why is Reason.INVALID
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
            situation.require_said(spec)
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
