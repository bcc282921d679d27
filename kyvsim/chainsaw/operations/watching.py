"""Operations that only show something to a person: `describe`, `events`, `get`, `podLogs`."""

from collections.abc import Mapping

from kyvsim.chainsaw.operations.protocol import Operation
from kyvsim.chainsaw.session import Scope
from kyvsim.kube.objects import Json


def run(scope: Scope, spec: Mapping[str, Json]) -> Mapping[str, Json]:
    """Do nothing: no test can end otherwise for what was shown."""
    del scope, spec
    return {}


OPERATIONS = tuple(Operation(name, run) for name in ("describe", "events", "get", "podLogs"))
