"""`wait`: until objects are deleted, have a condition, or a field a value."""

from collections.abc import Callable, Mapping

from kyvsim.chainsaw.durations import timeout_of
from kyvsim.chainsaw.ending import FailedError, UnsupportedError
from kyvsim.chainsaw.kubectl.waiting import condition_of
from kyvsim.chainsaw.objects import candidates, in_namespace
from kyvsim.chainsaw.operations.protocol import Operation
from kyvsim.chainsaw.session import Scope
from kyvsim.kube.objects import Json


def run(scope: Scope, spec: Mapping[str, Json]) -> Mapping[str, Json]:
    """Wait for every object that is named; raise FailedError where time is up before."""
    given = scope.filled(dict(spec))
    met = condition_of(_condition(given.get("for") or {}))
    names = ("name", "namespace")
    meta = {name: given[name] for name in names if given.get(name)}
    obj = {"apiVersion": given.get("apiVersion"), "kind": given.get("kind"), "metadata": meta}
    if given.get("selector"):
        raise UnsupportedError("`selector`")
    wanted = in_namespace(scope, obj)
    limit = timeout_of(scope, spec, scope.timeouts.exec)
    if "deletion" not in (given.get("for") or {}) and not candidates(scope, wanted):
        raise FailedError("no matching resources found")
    if not scope.session.wait_until(_all(scope, wanted, met), limit):
        raise FailedError(f"timed out after {limit:g} s waiting for the condition")
    return {}


def _all(scope: Scope, wanted: Json, met: Callable[[Json], bool]) -> Callable[[], bool]:
    def done() -> bool:
        found = candidates(scope, wanted)
        return met(None) if not found else all(met(one) for one in found)

    return done


def _condition(wanted: Mapping[str, Json]) -> str:
    if "deletion" in wanted:
        return "delete"
    if "condition" in wanted:
        one = wanted["condition"]
        return f"condition={one.get('name')}={one.get('value') or 'True'}"
    if "jsonPath" in wanted:
        one = wanted["jsonPath"]
        return f"jsonpath={one.get('path')}={one.get('value')}"
    raise UnsupportedError("a condition of another kind")


OPERATION = Operation("wait", run)
