"""`patch`: an object is merged into the one that is there."""

from collections.abc import Mapping

from kyvsim.chainsaw.operations.protocol import Operation
from kyvsim.chainsaw.sending import Sent, answered, send_all
from kyvsim.chainsaw.session import Scope
from kyvsim.kube.objects import Json, metadata, object_key


def run(scope: Scope, spec: Mapping[str, Json]) -> Mapping[str, Json]:
    """Patch the objects, and try again until it works or time is up."""
    return send_all(scope, spec, _patch)


def _patch(scope: Scope, obj: Json, dry_run: bool) -> Sent:
    key = object_key(obj)
    client = scope.session.client
    now = client.get(*key)
    version = {} if now is None else {"resourceVersion": metadata(now)["resourceVersion"]}
    patch = {**obj, "metadata": {**metadata(obj), **version}}
    return answered(client.merge(key, patch, dry_run=dry_run), obj)


OPERATION = Operation("patch", run)
