"""`create`: an object is created; it must not be there."""

from collections.abc import Mapping

from kyvsim.chainsaw import sending
from kyvsim.chainsaw.operations.protocol import Operation
from kyvsim.chainsaw.session import Situation
from kyvsim.kube.objects import Json, object_key

_EXISTS = "the resource already exists in the cluster"


def run(situation: Situation, spec: Mapping[str, Json]) -> Mapping[str, Json]:
    """Create the objects, and try again until it works or time is up."""
    return sending.send_all(situation, spec, _create)


def _create(situation: Situation, obj: Json, dry_run: bool) -> sending.Sent:
    key = object_key(obj)
    if key.name and situation.session.client.get(*key) is not None:
        return sending.Sent(_EXISTS, obj, unexpected=True)
    return sending.answered(sending.create(situation, obj, dry_run), obj)


OPERATION = Operation("create", run)
