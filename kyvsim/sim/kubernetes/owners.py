"""References from objects to those that own them."""

from collections.abc import Callable

from kyvsim.kube.objects import Json, ObjectKey, metadata, object_key, text_field
from kyvsim.sim.kubernetes.work_queue import WorkQueue
from kyvsim.sim.server import Change, Store
from kyvsim.sim.server.filling import entries
from kyvsim.sim.server.metadata import is_terminating


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


def controlled(store: Store, owner: Json, api_version: str, kind: str) -> list[Json]:
    """Return the objects of a kind that an object controls and that are to stay."""
    uid = text_field(metadata(owner), "uid")
    found = []
    for one in store.list(api_version, kind, object_key(owner).namespace):
        reference = controller_of(one)
        if reference and reference.get("uid") == uid and not is_terminating(one):
            found.append(one)
    return found


def look_at_controller(queue: WorkQueue, kind: str) -> Callable[[Change], None]:
    """Return the reaction to a write of an object: its controller, of some kind, is looked at."""

    def react(change: Change) -> None:
        reference = controller_of(change.subject)
        if reference is not None and reference.get("kind") == kind:
            namespace = change.key.namespace
            owner = text_field(reference, "name")
            queue.add(ObjectKey(text_field(reference, "apiVersion"), kind, namespace, owner))

    return react


def look_at_self(queue: WorkQueue) -> Callable[[Change], None]:
    """Return the reaction to a write of an object: it is looked at.

    Its status is what the controller itself writes, and says nothing that it does not know.
    """

    def react(change: Change) -> None:
        if change.new is not None and _asked(change.new) != _asked(change.old):
            queue.add(change.key)

    return react


def _asked(obj: Json | None) -> Json:
    """Return an object without its status, and without what changes with every write."""
    if obj is None:
        return None
    return {**obj, "status": None, "metadata": {**metadata(obj), "resourceVersion": None}}
