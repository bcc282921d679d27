"""JSON Web Tokens: `jwt.Decode` and `jwks.Fetch`.

Source of the rules and messages: upstream kyverno-authz pkg/cel/libs/jwt and libs/jwk, over
lestrrat-go/jwx v3. Keys are never fetched.
"""

import hashlib
import hmac
import math
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn

from kyvsim.cel.environment import Library, function
from kyvsim.cel.errors import CelError
from kyvsim.cel.kyverno.messages import MessageTypes
from kyvsim.cel.types import BOOL, DYN, STRING, CelType, map_of, opaque, struct
from kyvsim.cel.values import Message
from kyvsim.kubernetes.go_text import (
    Base64Error,
    JsonError,
    decode_base64,
    json_kind,
    parse_json,
    quote,
)
from kyvsim.kubernetes.go_time import TimeError, parse_rfc3339
from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.quantities import parse_int
from kyvsim.model.ports import Clock

TOKEN = struct("jwt.Token")
_SET = opaque("jwk.Set")
_HASHES: Mapping[str, Callable[[], Any]] = {
    "HS256": hashlib.sha256,
    "HS384": hashlib.sha384,
    "HS512": hashlib.sha512,
}
_OTHERS = frozenset(
    f"{family}{bits}" for family in ("RS", "PS", "ES") for bits in ("256", "384", "512")
) | {"none", "EdDSA", "ES256K", "Ed25519"}
_TIMES = frozenset({"exp", "nbf", "iat"})
_TEXTS = frozenset({"iss", "sub", "jti"})
_GO_TYPES: Mapping[type, str] = {
    float: "float64",
    bool: "bool",
    list: "[]interface {}",
    dict: "map[string]interface {}",
    type(None): "<nil>",
}
_HEADERS: Mapping[str, str] = {
    "alg": "failed to unmarshal SignatureAlgorithm",
    "kid": "error reading next value",
    "typ": "error reading next value",
}
"""Headers that are strings, with the messages for other types."""
_CUT_OFF = "unexpected end of JSON input"
_PARSE = "jwt.Parse: failed to parse token: "
_VERIFY = f"{_PARSE}jws.Verify: "
_UNREAD = f"{_VERIFY}failed to parse jws: jws.Parse: failed to parse compact format: "
_HEADERS_UNREAD = f"{_UNREAD}failed to parse JOSE headers: "
_UNVERIFIED = f"{_VERIFY}could not verify message using any of the signatures or keys: jws.Verify: "


class KeySet(NamedTuple):
    """A set of keys; there are none, since keys are not fetched."""

    @property
    def cel_type(self) -> CelType:
        """Its type in expressions."""
        return _SET


TOKEN_TYPES = MessageTypes(
    MappingProxyType({TOKEN.name: {"Claims": map_of(STRING, DYN), "Valid": BOOL}}), native=True
)


def token_library(clock: Clock) -> Library:
    """Return the functions for tokens, which are valid or not at the time of `clock`."""

    def decode(text: str, secret: str) -> Message:
        claims = _claims(text, secret)
        second = math.floor(clock.now().timestamp())
        until, since, issued = (claims.get(name) for name in ("exp", "nbf", "iat"))
        valid = (
            (until is None or second < until)
            and (since is None or second >= since)
            and (issued is None or second >= issued)
        )
        return TOKEN_TYPES.make(TOKEN.name, {"Claims": claims, "Valid": valid})

    return Library(
        "tokens",
        (
            function(f"jwt.Decode(string, string) -> {TOKEN}", decode),
            function(f"jwt.Decode(string, {_SET}) -> {TOKEN}", _unknown_keys),
            function(f"jwks.Fetch(string) -> {_SET}", _not_fetched),
        ),
        types=((KeySet, _SET), *TOKEN_TYPES.classes),
        struct_of=TOKEN_TYPES.written,
    )


def _not_fetched(url: str) -> NoReturn:
    raise CelError(
        f"jwk.Fetch: request failed: GET {url}: kyvsim is offline, and key sets cannot be given: "
        'test with a shared secret, as in jwt.Decode(token, "secret")'
    )


def _unknown_keys(_: str, keys: KeySet) -> NoReturn:
    raise CelError(f"{_PARSE}no keys are known of {keys}")


def _claims(text: str, secret: str) -> dict[str, Json]:
    """Return the claims of a token that is signed with a secret; raises CelError."""
    if not secret:
        reason = "non-empty []byte key required"
        raise CelError(f"failed to initialize *jwk.symmetricKey from []uint8: {reason}")
    payload = _verified(text.strip(), secret.encode())
    try:
        claims = parse_json(payload.decode("utf-8", "replace"))
    except JsonError:
        claims = None
    if claims.__class__ is not dict:
        raise CelError(f"{_PARSE}unknown payload type (payload is not JWT?)")
    return {key: _claim(key, value) for key, value in claims.items()}


def _verified(text: str, secret: bytes) -> bytes:
    """Return the payload of a token with a valid signature; raises CelError."""
    parts = text.split(".")
    if len(parts) != 3:
        if len(parts) == 1:
            reason = "jws.Parse: invalid compact serialization format: "
            raise CelError(f"{_UNREAD}{reason}jwsbb: invalid number of segments")
        raise CelError(f"{_PARSE}unknown payload type (payload is not JWT?)")
    header = _header(parts[0])
    payload = _decoded(parts[1], "payload")
    signature = _decoded(parts[2], "signature")
    signed = f"{parts[0]}.{parts[1]}".encode()
    hashes = [_HASHES[name] for name in _algorithms(header)]
    if any(hmac.compare_digest(hmac.digest(secret, signed, one), signature) for one in hashes):
        return payload
    reason = "failed to verify signature #1 with key *jwk.symmetricKey: invalid HMAC signature"
    tried = "jws.Verify: signature #1: tried 1 key(s) but none verified successfully"
    raise CelError(f"{_UNVERIFIED}{reason}\n{tried}")


def _algorithms(header: Mapping[str, object]) -> tuple[str, ...]:
    """Return the names of supported hashes for the signature; raises CelError if there are none."""
    name, key = header.get("alg"), header.get("kid")
    for field, value in header.items():
        if field in _HEADERS and value is not None and value.__class__ is not str:
            reason = f"{_HEADERS[field]}: {_no_text(value)}"
            raise CelError(f"{_HEADERS_UNREAD}failed to decode value for key {field}: {reason}")
    if name is not None and name not in _HASHES and name not in _OTHERS:
        shown = f'unknown SignatureAlgorithm: "{name}"'
        raise CelError(f"{_HEADERS_UNREAD}failed to decode value for key alg: {shown}")
    reason = ""
    if key:
        reason = f'failed to find key with key ID "{key}" in key set'
    elif name is not None and name not in _HASHES:
        reason = "algorithm in the message does not match any of the inferred algorithms"
    if reason:
        number = "signature #1: "
        none = f"jws.Verify: {number}no matching keys were provided by any key provider"
        raise CelError(f"{_UNVERIFIED}{number}key provider 0 failed: {reason}\n{none}")
    return (str(name),) if name is not None else tuple(_HASHES)


def _header(part: str) -> dict[str, object]:
    text = _decoded(part, "protected headers").decode("utf-8", "replace").strip()
    try:
        found = parse_json(text)
    except JsonError as error:
        cut = "unexpected EOF" if text else "EOF"
        reason = cut if str(error) == _CUT_OFF else str(error)
        raise CelError(f"{_HEADERS_UNREAD}{reason}") from None
    if found.__class__ is dict:
        return dict(found)
    if found.__class__ is list:
        reason = "expected '{' but got '['"
    elif found.__class__ is str:
        reason = f"failed to decode field {found}: EOF"
    else:
        reason = f"invalid token {_GO_TYPES[found.__class__]}"
    raise CelError(f"{_HEADERS_UNREAD}{reason}")


def _decoded(part: str, what: str) -> bytes:
    """Return the decoded bytes of a part, in either alphabet, with or without padding."""
    text = part.replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return decode_base64(text, padded=False)
    except Base64Error as error:
        raise CelError(
            f"{_UNREAD}failed to decode {what}: failed to decode source: {error}"
        ) from None


def _claim(key: str, value: object) -> Json:
    """Return the value of a claim as google.protobuf.Struct stores it; raises CelError."""
    if value is None:
        reason = "source value is invalid (<nil>): invalid value (probably an untyped nil)"
        raise CelError(f"failed to assign value to dst: {reason}")
    where = f"{_PARSE}failed to parse token: failed to decode value for key {key}: "
    if key in _TIMES:
        return _seconds(value, where)
    if key in _TEXTS and value.__class__ is not str:
        raise CelError(f"{where}error reading next value: {_no_text(value)}")
    if key == "aud":
        raise CelError(_audience(value, where))
    return value


def _no_text(value: object) -> str:
    return f"json: cannot unmarshal {json_kind(value)} into Go value of type string"


def _audience(value: object, where: str) -> str:
    """Return why a Struct cannot store an audience: it is not a list of strings, or it is one."""
    if value.__class__ is not list and value.__class__ is not str:
        return f"{where}invalid type: {_GO_TYPES[value.__class__]}"
    odd = next((one for one in value if one.__class__ is not str), "")
    if odd != "":
        return f"{where}invalid list element type {_GO_TYPES[odd.__class__]}"
    return "proto:\N{NO-BREAK SPACE}invalid type: []string"


def _seconds(value: object, where: str) -> float:
    """Return a time claim in whole seconds since 1970."""
    where = f"{where}invalid value for NumericDate: "
    if value.__class__ is not str and value.__class__ is not float:
        raise CelError(f"{where}invalid type {_GO_TYPES[value.__class__]}")
    is_text = value.__class__ is str
    text = str(value) if is_text else f"{value:.9f}"
    shown = f'string "{text}"' if is_text else f"float32 {text}"
    number = re.fullmatch(r"(\d*)(?:\.\d+)?", text)
    try:
        if number is None:
            return float(parse_rfc3339(text).nanoseconds // 1_000_000_000)
        found = parse_int(number[1])
        if found is not None:
            return float(found)
        problem = "value out of range" if number[1] else "invalid syntax"
        parsing = f"strconv.ParseInt: parsing {quote(number[1])}: {problem}"
        reason = f"failed to parse whole value {quote(number[1])}: {parsing}"
    except TimeError as error:
        reason = (
            "value is not number of seconds since the epoch, and attempt to parse it as RFC3339 "
            f"timestamp failed: {error}"
        )
    raise CelError(f"{where}failed to accept {shown}: {reason}")
