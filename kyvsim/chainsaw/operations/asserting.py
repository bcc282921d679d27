"""`assert` and `error`: waiting for objects to be as a tree says, or not to be."""

from collections.abc import Callable, Mapping
from functools import partial

from kyvsim.chainsaw.assertion import Mismatch, check_tree
from kyvsim.chainsaw.durations import timeout_of
from kyvsim.chainsaw.ending import FailedError, HardError
from kyvsim.chainsaw.expressions import parse_expression
from kyvsim.chainsaw.objects import candidates, in_namespace, require_usable, written_objects
from kyvsim.chainsaw.operations.protocol import Operation
from kyvsim.chainsaw.session import POLL, Situation
from kyvsim.chainsaw.standing import found
from kyvsim.chainsaw.unsupported import (
    is_served,
    require_filled_in,
    require_installed_so,
    require_release,
    require_written,
)
from kyvsim.kubernetes.objects import Json, ObjectKey, metadata, object_key

_IDENTITY = ("apiVersion", "kind")
_REFERENCE = ("name", "namespace", "labels")


def run_assert(situation: Situation, spec: Mapping[str, Json]) -> Mapping[str, Json]:
    """Wait until some object is as each tree says; raise FailedError where none is in time."""
    limit = timeout_of(situation, spec, situation.timeouts.check)
    until = situation.session.parts.clock.elapsed + limit
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
    clock = situation.session.parts.clock
    for tree in _trees(situation, spec):
        _require_comparable(tree)
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
    parts = situation.session.parts
    came, known, revision = "", why_not(), parts.store.revision

    def look() -> None:
        nonlocal came, known, revision
        situation.session.require_bounded()
        if parts.store.revision != revision:
            now, revision = why_not(), parts.store.revision
            came = came or (now if not known else "")
            known = now

    parts.scheduler.settle(limit, follow_ups=True, after_step=look)
    return came


def _require_comparable(tree: Json) -> None:
    """Raise HardError for an `error` that holds whatever there is in the cluster.

    Without a kind chainsaw compares a tree with null, which has none of its fields.
    """
    fields = [key for key in tree if not parse_expression(str(key)).engine]
    if fields and not tree.get("kind"):
        text = f"`{fields[0]}` of no object: an object that must not be there needs `kind`"
        raise HardError(f"{text} and `apiVersion`")


def _require_served(situation: Situation, tree: Json) -> None:
    """Raise HardError for a kind that the cluster does not know: chainsaw cannot ask for it."""
    key = object_key(tree)
    store = situation.session.parts.store
    if key.kind and not is_served(key, store):
        require_release(key, store)
        require_written(key, store)
        raise HardError(f'no matches for kind "{key.kind}" in version "{key.api_version}"')


def _require_in_reach(situation: Situation, tree: Json) -> None:
    """Raise UnsupportedError where what was found, or not, would be another thing in a cluster."""
    if tree.get("kind"):
        require_written(object_key(tree), situation.session.parts.store)
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
    problems: list[Mismatch] = []
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


def _checked(situation: Situation, tree: Json, obj: Json) -> tuple[Mismatch, ...]:
    return check_tree(tree, obj, situation.bindings, situation.session.ask)


def _name(obj: Json) -> str:
    key: ObjectKey = object_key(obj)
    return "/".join(filter(None, (key.api_version, key.kind, key.namespace, key.name or "*")))


ASSERT = Operation("assert", run_assert)
ERROR = Operation("error", run_error)
