"""The errors of an API server, with its messages.

Source of the texts: k8s.io/apimachinery pkg/api/errors.
"""

from kyvsim.kubernetes.discovery import KindTable, plural
from kyvsim.kubernetes.objects import ObjectKey
from kyvsim.model.simulation import FailureCause
from kyvsim.simulator.api_server.request import ApiError


def resource_name(key: ObjectKey, kinds: KindTable) -> str:
    """Return the name of a kind in messages: `configmaps`, `deployments.apps`."""
    return ".".join(filter(None, (plural(key.group, key.kind, kinds), key.group)))


def not_found(key: ObjectKey, kinds: KindTable) -> ApiError:
    """Return the error that an object does not exist."""
    text = f'{resource_name(key, kinds)} "{key.name}" not found'
    return ApiError(404, "NotFound", text, why=FailureCause.NOT_FOUND)


def already_exists(key: ObjectKey, kinds: KindTable) -> ApiError:
    """Return the error that an object already exists."""
    text = f'{resource_name(key, kinds)} "{key.name}" already exists'
    return ApiError(409, "AlreadyExists", text, why=FailureCause.EXISTS)


def conflict(key: ObjectKey, kinds: KindTable) -> ApiError:
    """Return the error that an object was changed in the meantime."""
    text = (
        f'Operation cannot be fulfilled on {resource_name(key, kinds)} "{key.name}": '
        "the object has been modified; please apply your changes to the latest version "
        "and try again"
    )
    return ApiError(409, "Conflict", text, why=FailureCause.CONFLICT)


def forbidden(key: ObjectKey, kinds: KindTable, why: str) -> ApiError:
    """Return the error that a request is not permitted, with a reason."""
    named = f' "{key.name}"' if key.name else ""
    return ApiError(403, "Forbidden", f"{resource_name(key, kinds)}{named} is forbidden: {why}")


def invalid(key: ObjectKey, *problems: str) -> ApiError:
    """Return the error that an object is invalid; `problems` are fields with their errors."""
    why = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
    kind = ".".join(filter(None, (key.kind, key.group)))
    text = f'{kind} "{key.name}" is invalid: {why}'
    parts = [one.partition(": ") for one in problems]
    causes = tuple({"field": field, "message": message} for field, _, message in parts)
    return ApiError(422, "Invalid", text, causes, why=FailureCause.INVALID)


def internal(why: str) -> ApiError:
    """Return the error that the server could not process a request."""
    return ApiError(500, "InternalError", f"Internal error occurred: {why}")


def no_match(key: ObjectKey) -> ApiError:
    """Return the error that a kind is not served."""
    text = f'no matches for kind "{key.kind}" in version "{key.api_version}"'
    return ApiError(404, "NoKindMatch", text, why=FailureCause.NO_KIND)
