"""Authorization requests of Envoy, and the responses to them.

upstream: kyverno-authz pkg/cel/libs/authz/envoy; envoyproxy/go-control-plane
envoy/service/auth/v3, envoy/config/core/v3, envoy/type/v3
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from kyvsim.cel.environment import FunctionDecl, Library, function, method, read_fields
from kyvsim.cel.errors import CelError
from kyvsim.cel.kyverno.encodings import struct_value
from kyvsim.cel.kyverno.messages import MessageTypes
from kyvsim.cel.types import struct
from kyvsim.cel.values import Message

_AUTH = "envoy.service.auth.v3"
_CONTEXT = f"{_AUTH}.AttributeContext"
_CORE = "envoy.config.core.v3"
REQUEST = struct(f"{_AUTH}.CheckRequest")
RESPONSE = struct(f"{_AUTH}.CheckResponse")
_OK = f"{_AUTH}.OkHttpResponse"
_DENIED = f"{_AUTH}.DeniedHttpResponse"
_OPTION = f"{_CORE}.HeaderValueOption"
_HEADER = f"{_CORE}.HeaderValue"
_PARAMETER = f"{_CORE}.QueryParameter"
_STATUS = "envoy.type.v3.HttpStatus"
_OUTCOME = "google.rpc.Status"
_PERMISSION_DENIED = 7

_FIELDS: Mapping[str, str] = {
    REQUEST.name: f"attributes={_CONTEXT}",
    _CONTEXT: f"source={_CONTEXT}.Peer destination={_CONTEXT}.Peer "
    f"request={_CONTEXT}.Request context_extensions=map<string,string> "
    f"metadata_context={_CORE}.Metadata route_metadata_context={_CORE}.Metadata "
    f"tls_session={_CONTEXT}.TLSSession",
    f"{_CONTEXT}.Peer": f"address={_CORE}.Address service=string labels=map<string,string> "
    "principal=string certificate=string",
    f"{_CONTEXT}.Request": f"time=timestamp http={_CONTEXT}.HttpRequest",
    f"{_CONTEXT}.HttpRequest": "id=string method=string path=string host=string scheme=string "
    "query=string fragment=string protocol=string body=string headers=map<string,string> "
    f"header_map={_CORE}.HeaderMap size=int raw_body=bytes",
    f"{_CONTEXT}.TLSSession": "sni=string",
    f"{_CORE}.HeaderMap": f"headers=list<{_HEADER}>",
    f"{_CORE}.Metadata": "filter_metadata=map<string,map<string,dyn>> "
    "typed_filter_metadata=map<string,any>",
    f"{_CORE}.Address": f"socket_address={_CORE}.SocketAddress pipe={_CORE}.Pipe "
    f"envoy_internal_address={_CORE}.EnvoyInternalAddress",
    f"{_CORE}.SocketAddress": "protocol=int address=string port_value=uint named_port=string "
    "resolver_name=string ipv4_compat=bool network_namespace_filepath=string",
    f"{_CORE}.Pipe": "path=string mode=uint",
    f"{_CORE}.EnvoyInternalAddress": "server_listener_name=string endpoint_id=string",
    RESPONSE.name: f"status={_OUTCOME} denied_response={_DENIED} ok_response={_OK} "
    f"error_response={_DENIED} dynamic_metadata=map<string,dyn>",
    _OUTCOME: "code=int message=string details=list<any>",
    _OK: f"headers=list<{_OPTION}> headers_to_remove=list<string> "
    f"dynamic_metadata=map<string,dyn> response_headers_to_add=list<{_OPTION}> "
    f"query_parameters_to_set=list<{_PARAMETER}> query_parameters_to_remove=list<string>",
    _DENIED: f"status={_STATUS} headers=list<{_OPTION}> body=string",
    _STATUS: "code=int",
    _OPTION: f"header={_HEADER} append=dyn append_action=int keep_empty_value=bool",
    _HEADER: "key=string value=string raw_value=bytes",
    _PARAMETER: "key=string value=string",
}
ENVOY_TYPES = MessageTypes(
    MappingProxyType({name: read_fields(text) for name, text in _FIELDS.items()}),
    enums=MappingProxyType({(f"{_CORE}.SocketAddress", "protocol"): ("TCP", "UDP")}),
)


def _with(message: Message, field: str, value: object) -> Message:
    given = {name: message[name] for name in message.present}
    return ENVOY_TYPES.make(message.cel_type.name, {**given, field: value})


def _more(field: str) -> Callable[[Message, object], Message]:
    return lambda message, value: _with(message, field, [*message[field], value])


def _header(key: str, value: str) -> Message:
    header = ENVOY_TYPES.make(_HEADER, {"key": key, "value": value})
    return ENVOY_TYPES.make(_OPTION, {"header": header})


def _parameter(key: str, value: str) -> Message:
    return ENVOY_TYPES.make(_PARAMETER, {"key": key, "value": value})


def _denied(code: int) -> Message:
    if not -(1 << 31) <= code < 1 << 31:
        raise CelError("integer overflow")
    return ENVOY_TYPES.make(_DENIED, {"status": ENVOY_TYPES.make(_STATUS, {"code": code})})


def _response(field: str, code: int) -> Callable[[Message], Message]:
    status = ENVOY_TYPES.make(_OUTCOME, {"code": code})
    return lambda answer: ENVOY_TYPES.make(RESPONSE.name, {"status": status, field: answer})


def _appending(
    target: str, name: str, field: str, kind: str, make: Callable[[str, str], Message]
) -> Iterator[FunctionDecl]:
    """Yield the overloads that append a header or parameter, given as a message or as its parts."""
    more = _more(field)
    yield method(f"{target}.{name}({kind}) -> {target}", more)
    yield method(
        f"{target}.{name}(string, string) -> {target}",
        lambda message, key, value: more(message, make(key, value)),
    )


ENVOY = Library(
    "envoy authorization",
    (
        function(f"envoy.Allowed() -> {_OK}", lambda: ENVOY_TYPES.make(_OK, {})),
        function(f"envoy.Denied(int) -> {_DENIED}", _denied),
        function(f"envoy.Header(string, string) -> {_OPTION}", _header),
        function(f"envoy.QueryParam(string, string) -> {_PARAMETER}", _parameter),
        method(
            f"{_DENIED}.WithBody(string) -> {_DENIED}",
            lambda denied, body: _with(denied, "body", body),
        ),
        *_appending(_OK, "WithHeader", "headers", _OPTION, _header),
        *_appending(_DENIED, "WithHeader", "headers", _OPTION, _header),
        method(f"{_OK}.WithoutHeader(string) -> {_OK}", _more("headers_to_remove")),
        *_appending(_OK, "WithResponseHeader", "response_headers_to_add", _OPTION, _header),
        *_appending(_OK, "WithQueryParam", "query_parameters_to_set", _PARAMETER, _parameter),
        method(f"{_OK}.WithoutQueryParam(string) -> {_OK}", _more("query_parameters_to_remove")),
        *(
            method(
                f"{_OPTION}.KeepEmptyValue({given}) -> {_OPTION}",
                lambda option, keeps=True: _with(option, "keep_empty_value", keeps),
            )
            for given in ("", "bool")
        ),
        method(f"{_OK}.Response() -> {RESPONSE}", _response("ok_response", 0)),
        method(
            f"{_DENIED}.Response() -> {RESPONSE}", _response("denied_response", _PERMISSION_DENIED)
        ),
        method(
            f"{RESPONSE}.WithMessage(string) -> {RESPONSE}",
            lambda response, text: _with(
                response, "status", _with(response["status"], "message", text)
            ),
        ),
        method(
            f"{RESPONSE}.WithMetadata(map<string, dyn>) -> {RESPONSE}",
            lambda response, data: _with(response, "dynamic_metadata", struct_value(data)),
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
STATUS_CODES: Mapping[str, int] = {
    f"envoy.type.v3.StatusCode.{name}": int(code)
    for name, _, code in (one.partition("=") for one in ("Empty=0", *_CODES.split()))
}
"""The names of status codes in expressions."""
