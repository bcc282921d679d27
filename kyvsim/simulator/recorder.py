"""Requests to the API server, as events of the timeline."""

from collections.abc import Callable
from types import MappingProxyType

from kyvsim.kubernetes.objects import Json, ObjectKey, object_key
from kyvsim.model.request import Operation, UserInfo
from kyvsim.model.simulation import Obstacle, Reason
from kyvsim.simulator.api_server import ApiRequest, ApiResponse, Purpose
from kyvsim.simulator.kyverno.admission_notes import Note
from kyvsim.simulator.timeline import Timeline

_ACTIONS = MappingProxyType(
    {
        Operation.CREATE: "create",
        Operation.UPDATE: "update",
        Operation.DELETE: "delete",
        Operation.CONNECT: "connect",
    }
)
_DEPRECATED = " is deprecated and will be removed in a future release"
"""What clients are told of a whole kind says nothing of what happened."""
_ACTORS = MappingProxyType(
    {
        "kubernetes-admin": "user",
        "system:kube-scheduler": "kube-scheduler",
        "system:serviceaccount:kyverno:kyverno-admission-controller": "admission",
        "system:serviceaccount:kyverno:kyverno-background-controller": "background",
        "system:serviceaccount:kyverno:kyverno-cleanup-controller": "cleanup",
        "system:serviceaccount:kyverno:kyverno-reports-controller": "reports",
    }
)
_NONE = Purpose("")
_CONTROLLERS = "system:serviceaccount:kube-system:"
_NODES = "system:node:"
_KUBERNETES = (_CONTROLLERS, _NODES, "system:kube-scheduler")


def record_requests(
    timeline: Timeline, noted: Callable[[ApiRequest], Note]
) -> Callable[[ApiRequest, ApiResponse, Json], None]:
    """Return an observer that adds every request that was answered.

    `noted` gives what rules made of a request, once.
    """

    def observe(request: ApiRequest, response: ApiResponse, old: Json) -> None:
        note = noted(request)
        timeline.count_results(request.key, note.results, note.skipped)
        if _is_bookkeeping(request, response):
            return
        purpose = request.purpose or _NONE
        action = _ACTIONS[request.operation]
        if request.subresource:
            action = f"{action} {request.subresource}"
        action = purpose.action or action
        obj = response.object if response.object is not None else request.object
        key = object_key(obj) if obj is not None and not request.key.name else request.key
        obstacles = _obstacles(key, response, note)
        event = timeline.record(
            actor_of(request.user),
            action,
            key,
            outcome=_outcome(response),
            message=purpose.message if obstacles else _said(purpose, response, note),
        )
        gone = request.operation is Operation.DELETE
        told = note.denied_by if obstacles else ()
        rules = purpose.rules or told or note.changed_by
        after = None if gone else response.object
        event = timeline.add_errors(event, note.unevaluated)
        timeline.amend(event, before=old, after=after, policies=rules, obstacles=obstacles)

    return observe


def _outcome(response: ApiResponse) -> str:
    if response.error is None:
        return "done" if response.changed else "unchanged"
    return "denied" if response.error.why is Reason.DENIED else "failed"


def _obstacles(key: ObjectKey, response: ApiResponse, note: Note) -> tuple[Obstacle, ...]:
    error = response.error
    if error is None:
        return ()
    return (Obstacle(error.why, error.message, key, rules=note.denied_by),)


def _said(purpose: Purpose, response: ApiResponse, note: Note) -> str:
    """Return what a granted request was for, what it was warned of, and what it fails."""
    told = [one for one in response.warnings if _DEPRECATED not in one]
    audited = f"fails, and is let in: {', '.join(note.failed)}" if note.failed else ""
    return "; ".join(filter(None, (purpose.message, *told, audited)))


def _is_bookkeeping(request: ApiRequest, response: ApiResponse) -> bool:
    """Return whether a request only keeps a state that other events tell.

    That is an UpdateRequest's, which its attempts tell, and what Kubernetes writes as a status.
    """
    if request.subresource == "status" and request.user.username.startswith(_KUBERNETES):
        return response.ok
    kind = request.key.kind == "UpdateRequest" and request.user.username in _ACTORS
    own = kind and _ACTORS[request.user.username] in {"admission", "background"}
    return own and response.ok and request.operation is not Operation.CREATE


def actor_of(user: UserInfo) -> str:
    """Return what the timeline calls a user."""
    name = user.username
    if name.startswith(_NODES):
        return "kubelet"
    return _ACTORS.get(name) or name.removeprefix(_CONTROLLERS)
