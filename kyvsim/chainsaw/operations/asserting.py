"""Operations that look at objects: assert, error, wait, sleep and those that print."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from kyvsim.chainsaw.errors import FailedError, HardError, UnsupportedError
from kyvsim.chainsaw.expressions import TreeMismatch, check_tree, parse_expression
from kyvsim.chainsaw.kubectl.read import condition_of
from kyvsim.chainsaw.objects import candidates, in_namespace, require_usable, written_objects
from kyvsim.chainsaw.session import POLL, Situation, TestOperation, found, seconds_of, timeout_of
from kyvsim.chainsaw.unsupported import (
    is_elsewhere,
    is_served,
    require_filled_in,
    require_installed_so,
    require_release,
    require_written,
)
from kyvsim.kubernetes.objects import Json, ObjectKey, metadata, object_key

# `sleep`, `wait`, and operations that only show something to a person.

# `sleep`: virtual time passes.


def run_sleep(situation: Situation, spec: Mapping[str, Json]) -> Mapping[str, Json]:
    """Let everything happen that is due meanwhile."""
    situation.session.wait(seconds_of(situation.filled(spec.get("duration"))))
    return {}


SLEEP = TestOperation("sleep", run_sleep)

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

    def done() -> bool:
        found = candidates(situation, wanted)
        return met(None) if not found else all(met(one) for one in found)

    if not situation.session.wait_until(done, limit):
        raise FailedError(f"timed out after {limit:g} s waiting for the condition")
    return {}


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


WAIT = TestOperation("wait", run_wait)

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
    """Do nothing: printing has no effect on the result of a test."""
    del situation, spec
    return {}


SHOWING = (
    TestOperation("describe", show_object),
    TestOperation("get", show_object),
    TestOperation("podLogs", show_logs),
    TestOperation("events", show_events),
)

# `assert` and `error`: waiting for objects to be as a tree says, or not to be.

_IDENTITY = ("apiVersion", "kind")
_REFERENCE = ("name", "namespace", "labels")


def run_assert(situation: Situation, spec: Mapping[str, Json]) -> Mapping[str, Json]:
    """Wait until some object is as each tree says; raise FailedError where none is in time."""
    limit = timeout_of(situation, spec, situation.timeouts.check)
    until = situation.session.sim.clock.elapsed + limit
    for tree in _trees(situation, spec):
        _require_served(situation, tree)
        unmet = partial(_unmet, situation, tree)
        try:
            _wait(situation, limit, unmet)
        except HardError:
            raise
        except FailedError:
            _require_in_reach(situation, tree)
            raise
        some = [one for one in _candidates(situation, tree) if not _checked(situation, tree, one)]
        situation.session.standing += filter(None, [found(_name(tree), some, until, unmet)])
    return {}


def run_error(situation: Situation, spec: Mapping[str, Json]) -> Mapping[str, Json]:
    """Wait until no object is as a tree says; raise FailedError where one stays or becomes so.

    A real cluster is asked until the object is gone, be it that it has not come yet. Here what is
    under way comes to its end first, within the time limit: what passes here passes there. What
    comes meanwhile came, even if it is changed again before the end.
    """
    limit = timeout_of(situation, spec, situation.timeouts.error)
    clock = situation.session.sim.clock
    for tree in _trees(situation, spec):
        fields = [key for key in tree if not parse_expression(str(key)).engine]
        if fields and not tree.get("kind"):
            text = f"`{fields[0]}` of no object: an object that must not be there needs `kind`"
            raise HardError(f"{text} and `apiVersion`")
        _require_served(situation, tree)
        end = clock.elapsed + limit
        came = _settle(situation, limit, partial(_met, situation, tree))
        _wait(situation, end - clock.elapsed, partial(_met, situation, tree))
        if came:
            raise FailedError(came)
        _require_in_reach(situation, tree)
    return {}


def _settle(situation: Situation, limit: float, why_not: Callable[[], str]) -> str:
    """Let what is under way come to its end; return what came on purpose later, "" for nothing.

    What steps of controllers leave behind for moments counts for nothing: nobody would see it.
    """
    sim = situation.session.sim
    came, known, revision = "", why_not(), sim.store.revision

    def check() -> None:
        nonlocal came, known, revision
        situation.session.require_bounded()
        if sim.store.revision != revision:
            now, revision = why_not(), sim.store.revision
            came = came or (now if not known else "")
            known = now

    sim.scheduler.settle(limit, follow_ups=True, after_step=check)
    return came


def _require_served(situation: Situation, tree: Json) -> None:
    """Raise HardError for a kind that the cluster does not know: chainsaw cannot ask for it."""
    key = object_key(tree)
    store = situation.session.sim.store
    if key.kind and not is_served(key, store):
        require_release(key, store)
        require_written(key, store)
        raise HardError(f'no matches for kind "{key.kind}" in version "{key.api_version}"')


def _require_in_reach(situation: Situation, tree: Json) -> None:
    """Raise UnsupportedError where what was found, or not, would be another thing in a cluster."""
    if tree.get("kind"):
        require_written(object_key(tree), situation.session.sim.store)
    for one in _candidates(situation, tree):
        if one is not None:
            require_filled_in(one, _checked(situation, tree, one))
            require_installed_so(tree, one, _checked(situation, tree, one))


def _trees(situation: Situation, spec: Mapping[str, Json]) -> list[Json]:
    """Return the trees, with those parts filled in that say which objects are meant."""
    return [_with_reference(situation, spec, one) for one in written_objects(situation, spec)]


def _with_reference(situation: Situation, spec: Mapping[str, Json], tree: Json) -> Json:
    """Return a tree whose expressions are filled in where they say which object is meant.

    upstream: chainsaw pkg/engine/templating/resource_ref.go, which does so for the apiVersion, the
    kind, the name, the namespace and the labels, before it looks for objects.
    """
    if not metadata(tree) and not tree.get("kind"):
        return tree
    filled = _filled_in(situation, spec, tree, _IDENTITY)
    about = tree.get("metadata")
    if about.__class__ is dict and about:
        filled["metadata"] = _filled_in(situation, spec, about, _REFERENCE)
    return in_namespace(situation, require_usable(filled))


def _filled_in(
    situation: Situation, spec: Mapping[str, Json], data: Json, names: tuple[str, ...]
) -> dict[str, Json]:
    return {
        name: situation.templated(spec, value) if name in names else value
        for name, value in data.items()
    }


def _wait(situation: Situation, limit: float, why_not: Callable[[], str]) -> None:
    """Wait until nothing speaks against it; raise FailedError with what does at the end."""
    reason = ""

    def done() -> bool:
        nonlocal reason
        reason = why_not()
        return not reason

    situation.session.wait(POLL)
    if not situation.session.wait_until(done, max(limit - POLL, 0.0)):
        raise FailedError(reason)


def _unmet(situation: Situation, tree: Json) -> str:
    """Return why no object is as a tree says, "" where one is."""
    some = _candidates(situation, tree)
    if not some:
        return f"{_name(tree)}: actual resource not found"
    problems: list[TreeMismatch] = []
    for one in some:
        problems = problems or [*_checked(situation, tree, one)]
        if not _checked(situation, tree, one):
            return ""
    others = f" (and {len(some) - 1} others)" if len(some) > 1 else ""
    return f"{_name(tree)}{others}: {'; '.join(map(str, problems))}"


def _met(situation: Situation, tree: Json) -> str:
    """Return that an object is as a tree says, "" where none is."""
    for one in _candidates(situation, tree):
        if not _checked(situation, tree, one):
            return f"{_name(one or tree)}: the resource matches, but should not"
    return ""


def _candidates(situation: Situation, tree: Json) -> list[Json]:
    return candidates(situation, tree) if tree.get("kind") else [None]


def _checked(situation: Situation, tree: Json, obj: Json) -> tuple[TreeMismatch, ...]:
    return check_tree(tree, obj, situation.bindings, situation.session.evaluate)


def _name(obj: Json) -> str:
    key: ObjectKey = object_key(obj)
    return "/".join(filter(None, (key.api_version, key.kind, key.namespace, key.name or "*")))


ASSERT = TestOperation("assert", run_assert)
ERROR = TestOperation("error", run_error)
