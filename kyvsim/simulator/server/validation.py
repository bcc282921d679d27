"""What an API server refuses before an object is stored.

A refusal comes after mutating webhooks and before validating ones.
"""

from kyvsim.kubernetes.objects import object_key
from kyvsim.kubernetes.validation import problems_of
from kyvsim.model.request import Operation
from kyvsim.simulator.server import errors
from kyvsim.simulator.server.request import ApiError, Review


def refuse_invalid(review: Review) -> ApiError | None:
    """Return why an object cannot be stored as it is, or None."""
    request, obj = review.request, review.object
    if obj is None or request.subresource or request.operation is Operation.CONNECT:
        return None
    found = list(dict.fromkeys(problems_of(obj, review.old)))
    return errors.invalid(object_key(obj), *found) if found else None
