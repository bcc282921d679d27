"""`patch`: an object is merged into the one that is there."""

from collections.abc import Mapping

from kyvsim.chainsaw.operations.protocol import Operation
from kyvsim.chainsaw.sending import Sent, answered, send_all
from kyvsim.chainsaw.session import Situation
from kyvsim.kube.objects import Json, metadata, object_key


def run(situation: Situation, spec: Mapping[str, Json]) -> Mapping[str, Json]:
    """Patch the objects, and try again until it works or time is up."""
    return send_all(situation, spec, _patch)


def _patch(situation: Situation, obj: Json, dry_run: bool) -> Sent:
    key = object_key(obj)
    client = situation.session.client
    now = client.get(*key)
    version = {} if now is None else {"resourceVersion": metadata(now)["resourceVersion"]}
    patch = {**obj, "metadata": {**metadata(obj), **version}}
    return answered(client.merge(key, patch, dry_run=dry_run), obj)


OPERATION = Operation("patch", run)
