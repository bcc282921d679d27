"""`assert` and `error`: waiting for objects to be as a tree says, or not to be."""

from collections.abc import Callable, Mapping
from functools import partial

from kyvsim.chainsaw.assertion import Mismatch, check_tree
from kyvsim.chainsaw.durations import timeout_of
from kyvsim.chainsaw.ending import FailedError, HardError
from kyvsim.chainsaw.objects import candidates, in_namespace, written_objects
from kyvsim.chainsaw.operations.protocol import Operation
from kyvsim.chainsaw.reach import (
    is_served,
    require_filled_in,
    require_installed_so,
    require_release,
    require_reported,
    require_written,
)
from kyvsim.chainsaw.session import POLL, Scope
from kyvsim.chainsaw.standing import found
from kyvsim.kube.objects import Json, ObjectKey, metadata, object_key

_REFERENCE = ("name", "namespace", "labels")


def run_assert(scope: Scope, spec: Mapping[str, Json]) -> Mapping[str, Json]:
    """Wait until some object is as each tree says; raise FailedError where none is in time."""
    limit = timeout_of(scope, spec, scope.timeouts.check)
    until = scope.session.parts.clock.elapsed + limit
    for tree in _trees(scope, spec):
        _require_served(scope, tree)
        unmet = partial(_unmet, scope, tree)
        try:
            _wait(scope, limit, unmet)
        except HardError:
            raise
        except FailedError:
            _require_in_reach(scope, tree)
            raise
        some = [one for one in _candidates(scope, tree) if not _checked(scope, tree, one)]
        scope.session.standing += filter(None, [found(_name(tree), some, until, unmet)])
    return {}


def run_error(scope: Scope, spec: Mapping[str, Json]) -> Mapping[str, Json]:
    """Wait until no object is as a tree says; raise FailedError where one stays or becomes so.

    A real cluster is asked until the object is gone, be it that it has not come yet. Here what is
    under way comes to its end first, within the time limit: what passes here passes there. What
    comes meanwhile came, even if it is changed again before the end.
    """
    limit = timeout_of(scope, spec, scope.timeouts.error)
    clock = scope.session.parts.clock
    for tree in _trees(scope, spec):
        _require_served(scope, tree)
        end = clock.elapsed + limit
        came = _settle(scope, limit, partial(_met, scope, tree))
        _wait(scope, end - clock.elapsed, partial(_met, scope, tree))
        if came:
            raise FailedError(came)
        _require_in_reach(scope, tree)
    return {}


def _settle(scope: Scope, limit: float, why_not: Callable[[], str]) -> str:
    """Let what is under way come to its end; return what came on purpose later, "" for nothing.

    What steps of controllers leave behind for moments counts for nothing: nobody would see it.
    """
    parts = scope.session.parts
    came, known, revision = "", why_not(), parts.store.revision

    def look() -> None:
        nonlocal came, known, revision
        if parts.store.revision != revision:
            now, revision = why_not(), parts.store.revision
            came = came or (now if not known else "")
            known = now

    parts.scheduler.settle(limit, follow_ups=True, after_step=look)
    return came


def _require_served(scope: Scope, tree: Json) -> None:
    """Raise HardError for a kind that the cluster does not know: chainsaw cannot ask for it."""
    key = object_key(tree)
    store = scope.session.parts.store
    require_reported(key, store)
    if key.kind and not is_served(key, store):
        require_release(key, store)
        require_written(key, store)
        raise HardError(f'no matches for kind "{key.kind}" in version "{key.api_version}"')


def _require_in_reach(scope: Scope, tree: Json) -> None:
    """Raise UnsupportedError where what was found, or not, would be another thing in a cluster."""
    if tree.get("kind"):
        require_written(object_key(tree), scope.session.parts.store)
    for one in _candidates(scope, tree):
        if one is not None:
            require_filled_in(one, _checked(scope, tree, one))
            require_installed_so(tree, one, _checked(scope, tree, one))


def _trees(scope: Scope, spec: Mapping[str, Json]) -> list[Json]:
    """Return the trees, with those parts filled in that say which objects are meant."""
    return [_with_reference(scope, spec, one) for one in written_objects(scope, spec)]


def _with_reference(scope: Scope, spec: Mapping[str, Json], tree: Json) -> Json:
    meta = metadata(tree)
    if not meta and not tree.get("kind"):
        return tree
    filled = {
        name: scope.templated(spec, value) if name in _REFERENCE else value
        for name, value in meta.items()
    }
    return in_namespace(scope, {**tree, "metadata": filled} if filled else tree)


def _wait(scope: Scope, limit: float, why_not: Callable[[], str]) -> None:
    """Wait until nothing speaks against it; raise FailedError with what does at the end."""
    reason = ""

    def done() -> bool:
        nonlocal reason
        reason = why_not()
        return not reason

    scope.session.wait(POLL)
    if not scope.session.wait_until(done, max(limit - POLL, 0.0)):
        raise FailedError(reason)


def _unmet(scope: Scope, tree: Json) -> str:
    """Return why no object is as a tree says, "" where one is."""
    some = _candidates(scope, tree)
    if not some:
        return f"{_name(tree)}: actual resource not found"
    problems: list[Mismatch] = []
    for one in some:
        problems = problems or [*_checked(scope, tree, one)]
        if not _checked(scope, tree, one):
            return ""
    others = f" (and {len(some) - 1} others)" if len(some) > 1 else ""
    return f"{_name(tree)}{others}: {'; '.join(map(str, problems))}"


def _met(scope: Scope, tree: Json) -> str:
    """Return that an object is as a tree says, "" where none is."""
    for one in _candidates(scope, tree):
        if not _checked(scope, tree, one):
            return f"{_name(one or tree)}: the resource matches, but should not"
    return ""


def _candidates(scope: Scope, tree: Json) -> list[Json]:
    return candidates(scope, tree) if tree.get("kind") else [None]


def _checked(scope: Scope, tree: Json, obj: Json) -> tuple[Mismatch, ...]:
    return check_tree(tree, obj, scope.bindings, scope.session.ask)


def _name(obj: Json) -> str:
    key: ObjectKey = object_key(obj)
    return "/".join(filter(None, (key.api_version, key.kind, key.namespace, key.name or "*")))


ASSERT = Operation("assert", run_assert)
ERROR = Operation("error", run_error)
