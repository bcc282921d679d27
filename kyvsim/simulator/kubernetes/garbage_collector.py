"""References from objects to their owners, and the garbage collector."""

from collections.abc import Callable
from enum import StrEnum

from kyvsim.kubernetes.discovery import is_builtin, lies_in_namespace, split_api_version
from kyvsim.kubernetes.objects import Json, ObjectKey, entries, metadata, object_key, text_field
from kyvsim.simulator.api_server import ObjectStore, StoreChange
from kyvsim.simulator.api_server.metadata import FOREGROUND, ORPHAN, is_terminating
from kyvsim.simulator.context import SimulationContext
from kyvsim.simulator.kubernetes.controller import GARBAGE_COLLECTOR, WorkQueue

# References from objects to those that own them.


def owner_reference(owner: Json) -> dict[str, Json]:
    """Return the reference from an object to the one that controls it."""
    key = object_key(owner)
    return {
        "apiVersion": key.api_version,
        "kind": key.kind,
        "name": key.name,
        "uid": text_field(metadata(owner), "uid"),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def owner_references(obj: Json) -> list[Json]:
    """Return the references of an object to its owners."""
    return entries(metadata(obj), "ownerReferences")


def controller_of(obj: Json) -> Json | None:
    """Return the reference to the object that controls another, or None."""
    found = (one for one in owner_references(obj) if one.get("controller") is True)
    return next(found, None)


def controlled(store: ObjectStore, owner: Json, api_version: str, kind: str) -> list[Json]:
    """Return the objects of a kind that an object controls and that are to stay."""
    uid = text_field(metadata(owner), "uid")
    found = []
    for one in store.list(api_version, kind, object_key(owner).namespace):
        reference = controller_of(one)
        if reference and reference.get("uid") == uid and not is_terminating(one):
            found.append(one)
    return found


def enqueue_controller(queue: WorkQueue, kind: str) -> Callable[[StoreChange], None]:
    """Return the reaction to a write of an object: its controller, of some kind, is looked at."""

    def react(change: StoreChange) -> None:
        reference = controller_of(change.subject)
        if reference is not None and reference.get("kind") == kind:
            namespace = change.key.namespace
            owner = text_field(reference, "name")
            queue.add(ObjectKey(text_field(reference, "apiVersion"), kind, namespace, owner))

    return react


def enqueue(queue: WorkQueue) -> Callable[[StoreChange], None]:
    """Return the reaction to a write of an object: it is looked at.

    Its status is what the controller itself writes, and says nothing that it does not know.
    """

    def react(change: StoreChange) -> None:
        if change.new is not None and _desired_state(change.new) != _desired_state(change.old):
            queue.add(change.key)

    return react


def _desired_state(obj: Json | None) -> Json:
    """Return an object without its status, and without what changes with every write."""
    if obj is None:
        return None
    return {**obj, "status": None, "metadata": {**metadata(obj), "resourceVersion": None}}


# The garbage collector: what belongs to an object that is gone goes, too.
#
# Source of the rules: k8s.io/kubernetes pkg/controller/garbagecollector.

_WAITS = frozenset({FOREGROUND, ORPHAN})


class _Owner(StrEnum):
    """Whether an owner exists."""

    THERE = "there"
    GONE = "gone"
    WAITING = "waiting"
    """It waits for what belongs to it to go first."""


def collect_garbage(sim: SimulationContext) -> None:
    """Delete objects whose owners are all gone, and release owners that wait for theirs."""
    _GarbageCollector(sim)


class _GarbageCollector:
    def __init__(self, sim: SimulationContext) -> None:
        self._sim = sim
        self._client = sim.client(GARBAGE_COLLECTOR)
        self._dependents: dict[str, dict[ObjectKey, None]] = {}
        """By the uid of an owner, what refers to it."""
        self._queue = WorkQueue(sim, "generic-garbage-collector", self._sync)
        sim.store.watch(self._observe)

    def _observe(self, change: StoreChange) -> None:
        old, new = metadata(change.old), metadata(change.new)
        before, after = old.get("ownerReferences"), new.get("ownerReferences")
        key = change.key
        if before != after:
            self._index(key, change)
        if change.new is None:
            for dependent in self._dependents.get(text_field(old, "uid"), ()):
                self._queue.add(dependent)
        elif new.get("deletionTimestamp") and _WAITS & set(new.get("finalizers") or ()):
            self._queue.add(key)

    def _index(self, key: ObjectKey, change: StoreChange) -> None:
        for reference in owner_references(change.old) if change.old is not None else ():
            self._dependents.get(text_field(reference, "uid"), {}).pop(key, None)
            owner = self._key_of(reference, key)
            self._queue.add(owner)
        for reference in owner_references(change.new) if change.new is not None else ():
            self._dependents.setdefault(text_field(reference, "uid"), {})[key] = None
            self._queue.add(key)

    def _sync(self, key: ObjectKey) -> bool:
        obj = self._client.get(*key)
        if obj is None:
            return True
        if is_terminating(obj):
            return self._release(obj)
        references = owner_references(obj)
        states = [self._state(one, key) for one in references]
        if not references or all(one is _Owner.THERE for one in states):
            return True
        if _Owner.THERE in states:
            kept = [
                one for one, state in zip(references, states, strict=True) if state is _Owner.THERE
            ]
            return self._client.merge(key, {"metadata": {"ownerReferences": kept}}).ok
        has_own = bool(self._dependents.get(text_field(metadata(obj), "uid")))
        foreground = _Owner.WAITING in states and has_own
        return self._client.delete(key, "Foreground" if foreground else "Background").ok

    def _release(self, owner: Json) -> bool:
        """Do what a terminating object waits for, and let it go when that is done."""
        finalizers = metadata(owner).get("finalizers") or []
        uid = text_field(metadata(owner), "uid")
        dependents = list(self._dependents.get(uid, ()))
        if ORPHAN in finalizers:
            failed = [one for one in dependents if not self._orphan(one, uid)]
            return not failed and self._without(owner, ORPHAN)
        if FOREGROUND not in finalizers:
            return True
        blocking = [one for one in dependents if self._blocks(one, uid)]
        for one in blocking:
            self._queue.add(one)
        return bool(blocking) or self._without(owner, FOREGROUND)

    def _orphan(self, key: ObjectKey, uid: str) -> bool:
        obj = self._client.get(*key)
        if obj is None:
            return True
        kept = [one for one in owner_references(obj) if text_field(one, "uid") != uid]
        return self._client.merge(key, {"metadata": {"ownerReferences": kept or None}}).ok

    def _blocks(self, key: ObjectKey, uid: str) -> bool:
        obj = self._client.get(*key)
        return obj is not None and any(
            text_field(one, "uid") == uid and one.get("blockOwnerDeletion") is True
            for one in owner_references(obj)
        )

    def _without(self, owner: Json, finalizer: str) -> bool:
        kept = [one for one in metadata(owner)["finalizers"] if one != finalizer]
        patch = {"metadata": {"finalizers": kept or None}}
        return self._client.merge(object_key(owner), patch).ok

    def _state(self, reference: Json, dependent: ObjectKey) -> _Owner:
        key = self._key_of(reference, dependent)
        group = split_api_version(key.api_version)[0]
        defined = self._sim.store.defined
        if not is_builtin(group, key.kind) and (group, key.kind) not in defined:
            return _Owner.THERE  # its kind is unknown, so it may exist
        if not dependent.namespace and lies_in_namespace(group, key.kind, defined):
            return _Owner.THERE  # it is ambiguous which object is meant
        owner = self._client.get(*key)
        if owner is None or metadata(owner).get("uid") != reference.get("uid"):
            return _Owner.GONE
        held = metadata(owner).get("finalizers") or ()
        return _Owner.WAITING if is_terminating(owner) and FOREGROUND in held else _Owner.THERE

    def _key_of(self, reference: Json, dependent: ObjectKey) -> ObjectKey:
        version, kind = text_field(reference, "apiVersion"), text_field(reference, "kind")
        group = split_api_version(version)[0]
        namespaced = lies_in_namespace(group, kind, self._sim.store.defined)
        namespace = dependent.namespace if namespaced else ""
        return ObjectKey(version, kind, namespace, text_field(reference, "name"))
