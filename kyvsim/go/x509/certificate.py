"""Certificates and signing requests as the JSON that Go makes of them.

The library reads them; here are the names, numbers and formats of Go's structs. Every number is a
float, since upstream reads the JSON back.

upstream: crypto/x509 (parser.go, x509.go), encoding/json, and jpX509Decode in
pkg/engine/jmespath/functions.go.
"""

import warnings
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.padding import PSS
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from kyvsim.go.x509.der import CertificateError, Element, dotted, elements, members, text
from kyvsim.go.x509.extensions import (
    ALTERNATIVE_NAMES,
    NAME_FIELDS,
    Extension,
    extension_fields,
    listed,
    read_extensions,
)
from kyvsim.go.x509.names import add, base64_text, numbers
from kyvsim.kube.go_text import quote
from kyvsim.kube.objects import Json

_Found: TypeAlias = x509.Certificate | x509.CertificateSigningRequest
_RSA_KEY = "1.2.840.113549.1.1.1"
_PSS = "1.2.840.113549.1.1.10"
_PSS_NUMBERS: MappingProxyType[object, float] = MappingProxyType(
    {("sha256", 32): 13.0, ("sha384", 48): 14.0, ("sha512", 64): 15.0}
)
_SIGNATURES = MappingProxyType(
    {
        "1.2.840.113549.1.1.4": 2.0,
        "1.2.840.113549.1.1.5": 3.0,
        "1.3.14.3.2.29": 3.0,
        "1.2.840.113549.1.1.11": 4.0,
        "1.2.840.113549.1.1.12": 5.0,
        "1.2.840.113549.1.1.13": 6.0,
        "1.2.840.10040.4.3": 7.0,
        "2.16.840.1.101.3.4.3.2": 8.0,
        "1.2.840.10045.4.1": 9.0,
        "1.2.840.10045.4.3.2": 10.0,
        "1.2.840.10045.4.3.3": 11.0,
        "1.2.840.10045.4.3.4": 12.0,
        "1.3.101.112": 16.0,
    }
)
"""Go's numbers of signature algorithms."""

_NAME_FIELDS = MappingProxyType(
    {
        "2.5.4.3": "CommonName",
        "2.5.4.5": "SerialNumber",
        "2.5.4.6": "Country",
        "2.5.4.7": "Locality",
        "2.5.4.8": "Province",
        "2.5.4.9": "StreetAddress",
        "2.5.4.10": "Organization",
        "2.5.4.11": "OrganizationalUnit",
        "2.5.4.17": "PostalCode",
    }
)
_SINGLE = ("CommonName", "SerialNumber")
_EXTENSION_REQUEST = "1.2.840.113549.1.9.14"


class Decoded(NamedTuple):
    """A certificate, or a request for one."""

    fields: Json
    """As the JSON of Go's struct."""
    serial: int | None = None
    """The whole serial number, of which the fields have a double; None for a request."""


def decode(data: bytes, *, request: bool) -> Decoded:
    """Return a certificate or a signing request; raises CertificateError."""
    try:
        with warnings.catch_warnings(action="ignore"):
            return Decoded(_request(data)) if request else _certificate(data)
    except (ValueError, OverflowError, x509.InvalidVersion, UnsupportedAlgorithm):
        raise CertificateError("x509: malformed certificate") from None


def _certificate(data: bytes) -> Decoded:
    found = x509.load_der_x509_certificate(data)
    body, outer_algorithm, _ = members(data)
    parts = members(body.raw)
    _, algorithm, issuer, _, subject, key, *rest = parts[1:] if parts[0].tag == 0xA0 else parts
    if outer_algorithm.raw != algorithm.raw:
        raise CertificateError("x509: inner and outer signature algorithm identifiers don't match")
    if found.serial_number < 0:
        raise CertificateError("x509: negative serial number")
    items = [item for part in rest if part.tag == 0xA3 for item in members(part.body)]
    fields = {
        **_common_fields(found, data, subject, key),
        "RawTBSCertificate": base64_text(body.raw),
        "RawIssuer": base64_text(issuer.raw),
        "Version": found.version.value + 1.0,
        "SerialNumber": float(found.serial_number),
        "Issuer": _name(issuer),
        "NotBefore": _time(found.not_valid_before_utc),
        "NotAfter": _time(found.not_valid_after_utc),
        **extension_fields(_without_twins(read_extensions(items))),
    }
    return Decoded(fields, found.serial_number)


def _without_twins(extensions: list[Extension]) -> list[Extension]:
    names = [name for name, _, _ in extensions]
    for at, name in enumerate(names):
        if name in names[:at]:
            problem = f"certificate contains duplicate extension with OID {quote(name)}"
            raise CertificateError(f"x509: {problem}")
    return extensions


def _request(data: bytes) -> Json:
    found = x509.load_der_x509_csr(data)
    body = members(data)[0]
    _, subject, key, *rest = members(body.raw)
    attributes = [members(item.raw) for part in rest for item in elements(part.body)]
    extensions = [
        extension
        for kind, values in attributes
        if dotted(kind.raw) == _EXTENSION_REQUEST
        for extension in read_extensions(members(values.body))
    ]
    if len({name for name, _, _ in extensions}) < len(extensions):
        raise CertificateError("x509: certificate request contains duplicate requested extensions")
    fields = extension_fields([item for item in extensions if item[0] == ALTERNATIVE_NAMES])
    return {
        **_common_fields(found, data, subject, key),
        "RawTBSCertificateRequest": base64_text(body.raw),
        "Version": 0.0,  # the library refuses every other
        "Attributes": _attributes(extensions),
        "Extensions": listed(extensions),
        "ExtraExtensions": None,
        **{name: fields[name] for name in NAME_FIELDS},
    }


def _common_fields(found: _Found, data: bytes, subject: Element, key: Element) -> dict[str, Json]:
    return {
        "Raw": base64_text(data),
        "RawSubject": base64_text(subject.raw),
        "RawSubjectPublicKeyInfo": base64_text(key.raw),
        "Subject": _name(subject),
        "SignatureAlgorithm": _signature_algorithm(found),
        "Signature": base64_text(found.signature),
        "PublicKeyAlgorithm": 1.0,
        "PublicKey": _public_key(found, key),
    }


def _time(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def _signature_algorithm(found: _Found) -> float:
    """Return Go's number for an algorithm, 0 where it knows none."""
    name = found.signature_algorithm_oid.dotted_string
    if name != _PSS:
        return _SIGNATURES.get(name, 0.0)
    digest, settings = found.signature_hash_algorithm, found.signature_algorithm_parameters
    # Go knows PSS only with a salt as long as the digest; the library shows the length nowhere else
    salt: object = settings._salt_length if isinstance(settings, PSS) else 0  # noqa: SLF001 - see above
    return _PSS_NUMBERS.get((digest.name if digest else "", salt), 0.0)


def _public_key(found: _Found, info: Element) -> Json:
    is_rsa = dotted(members(info.raw)[0].body) == _RSA_KEY  # the library counts RSA-PSS in
    key = found.public_key() if is_rsa else None
    if not isinstance(key, RSAPublicKey):
        raise CertificateError("certificate should use rsa algorithm")
    parts = key.public_numbers()
    if parts.e >= 1 << 31:
        raise CertificateError("failed to parse subject public key info")
    return {"N": str(Decimal(parts.n)), "E": float(parts.e)}  # str(int) stops at 4300 digits


def _name(name: Element) -> Json:
    fields: dict[str, Json] = dict.fromkeys(_NAME_FIELDS.values()) | dict.fromkeys(_SINGLE, "")
    names: list[Json] = []
    for attribute in (item for group in elements(name.body) for item in elements(group.body)):
        kind, value = elements(attribute.body)
        oid, shown = dotted(kind.raw), text(value)
        names.append({"Type": numbers(oid), "Value": shown})
        field = _NAME_FIELDS.get(oid)
        if field in _SINGLE:
            fields[field] = shown
        elif field is not None:
            add(fields, field, shown)
    return {**fields, "Names": names or None, "ExtraNames": None}


def _attributes(extensions: list[Extension]) -> Json:
    """Return the requested extensions as an old field has them: a critical one without value."""
    pairs: list[Json] = [
        {"Type": numbers(name), "Value": True if critical else base64_text(value)}
        for name, critical, value in extensions
    ]
    return [{"Type": numbers(_EXTENSION_REQUEST), "Value": [pairs]}] if pairs else None
