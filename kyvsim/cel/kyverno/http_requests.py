"""HTTP requests that policies decide on, and the decisions.

Source of the rules: upstream kyverno-authz pkg/cel/libs/authz/http, over Go's encoding/json, which
matches names of fields case-insensitively and ignores unknown fields.
"""

import base64
import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.cel.environment import Library, function, method, read_fields
from kyvsim.cel.errors import CelError
from kyvsim.cel.kyverno import mcp
from kyvsim.cel.kyverno.messages import MessageError, MessageTypes
from kyvsim.cel.types import STRING, struct
from kyvsim.cel.values import Message
from kyvsim.kubernetes.objects import Path

REQUEST = struct("http.CheckRequest")
RESPONSE = struct("http.CheckResponse")
_ATTRIBUTES = struct("http.CheckRequestAttributes")
_OK = struct("http.CheckResponseOk")
_DENIED = struct("http.CheckResponseDenied")
_MCP = struct("http.MCPCheckData")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")

_ATTRIBUTE_FIELDS = read_fields(
    "method=string header=map<string,list<string>> host=string protocol=string contentLength=int "
    "body=bytes scheme=string path=string query=map<string,list<string>> fragment=string"
)
HTTP_TYPES = MessageTypes(
    MappingProxyType(
        {
            REQUEST.name: {"attributes": _ATTRIBUTES, "mcp": _MCP},
            _ATTRIBUTES.name: _ATTRIBUTE_FIELDS,
            _MCP.name: {"request": mcp.REQUEST},
            RESPONSE.name: {"ok": _OK, "denied": _DENIED},
            _OK.name: {},
            _DENIED.name: {"reason": STRING},
            **mcp.MCP_TYPES.fields,
        }
    ),
    native=True,
)


def http_request(data: object) -> Message:
    """Return the value of `object` for the data of a payload file; raises MessageError."""
    fields = _fields(data, ())
    attributes = _fields(fields.get("attributes"), ("attributes",))
    read = {
        name: _READERS[kind.name](attributes[name.lower()], ("attributes", name))
        for name, kind in _ATTRIBUTE_FIELDS.items()
        if attributes.get(name.lower()) is not None
    }
    given = {"attributes": HTTP_TYPES.make(_ATTRIBUTES.name, read)}
    inner = _fields(fields.get("mcp"), ("mcp",)).get("request")
    if inner is not None:
        try:
            request = mcp.read_request(inner)
        except CelError as error:
            raise MessageError(("mcp", "request"), str(error)) from None
        given["mcp"] = HTTP_TYPES.make(_MCP.name, {"request": request})
    return HTTP_TYPES.make(REQUEST.name, given)


class RequestFields(NamedTuple):
    """The fields of one map in a request's data."""

    path: Path
    names: tuple[str, ...]
    """The fields of requests."""
    known: tuple[str, ...]
    """The known fields in the data, with the data's spelling."""
    unknown: tuple[str, ...]
    """Other fields in the data."""


def fields_of_request(data: Mapping[str, object]) -> Iterator[RequestFields]:
    """Yield the fields of a request and of its attributes."""
    yield _sorted_out((), data, ("attributes", "mcp"))
    for key, inner in data.items():
        if key.lower() == "attributes" and inner.__class__ is dict:
            yield _sorted_out((key,), inner, tuple(_ATTRIBUTE_FIELDS))


def _sorted_out(path: Path, data: Mapping[str, object], names: tuple[str, ...]) -> RequestFields:
    right = {name.lower() for name in names}
    known = tuple(key for key in data if key.lower() in right)
    return RequestFields(path, names, known, tuple(key for key in data if key not in known))


def _fields(value: object, path: Path) -> dict[str, object]:
    if value is None:
        return {}
    if value.__class__ is not dict:
        raise MessageError(path, "this must be a map")
    return {key.lower(): one for key, one in value.items()}


def _text(value: object, path: Path) -> str:
    if value.__class__ is not str:
        raise MessageError(path, "this must be a string")
    return value


def _number(value: object, path: Path) -> int:
    if value.__class__ is not float or not value.is_integer():
        raise MessageError(path, "this must be a whole number")
    return int(value)


def _bytes(value: object, path: Path) -> bytes:
    try:
        return base64.b64decode(_text(value, path), validate=True)
    except ValueError:  # including binascii.Error; invalid characters raise it, too
        raise MessageError(path, "this must be base64") from None


def _lists(value: object, path: Path) -> dict[str, list[str]]:
    if value.__class__ is not dict:
        raise MessageError(path, "this must be a map")
    for key, values in value.items():
        if values.__class__ is not list or any(one.__class__ is not str for one in values):
            raise MessageError((*path, key), "this must be a list of strings")
    return dict(value)


_READERS: Mapping[str, Callable[[object, Path], object]] = {
    "string": _text,
    "int": _number,
    "bytes": _bytes,
    "map": _lists,
}


def _header(attributes: Message, name: str) -> list[str]:
    canonical = "-".join(part[:1].upper() + part[1:].lower() for part in name.split("-"))
    headers: Mapping[str, list[str]] = attributes["header"]
    return headers.get(canonical if _TOKEN.fullmatch(name) else name, [])


HTTP_DECISIONS = Library(
    "http authorization",
    (
        function(f"http.Allowed() -> {_OK}", lambda: HTTP_TYPES.make(_OK.name, {})),
        function(
            f"http.Denied(string) -> {_DENIED}",
            lambda reason: HTTP_TYPES.make(_DENIED.name, {"reason": reason}),
        ),
        method(f"{_ATTRIBUTES}.Header(string) -> list<string>", _header),
        method(
            f"{_ATTRIBUTES}.QueryParam(string) -> list<string>",
            lambda attributes, name: attributes["query"].get(name, []),
        ),
        method(
            f"{_OK}.Response() -> {RESPONSE}", lambda ok: HTTP_TYPES.make(RESPONSE.name, {"ok": ok})
        ),
        method(
            f"{_DENIED}.Response() -> {RESPONSE}",
            lambda denied: HTTP_TYPES.make(RESPONSE.name, {"denied": denied}),
        ),
    ),
    types=HTTP_TYPES.classes,
    struct_of=HTTP_TYPES.written,
)
