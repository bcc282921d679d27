"""The environment of policies that decide on HTTP requests.

Source of the rules: upstream kyverno-authz pkg/cel/env.go, pkg/cel/libs/authz/http. Requests of
the Model Context Protocol, tokens and key sets are unknown here, so what names them is refused.
"""

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from kyvsim.cel import types
from kyvsim.cel.environment import Environment, Library, Overload, environment
from kyvsim.cel.kyverno.environments import VARIABLES
from kyvsim.cel.kyverno.http import HTTP
from kyvsim.cel.kyverno.images import IMAGES
from kyvsim.cel.kyverno.resources import CLUSTER_RESOURCES
from kyvsim.cel.libraries import EXTENSIONS, KUBERNETES
from kyvsim.cel.libraries.authorizer import AUTHORIZATION
from kyvsim.cel.libraries.lists import TWO_VARIABLES
from kyvsim.cel.libraries.optionals import LENIENT_OR_VALUE
from kyvsim.cel.libraries.regex_groups import REGEX_GROUPS
from kyvsim.cel.signature import function
from kyvsim.cel.types import CelType, list_of, map_of, struct
from kyvsim.cel.values import NativeStruct

RESPONSE = struct("http.CheckResponse")
_REQUEST = struct("http.CheckRequest")
_ATTRIBUTES = struct("http.CheckRequestAttributes")
_OK = struct("http.CheckResponseOk")
_DENIED = struct("http.CheckResponseDenied")
_TEXTS = map_of(types.STRING, list_of(types.STRING))
_ATTRIBUTE_FIELDS: Mapping[str, CelType] = MappingProxyType(
    {
        "method": types.STRING,
        "header": _TEXTS,
        "host": types.STRING,
        "protocol": types.STRING,
        "contentLength": types.INT,
        "body": types.BYTES,
        "scheme": types.STRING,
        "path": types.STRING,
        "query": _TEXTS,
        "fragment": types.STRING,
    }
)
_LEFT_OUT = frozenset(
    one.name for one in (TWO_VARIABLES, AUTHORIZATION, LENIENT_OR_VALUE, REGEX_GROUPS)
)
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


class Allowed(NamedTuple):
    """`http.Allowed()`."""

    @property
    def cel_type(self) -> CelType:
        """Its type in expressions."""
        return _OK


class Denied(NamedTuple):
    """`http.Denied(reason)`."""

    reason: str

    @property
    def cel_type(self) -> CelType:
        """Its type in expressions."""
        return _DENIED


class Decision(NamedTuple):
    """What a validation gives where it decides."""

    denial: str | None
    """The reason to deny the request; None where it is allowed."""

    @property
    def cel_type(self) -> CelType:
        """Its type in expressions."""
        return RESPONSE


class RequestError(ValueError):
    """The data is no request."""


def http_request(data: Any) -> NativeStruct:
    """Return the value of `object` for the data of a payload file; raises RequestError."""
    given = _object(data, "the payload").get("attributes")
    attributes = _object({} if given is None else given, "`attributes`")
    read = {name: _READERS[kind.name](attributes, name) for name, kind in _ATTRIBUTE_FIELDS.items()}
    return NativeStruct(attributes=NativeStruct(read))


def _object(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise RequestError(f"{what} has to be a map")
    return value


def _text(attributes: Mapping[str, Any], name: str) -> str:
    value = attributes.get(name)
    if value is not None and value.__class__ is not str:
        raise RequestError(f"`attributes.{name}` has to be a text")
    return value or ""


def _number(attributes: Mapping[str, Any], name: str) -> int:
    value = attributes.get(name) or 0.0
    if value.__class__ is not float or not value.is_integer():
        raise RequestError(f"`attributes.{name}` has to be a whole number")
    return int(value)


def _bytes(attributes: Mapping[str, Any], name: str) -> bytes:
    try:
        return base64.b64decode(_text(attributes, name), validate=True)
    except binascii.Error:
        raise RequestError(f"`attributes.{name}` has to be in base64") from None


def _lists(attributes: Mapping[str, Any], name: str) -> dict[str, list[str]]:
    value = attributes.get(name)
    found = {} if value is None else _object(value, f"`attributes.{name}`")
    for values in found.values():
        if values.__class__ is not list or any(one.__class__ is not str for one in values):
            raise RequestError(f"`attributes.{name}` has to hold lists of texts")
    return dict(found)


_READERS: Mapping[str, Callable[[Mapping[str, Any], str], Any]] = MappingProxyType(
    {"string": _text, "int": _number, "bytes": _bytes, "map": _lists}
)


def _header(attributes: NativeStruct, name: str) -> list[str]:
    canonical = "-".join(part[:1].upper() + part[1:].lower() for part in name.split("-"))
    headers: Mapping[str, list[str]] = attributes["header"]
    return headers.get(canonical if _TOKEN.fullmatch(name) else name, [])


def _query(attributes: NativeStruct, name: str) -> list[str]:
    values: Mapping[str, list[str]] = attributes["query"]
    return values.get(name, [])


def _way(
    arguments: tuple[CelType, ...], result: CelType, run: Callable[..., Any], *, member: bool = True
) -> Overload:
    return Overload(member, arguments, result, run)


_TEXT = types.STRING
_DECISIONS = Library(
    "http authorization",
    (
        function("http.Allowed", _way((), _OK, Allowed, member=False)),
        function("http.Denied", _way((_TEXT,), _DENIED, Denied, member=False)),
        function("Header", _way((_ATTRIBUTES, _TEXT), list_of(_TEXT), _header)),
        function("QueryParam", _way((_ATTRIBUTES, _TEXT), list_of(_TEXT), _query)),
        function(
            "Response",
            _way((_OK,), RESPONSE, lambda _: Decision(None)),
            _way((_DENIED,), RESPONSE, lambda denied: Decision(denied.reason)),
        ),
    ),
    types=(
        (Allowed, _OK),
        (Denied, _DENIED),
        (Decision, RESPONSE),
        (NativeStruct, _ATTRIBUTES),
    ),
)


def http_environment() -> Environment:
    """Return the environment of validations of mode HTTP."""
    base = (one for one in (*KUBERNETES, *EXTENSIONS) if one.name not in _LEFT_OUT)
    found = environment((*base, HTTP, IMAGES, CLUSTER_RESOURCES, _DECISIONS))
    fields: Mapping[str, Mapping[str, CelType]] = {
        _REQUEST.name: {"attributes": _ATTRIBUTES},
        _ATTRIBUTES.name: _ATTRIBUTE_FIELDS,
        VARIABLES: {},
    }
    return found._replace(
        variables=(("object", _REQUEST), ("variables", struct(VARIABLES)), *found.variables),
        fields=MappingProxyType(fields),
        checks_literals=False,
        folds=False,
    )
