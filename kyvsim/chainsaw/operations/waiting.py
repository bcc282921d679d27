"""`sleep`, `wait`, and operations that only show something to a person."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from kyvsim.chainsaw.durations import seconds_of, timeout_of
from kyvsim.chainsaw.ending import FailedError, UnsupportedError
from kyvsim.chainsaw.kubectl.waiting import condition_of
from kyvsim.chainsaw.objects import candidates, in_namespace
from kyvsim.chainsaw.operations.protocol import Operation
from kyvsim.chainsaw.session import Situation
from kyvsim.chainsaw.unsupported import is_elsewhere
from kyvsim.kubernetes.objects import Json, object_key

# `sleep`: virtual time passes.


def run_sleep(situation: Situation, spec: Mapping[str, Json]) -> Mapping[str, Json]:
    """Let everything happen that is due meanwhile."""
    situation.session.wait(seconds_of(situation.filled(spec.get("duration"))))
    return {}


SLEEP = Operation("sleep", run_sleep)

# `wait`: until objects are deleted, have a condition, or a field a value.


def run_wait(situation: Situation, spec: Mapping[str, Json]) -> Mapping[str, Json]:
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


WAIT = Operation("wait", run_wait)

# Operations that only show something to a person: `describe`, `events`, `get`, `podLogs`.
#
# Chainsaw calls kubectl for them, which fails for an object that is named and not there.

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


SHOWING = (
    Operation("describe", show_object),
    Operation("get", show_object),
    Operation("podLogs", show_logs),
    Operation("events", show_events),
)
