"""The extensions of a certificate as fields of Go's x509.Certificate.

The values are read here: the library gives all extensions of a certificate or none, and refuses
what Go accepts (constraints of networks with host bits, an explicit "no CA", unknown kinds of
names, wrong timestamps of logs, usages that make no sense).

upstream: crypto/x509 parser.go (processExtensions).
"""

from collections.abc import Callable
from itertools import takewhile
from types import MappingProxyType
from typing import Final, TypeAlias

from kyvsim.go.x509 import der
from kyvsim.go.x509.der import CertificateError
from kyvsim.go.x509.names import (
    Fields,
    add,
    add_alternative_name,
    add_constraint,
    base64_text,
    has_small_numbers,
    numbers,
)
from kyvsim.kube.objects import Json

Extension: TypeAlias = tuple[str, bool, bytes]
"""Dotted object identifier, whether critical, value."""

NAME_FIELDS: Final = ("DNSNames", "EmailAddresses", "IPAddresses", "URIs")
ALTERNATIVE_NAMES: Final = "2.5.29.17"
_ABSENT: Final = (
    *("ExtraExtensions", "UnhandledCriticalExtensions", "ExtKeyUsage", "UnknownExtKeyUsage"),
    *("SubjectKeyId", "AuthorityKeyId", "OCSPServer", "IssuingCertificateURL", "Policies"),
    *("CRLDistributionPoints", "PolicyIdentifiers", "PolicyMappings", *NAME_FIELDS),
    *("PermittedDNSDomains", "PermittedIPRanges", "PermittedEmailAddresses"),
    *("ExcludedDNSDomains", "ExcludedIPRanges", "ExcludedEmailAddresses"),
    *("PermittedURIDomains", "ExcludedURIDomains"),
)
_ZERO: Final = (
    *("KeyUsage", "MaxPathLen"),
    *("InhibitAnyPolicy", "InhibitPolicyMapping", "RequireExplicitPolicy"),
)
_FALSE: Final = (
    *("BasicConstraintsValid", "IsCA", "MaxPathLenZero", "PermittedDNSDomainsCritical"),
    *("InhibitAnyPolicyZero", "InhibitPolicyMappingZero", "RequireExplicitPolicyZero"),
)
_USAGE_NUMBERS: Final = MappingProxyType(
    {"2.5.29.37.0": 0.0}
    | {f"1.3.6.1.5.5.7.3.{number}": float(number) for number in range(1, 10)}
    | {"1.3.6.1.4.1.311.10.3.3": 10.0, "2.16.840.1.113730.4.1": 11.0}
    | {"1.3.6.1.4.1.311.2.1.22": 12.0, "1.3.6.1.4.1.311.61.1.1": 13.0}
)
_PLACES: Final = MappingProxyType(
    {"1.3.6.1.5.5.7.48.1": "OCSPServer", "1.3.6.1.5.5.7.48.2": "IssuingCertificateURL"}
)
_URI: Final = 0x86


def read_extensions(items: list[der.Element]) -> list[Extension]:
    """Return the extensions that stand in a list of them; raises ValueError."""
    found = []
    for item in items:
        name, *critical, value = der.elements(item.body)
        marked = bool(critical) and der.boolean(der.body(critical[0].raw, der.BOOLEAN))
        found.append((der.dotted(name.raw), marked, der.body(value.raw, der.OCTETS)))
    return found


def listed(extensions: list[Extension]) -> Json:
    """Return the extensions as they stand, None where there are none."""
    return [
        {"Id": numbers(name), "Critical": critical, "Value": base64_text(value)}
        for name, critical, value in extensions
    ] or None


def extension_fields(extensions: list[Extension]) -> Fields:
    """Return the fields that extensions fill in, and the empty ones.

    Raises CertificateError, and ValueError where an extension is malformed.
    """
    fields: Fields = dict.fromkeys(_ABSENT) | {"Extensions": listed(extensions)}
    fields |= dict.fromkeys(_ZERO, 0.0) | dict.fromkeys(_FALSE, False)
    for name, critical, value in extensions:
        if critical and name in _NEVER_CRITICAL:
            raise CertificateError(f"x509: {_NEVER_CRITICAL[name]} incorrectly marked critical")
        reader = _READERS.get(name)
        understood = reader is not None and reader(fields, value)
        if name == _NAME_CONSTRAINTS:
            fields["PermittedDNSDomainsCritical"] = critical
        if critical and not understood:
            add(fields, "UnhandledCriticalExtensions", numbers(name))
    return fields


def _alternative_names(fields: Fields, value: bytes) -> bool:
    found = [add_alternative_name(fields, name) for name in der.members(value)]
    return any(found)


def _name_constraints(fields: Fields, value: bytes) -> bool:
    trees = {item.tag: list(der.elements(item.body)) for item in der.members(value)}
    if not any(trees.values()):
        raise CertificateError("x509: empty name constraints extension")
    found = [
        add_constraint(fields, prefix, der.first(tree.body))
        for prefix, tag in (("Permitted", 0xA0), ("Excluded", 0xA1))
        for tree in trees.get(tag, ())
    ]
    return all(found)


def _key_usage(fields: Fields, value: bytes) -> bool:
    bits = "".join(f"{byte:08b}" for byte in der.body(value, der.BITS)[1:])
    fields["KeyUsage"] = float(int(bits[8::-1] or "0", 2))
    return True


def _basic_constraints(fields: Fields, value: bytes) -> bool:
    parts = {item.tag: item.body for item in der.members(value)}
    length = der.integer(parts[der.INTEGER]) if der.INTEGER in parts else None
    if length is not None and length < 0:
        raise CertificateError("x509: invalid basic constraints")
    fields["BasicConstraintsValid"] = True
    fields["IsCA"] = der.boolean(parts.get(der.BOOLEAN, b"\0"))
    fields["MaxPathLen"] = -1.0 if length is None else float(length)
    fields["MaxPathLenZero"] = length == 0
    return True


def _extended_usage(fields: Fields, value: bytes) -> bool:
    for usage in der.members(value):
        name = der.dotted(usage.raw)
        if name in _USAGE_NUMBERS:
            add(fields, "ExtKeyUsage", _USAGE_NUMBERS[name])
        else:
            add(fields, "UnknownExtKeyUsage", numbers(name))
    return True


def _subject_key(fields: Fields, value: bytes) -> bool:
    fields["SubjectKeyId"] = base64_text(der.body(value, der.OCTETS))
    return True


def _authority_key(fields: Fields, value: bytes) -> bool:
    for item in der.members(value)[:1]:
        fields["AuthorityKeyId"] = base64_text(item.body) if item.tag == 0x80 else None
    return True


def _information_access(fields: Fields, value: bytes) -> bool:
    for place in der.members(value):
        method, where = der.elements(place.body)
        field = _PLACES.get(der.dotted(method.raw))
        if where.tag == _URI and field:
            add(fields, field, where.body.decode("utf-8", "replace"))
    return True


def _revocation_lists(fields: Fields, value: bytes) -> bool:
    for point in der.members(value):
        named = der.first(point.body or der.NOTHING)
        full = der.body(named.body, 0xA0) if named.tag == 0xA0 else b""
        for url in takewhile(lambda name: name.tag == _URI, der.elements(full)):
            add(fields, "CRLDistributionPoints", url.body.decode("utf-8", "replace"))
    return True


def _policies(fields: Fields, value: bytes) -> bool:
    names = [der.dotted(policy.body) for policy in der.members(value)]
    if len(set(names)) < len(names):
        raise CertificateError("x509: invalid certificate policies")
    fields["PolicyIdentifiers"] = [numbers(name) for name in names if has_small_numbers(name)]
    fields["Policies"] = [*names] or None
    return True


def _policy_mappings(fields: Fields, value: bytes) -> bool:
    for pair in der.members(value):
        issuer, subject = (der.dotted(item.raw) for item in der.elements(pair.body))
        pair_fields = {"IssuerDomainPolicy": issuer, "SubjectDomainPolicy": subject}
        add(fields, "PolicyMappings", pair_fields)
    return True


def _policy_constraints(fields: Fields, value: bytes) -> bool:
    parts = {item.tag: item.body for item in der.members(value)}
    for tag, name in ((0x80, "RequireExplicitPolicy"), (0x81, "InhibitPolicyMapping")):
        if tag in parts:
            _set_limit(fields, name, parts[tag])
    return True


def _inhibit_any(fields: Fields, value: bytes) -> bool:
    _set_limit(fields, "InhibitAnyPolicy", der.body(value, der.INTEGER))
    return True


def _set_limit(fields: Fields, name: str, number: bytes) -> None:
    fields[name] = float(der.integer(number))
    fields[f"{name}Zero"] = der.integer(number) == 0


_NAME_CONSTRAINTS: Final = "2.5.29.30"
_INFORMATION_ACCESS: Final = "1.3.6.1.5.5.7.1.1"
_NEVER_CRITICAL: Final = MappingProxyType(
    {
        "2.5.29.14": "subject key identifier",
        "2.5.29.35": "authority key identifier",
        _INFORMATION_ACCESS: "authority info access",
    }
)
_READERS: Final[MappingProxyType[str, Callable[[Fields, bytes], bool]]] = MappingProxyType(
    {
        "2.5.29.14": _subject_key,
        "2.5.29.15": _key_usage,
        ALTERNATIVE_NAMES: _alternative_names,
        "2.5.29.19": _basic_constraints,
        _NAME_CONSTRAINTS: _name_constraints,
        "2.5.29.31": _revocation_lists,
        "2.5.29.32": _policies,
        "2.5.29.33": _policy_mappings,
        "2.5.29.35": _authority_key,
        "2.5.29.36": _policy_constraints,
        "2.5.29.37": _extended_usage,
        "2.5.29.54": _inhibit_any,
        _INFORMATION_ACCESS: _information_access,
    }
)
"""Fill in the fields of an extension; False where it says nothing that upstream understands."""
