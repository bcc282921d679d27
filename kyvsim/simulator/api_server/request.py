"""Requests to an API server, the reviews that webhooks get, and the responses of both."""

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
    """A verb in place of that of the request, "" for that one."""
    rules: tuple[str, ...] = ()
    """On whose account, as `policy/rule` or `policy`."""
    message: str = ""


@dataclass(frozen=True, eq=False, slots=True)
class ApiRequest:
    """One request of one user about one object; it equals itself only: another is another event."""

    operation: Operation
    key: ObjectKey
    """What it is about; the name is "" for a creation by generateName."""
    user: UserInfo
    object: KubernetesObject | None = None
    """The object sent; None for a deletion."""
    subresource: str = ""
    dry_run: bool = False
    propagation: str = "Background"
    """Of a deletion: `Background`, `Foreground` or `Orphan`."""
    patch: str = ""
    """How an update came about: "" for a PUT, else `merge`, `json`, `apply` or `strategic`."""
    purpose: Purpose | None = None
    """No webhook is called for it: it is only recorded."""


class ApiError(NamedTuple):
    """Why a request was refused, as an API server reports it."""

    code: int
    reason: str
    """Such as `NotFound`, `AlreadyExists`, `Conflict`, `Forbidden`, `Invalid`, `BadRequest`."""
    message: str
    causes: tuple[Mapping[str, Json], ...] = ()
    why: FailureCause = FailureCause.OTHER


class ApiResponse(NamedTuple):
    """How a request ended."""

    object: KubernetesObject | None = None
    """The object as stored, or as it was last for a deletion; None where it was refused."""
    warnings: tuple[str, ...] = ()
    error: ApiError | None = None
    changed: bool = False

    @property
    def ok(self) -> bool:
        """Whether it was granted."""
        return self.error is None


class Review(NamedTuple):
    """The admission review that a webhook gets."""

    request: ApiRequest
    uid: str
    """The review's own uid, `request.uid` for rules."""
    object: KubernetesObject | None
    """The object as it would be stored; None on DELETE."""
    old: KubernetesObject | None
    """The object that is there; None on CREATE."""


class WebhookResponse(NamedTuple):
    """What a webhook answers."""

    object: KubernetesObject | None = None
    """The object as a mutating webhook leaves it; None where it is left alone."""
    warnings: tuple[str, ...] = ()
    denied: ApiError | None = None
    again: "Mutate | None" = None
    """Called again if others may have changed the object since; None if that is not needed."""


Mutate: TypeAlias = Callable[[Review], WebhookResponse]
"""Answers a question about a request that may still be changed."""
ALLOWED = WebhookResponse()


class Webhook(Protocol):
    """Reviews requests before they are granted."""

    def mutate(self, review: Review) -> WebhookResponse:  # noqa: ARG002 — it is left alone
        """Return the object changed, or a denial; called in the order of registration."""
        return ALLOWED

    def validate(self, review: Review) -> WebhookResponse:
        """Return whether the request is allowed."""


def written(review: Review) -> KubernetesObject | None:
    """Return the object that a request would store; None where it writes no whole object."""
    whole = review.request.operation in _WRITES and not review.request.subresource
    return review.object if whole else None
