"""Authorization requests of Envoy, and the responses to them.

upstream: kyverno-authz pkg/cel/libs/authz/envoy; envoyproxy/go-control-plane
envoy/service/auth/v3, envoy/config/core/v3, envoy/type/v3
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from kyvsim.cel import types
from kyvsim.cel.environment import Library, Overload, function
from kyvsim.cel.errors import CelError
from kyvsim.cel.kyverno.encodings import struct_value
from kyvsim.cel.kyverno.messages import MessageTypes
from kyvsim.cel.values import Message

_AUTH = "envoy.service.auth.v3"
_CORE = "envoy.config.core.v3"
_PEER = f"{_AUTH}.AttributeContext.Peer"
_TEXTS = types.map_of(types.STRING, types.STRING)
_STRUCT = types.map_of(types.STRING, types.DYN)
REQUEST = types.struct(f"{_AUTH}.CheckRequest")
RESPONSE = types.struct(f"{_AUTH}.CheckResponse")
_OK = types.struct(f"{_AUTH}.OkHttpResponse")
_DENIED = types.struct(f"{_AUTH}.DeniedHttpResponse")
_OPTION = types.struct(f"{_CORE}.HeaderValueOption")
_HEADER = types.struct(f"{_CORE}.HeaderValue")
_PARAMETER = types.struct(f"{_CORE}.QueryParameter")
_STATUS = types.struct("envoy.type.v3.HttpStatus")
_OUTCOME = types.struct("google.rpc.Status")
_PERMISSION_DENIED = 7


_REQUEST_FIELDS: Mapping[str, Mapping[str, types.CelType]] = MappingProxyType(
    {
        REQUEST.name: {"attributes": types.struct(f"{_AUTH}.AttributeContext")},
        f"{_AUTH}.AttributeContext": {
            "source": types.struct(_PEER),
            "destination": types.struct(_PEER),
            "request": types.struct(f"{_AUTH}.AttributeContext.Request"),
            "context_extensions": _TEXTS,
            "metadata_context": types.struct(f"{_CORE}.Metadata"),
            "route_metadata_context": types.struct(f"{_CORE}.Metadata"),
            "tls_session": types.struct(f"{_AUTH}.AttributeContext.TLSSession"),
        },
        _PEER: {
            "address": types.struct(f"{_CORE}.Address"),
            "service": types.STRING,
            "labels": _TEXTS,
            "principal": types.STRING,
            "certificate": types.STRING,
        },
        f"{_AUTH}.AttributeContext.Request": {
            "time": types.TIMESTAMP,
            "http": types.struct(f"{_AUTH}.AttributeContext.HttpRequest"),
        },
        f"{_AUTH}.AttributeContext.HttpRequest": {
            **dict.fromkeys(("id", "method", "path", "host", "scheme", "query"), types.STRING),
            **dict.fromkeys(("fragment", "protocol", "body"), types.STRING),
            "headers": _TEXTS,
            "header_map": types.struct(f"{_CORE}.HeaderMap"),
            "size": types.INT,
            "raw_body": types.BYTES,
        },
        f"{_AUTH}.AttributeContext.TLSSession": {"sni": types.STRING},
        f"{_CORE}.HeaderMap": {"headers": types.list_of(_HEADER)},
        f"{_CORE}.Metadata": {
            "filter_metadata": types.map_of(types.STRING, _STRUCT),
            "typed_filter_metadata": types.map_of(types.STRING, types.ANY),
        },
        f"{_CORE}.Address": {
            "socket_address": types.struct(f"{_CORE}.SocketAddress"),
            "pipe": types.struct(f"{_CORE}.Pipe"),
            "envoy_internal_address": types.struct(f"{_CORE}.EnvoyInternalAddress"),
        },
        f"{_CORE}.SocketAddress": {
            "protocol": types.INT,
            "address": types.STRING,
            "port_value": types.UINT,
            "named_port": types.STRING,
            "resolver_name": types.STRING,
            "ipv4_compat": types.BOOL,
            "network_namespace_filepath": types.STRING,
        },
        f"{_CORE}.Pipe": {"path": types.STRING, "mode": types.UINT},
        f"{_CORE}.EnvoyInternalAddress": {
            "server_listener_name": types.STRING,
            "endpoint_id": types.STRING,
        },
    }
)
_RESPONSE_FIELDS: Mapping[str, Mapping[str, types.CelType]] = MappingProxyType(
    {
        RESPONSE.name: {
            "status": _OUTCOME,
            "denied_response": _DENIED,
            "ok_response": _OK,
            "error_response": _DENIED,
            "dynamic_metadata": _STRUCT,
        },
        _OUTCOME.name: {
            "code": types.INT,
            "message": types.STRING,
            "details": types.list_of(types.ANY),
        },
        _OK.name: {
            "headers": types.list_of(_OPTION),
            "headers_to_remove": types.list_of(types.STRING),
            "dynamic_metadata": _STRUCT,
            "response_headers_to_add": types.list_of(_OPTION),
            "query_parameters_to_set": types.list_of(_PARAMETER),
            "query_parameters_to_remove": types.list_of(types.STRING),
        },
        _DENIED.name: {"status": _STATUS, "headers": types.list_of(_OPTION), "body": types.STRING},
        _STATUS.name: {"code": types.INT},
        _OPTION.name: {
            "header": _HEADER,
            "append": types.DYN,
            "append_action": types.INT,
            "keep_empty_value": types.BOOL,
        },
        _HEADER.name: {"key": types.STRING, "value": types.STRING, "raw_value": types.BYTES},
        _PARAMETER.name: {"key": types.STRING, "value": types.STRING},
    }
)
ENVOY_TYPES = MessageTypes(
    MappingProxyType({**_REQUEST_FIELDS, **_RESPONSE_FIELDS}),
    enums=MappingProxyType({(f"{_CORE}.SocketAddress", "protocol"): ("TCP", "UDP")}),
)


def _with(message: Message, field: str, value: Any) -> Message:
    """Return a message with another value in one field."""
    given = {name: message[name] for name in message.present}
    return ENVOY_TYPES.make(message.cel_type.name, {**given, field: value})


def _more(field: str) -> Callable[[Message, Any], Message]:
    """Return what appends to a list of a message."""
    return lambda message, value: _with(message, field, [*message[field], value])


def _more_headers(field: str) -> Callable[[Message, str, str], Message]:
    return lambda message, key, value: _more(field)(message, _header(key, value))


def _header(key: str, value: str) -> Message:
    header = ENVOY_TYPES.make(_HEADER.name, {"key": key, "value": value})
    return ENVOY_TYPES.make(_OPTION.name, {"header": header})


def _parameter(key: str, value: str) -> Message:
    return ENVOY_TYPES.make(_PARAMETER.name, {"key": key, "value": value})


def _denied(code: int) -> Message:
    if not -(1 << 31) <= code < 1 << 31:
        raise CelError("integer overflow")
    status = ENVOY_TYPES.make(_STATUS.name, {"code": code})
    return ENVOY_TYPES.make(_DENIED.name, {"status": status})


def _response(field: str, code: int) -> Callable[[Message], Message]:
    def respond(answer: Message) -> Message:
        status = ENVOY_TYPES.make(_OUTCOME.name, {"code": code})
        return ENVOY_TYPES.make(RESPONSE.name, {"status": status, field: answer})

    return respond


def _call(
    arguments: tuple[types.CelType, ...], result: types.CelType, run: Callable[..., Any]
) -> Overload:
    return Overload(member=False, arguments=arguments, result=result, run=run)


def _on(
    target: types.CelType,
    arguments: tuple[types.CelType, ...],
    run: Callable[..., Any],
    result: types.CelType,
) -> Overload:
    return Overload(member=True, arguments=(target, *arguments), result=result, run=run)


def _appending(target: types.CelType, field: str) -> tuple[Overload, Overload]:
    """Return the two ways to add a header to a list."""
    return (
        _on(target, (_OPTION,), _more(field), target),
        _on(target, (types.STRING, types.STRING), _more_headers(field), target),
    )


_PAIR = (types.STRING, types.STRING)
ENVOY = Library(
    "envoy authorization",
    (
        function("envoy.Allowed", _call((), _OK, lambda: ENVOY_TYPES.make(_OK.name, {}))),
        function("envoy.Denied", _call((types.INT,), _DENIED, _denied)),
        function("envoy.Header", _call(_PAIR, _OPTION, _header)),
        function("envoy.QueryParam", _call(_PAIR, _PARAMETER, _parameter)),
        function(
            "WithBody",
            _on(_DENIED, (types.STRING,), lambda d, body: _with(d, "body", body), _DENIED),
        ),
        function("WithHeader", *_appending(_OK, "headers"), *_appending(_DENIED, "headers")),
        function("WithoutHeader", _on(_OK, (types.STRING,), _more("headers_to_remove"), _OK)),
        function("WithResponseHeader", *_appending(_OK, "response_headers_to_add")),
        function(
            "WithQueryParam",
            _on(_OK, (_PARAMETER,), _more("query_parameters_to_set"), _OK),
            _on(
                _OK,
                _PAIR,
                lambda ok, *pair: _more("query_parameters_to_set")(ok, _parameter(*pair)),
                _OK,
            ),
        ),
        function(
            "WithoutQueryParam", _on(_OK, (types.STRING,), _more("query_parameters_to_remove"), _OK)
        ),
        function(
            "KeepEmptyValue",
            _on(_OPTION, (), lambda option: _with(option, "keep_empty_value", True), _OPTION),
            _on(
                _OPTION,
                (types.BOOL,),
                lambda option, on: _with(option, "keep_empty_value", on),
                _OPTION,
            ),
        ),
        function(
            "Response",
            _on(_OK, (), _response("ok_response", 0), RESPONSE),
            _on(_DENIED, (), _response("denied_response", _PERMISSION_DENIED), RESPONSE),
        ),
        function(
            "WithMessage",
            _on(
                RESPONSE,
                (types.STRING,),
                lambda response, text: _with(
                    response, "status", _with(response["status"], "message", text)
                ),
                RESPONSE,
            ),
        ),
        function(
            "WithMetadata",
            _on(
                RESPONSE,
                (_STRUCT,),
                lambda response, data: _with(response, "dynamic_metadata", struct_value(data)),
                RESPONSE,
            ),
        ),
    ),
    types=ENVOY_TYPES.classes,
    struct_of=ENVOY_TYPES.written,
)

_CODES = (
    "Continue=100 OK=200 Created=201 Accepted=202 NonAuthoritativeInformation=203 NoContent=204 "
    "ResetContent=205 PartialContent=206 MultiStatus=207 AlreadyReported=208 IMUsed=226 "
    "MultipleChoices=300 MovedPermanently=301 Found=302 SeeOther=303 NotModified=304 UseProxy=305 "
    "TemporaryRedirect=307 PermanentRedirect=308 BadRequest=400 Unauthorized=401 "
    "PaymentRequired=402 Forbidden=403 NotFound=404 MethodNotAllowed=405 NotAcceptable=406 "
    "ProxyAuthenticationRequired=407 RequestTimeout=408 Conflict=409 Gone=410 LengthRequired=411 "
    "PreconditionFailed=412 PayloadTooLarge=413 URITooLong=414 UnsupportedMediaType=415 "
    "RangeNotSatisfiable=416 ExpectationFailed=417 MisdirectedRequest=421 "
    "UnprocessableEntity=422 Locked=423 FailedDependency=424 UpgradeRequired=426 "
    "PreconditionRequired=428 TooManyRequests=429 RequestHeaderFieldsTooLarge=431 "
    "InternalServerError=500 NotImplemented=501 BadGateway=502 ServiceUnavailable=503 "
    "GatewayTimeout=504 HTTPVersionNotSupported=505 VariantAlsoNegotiates=506 "
    "InsufficientStorage=507 LoopDetected=508 NotExtended=510 NetworkAuthenticationRequired=511"
)
STATUS_CODES: Mapping[str, int] = MappingProxyType(
    {
        f"envoy.type.v3.StatusCode.{name}": int(code)
        for name, _, code in (one.partition("=") for one in ("Empty=0", *_CODES.split()))
    }
)
"""The names that expressions may use for codes."""
