"""`wait`: until objects are deleted, have a condition, or a field a value."""

from collections.abc import Callable, Mapping

from kyvsim.chainsaw.durations import timeout_of
from kyvsim.chainsaw.ending import FailedError, UnsupportedError
from kyvsim.chainsaw.kubectl.waiting import condition_of
from kyvsim.chainsaw.objects import candidates, in_namespace
from kyvsim.chainsaw.operations.protocol import Operation
from kyvsim.chainsaw.session import Situation
from kyvsim.kube.objects import Json


def run(situation: Situation, spec: Mapping[str, Json]) -> Mapping[str, Json]:
    """Wait for every object that is named; raise FailedError where time is up before."""
    given = situation.filled(dict(spec))
    met = condition_of(_condition(given.get("for") or {}))
    names = ("name", "namespace")
    meta = {name: given[name] for name in names if given.get(name)}
    obj = {"apiVersion": given.get("apiVersion"), "kind": given.get("kind"), "metadata": meta}
    if given.get("selector"):
        raise UnsupportedError("`selector`")
    wanted = in_namespace(situation, obj)
    limit = timeout_of(situation, spec, situation.timeouts.exec)
    if "deletion" not in (given.get("for") or {}) and not candidates(situation, wanted):
        raise FailedError("no matching resources found")
    if not situation.session.wait_until(_all(situation, wanted, met), limit):
        raise FailedError(f"timed out after {limit:g} s waiting for the condition")
    return {}


def _all(situation: Situation, wanted: Json, met: Callable[[Json], bool]) -> Callable[[], bool]:
    def done() -> bool:
        found = candidates(situation, wanted)
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
