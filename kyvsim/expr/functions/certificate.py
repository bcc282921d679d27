"""Certificates and signing requests as the JSON that Go makes of them.

upstream: crypto/x509 (parser.go, x509.go), encoding/json, and jpX509Decode in
pkg/engine/jmespath/functions.go. Every number is a float, since upstream reads the JSON back.
"""

import base64
from types import MappingProxyType

from kyvsim.expr.functions.certificate_extensions import REQUEST_FIELDS, extension_fields, listed
from kyvsim.expr.functions.der import OCTETS, SEQUENCE, SET, Der, DerError
from kyvsim.kube.objects import Json

_RSA = (1, 2, 840, 113549, 1, 1, 1)
_PSS = (1, 2, 840, 113549, 1, 1, 10)
_SIGNATURES = MappingProxyType(
    {
        (1, 2, 840, 113549, 1, 1, 4): 2,
        (1, 2, 840, 113549, 1, 1, 5): 3,
        (1, 3, 14, 3, 2, 29): 3,
        (1, 2, 840, 113549, 1, 1, 11): 4,
        (1, 2, 840, 113549, 1, 1, 12): 5,
        (1, 2, 840, 113549, 1, 1, 13): 6,
        (1, 2, 840, 10040, 4, 3): 7,
        (2, 16, 840, 1, 101, 3, 4, 3, 2): 8,
        (1, 2, 840, 10045, 4, 1): 9,
        (1, 2, 840, 10045, 4, 3, 2): 10,
        (1, 2, 840, 10045, 4, 3, 3): 11,
        (1, 2, 840, 10045, 4, 3, 4): 12,
        (1, 3, 101, 112): 16,
    }
)
_PSS_HASHES: MappingProxyType[tuple[int, ...], tuple[int, int]] = MappingProxyType(
    {
        (2, 16, 840, 1, 101, 3, 4, 2, 1): (13, 32),
        (2, 16, 840, 1, 101, 3, 4, 2, 2): (14, 48),
        (2, 16, 840, 1, 101, 3, 4, 2, 3): (15, 64),
    }
)
_NAME_FIELDS = MappingProxyType(
    {
        3: "CommonName",
        5: "SerialNumber",
        6: "Country",
        7: "Locality",
        8: "Province",
        9: "StreetAddress",
        10: "Organization",
        11: "OrganizationalUnit",
        17: "PostalCode",
    }
)
_EXTENSION_REQUEST = (1, 2, 840, 113549, 1, 9, 14)
_ALTERNATIVE_NAMES = (2, 5, 29, 17)
NOT_RSA = "certificate should use rsa algorithm"


def decode_certificate(data: bytes) -> Json:
    """Return the fields of a certificate; raises DerError with what is wrong."""
    outer = Der(data)
    raw = outer.raw(SEQUENCE)
    if outer:
        raise DerError("x509: trailing data")
    whole = Der(raw).inside()
    raw_body = whole.raw(SEQUENCE)
    body = Der(raw_body).inside()
    version = body.optional(0xA0)
    number = 1 + (Der(version).integer() if version is not None else 0)
    if not 1 <= number <= 3:
        raise DerError("x509: invalid version")
    serial = body.integer()
    if serial < 0:
        raise DerError("x509: negative serial number")
    algorithm = body.raw(SEQUENCE)
    if whole.raw(SEQUENCE) != algorithm:
        raise DerError("x509: inner and outer signature algorithm identifiers don't match")
    issuer = body.raw(SEQUENCE)
    validity = body.inside()
    subject = body.raw(SEQUENCE)
    key_info = body.raw(SEQUENCE)
    return {
        "Raw": _base64(raw),
        "RawTBSCertificate": _base64(raw_body),
        "RawSubjectPublicKeyInfo": _base64(key_info),
        "RawSubject": _base64(subject),
        "RawIssuer": _base64(issuer),
        "SignatureAlgorithm": _signature_algorithm(algorithm),
        "PublicKeyAlgorithm": 1.0,
        "Version": float(number),
        "SerialNumber": float(serial),
        "Issuer": _name(issuer),
        "NotBefore": validity.time(),
        "NotAfter": validity.time(),
        "Subject": _name(subject),
        "PublicKey": _public_key(key_info),
        **extension_fields(_certificate_extensions(body) if number == 3 else []),
        "Signature": _signature(whole),
    }


def decode_request(data: bytes) -> Json:
    """Return the fields of a certificate signing request; raises DerError."""
    outer = Der(data)
    raw = outer.raw(SEQUENCE)
    if outer:
        raise DerError("asn1: syntax error: trailing data")
    whole = Der(raw).inside()
    raw_body = whole.raw(SEQUENCE)
    body = Der(raw_body).inside()
    version = body.integer()
    subject = body.raw(SEQUENCE)
    key_info = body.raw(SEQUENCE)
    attributes = Der(body.optional(0xA0) or b"")
    raw_attributes = []
    while attributes:
        raw_attributes.append(attributes.raw(SEQUENCE))
    requested = _requested_extensions(raw_attributes)
    fields = extension_fields([found for found in requested if found[0] == _ALTERNATIVE_NAMES])
    fields["Extensions"] = listed(requested)
    return {
        "Raw": _base64(raw),
        "RawTBSCertificateRequest": _base64(raw_body),
        "RawSubjectPublicKeyInfo": _base64(key_info),
        "RawSubject": _base64(subject),
        "Version": float(version),
        "SignatureAlgorithm": _signature_algorithm(whole.raw(SEQUENCE)),
        "Signature": _signature(whole),
        "PublicKeyAlgorithm": 1.0,
        "PublicKey": _public_key(key_info),
        "Subject": _name(subject),
        "Attributes": _attributes(raw_attributes),
        **{name: fields[name] for name in REQUEST_FIELDS},
    }


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _signature(whole: Der) -> str:
    data, unused = whole.bits()
    shifted = int.from_bytes(data, "big") >> unused
    return _base64(shifted.to_bytes(len(data), "big"))


def _signature_algorithm(algorithm: bytes) -> float:
    """Return Go's number for an algorithm, 0 where it knows none."""
    parts = Der(algorithm).inside()
    name = parts.object_id()
    if name == _PSS:
        return _pss_algorithm(parts)
    if name == (1, 3, 101, 112) and parts:
        return 0.0
    return float(_SIGNATURES.get(name, 0))


def _pss_algorithm(parts: Der) -> float:
    """Return the number for RSA-PSS: Go takes only matching hashes and their salt lengths."""
    try:
        settings = parts.inside()
        digest = Der(settings.read(0xA0)).inside()
        name = digest.object_id()
        mask = Der(settings.read(0xA1)).inside()
        mask.object_id()
        mask_name = mask.inside().object_id()
        salt = Der(settings.read(0xA2)).integer()
    except DerError:
        return 0.0
    number, length = _PSS_HASHES.get(name, (0, 0))
    return float(number) if mask_name == name and salt == length else 0.0


def _public_key(key_info: bytes) -> Json:
    info = Der(key_info).inside()
    algorithm = info.inside()
    name = algorithm.object_id()
    if name != _RSA:
        raise DerError(NOT_RSA)
    if not algorithm or algorithm.element()[2] != b"\x05\x00":
        raise DerError("x509: RSA key missing NULL parameters")
    key = Der(info.bits()[0]).inside()
    modulus, exponent = key.integer(), key.integer()
    if modulus <= 0 or exponent <= 0:
        raise DerError("x509: RSA modulus or public exponent is not a positive number")
    return {"N": _decimal(modulus), "E": float(exponent)}


def _decimal(number: int) -> str:
    """Return decimal digits, piecewise: Python refuses to print very long numbers at once."""
    if number.bit_length() > 1 << 16:
        raise DerError("x509: RSA modulus is too large")
    pieces: list[str] = []
    base = 10**1000
    while number >= base:
        number, piece = divmod(number, base)
        pieces.append(str(piece).zfill(1000))
    return str(number) + "".join(reversed(pieces))


def _name(raw: bytes) -> Json:
    single: dict[str, Json] = {"CommonName": "", "SerialNumber": ""}
    several: dict[str, Json] = {name: None for name in _NAME_FIELDS.values() if name not in single}
    names: list[Json] = []
    sets = Der(raw).inside()
    while sets:
        attributes = sets.inside(SET)
        while attributes:
            attribute = attributes.inside()
            kind = attribute.object_id()
            tag, data, _ = attribute.element()
            value = _text(tag, data)
            names.append({"Type": [float(part) for part in kind], "Value": value})
            field = _NAME_FIELDS.get(kind[3]) if kind[:3] == (2, 5, 4) and len(kind) == 4 else None
            if field in single:
                single[field] = value
            elif field is not None:
                several[field] = [*(several[field] or ()), value]
    return {**single, **several, "Names": names or None, "ExtraNames": None}


def _text(tag: int, data: bytes) -> str:
    """Return the text of an attribute: latin-1, ASCII kinds, UTF-8 or 16-bit characters."""
    encodings = {0x14: "latin-1", 0x13: "ascii", 0x0C: "utf-8", 0x1E: "utf-16-be"}
    encodings |= {0x16: "ascii", 0x12: "ascii"}
    try:
        text = data.decode(encodings[tag])
    except (KeyError, UnicodeDecodeError):
        raise DerError("x509: invalid RDNSequence: invalid attribute value") from None
    return text.removesuffix("\0") if tag == 0x1E else text


def _certificate_extensions(body: Der) -> list[tuple[tuple[int, ...], bool, bytes]]:
    for tag in (0x81, 0x82):
        body.optional(tag)
    wrapped = body.optional(0xA3)
    found = _extensions(Der(wrapped).inside()) if wrapped is not None else []
    seen: set[tuple[int, ...]] = set()
    for name, _, _ in found:
        if name in seen:
            shown = ".".join(map(str, name))
            raise DerError(f'x509: certificate contains duplicate extension with OID "{shown}"')
        seen.add(name)
    return found


def _extensions(items: Der) -> list[tuple[tuple[int, ...], bool, bytes]]:
    found = []
    while items:
        item = items.inside()
        name = item.object_id()
        critical = item.boolean() if item.tag() == 1 else False
        found.append((name, critical, item.read(OCTETS)))
    return found


def _requested_extensions(attributes: list[bytes]) -> list[tuple[tuple[int, ...], bool, bytes]]:
    found = []
    for raw in attributes:
        attribute = Der(raw).inside()
        if attribute.object_id() == _EXTENSION_REQUEST:
            found += _extensions(attribute.inside(SET).inside())
    if len({name for name, _, _ in found}) < len(found):
        raise DerError("x509: certificate request contains duplicate requested extensions")
    return found


def _attributes(attributes: list[bytes]) -> Json:
    """Return the attributes that are sets of sequences of pairs, as an old field has them."""
    shown: list[Json] = []
    for raw in attributes:
        try:
            attribute = Der(raw).inside()
            kind = attribute.object_id()
            values = attribute.inside(SET)
            lists: list[Json] = []
            while values:
                lists.append(_pairs(values.inside()))
        except DerError:
            continue
        shown.append({"Type": [float(part) for part in kind], "Value": lists})
    return shown or None


def _pairs(items: Der) -> list[Json]:
    pairs: list[Json] = []
    while items:
        item = items.inside()
        kind = item.object_id()
        value: Json = item.boolean() if item.tag() == 1 else _base64(item.read(OCTETS))
        pairs.append({"Type": [float(part) for part in kind], "Value": value})
    return pairs
