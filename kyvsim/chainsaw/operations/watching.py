"""Operations that only show something to a person: `describe`, `events`, `get`, `podLogs`.

Chainsaw calls kubectl for them, which fails for an object that is named and not there.
"""

from collections.abc import Mapping
from types import MappingProxyType

from kyvsim.chainsaw.ending import FailedError
from kyvsim.chainsaw.objects import candidates, in_namespace
from kyvsim.chainsaw.operations.protocol import Operation
from kyvsim.chainsaw.reach import is_elsewhere
from kyvsim.chainsaw.session import Situation
from kyvsim.kube.objects import Json, object_key

_POD = MappingProxyType({"apiVersion": "v1", "kind": "Pod"})


def show_object(situation: Situation, spec: Mapping[str, Json]) -> Mapping[str, Json]:
    """Show nothing; raise FailedError where what is named is neither here nor in a cluster."""
    if not spec.get("name"):
        return {}
    given = situation.filled(dict(spec))
    meta = {name: given[name] for name in ("name", "namespace") if given.get(name)}
    obj = {"apiVersion": given["apiVersion"], "kind": given["kind"], "metadata": meta}
    wanted = in_namespace(situation, obj)
    if candidates(situation, wanted) or is_elsewhere(object_key(wanted)):
        return {}
    raise FailedError(f"{given['kind']} `{given['name']}` is not there")


def show_logs(situation: Situation, spec: Mapping[str, Json]) -> Mapping[str, Json]:
    """Show nothing; raise FailedError where the Pod that is named is not there."""
    return show_object(situation, {**spec, **_POD})


def show_events(situation: Situation, spec: Mapping[str, Json]) -> Mapping[str, Json]:
    """Do nothing: no test can end otherwise for what was shown."""
    del situation, spec
    return {}


OPERATIONS = (
    Operation("describe", show_object),
    Operation("get", show_object),
    Operation("podLogs", show_logs),
    Operation("events", show_events),
)
