"""`delete`: objects are deleted, and gone when it ends."""

from collections.abc import Mapping

from kyvsim.chainsaw.checks import judge
from kyvsim.chainsaw.durations import timeout_of
from kyvsim.chainsaw.ending import FailedError
from kyvsim.chainsaw.objects import referred
from kyvsim.chainsaw.operations.protocol import Operation
from kyvsim.chainsaw.session import REQUEST, Situation
from kyvsim.kube.objects import Json, ObjectKey, metadata


def run(situation: Situation, spec: Mapping[str, Json]) -> Mapping[str, Json]:
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


OPERATION = Operation("delete", run)
