"""Requests to the API server, as events of the timeline."""

from collections.abc import Callable
from types import MappingProxyType

from kyvsim.kube.objects import Json, object_key
from kyvsim.model.request import Operation, UserInfo
from kyvsim.sim.server import ApiRequest, ApiResponse
from kyvsim.sim.timeline import Timeline

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
_CONTROLLERS = "system:serviceaccount:kube-system:"
_NODES = "system:node:"
_KUBERNETES = (_CONTROLLERS, _NODES, "system:kube-scheduler")


def record_requests(timeline: Timeline) -> Callable[[ApiRequest, ApiResponse, Json], None]:
    """Return an observer that adds every request that was answered."""

    def observe(request: ApiRequest, response: ApiResponse, old: Json) -> None:
        if _is_bookkeeping(request, response):
            return
        action = _ACTIONS[request.operation]
        if request.subresource:
            action = f"{action} {request.subresource}"
        obj = response.object if response.object is not None else request.object
        key = object_key(obj) if obj is not None and not request.key.name else request.key
        outcome = "done" if response.changed else "unchanged"
        message = "; ".join(one for one in response.warnings if _DEPRECATED not in one)
        if response.error is not None:
            outcome = "denied" if response.error.reason == "BadRequest" else "failed"
            message = response.error.message
        actor = actor_of(request.user)
        event = timeline.record(actor, action, key, outcome=outcome, message=message)
        gone = request.operation is Operation.DELETE
        timeline.amend(event, before=old, after=None if gone else response.object)

    return observe


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
