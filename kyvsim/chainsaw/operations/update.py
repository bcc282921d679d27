"""`update`: an object takes the place of the one that is there."""

from collections.abc import Mapping

from kyvsim.chainsaw.operations.protocol import Operation
from kyvsim.chainsaw.sending import Sent, answered, send_all
from kyvsim.chainsaw.session import Scope
from kyvsim.kube.objects import Json, metadata, object_key


def run(scope: Scope, spec: Mapping[str, Json]) -> Mapping[str, Json]:
    """Update the objects, and try again until it works or time is up."""
    return send_all(scope, spec, _update)


def _update(scope: Scope, obj: Json, dry_run: bool) -> Sent:
    del dry_run
    client = scope.session.client
    now = client.get(*object_key(obj))
    version = {} if now is None else {"resourceVersion": metadata(now)["resourceVersion"]}
    return answered(client.update({**obj, "metadata": {**metadata(obj), **version}}), obj)


OPERATION = Operation("update", run)
