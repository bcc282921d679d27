"""The extensions of a certificate as fields of Go's x509.Certificate.

upstream: crypto/x509 parser.go (processExtensions).
"""

import base64
import ipaddress
from collections.abc import Callable
from types import MappingProxyType
from typing import Final, TypeAlias
from urllib.parse import unquote, urlsplit

from kyvsim.expr.functions.der import OCTETS, Der, DerError
from kyvsim.kube.objects import Json

Extension: TypeAlias = tuple[tuple[int, ...], bool, bytes]
"""Object identifier, whether critical, value."""

REQUEST_FIELDS: Final = (
    *("Extensions", "ExtraExtensions"),
    *("DNSNames", "EmailAddresses", "IPAddresses", "URIs"),
)
"""What a signing request has of these fields."""

_ABSENT = (
    *("Extensions", "ExtraExtensions", "UnhandledCriticalExtensions", "ExtKeyUsage"),
    *(
        "UnknownExtKeyUsage",
        "SubjectKeyId",
        "AuthorityKeyId",
        "OCSPServer",
        "IssuingCertificateURL",
    ),
    *("DNSNames", "EmailAddresses", "IPAddresses", "URIs", "PermittedDNSDomains"),
    *("ExcludedDNSDomains", "PermittedIPRanges", "ExcludedIPRanges", "PermittedEmailAddresses"),
    *("ExcludedEmailAddresses", "PermittedURIDomains", "ExcludedURIDomains"),
    *("CRLDistributionPoints", "PolicyIdentifiers", "Policies", "PolicyMappings"),
)
_ZEROS = ("KeyUsage", "MaxPathLen", "InhibitAnyPolicy", "InhibitPolicyMapping")
_FALSE = (
    *("BasicConstraintsValid", "IsCA", "MaxPathLenZero", "PermittedDNSDomainsCritical"),
    *("InhibitAnyPolicyZero", "InhibitPolicyMappingZero", "RequireExplicitPolicyZero"),
)
_USAGE_PREFIX = (1, 3, 6, 1, 5, 5, 7, 3)
_USAGES = MappingProxyType(
    {(2, 5, 29, 37, 0): 0.0}
    | {(*_USAGE_PREFIX, number): float(number) for number in range(1, 10)}
    | {
        (1, 3, 6, 1, 4, 1, 311, 10, 3, 3): 10.0,
        (2, 16, 840, 1, 113730, 4, 1): 11.0,
        (1, 3, 6, 1, 4, 1, 311, 2, 1, 22): 12.0,
        (1, 3, 6, 1, 4, 1, 311, 61, 1, 1): 13.0,
    }
)
_INFO_ACCESS = (1, 3, 6, 1, 5, 5, 7, 1, 1)
_ACCESS_FIELDS = MappingProxyType({1: "OCSPServer", 2: "IssuingCertificateURL"})
_Fields: TypeAlias = dict[str, Json]


def extension_fields(extensions: list[Extension]) -> _Fields:
    """Return the fields that extensions fill in, and the empty ones; raises DerError."""
    fields: _Fields = dict.fromkeys(_ABSENT)
    fields |= dict.fromkeys((*_ZEROS, "RequireExplicitPolicy"), 0.0) | dict.fromkeys(_FALSE, False)
    for name, critical, value in extensions:
        if not _handle(fields, name, critical, value) and critical:
            _append(fields, "UnhandledCriticalExtensions", [float(part) for part in name])
    fields["Extensions"] = listed(extensions)
    return fields


def listed(extensions: list[Extension]) -> Json:
    """Return the extensions as they stand, None where there are none."""
    return [
        {
            "Id": [float(part) for part in name],
            "Critical": critical,
            "Value": base64.b64encode(value).decode(),
        }
        for name, critical, value in extensions
    ] or None


def _handle(fields: _Fields, name: tuple[int, ...], critical: bool, value: bytes) -> bool:
    """Fill in the fields of one extension; False where it says nothing that is understood."""
    if name == _INFO_ACCESS:
        return _info_access(fields, critical, value)
    reader = _READERS.get(name[3]) if name[:3] == (2, 5, 29) and len(name) == 4 else None
    return reader(fields, critical, value) if reader is not None else False


def _key_usage(fields: _Fields, _: bool, value: bytes) -> bool:
    data, _unused = Der(value).bits()
    bits = "".join(f"{byte:08b}" for byte in data)[:9]
    fields["KeyUsage"] = float(sum(1 << at for at, bit in enumerate(bits) if bit == "1"))
    return True


def _basic_constraints(fields: _Fields, _: bool, value: bytes) -> bool:
    parts = Der(value).inside()
    fields["IsCA"] = parts.boolean() if parts.tag() == 1 else False
    length = parts.integer() if parts.tag() == 2 else -1
    fields["MaxPathLen"] = float(length)
    fields["MaxPathLenZero"] = length == 0
    fields["BasicConstraintsValid"] = True
    return True


def _append(fields: _Fields, name: str, value: Json) -> None:
    fields[name] = [*(fields[name] or ()), value]


def _ascii(data: bytes) -> str:
    if not data.isascii():
        raise DerError("x509: SAN is malformed")
    return data.decode("ascii")


def _alternative_names(fields: _Fields, _: bool, value: bytes) -> bool:
    names = Der(value).inside()
    found = False
    while names:
        tag, data, _raw = names.element()
        if tag == 0x81:
            _append(fields, "EmailAddresses", _ascii(data))
        elif tag == 0x82:
            _append(fields, "DNSNames", _ascii(data))
        elif tag == 0x86:
            _append(fields, "URIs", _url(_ascii(data)))
        elif tag == 0x87:
            _append(fields, "IPAddresses", _address(data))
        found = found or tag in (0x81, 0x82, 0x86, 0x87)
    return found


def _address(data: bytes) -> str:
    if len(data) not in (4, 16):
        raise DerError(f"x509: cannot parse IP address of length {len(data)}")
    address = ipaddress.ip_address(data)
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(address)


def _url(text: str) -> Json:
    """Return the fields of Go's url.URL."""
    parts = urlsplit(text)
    opaque = bool(parts.scheme) and not parts.netloc and not parts.path.startswith("/")
    user, at, host = parts.netloc.rpartition("@")
    return {
        "Scheme": parts.scheme,
        "Opaque": parts.path if opaque else "",
        "User": {} if at and user is not None else None,
        "Host": host,
        "Path": "" if opaque else unquote(parts.path),
        "RawPath": "",
        "OmitHost": False,
        "ForceQuery": text.endswith("?"),
        "RawQuery": parts.query,
        "Fragment": unquote(parts.fragment),
        "RawFragment": "",
    }


def _subject_key(fields: _Fields, critical: bool, value: bytes) -> bool:
    if critical:
        raise DerError("x509: subject key identifier incorrectly marked critical")
    fields["SubjectKeyId"] = base64.b64encode(Der(value).read(OCTETS)).decode()
    return True


def _authority_key(fields: _Fields, critical: bool, value: bytes) -> bool:
    if critical:
        raise DerError("x509: authority key identifier incorrectly marked critical")
    key = Der(value).inside().optional(0x80)
    fields["AuthorityKeyId"] = base64.b64encode(key).decode() if key is not None else None
    return True


def _extended_usage(fields: _Fields, _: bool, value: bytes) -> bool:
    usages = Der(value).inside()
    while usages:
        name = usages.object_id()
        if name in _USAGES:
            _append(fields, "ExtKeyUsage", _USAGES[name])
        else:
            _append(fields, "UnknownExtKeyUsage", [float(part) for part in name])
    return True


def _revocation_lists(fields: _Fields, _: bool, value: bytes) -> bool:
    points = Der(value).inside()
    while points:
        name = points.inside().optional(0xA0)
        if name is None:
            continue
        texts = Der(Der(name).read(0xA0))
        while texts.tag() == 0x86:
            _append(fields, "CRLDistributionPoints", texts.read(0x86).decode("utf-8", "replace"))
    return True


def _policies(fields: _Fields, _: bool, value: bytes) -> bool:
    policies = Der(value).inside()
    fields["PolicyIdentifiers"] = []
    while policies:
        name = policies.inside().object_id()
        if _dotted(name) in (fields["Policies"] or ()):
            raise DerError("x509: invalid certificate policies")
        _append(fields, "Policies", _dotted(name))
        _append(fields, "PolicyIdentifiers", [float(part) for part in name])
    return True


def _dotted(name: tuple[int, ...]) -> str:
    return ".".join(map(str, name))


def _policy_mappings(fields: _Fields, _: bool, value: bytes) -> bool:
    mappings = Der(value).inside()
    while mappings:
        pair = mappings.inside()
        issuer, subject = _dotted(pair.object_id()), _dotted(pair.object_id())
        names = {"IssuerDomainPolicy": issuer, "SubjectDomainPolicy": subject}
        _append(fields, "PolicyMappings", names)
    return True


def _policy_constraints(fields: _Fields, _: bool, value: bytes) -> bool:
    parts = Der(value).inside()
    for tag, name in ((0x80, "RequireExplicitPolicy"), (0x81, "InhibitPolicyMapping")):
        if parts.tag() == tag:
            number = parts.integer(tag)
            fields[name] = float(number)
            fields[f"{name}Zero"] = number == 0
    return True


def _inhibit_any(fields: _Fields, _: bool, value: bytes) -> bool:
    number = Der(value).integer()
    fields["InhibitAnyPolicy"] = float(number)
    fields["InhibitAnyPolicyZero"] = number == 0
    return True


def _name_constraints(fields: _Fields, critical: bool, value: bytes) -> bool:
    parts = Der(value).inside()
    handled = True
    permitted, excluded = parts.optional(0xA0), parts.optional(0xA1)
    if parts or not (permitted or excluded):
        raise DerError("x509: invalid NameConstraints extension")
    for prefix, trees in (("Permitted", permitted), ("Excluded", excluded)):
        subtrees = Der(trees or b"")
        while subtrees:
            tag, data, _raw = subtrees.inside().element()
            handled = _constraint(fields, prefix, tag, data) and handled
    fields["PermittedDNSDomainsCritical"] = critical
    return handled


def _constraint(fields: _Fields, prefix: str, tag: int, data: bytes) -> bool:
    names = {0x81: "EmailAddresses", 0x82: "DNSDomains", 0x86: "URIDomains"}
    if tag in names:
        _append(fields, prefix + names[tag], _ascii(data))
        return True
    if tag != 0x87:
        return False
    half = len(data) // 2
    mask = data[half:]
    if len(data) not in (8, 32) or not _is_mask(mask):
        raise DerError("x509: IP constraint contained invalid mask")
    network = {"IP": _address(data[:half]), "Mask": base64.b64encode(mask).decode()}
    _append(fields, f"{prefix}IPRanges", network)
    return True


def _is_mask(mask: bytes) -> bool:
    bits = "".join(f"{byte:08b}" for byte in mask)
    return "01" not in bits


def _info_access(fields: _Fields, critical: bool, value: bytes) -> bool:
    if critical:
        raise DerError("x509: authority info access incorrectly marked critical")
    places = Der(value).inside()
    while places:
        place = places.inside()
        method = place.object_id()
        field = _ACCESS_FIELDS.get(method[-1]) if method[:-1] == (1, 3, 6, 1, 5, 5, 7, 48) else None
        url = place.optional(0x86)
        if url is not None and field is not None:
            _append(fields, field, url.decode("utf-8", "replace"))
    return True


_READERS: MappingProxyType[int, Callable[[_Fields, bool, bytes], bool]] = MappingProxyType(
    {
        14: _subject_key,
        15: _key_usage,
        17: _alternative_names,
        19: _basic_constraints,
        30: _name_constraints,
        31: _revocation_lists,
        32: _policies,
        33: _policy_mappings,
        35: _authority_key,
        36: _policy_constraints,
        37: _extended_usage,
        54: _inhibit_any,
    }
)
