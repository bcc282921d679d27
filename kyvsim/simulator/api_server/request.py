"""Requests to an API server, the reviews sent to webhooks, and the responses of both."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

from kyvsim.kubernetes.objects import Json, KubernetesObject, ObjectKey
from kyvsim.model.request import Operation, UserInfo
from kyvsim.model.simulation import FailureCause

_WRITES = frozenset({Operation.CREATE, Operation.UPDATE})


class Purpose(NamedTuple):
    """The purpose of a request, as the timeline reports it."""

    action: str
    """A verb that replaces that of the request, or ""."""
    rules: tuple[str, ...] = ()
    """The cause, as `policy/rule` or `policy`."""
    message: str = ""


@dataclass(frozen=True, eq=False, slots=True)
class ApiRequest:
    """One request of one user for one object; requests are compared by identity."""

    operation: Operation
    key: ObjectKey
    """The key of the object; the name is "" for a creation with generateName."""
    user: UserInfo
    object: KubernetesObject | None = None
    """The object sent; None for a deletion."""
    subresource: str = ""
    dry_run: bool = False
    propagation: str = "Background"
    """Of a deletion: `Background`, `Foreground` or `Orphan`."""
    grace_period: int | None = None
    """Of a deletion: the seconds that the containers of a Pod get; None for the Pod's own."""
    patch: str = ""
    """The type of an update: "" for a PUT, or `merge`, `json`, `apply`, `strategic`."""
    purpose: Purpose | None = None
    """Why it is sent, for the timeline; webhooks do not see it."""


class ApiError(NamedTuple):
    """Why a request was rejected, as an API server reports it."""

    code: int
    reason: str
    """Such as `NotFound`, `AlreadyExists`, `Conflict`, `Forbidden`, `Invalid`, `BadRequest`."""
    message: str
    causes: tuple[Mapping[str, Json], ...] = ()
    why: FailureCause = FailureCause.OTHER


class ApiResponse(NamedTuple):
    """The result of a request."""

    object: KubernetesObject | None = None
    """The stored object, or the deleted one; None if the request was rejected."""
    warnings: tuple[str, ...] = ()
    error: ApiError | None = None
    changed: bool = False

    @property
    def ok(self) -> bool:
        """Whether the request succeeded."""
        return self.error is None


class Review(NamedTuple):
    """The admission review sent to a webhook."""

    request: ApiRequest
    uid: str
    """The review's own uid, `request.uid` in rules."""
    object: KubernetesObject | None
    """The object as it would be stored; None on DELETE."""
    old: KubernetesObject | None
    """The existing object; None on CREATE."""


class WebhookResponse(NamedTuple):
    """The response of a webhook."""

    object: KubernetesObject | None = None
    """The mutated object; None if it is unchanged."""
    warnings: tuple[str, ...] = ()
    denied: ApiError | None = None
    again: "Mutate | None" = None
    """Called again if others may have changed the object since; None if that is not needed."""


Mutate: TypeAlias = Callable[[Review], WebhookResponse]
"""Responds to a review whose object can still be changed."""
ALLOWED = WebhookResponse()


class Webhook(Protocol):
    """Reviews requests before they are stored."""

    def mutate(self, review: Review) -> WebhookResponse:  # noqa: ARG002 — the object is unchanged
        """Return the mutated object, or a denial; called in the order of registration."""
        return ALLOWED

    def validate(self, review: Review) -> WebhookResponse:
        """Return whether the request is allowed."""


def written(review: Review) -> KubernetesObject | None:
    """Return the object that a request would store; None if it does not write a whole object."""
    whole = review.request.operation in _WRITES and not review.request.subresource
    return review.object if whole else None
