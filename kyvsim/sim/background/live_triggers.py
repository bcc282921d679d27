"""The trigger of an UpdateRequest, as it is now in the cluster.

Source of the rules and texts: upstream pkg/background/common/resource.go.
"""

from collections.abc import Sequence

from kyvsim.kube.objects import Json, ObjectKey, labels, metadata, object_key, text_field
from kyvsim.model.obstacle import Obstacle, Reason
from kyvsim.model.request import AdmissionRequest, Operation
from kyvsim.sim.background.ownership import LABEL
from kyvsim.sim.kyverno.users import BACKGROUND
from kyvsim.sim.server import Store, errors
from kyvsim.sim.server.authorizer import denial

_MISSING = Reason.TRIGGER_MISSING


class TriggerError(Exception):
    """A trigger that is not there, or still is where it should be gone, or cannot be read."""

    def __init__(self, obstacle: Obstacle) -> None:
        super().__init__(obstacle.message)
        self.obstacle = obstacle


def live_trigger(trigger: Json, request: AdmissionRequest | None, store: Store) -> Json:
    """Return the trigger that a generate rule runs for.

    Raises `TriggerError` where the request that brought it was not stored, or not yet.
    """
    if request is None or request.operation is Operation.UPDATE:
        return find(trigger, request, store)
    if request.operation is Operation.DELETE:
        return _deleted(trigger, request, store)
    if request.operation is Operation.CONNECT:
        return request.object or request.old_object
    return created_trigger(trigger, request, store)


def created_trigger(trigger: Json, request: AdmissionRequest, store: Store) -> Json:
    """Return the trigger of a creation; for a subresource, what was sent to it.

    Raises `TriggerError` where it is not there.
    """
    try:
        return find(trigger, request, store)
    except TriggerError:
        if not request.subresource:
            raise
    return request.object


def find(trigger: Json, request: AdmissionRequest | None, store: Store) -> Json:
    """Return the object that a reference names, by its uid if it has one.

    Raises `TriggerError` where there is none.
    """
    api_version, kind = text_field(trigger, "apiVersion"), text_field(trigger, "kind")
    namespace, name = text_field(trigger, "namespace"), text_field(trigger, "name")
    uid = text_field(trigger, "uid")
    if uid:
        anywhere = ObjectKey(api_version, kind, namespace, "")
        refused = denial(BACKGROUND, "list", anywhere, store)
        if refused is not None:
            text = f"failed to list trigger resources: {refused.message}"
            raise TriggerError(Obstacle(refused.why, text, anywhere))
        for obj in _candidates(trigger, store):
            if metadata(obj).get("uid") == uid:
                return obj
        text = (
            f"trigger resource {api_version}/{kind} {namespace}/{name} with uid {uid} not found "
            "in the cluster, the corresponding admission request may have been rejected by the "
            "API server"
        )
        raise TriggerError(Obstacle(_MISSING, text, anywhere._replace(name=name), uid))
    if name:
        place = "" if kind == "Namespace" else namespace
        found = store.get(api_version, kind, place, name)
        if found is None:
            key = ObjectKey(api_version, kind, place, name)
            missing = errors.not_found(key, store.defined)
            text = f"resource {api_version}/{kind}/{place}/{name}: {missing.message}"
            raise TriggerError(Obstacle(_MISSING, text, key))
        return found
    if request is not None:
        return request.subject
    raise TriggerError(Obstacle(_MISSING, "resource not found"))


def _candidates(trigger: Json, store: Store) -> Sequence[Json]:
    """Return what can have the uid of a reference: one object where the name is told, too."""
    api_version, kind, namespace, name = object_key({**trigger, "metadata": trigger})
    if not name:
        return store.list(api_version, kind, namespace)
    place = "" if kind == "Namespace" else namespace
    found = store.get(api_version, kind, place, name)
    return [found] if found is not None else []


def _deleted(trigger: Json, request: AdmissionRequest, store: Store) -> Json:
    old = request.old_object
    if labels(old).get(f"{LABEL}policy-name"):
        return find(trigger, request, store)
    api_version, kind, namespace, name = object_key(old)
    live = store.get(api_version, kind, namespace, name)
    uid = text_field(metadata(old), "uid")
    same = live is not None and metadata(live).get("uid") == uid
    if same and not metadata(live).get("deletionTimestamp"):
        text = (
            f"trigger resource {api_version}/{kind} {namespace}/{name} with uid {uid} still exists "
            "in the cluster, the delete request may have been rejected by the API server"
        )
        raise TriggerError(Obstacle(Reason.TRIGGER_STAYS, text, object_key(old), uid))
    return old
