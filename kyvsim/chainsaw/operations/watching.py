"""Operations that only show something to a person: `describe`, `events`, `get`, `podLogs`.

Chainsaw calls kubectl for them, which fails for an object that is named and not there.
"""

from collections.abc import Mapping
from types import MappingProxyType

from kyvsim.chainsaw.ending import FailedError
from kyvsim.chainsaw.objects import candidates, in_namespace
from kyvsim.chainsaw.operations.protocol import Operation
from kyvsim.chainsaw.reach import is_elsewhere
from kyvsim.chainsaw.session import Scope
from kyvsim.kube.objects import Json, object_key

_POD = MappingProxyType({"apiVersion": "v1", "kind": "Pod"})


def show_object(scope: Scope, spec: Mapping[str, Json]) -> Mapping[str, Json]:
    """Show nothing; raise FailedError where what is named is neither here nor in a cluster."""
    if not spec.get("name"):
        return {}
    given = scope.filled(dict(spec))
    meta = {name: given[name] for name in ("name", "namespace") if given.get(name)}
    obj = {"apiVersion": given["apiVersion"], "kind": given["kind"], "metadata": meta}
    wanted = in_namespace(scope, obj)
    if candidates(scope, wanted) or is_elsewhere(object_key(wanted)):
        return {}
    raise FailedError(f"{given['kind']} `{given['name']}` is not there")


def show_logs(scope: Scope, spec: Mapping[str, Json]) -> Mapping[str, Json]:
    """Show nothing; raise FailedError where the Pod that is named is not there."""
    return show_object(scope, {**spec, **_POD})


def show_events(scope: Scope, spec: Mapping[str, Json]) -> Mapping[str, Json]:
    """Do nothing: no test can end otherwise for what was shown."""
    del scope, spec
    return {}


OPERATIONS = (
    Operation("describe", show_object),
    Operation("get", show_object),
    Operation("podLogs", show_logs),
    Operation("events", show_events),
)
