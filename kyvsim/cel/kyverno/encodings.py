"""Conversions from and to plain data, JSON, YAML, gzip and certificates."""

import base64
import gzip
import io
import zlib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn

from kyvsim.cel.environment import Library, function, method
from kyvsim.cel.errors import CelError
from kyvsim.cel.kyverno.functions import ServiceAccount
from kyvsim.cel.libraries.admission import ObjectValue
from kyvsim.cel.libraries.kubernetes_types import NamedFormat, Url
from kyvsim.cel.program import LazyVariables
from kyvsim.cel.types import CelType, opaque
from kyvsim.cel.values import (
    Duration,
    JoinedList,
    MadeList,
    MadeMap,
    Optional,
    TextList,
    Timestamp,
    UInt,
    plain,
    show_seconds,
    show_timestamp,
    type_name,
)
from kyvsim.kubernetes.go_text import JsonError, parse_json, to_json
from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.x509 import CertificateError, decode_pem
from kyvsim.yaml.document import YamlError
from kyvsim.yaml.text import load_one

# Converts values of expressions to the plain arguments of Kyverno's functions.
#
# Source of the rules and messages: upstream cel-go common/types (ConvertToNative).

_SAFE = 1 << 53

_NAMES: Mapping[type, str] = {
    bool: "bool",
    bytes: "Bytes",
    float: "Double",
    list: "list",
    dict: "map",
    MadeList: "list",
    JoinedList: "list",
    TextList: "list",
    MadeMap: "map",
    type(None): "'null_type'",
    Timestamp: "'Timestamp'",
    Duration: "'Duration'",
}


def native_texts(value: object) -> list[str]:
    """Return a list of strings; raises CelError for a value of another type."""
    if isinstance(value, list):
        return [native_text(one) for one in value]
    if value.__class__ is str:
        raise CelError("unsupported native conversion from string to '[]string'")
    raise _unfit(value, "[]string", quoted="'[]string'")


def native_text(value: object) -> str:
    """Return a string; raises CelError for a value of another type."""
    if value.__class__ is str:
        return value
    raise _unfit(value, "string", quoted="'string'")


def _unfit(value: object, expected: str, *, quoted: str) -> CelError:
    if value.__class__ in {int, UInt}:
        return CelError(f"unsupported type conversion from '{type_name(value)}' to {expected}")
    shown = _NAMES.get(value.__class__, f"'{type_name(value)}'")
    return CelError(f"type conversion error from {shown} to {quoted}")


def struct_value(value: object) -> Json:
    """Return a value as google.protobuf.Struct stores it; raises CelError for unsupported values.

    Its numbers are doubles; whole numbers that a double cannot represent are strings.
    """
    convert = _CONVERSIONS.get(value.__class__)
    if convert is not None:
        return convert(value)
    if isinstance(value, LazyVariables):
        raise CelError(f'disallowed conversion from "{value.cel_type.name}" to ""')
    if isinstance(value, dict):
        return {native_text(key): struct_value(one) for key, one in value.items()}
    if isinstance(value, list):
        return [struct_value(one) for one in value]
    name = type_name(value).rpartition(".")[2]
    shown = _GO_NAMES.get(name, name)
    raise CelError(f"type conversion error from '{shown}' to '*structpb.Value'")


def _content(value: Optional) -> object:
    if not value.present:
        raise CelError("optional.none() dereference")
    return value.value


def _refuse(message: str) -> Callable[[object], NoReturn]:
    def convert(_: object) -> NoReturn:
        raise CelError(message)

    return convert


_CONVERSIONS: Mapping[type, Callable[[Any], Json]] = {
    **dict.fromkeys((str, bool, float, type(None)), lambda value: value),
    **dict.fromkeys(
        (int, UInt), lambda value: float(value) if -_SAFE < value < _SAFE else str(int(value))
    ),
    bytes: lambda value: base64.b64encode(value).decode(),
    Timestamp: show_timestamp,
    Duration: show_seconds,
    Optional: lambda value: struct_value(_content(value)),
    CelType: _refuse("type conversion not supported for 'type'"),
    ObjectValue: _refuse("an object of a named type inside a list or map is not supported"),
}
_GO_NAMES = MappingProxyType({"NamedFormat": "Format", "image": "Image"})
"""Names of Go types that are not the last part of the CEL type's name."""

# JSON encoding and decoding.
#
# Source of the rules: upstream kyverno/sdk extensions/cel/libs/json, over Go's encoding/json:
# keys are sorted, a whole double has no point. In `SHALLOW_JSON` a null is the number of its enum,
# 0, and elements of a list or map created by an expression are converted first, which fails for
# maps; given values, such as `object`, are encoded as they are.

_JSON = opaque("json.Json")


class JsonCodec(NamedTuple):
    """The value of the variable `json`."""

    @property
    def cel_type(self) -> CelType:
        """Its type in expressions."""
        return _JSON


def _unmarshal(_: JsonCodec, text: object) -> Json:
    try:
        return parse_json(native_text(text))
    except JsonError as error:
        raise CelError(str(error)) from None


def _marshal(_: JsonCodec, value: object) -> str:
    if value is None:
        return "null"
    if value.__class__ is Optional:
        # A map in an optional is not converted: its keys are values of expressions.
        return _written(_with_texts(_native(value.value), _CEL_KEYS) if value.present else None)
    if isinstance(value, ServiceAccount) or not isinstance(value, (dict, list)):
        return _written(_bare(value))
    try:
        native = (
            {native_text(key): _native(one) for key, one in value.items()}
            if isinstance(value, dict)
            else _native(value)
        )
    except CelError as error:
        kinds = "map to native map" if isinstance(value, dict) else "list to native slice"
        raise CelError(f"json: failed to convert CEL {kinds}: {error}") from None
    return _written(_with_texts(native))


def _native(value: object) -> object:
    """Return a value as plain data; keys of maps stay values of expressions."""
    if isinstance(value, dict) and not isinstance(value, ServiceAccount):
        return {key: _native(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_native(one) for one in value]
    if value.__class__ is Optional:
        return _native(_content(value))
    return _value(value) if value is None else _converted(value)


def _with_texts(native: object, originals: Mapping[type, str] | None = None) -> object:
    """Return plain data; raises CelError if a key of a map is not a string.

    `originals` are the types of keys before their conversion [default: their types after it].
    """
    if isinstance(native, list):
        return [_with_texts(one) for one in native]
    if not isinstance(native, dict):
        return native
    for key in native:
        if key.__class__ is not str:
            name = _KEY_TYPES[key.__class__]
            before = (originals or _KEY_TYPES)[key.__class__]
            raise CelError(f"json: unsupported map key type {name} (original key type: {before})")
    return {key: _with_texts(one) for key, one in native.items()}


_KEY_TYPES: Mapping[type, str] = {bool: "bool", int: "int64", UInt: "uint64", float: "float64"}
_CEL_KEYS: Mapping[type, str] = {
    bool: "types.Bool",
    int: "types.Int",
    UInt: "types.Uint",
    float: "types.Double",
}


def _shallow_marshal(_: JsonCodec, value: object) -> str:
    if value.__class__ is MadeMap:
        return _written({native_text(key): _converted(one) for key, one in value.items()})
    if value.__class__ is MadeList:
        return _written([_converted(one) for one in value])
    return _written(_bare(value))


def readable_json(value: object) -> str:
    """Return a value as JSON for people, with nulls and maps at any depth."""
    return _written(_value(plain(value)))


def _written(value: object) -> str:
    try:
        return to_json(value)
    except ValueError as error:
        raise CelError(str(error)) from None


def _converted(value: object) -> object:
    """Return a part of a created value, converted to a native value.

    Maps are converted to a type that the encoder rejects, whatever their origin.
    """
    if isinstance(value, dict) and not isinstance(value, ServiceAccount):
        for one in value.values():
            _converted(one)
        raise CelError("json: unsupported type: map[interface {}]interface {}")
    if value.__class__ is MadeList:
        return [_converted(one) for one in value]
    if value.__class__ is Optional:
        return _converted(_content(value))
    if value.__class__ is CelType:
        raise CelError("type conversion not supported for 'type'")
    if isinstance(value, ServiceAccount):
        raise CelError("type conversion error from 'user.ServiceAccount' to 'interface {}'")
    if value.__class__ is NamedFormat:
        raise CelError("type conversion error from 'Format' to 'interface {}'")
    return _bare(value)


def _bare(value: object) -> object:
    if value is None:
        return 0
    if value.__class__ is Optional:
        return _bare(value.value) if value.present else None
    if value.__class__ is JoinedList:
        return [_bare(one) for one in value]
    if value.__class__ is MadeList:
        return [
            {"Adapter": {}}
            if isinstance(one, (list, dict)) and not isinstance(one, ServiceAccount)
            else _bare(one)
            for one in value
        ]
    if value.__class__ is MadeMap:
        raise CelError("json: unsupported type: map[ref.Val]ref.Val")
    if value.__class__ is NamedFormat:
        raise CelError("json: unsupported type: func(string) []string")
    return _value(value)


def _value(value: object) -> object:
    """Return a value of JSON's types."""
    if isinstance(value, ServiceAccount):
        return value.as_json()
    if isinstance(value, dict):
        return {native_text(key): _value(one) for key, one in value.items()}
    if value.__class__ is list or value.__class__ is TextList:
        return [_value(one) for one in value]
    if value.__class__ is Optional:
        return _value(value.value) if value.present else None
    if value.__class__ is Duration:
        return value.nanoseconds
    if value.__class__ is UInt:
        return int(value)
    if value.__class__ is CelType:
        return value.name
    if value.__class__ is bytes or value.__class__ is Timestamp:
        return _CONVERSIONS[value.__class__](value)
    return value if value.__class__ in {str, bool, int, float, type(None)} else _own(value)


class _InOrder(NamedTuple):
    """A structure whose fields are encoded in their own order."""

    fields: Mapping[str, object]

    def __str__(self) -> str:
        pairs = (f"{to_json(key)}:{to_json(value)}" for key, value in self.fields.items())
        return f"{{{','.join(pairs)}}}"


def _own(value: object) -> object:
    if value.__class__ is Url:
        return _InOrder(value.parts.as_json())
    if isinstance(value, tuple) and value.__class__.__str__ is object.__str__:
        return f"({type_name(value)})"  # a value for functions only
    return str(value)


def _json(marshal: Callable[[JsonCodec, object], str]) -> Library:
    return Library(
        "json",
        (
            method(f"{_JSON}.unmarshal(dyn) -> dyn", _unmarshal),
            method(f"{_JSON}.marshal(dyn) -> string", marshal),
        ),
        types=((JsonCodec, _JSON),),
        variables=(("json", _JSON),),
    )


JSON = _json(_marshal)
SHALLOW_JSON = _json(_shallow_marshal)
"""The library of releases that encode no maps and nulls within other values."""

AUTHORIZATION_JSON = Library(
    "authorization json",
    (method(f"{_JSON}.Unmarshal(dyn) -> dyn", _unmarshal),),
    types=((JsonCodec, _JSON),),
    variables=(("json", _JSON),),
)
"""The library for policies that decide on requests. upstream: kyverno-authz"""

# YAML decoding.
#
# Source of the rules: upstream kyverno/sdk extensions/cel/libs/yaml: YAML 1.1 via JSON, so
# every number is a double; an empty string is null.

_YAML = opaque("yaml.Yaml")


class YamlCodec(NamedTuple):
    """The value of the variable `yaml`."""

    @property
    def cel_type(self) -> CelType:
        """Its type in expressions."""
        return _YAML


def _parse(_: YamlCodec, text: str) -> Json:
    try:
        return load_one(text, floats=True)
    except YamlError as error:
        raise CelError(f"error converting YAML to JSON: {error.go_text}") from None


YAML = Library(
    "yaml",
    (method(f"{_YAML}.parse(string) -> dyn", _parse),),
    types=((YamlCodec, _YAML),),
    variables=(("yaml", _YAML),),
)

# Compression and decompression of strings.
#
# Source of the rules: upstream kyverno/sdk extensions/cel/libs/gzip; the modification time is 1970.

_MOST_BYTES = 16 << 20
"""The maximum size of decompressed text; upstream has no limit."""


def _decompress(data: bytes) -> str:
    if not data:
        raise CelError("EOF")
    if len(data) < 10:
        raise CelError("unexpected EOF")
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            found = file.read(_MOST_BYTES + 1)
    except EOFError:
        raise CelError("unexpected EOF") from None
    except gzip.BadGzipFile as error:
        kind = "checksum" if "CRC" in str(error) or "length" in str(error) else "header"
        raise CelError(f"gzip: invalid {kind}") from None
    except zlib.error:
        raise CelError("flate: corrupt input") from None
    if len(found) > _MOST_BYTES:
        raise CelError(
            f"the text is longer than {_MOST_BYTES} bytes, the maximum that kyvsim decompresses"
        )
    return found.decode("utf-8", "replace")


GZIP = Library(
    "gzip",
    (
        function(
            "gzip.compress(dyn) -> bytes",
            lambda text: gzip.compress(native_text(text).encode("utf-8", "replace"), mtime=0),
        ),
        function("gzip.decompress(bytes) -> string", _decompress),
    ),
)

# Decoding of certificates.
#
# Source of the rules: upstream kyverno/sdk extensions/cel/libs/x509, which returns certificates as
# its own struct with fewer fields, and complete signing requests.

_FIELDS = frozenset(
    """
    Raw RawTBSCertificate RawSubjectPublicKeyInfo RawSubject RawIssuer Signature
    PublicKeyAlgorithm PublicKey SerialNumber Issuer NotBefore NotAfter KeyUsage Extensions
    ExtraExtensions ExtKeyUsage BasicConstraintsValid IsCA MaxPathLen MaxPathLenZero
    AuthorityKeyId OCSPServer IssuingCertificateURL DNSNames EmailAddresses IPAddresses
    PermittedDNSDomainsCritical PermittedDNSDomains ExcludedDNSDomains PermittedIPRanges
    ExcludedIPRanges PermittedEmailAddresses ExcludedEmailAddresses PermittedURIDomains
    ExcludedURIDomains CRLDistributionPoints PolicyIdentifiers
    """.split()  # noqa: SIM905 — a list of words
)
"""The fields of the struct for certificates."""


def _decode(text: str) -> Json:
    try:
        found = decode_pem(text)
    except CertificateError as error:
        raise CelError(str(error)) from None
    if found.serial is None:
        return found.fields
    fields = {name: value for name, value in found.fields.items() if name in _FIELDS}
    bits = found.serial & (1 << 64) - 1
    return {**fields, "SerialNumber": float(bits - (1 << 64) if bits >> 63 else bits)}


CERTIFICATES = Library("x509", (function("x509.decode(string) -> dyn", _decode),))
