"""Requests of the Model Context Protocol: `mcp.Parse`, and its result.

upstream: kyverno-authz pkg/cel/libs/mcp, pkg/cel/impl/mcp.go; mark3labs/mcp-go mcp/types.go
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.cel import types
from kyvsim.cel.conversion import text_to_bool
from kyvsim.cel.environment import Library, method, read_fields
from kyvsim.cel.errors import CelError
from kyvsim.cel.kyverno.encodings import native_text
from kyvsim.cel.kyverno.messages import MessageTypes
from kyvsim.cel.values import Message
from kyvsim.kubernetes.go_text import JsonError, json_kind, parse_json, to_json
from kyvsim.kubernetes.quantities import parse_float, parse_int, to_int64

_TYPE = types.opaque("mcp.MCP")
REQUEST = types.struct("mcp.MCPRequest")


class McpAccess(NamedTuple):
    """The value of the variable `mcp`."""

    @property
    def cel_type(self) -> types.CelType:
        """Its type in expressions."""
        return _TYPE


_PARAMETERS: Mapping[str, Mapping[str, types.CelType]] = {
    "mcp.PaginatedParams": {"Cursor": types.STRING},
    "mcp.CallToolParams": {"Name": types.STRING},
    "mcp.ReadResourceParams": {"URI": types.STRING},
    "mcp.SubscribeParams": {"URI": types.STRING},
    "mcp.UnsubscribeParams": {"URI": types.STRING},
    "mcp.GetPromptParams": read_fields("Name=string Arguments=map<string,string>"),
    "mcp.InitializeParams": read_fields("ProtocolVersion=string ClientInfo=mcp.Implementation"),
    "mcp.ElicitationParams": read_fields("Mode=string Message=string"),
    "mcp.SetLevelParams": {"Level": types.STRING},
    "mcp.Implementation": read_fields(
        "Name=string Version=string Title=string Description=string WebsiteURL=string"
    ),
    "mcp.RequestId": {},
}
"""The fields of a request besides its method; fields of any type are hidden from expressions."""
_PLACES: Mapping[str, str] = {
    "Paginated": "mcp.PaginatedParams",
    "ToolCall": "mcp.CallToolParams",
    "ResourceRead": "mcp.ReadResourceParams",
    "ResourceSubscribe": "mcp.SubscribeParams",
    "ResourceUnsubscribe": "mcp.UnsubscribeParams",
    "PromptGet": "mcp.GetPromptParams",
    "Initialize": "mcp.InitializeParams",
    "Elicitation": "mcp.ElicitationParams",
    "SetLogLevel": "mcp.SetLevelParams",
}
_METHODS: Mapping[str, tuple[str, str]] = {
    "initialize": ("InitializeMethod", "Initialize"),
    "ping": ("PingMethod", ""),
    "resources/list": ("ResourcesListMethod", "Paginated"),
    "resources/templates/list": ("ResourcesTemplatesListMethod", "Paginated"),
    "resources/read": ("ResourcesReadMethod", "ResourceRead"),
    "prompts/list": ("PromptsListMethod", "Paginated"),
    "prompts/get": ("PromptsGetMethod", "PromptGet"),
    "tools/list": ("ToolsListMethod", "Paginated"),
    "tools/call": ("ToolsCallMethod", "ToolCall"),
    "logging/setLevel": ("SetLogLevelMethod", "SetLogLevel"),
    "elicitation/create": ("ElicitationCreateMethod", "Elicitation"),
}
"""By method: its constant, and the field with its parameters."""
MCP_METHODS: Mapping[str, str] = {f"mcp.{name}": method for method, (name, _) in _METHODS.items()}
MCP_TYPES = MessageTypes(
    MappingProxyType(
        {
            REQUEST.name: {
                "Method": types.STRING,
                "ID": types.struct("mcp.RequestId"),
                **{field: types.struct(name) for field, name in _PLACES.items()},
            },
            **_PARAMETERS,
        }
    )
)
_SPELLED: Mapping[str, str] = MappingProxyType({"URI": "uri", "WebsiteURL": "websiteUrl"})
"""Fields whose JSON names differ from the usual lower first letter."""
_TEXTS: Mapping[str, str] = MappingProxyType({"Cursor": "mcp.Cursor", "Level": "mcp.LoggingLevel"})
"""The Go types that are named string types."""
_WITH_ARGUMENTS = ("ToolCall", "ResourceRead", "PromptGet")
"""The fields whose arguments functions can read, in order."""


def parse_request(text: str) -> Message:
    """Return the request in a JSON string; raises CelError."""
    try:
        data = parse_json(text)
    except JsonError as error:
        raise CelError(str(error)) from None
    fields = _fields(data, "Go value", "mcp.JSONRPCRequest")
    method = _text(fields.get("method"), "JSONRPCRequest.Request.method")
    number = fields.get("id")
    if number is not None and number.__class__ not in {str, float}:
        raise CelError(f"invalid request id: {to_json(number)}")
    field = _METHODS.get(method, ("", ""))[1]
    given = {"Method": method, "ID": MCP_TYPES.make("mcp.RequestId", {})}
    if not field:
        return _request(given, {})
    parameters = _fields(fields.get("params"), "Go struct field .params", _PLACES[field])
    return _request(given, {field: parameters})


def read_request(data: object) -> Message:
    """Return the request with these fields; raises CelError."""
    fields = _fields(data, "Go struct field MCPCheckData.mcp.request", REQUEST.name)
    method = _text(fields.get("method"), "MCPRequest.mcp.request.Method")
    parameters = {
        field: _fields(fields[field.lower()], f"Go struct field .{field}", name)
        for field, name in _PLACES.items()
        if fields.get(field.lower()) is not None
    }
    return _request({"Method": method}, parameters)


def _request(
    given: Mapping[str, object], parameters: Mapping[str, Mapping[str, object]]
) -> Message:
    parts = {field: _parameters(_PLACES[field], data) for field, data in parameters.items()}
    found = MCP_TYPES.make(REQUEST.name, {**given, **parts})
    arguments = (
        parameters[field].get("arguments") for field in _WITH_ARGUMENTS if field in parameters
    )
    # Functions read arguments of any type, which are not fields in expressions.
    found.hidden = next((one for one in arguments if one.__class__ is dict), {})
    return found


def _parameters(name: str, data: Mapping[str, object], within: str = "params") -> Message:
    """Return the value of a type from its JSON; `within` is the path of the surrounding fields."""
    given: dict[str, object] = {}
    for field, kind in _PARAMETERS[name].items():
        value = data.get(field.lower())
        spelled = _SPELLED.get(field, f"{field[:1].lower()}{field[1:]}")
        place = f"{name.removeprefix('mcp.')}.{within}.{spelled}"
        if value is None:
            continue
        if kind.kind == "string":
            given[field] = _text(value, place, _TEXTS.get(field, "string"))
        elif kind.kind == "map":
            named = _named(value, f"Go struct field {place}", "map[string]string")
            given[field] = {key: _text(one, place) for key, one in named.items()}
        else:
            inner = _fields(value, f"Go struct field {place}", kind.name)
            given[field] = _parameters(kind.name, inner, f"{within}.{spelled}")
    return MCP_TYPES.make(name, given)


def _fields(data: object, place: str, name: str) -> dict[str, object]:
    """Return the fields of a map by their lower-case names, as Go finds them."""
    return {key.lower(): value for key, value in _named(data, place, name).items()}


def _named(data: object, place: str, name: str) -> dict[str, object]:
    if data is None or data.__class__ is dict:
        return data or {}
    raise CelError(f"json: cannot unmarshal {json_kind(data)} into {place} of type {name}")


def _text(value: object, place: str, name: str = "string") -> str:
    if value is None:
        return ""
    if value.__class__ is str:
        return value
    where = f"Go struct field {place}"
    raise CelError(f"json: cannot unmarshal {json_kind(value)} into {where} of type {name}")


_Reader = Callable[[object], object]
"""Returns an argument of a type, or None if it has another type."""


def _argument(of: _Reader) -> Callable[[Message, str, object], object]:
    """Return a function that returns an argument of one type, or a default."""

    def get(request: Message, key: str, default: object) -> object:
        found = of(request.hidden.get(key))
        return default if found is None else found

    return get


def _arguments(of: _Reader) -> Callable[[Message, str, object], object]:
    """Return a function that returns the elements of a list argument with one type."""

    def get(request: Message, key: str, default: object) -> object:
        values = request.hidden.get(key)
        if values.__class__ is not list:
            return default
        return [found for found in map(of, values) if found is not None]

    return get


def _as_int(value: object) -> int | None:
    if value.__class__ is float:
        return to_int64(value)
    return parse_int(value) if value.__class__ is str else None


def _as_double(value: object) -> float | None:
    if value.__class__ is float:
        return value
    return parse_float(value) if value.__class__ is str else None


def _as_bool(value: object) -> bool | None:
    if value.__class__ is bool or value.__class__ is float:
        return bool(value)
    with suppress(CelError):
        return text_to_bool(value) if value.__class__ is str else None
    return None


MCP = Library(
    "mcp",
    (
        method(
            f"{_TYPE}.Parse(dyn) -> {REQUEST}", lambda _, text: parse_request(native_text(text))
        ),
        *(
            method(f"{REQUEST}.Get{name}{many}Argument(string, {result}) -> {result}", made(of))
            for name, kind, of in (
                ("String", "string", lambda value: value if value.__class__ is str else None),
                ("Int", "int", _as_int),
                ("Float", "double", _as_double),
                ("Bool", "bool", _as_bool),
            )
            for many, result, made in (
                ("", kind, _argument),
                ("Slice", f"list<{kind}>", _arguments),
            )
        ),
    ),
    types=((McpAccess, _TYPE), *MCP_TYPES.classes),
    variables=(("mcp", _TYPE), *((name, types.STRING) for name in MCP_METHODS)),
)
