"""`update`: an object takes the place of the one that is there."""

from collections.abc import Mapping

from kyvsim.chainsaw.operations.protocol import Operation as Action
from kyvsim.chainsaw.sending import Sent, answered, send_all
from kyvsim.chainsaw.session import Situation
from kyvsim.kube.objects import Json, metadata, object_key
from kyvsim.model.request import Operation
from kyvsim.sim.server import ApiRequest


def run(situation: Situation, spec: Mapping[str, Json]) -> Mapping[str, Json]:
    """Update the objects, and try again until it works or time is up."""
    return send_all(situation, spec, _update)


def _update(situation: Situation, obj: Json, dry_run: bool) -> Sent:
    client = situation.session.client
    key = object_key(obj)
    now = client.get(*key)
    version = {} if now is None else {"resourceVersion": metadata(now)["resourceVersion"]}
    wanted = {**obj, "metadata": {**metadata(obj), **version}}
    request = ApiRequest(Operation.UPDATE, key, client.user, wanted, dry_run=dry_run)
    return answered(client.send(request), obj)


OPERATION = Action("update", run)
