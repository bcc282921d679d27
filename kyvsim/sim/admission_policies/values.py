"""What expressions of admission policies see, in the order of their environment."""

from collections.abc import Mapping
from typing import Any

from kyvsim.kube.objects import Json
from kyvsim.languages.cel_request import authorizer_of, namespace_object, request_value
from kyvsim.sim.admission_policies.bound import Asked, Invocation

VARIABLES = 4
"""The place of `variables`, which are evaluated with all the others."""


def values_of(invocation: Invocation, asked: Asked, obj: Json) -> list[Any]:
    """Return the values for an object; those of `variables` are put in by whoever knows them."""
    request, outside = asked.request, asked.outside
    has_params = bool(invocation.policy["spec"].get("paramKind"))
    told: Mapping[str, Json] = request.details or {}
    return [
        obj,
        request.old_object,
        namespace_object(request, outside),
        {**request_value(request), **told},
        {},
        *([invocation.params] if has_params else []),
        *authorizer_of(request, outside),
    ]
