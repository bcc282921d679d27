"""The environments of policies that decide on requests: one for each evaluation mode.

Source of the rules: upstream kyverno-authz pkg/cel/env.go, pkg/engine/compiler, and
cmd/cli/kubectl-kyverno/processor/authz_processor.go for the text of results.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from kyvsim.cel.environment import Environment, Library, environment
from kyvsim.cel.kyverno import envoy, http_requests, mcp
from kyvsim.cel.kyverno.encodings import AUTHORIZATION_JSON, JsonCodec
from kyvsim.cel.kyverno.environments import VARIABLES, VARIABLES_TYPE
from kyvsim.cel.kyverno.images import IMAGES
from kyvsim.cel.kyverno.lookups import CLUSTER_RESOURCES, HTTP
from kyvsim.cel.kyverno.messages import MessageTypes
from kyvsim.cel.kyverno.tokens import TOKEN_TYPES, token_library
from kyvsim.cel.libraries import EXTENSIONS, KUBERNETES
from kyvsim.cel.libraries.admission import AUTHORIZATION
from kyvsim.cel.libraries.lists import TWO_VARIABLES
from kyvsim.cel.libraries.standard import LENIENT_OR_VALUE
from kyvsim.cel.libraries.strings import LATEST_STRINGS, REGEX_GROUPS
from kyvsim.cel.types import INT, CelType, opaque
from kyvsim.cel.values import Message
from kyvsim.kubernetes.objects import Json
from kyvsim.model.ports import Clock
from kyvsim.model.request import PayloadMode

_LEFT_OUT = frozenset(
    one.name
    for one in (TWO_VARIABLES, AUTHORIZATION, LENIENT_OR_VALUE, REGEX_GROUPS, LATEST_STRINGS)
)
_UNBOUND = ("image", opaque("imagedata.Context"))
"""A variable that is declared but has no value."""


class PolicyDecision(NamedTuple):
    """The decision of a validation."""

    allows: bool | None
    """None if the response is invalid, or does not decide."""
    message: str


class AuthorizationMode(NamedTuple):
    """One mode: its requests and responses, and the names for its expressions."""

    library: Library
    messages: MessageTypes
    request: CelType
    response: CelType
    read: Callable[[Json], Message]
    """Converts a payload's data to the value of `object`; raises MessageError."""
    decide: Callable[[Message], PolicyDecision]
    constants: Mapping[str, int] = MappingProxyType({})

    @property
    def values(self) -> dict[str, Any]:
        """The constant values of variables."""
        return {**self.constants, **mcp.MCP_METHODS, "json": JsonCodec(), "mcp": mcp.McpAccess()}


def _decide(response: Message) -> PolicyDecision:
    """Return the decision of a response of either mode, whose fields have different names."""
    if "ok" in response.present or "ok_response" in response.present:
        return PolicyDecision(True, "request allowed")
    if "denied" in response.present:
        return PolicyDecision(False, f"request denied, reason: {response['denied']['reason']}")
    if "denied_response" in response.present:
        code = response["denied_response"]["status"]["code"]
        return PolicyDecision(False, f"request denied with status code {code}")
    return PolicyDecision(None, "the response neither allows nor denies the request")


def _decide_envoy(response: Message) -> PolicyDecision:
    if response.is_literal:
        return PolicyDecision(None, "rule result is expected to be *authv3.CheckResponse")
    return _decide(response)


MODES: Mapping[PayloadMode, AuthorizationMode] = {
    PayloadMode.HTTP: AuthorizationMode(
        library=http_requests.HTTP_DECISIONS,
        messages=http_requests.HTTP_TYPES,
        request=http_requests.REQUEST,
        response=http_requests.RESPONSE,
        read=http_requests.http_request,
        decide=_decide,
    ),
    PayloadMode.ENVOY: AuthorizationMode(
        library=envoy.ENVOY,
        messages=envoy.ENVOY_TYPES,
        request=envoy.REQUEST,
        response=envoy.RESPONSE,
        read=lambda data: envoy.ENVOY_TYPES.read(envoy.REQUEST.name, data),
        decide=_decide_envoy,
        constants=envoy.STATUS_CODES,
    ),
}


def authorization_environment(mode: AuthorizationMode, clock: Clock) -> Environment:
    """Return the environment of a mode's validations."""
    base = (one for one in (*KUBERNETES, *EXTENSIONS) if one.name not in _LEFT_OUT)
    own = (HTTP, IMAGES, CLUSTER_RESOURCES, AUTHORIZATION_JSON, mcp.MCP, LATEST_STRINGS)
    found = environment((*base, *own, token_library(clock), mode.library))
    fields = (mode.messages.fields, mcp.MCP_TYPES.fields, TOKEN_TYPES.fields)
    return found._replace(
        variables=(
            ("object", mode.request),
            ("variables", VARIABLES_TYPE),
            *((name, INT) for name in mode.constants),
            _UNBOUND,
            *found.variables,
        ),
        fields=MappingProxyType(
            {VARIABLES: {}, **{name: one for part in fields for name, one in part.items()}}
        ),
        checks_literals=False,
        latest_formats=True,
        folds=False,
        unbound=frozenset({_UNBOUND[0]}),
    )
