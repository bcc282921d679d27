"""`apply`: an object is created, or merged into the one that is there."""

from collections.abc import Mapping

from kyvsim.chainsaw.operations.protocol import Operation
from kyvsim.chainsaw.sending import Sent, answered, create, send_all
from kyvsim.chainsaw.session import Situation
from kyvsim.kube.objects import Json, metadata, object_key


def run(situation: Situation, spec: Mapping[str, Json]) -> Mapping[str, Json]:
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


OPERATION = Operation("apply", run)
