"""PEM certificates and signing requests, as the JSON of Go's structs.

`cryptography` parses them; this module has the names, numbers and formats of Go's structs. Every
number is a float, since upstream reads the JSON back. Unsupported parts are errors.

upstream: crypto/x509 (parser.go, x509.go), encoding/json, and jpX509Decode in
pkg/engine/jmespath/functions.go.
"""

import base64
import ipaddress
import re
import warnings
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from itertools import takewhile
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from kyvsim.kubernetes.go_text import quote
from kyvsim.kubernetes.go_url import UrlError, parse_url
from kyvsim.kubernetes.objects import JsonMap

if TYPE_CHECKING:
    from cryptography import x509

_Found: TypeAlias = "x509.Certificate | x509.CertificateSigningRequest"
_Fields: TypeAlias = dict[str, object]
_Extensions: TypeAlias = "list[x509.Extension[x509.ExtensionType]]"
_Reader: TypeAlias = Callable[[_Fields, Any], bool]
"""Sets the fields of an extension; returns False if upstream does not support its content."""


class CertificateError(Exception):
    """A certificate or request that cannot be parsed; the message is Go's if Go has one."""


class Decoded(NamedTuple):
    """A certificate or a certificate request."""

    fields: JsonMap
    """The JSON of Go's struct."""
    serial: int | None = None
    """The complete serial number, which is a double in the fields; None for a request."""


_BEGIN = re.compile(r"^-----BEGIN ([^\r\n]*?)-----[ \t\r]*$", re.MULTILINE)
_CERTIFICATE, _REQUEST = "CERTIFICATE", "CERTIFICATE REQUEST"


def decode_pem(text: str) -> Decoded:
    """Return the content of the first PEM block, with an RSA key; raises CertificateError."""
    from cryptography import exceptions, x509

    for begin in _BEGIN.finditer(text):
        if begin[1] not in {_CERTIFICATE, _REQUEST}:
            problem = "PEM block neither contains a CERTIFICATE or CERTIFICATE REQUEST"
            raise CertificateError(problem)
        data = text[begin.start() :].encode()
        try:
            with warnings.catch_warnings(action="ignore"):
                if begin[1] == _REQUEST:
                    return Decoded(_request(x509.load_pem_x509_csr(data)))
                return _certificate(x509.load_pem_x509_certificate(data))
        except (
            ValueError,
            OverflowError,
            x509.InvalidVersion,
            exceptions.UnsupportedAlgorithm,
        ) as error:
            if "PEM" not in str(error):
                raise CertificateError("x509: malformed certificate") from None
    raise CertificateError("failed to decode PEM block")


def _certificate(found: "x509.Certificate") -> Decoded:
    from cryptography.hazmat.primitives.serialization import Encoding

    if found.serial_number < 0:
        raise CertificateError("x509: negative serial number")
    signed = found.tbs_certificate_bytes
    algorithm = found.public_bytes(Encoding.DER).partition(signed)[2]  # followed by the signature
    if algorithm[: 2 + algorithm[1]] not in signed:  # which the library does not compare
        raise CertificateError("x509: inner and outer signature algorithm identifiers don't match")
    fields = {
        **_common_fields(found, signed),
        "RawTBSCertificate": _base64(signed),
        "RawIssuer": _base64(found.issuer.public_bytes()),
        "Version": found.version.value + 1.0,
        "SerialNumber": float(found.serial_number),
        "Issuer": _name(found.issuer),
        "NotBefore": _time(found.not_valid_before_utc),
        "NotAfter": _time(found.not_valid_after_utc),
        **_extension_fields(_extensions(found, signed)),
    }
    return Decoded(fields, found.serial_number)


_UNSUPPORTED: Final = "x509: extensions that are not supported"


def _extensions(found: _Found, signed: bytes) -> _Extensions:
    """Return the extensions; the library fails if it cannot parse one of them."""
    from cryptography import x509

    try:
        extensions = [*found.extensions]
    except x509.DuplicateExtension as error:
        problem = (
            f"certificate contains duplicate extension with OID {quote(error.oid.dotted_string)}"
        )
        if isinstance(found, x509.CertificateSigningRequest):
            problem = "certificate request contains duplicate requested extensions"
        raise CertificateError(f"x509: {problem}") from None
    except (ValueError, x509.UnsupportedGeneralNameType) as error:
        raise CertificateError(f"{_UNSUPPORTED}: {error}") from None
    for one in extensions:
        if one.value.public_bytes() not in signed:  # the library would encode it differently
            raise CertificateError(f"{_UNSUPPORTED}: the form of {one.oid.dotted_string}")
    return extensions


def _request(found: "x509.CertificateSigningRequest") -> _Fields:
    extensions = _extensions(found, found.tbs_certrequest_bytes)
    names = [one for one in extensions if one.oid.dotted_string == _ALTERNATIVE_NAMES]
    fields = _extension_fields(names)
    pairs = [
        {
            "Type": _numbers(one.oid.dotted_string),
            "Value": True if one.critical else _base64(one.value.public_bytes()),
        }
        for one in extensions
    ]
    return {
        **_common_fields(found, found.tbs_certrequest_bytes),
        "RawTBSCertificateRequest": _base64(found.tbs_certrequest_bytes),
        "Version": 0.0,  # the library rejects all others
        "Attributes": (
            [{"Type": _numbers("1.2.840.113549.1.9.14"), "Value": [pairs]}] if pairs else None
        ),
        "Extensions": _listed(extensions),
        "ExtraExtensions": None,
        **{name: fields[name] for name in _NAME_FIELDS},
    }


def _common_fields(found: _Found, signed: bytes) -> _Fields:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    key = found.public_key()
    if not isinstance(key, RSAPublicKey):
        raise CertificateError("certificate should use rsa algorithm")
    key_info = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    if key_info not in signed:  # a key for RSA-PSS only, which the library accepts
        raise CertificateError("certificate should use rsa algorithm")
    numbers = key.public_numbers()
    if numbers.e >= 1 << 31:
        raise CertificateError("failed to parse subject public key info")
    return {
        "Raw": _base64(found.public_bytes(Encoding.DER)),
        "RawSubject": _base64(found.subject.public_bytes()),
        "RawSubjectPublicKeyInfo": _base64(key_info),
        "Subject": _name(found.subject),
        "SignatureAlgorithm": _signature_algorithm(found),
        "Signature": _base64(found.signature),
        "PublicKeyAlgorithm": 1.0,
        # str(int) is limited to 4300 digits
        "PublicKey": {"N": str(Decimal(numbers.n)), "E": float(numbers.e)},
    }


_PSS = "1.2.840.113549.1.1.10"
_PSS_NUMBERS = MappingProxyType({"sha256": 13.0, "sha384": 14.0, "sha512": 15.0})
_SIGNATURES: Mapping[str, float] = {
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


def _signature_algorithm(found: _Found) -> float:
    """Return Go's number of an algorithm; 0 if it is unknown.

    Go only supports PSS with a salt as long as the digest; the library does not return the length.
    """
    name = found.signature_algorithm_oid.dotted_string
    if name != _PSS:
        return _SIGNATURES.get(name, 0.0)
    digest = found.signature_hash_algorithm
    return _PSS_NUMBERS.get(digest.name, 0.0) if digest else 0.0


_OF_NAMES: Mapping[str, str] = {
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
_SINGLE = ("CommonName", "SerialNumber")


def _name(name: "x509.Name") -> _Fields:
    fields: _Fields = dict.fromkeys(_OF_NAMES.values()) | dict.fromkeys(_SINGLE, "")
    names: list[_Fields] = []
    for attribute in name:
        if not isinstance(attribute.value, str) or "\0" in attribute.value:
            raise CertificateError("x509: a name that is not plain text is not supported")
        oid = attribute.oid.dotted_string
        names.append({"Type": _numbers(oid), "Value": attribute.value})
        field = _OF_NAMES.get(oid)
        if field in _SINGLE:
            fields[field] = attribute.value
        elif field is not None:
            _add(fields, field, attribute.value)
    return {**fields, "Names": names or None, "ExtraNames": None}


def _time(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _numbers(name: str) -> list[float]:
    """Return the numbers of an object identifier such as `1.2.3`; ValueError for large ones."""
    if not _has_small_numbers(name):
        raise ValueError("number over 2147483647 in an object identifier")
    return [float(part) for part in name.split(".")]


def _has_small_numbers(name: str) -> bool:
    """Return whether an object identifier fits into Go's lists of numbers."""
    return all(int(part) < 1 << 31 for part in name.split("."))


def _add(fields: _Fields, name: str, value: object) -> None:
    listed = fields[name]
    fields[name] = [*listed, value] if listed.__class__ is list else [value]


_NAME_FIELDS: Final = ("DNSNames", "EmailAddresses", "IPAddresses", "URIs")
_ABSENT: Final = (
    *("ExtraExtensions", "UnhandledCriticalExtensions", "ExtKeyUsage", "UnknownExtKeyUsage"),
    *("SubjectKeyId", "AuthorityKeyId", "OCSPServer", "IssuingCertificateURL", "Policies"),
    *("CRLDistributionPoints", "PolicyIdentifiers", "PolicyMappings", *_NAME_FIELDS),
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


def _listed(extensions: _Extensions) -> list[_Fields] | None:
    return [
        {
            "Id": _numbers(one.oid.dotted_string),
            "Critical": one.critical,
            "Value": _base64(one.value.public_bytes()),
        }
        for one in extensions
    ] or None


def _extension_fields(extensions: _Extensions) -> _Fields:
    # upstream: crypto/x509 parser.go (processExtensions)
    fields: _Fields = dict.fromkeys(_ABSENT) | {"Extensions": _listed(extensions)}
    fields |= dict.fromkeys(_ZERO, 0.0) | dict.fromkeys(_FALSE, False)
    for one in extensions:
        name = one.oid.dotted_string
        if one.critical and name in _NEVER_CRITICAL:
            raise CertificateError(f"x509: {_NEVER_CRITICAL[name]} incorrectly marked critical")
        reader = _READERS.get(name)
        understood = reader is not None and reader(fields, one.value)
        if name == _NAME_CONSTRAINTS:
            fields["PermittedDNSDomainsCritical"] = one.critical
        if one.critical and not understood:
            _add(fields, "UnhandledCriticalExtensions", _numbers(name))
    return fields


_KINDS: Mapping[str, tuple[str, str]] = {
    "DNSName": ("DNSNames", "DNSDomains"),
    "RFC822Name": ("EmailAddresses", "EmailAddresses"),
    "UniformResourceIdentifier": ("URIs", "URIDomains"),
    "IPAddress": ("IPAddresses", "IPRanges"),
}
"""Kinds of names: the suffixes of fields for alternative names, and for constraints."""


def _is_url(name: object) -> bool:
    return type(name).__name__ == "UniformResourceIdentifier"


def _alternative_names(fields: _Fields, value: "x509.SubjectAlternativeName") -> bool:
    understood = False
    for name in value:
        kind = _KINDS.get(type(name).__name__)
        if kind is not None:
            understood = True
            address = isinstance(name.value, ipaddress.IPv4Address | ipaddress.IPv6Address)
            text = _address(name.value) if address else name.value
            _add(fields, kind[0], _url(text) if _is_url(name) else text)
    return understood


def _address(address: object) -> str:
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)


def _name_constraints(fields: _Fields, value: "x509.NameConstraints") -> bool:
    understood = True
    trees = (("Permitted", value.permitted_subtrees), ("Excluded", value.excluded_subtrees))
    for prefix, names in trees:
        for name in names or ():
            kind = _KINDS.get(type(name).__name__)
            if kind is None:
                understood = False
                continue
            found = name.value
            if kind[1] == "IPRanges":
                mask = _base64(found.netmask.packed)
                found = {"IP": _address(found.network_address), "Mask": mask}
            else:
                field = kind[1]
                problem = f"x509: failed to parse {_CONSTRAINTS[field]} constraint {quote(found)}"
                if not _is_domain(found):
                    raise CertificateError(problem)
                if field == "URIDomains" and _is_address(found):
                    raise CertificateError(f"{problem}: cannot be IP address")
            _add(fields, prefix + kind[1], found)
    return understood


_CONSTRAINTS: Mapping[str, str] = {
    "EmailAddresses": "rfc822Name",
    "DNSDomains": "dnsName",
    "URIDomains": "URI",
}


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


_USAGES: Final = (
    *("digital_signature", "content_commitment", "key_encipherment", "data_encipherment"),
    *("key_agreement", "key_cert_sign", "crl_sign"),
)


def _key_usage(fields: _Fields, value: "x509.KeyUsage") -> bool:
    bits = [getattr(value, name) for name in _USAGES]
    if value.key_agreement:  # the library only has the others in this case
        bits += [value.encipher_only, value.decipher_only]
    fields["KeyUsage"] = float(sum(bit << place for place, bit in enumerate(bits)))
    return True


def _basic_constraints(fields: _Fields, value: "x509.BasicConstraints") -> bool:
    length = value.path_length
    fields["BasicConstraintsValid"] = True
    fields["IsCA"] = value.ca
    fields["MaxPathLen"] = -1.0 if length is None else float(length)
    fields["MaxPathLenZero"] = length == 0
    return True


_USAGE_NUMBERS: Final = MappingProxyType(
    {"2.5.29.37.0": 0.0}
    | {f"1.3.6.1.5.5.7.3.{number}": float(number) for number in range(1, 10)}
    | {"1.3.6.1.4.1.311.10.3.3": 10.0, "2.16.840.1.113730.4.1": 11.0}
    | {"1.3.6.1.4.1.311.2.1.22": 12.0, "1.3.6.1.4.1.311.61.1.1": 13.0}
)


def _extended_usage(fields: _Fields, value: "x509.ExtendedKeyUsage") -> bool:
    for usage in value:
        name = usage.dotted_string
        if name in _USAGE_NUMBERS:
            _add(fields, "ExtKeyUsage", _USAGE_NUMBERS[name])
        else:
            _add(fields, "UnknownExtKeyUsage", _numbers(name))
    return True


def _subject_key(fields: _Fields, value: "x509.SubjectKeyIdentifier") -> bool:
    fields["SubjectKeyId"] = _base64(value.digest)
    return True


def _authority_key(fields: _Fields, value: "x509.AuthorityKeyIdentifier") -> bool:
    key = value.key_identifier
    fields["AuthorityKeyId"] = None if key is None else _base64(key)
    return True


_PLACES: Mapping[str, str] = {
    "1.3.6.1.5.5.7.48.1": "OCSPServer",
    "1.3.6.1.5.5.7.48.2": "IssuingCertificateURL",
}


def _information_access(fields: _Fields, value: "x509.AuthorityInformationAccess") -> bool:
    for place in value:
        field = _PLACES.get(place.access_method.dotted_string)
        if _is_url(place.access_location) and field:
            _add(fields, field, place.access_location.value)
    return True


def _revocation_lists(fields: _Fields, value: "x509.CRLDistributionPoints") -> bool:
    for point in value:
        for url in takewhile(_is_url, point.full_name or ()):
            _add(fields, "CRLDistributionPoints", url.value)
    return True


def _policies(fields: _Fields, value: "x509.CertificatePolicies") -> bool:
    names = [policy.policy_identifier.dotted_string for policy in value]
    if len(set(names)) < len(names):
        raise CertificateError("x509: invalid certificate policies")
    fields["PolicyIdentifiers"] = [_numbers(name) for name in names if _has_small_numbers(name)]
    fields["Policies"] = [*names] or None
    return True


def _policy_mappings(_: _Fields, __: object) -> bool:
    raise CertificateError("x509: policy mappings are not supported")


def _limits(**attributes: str) -> _Reader:
    def read(fields: _Fields, value: object) -> bool:
        for name, attribute in attributes.items():
            number = getattr(value, attribute)
            if number is not None:
                fields[name] = float(number)
                fields[f"{name}Zero"] = number == 0
        return True

    return read


_ALTERNATIVE_NAMES: Final = "2.5.29.17"
_NAME_CONSTRAINTS: Final = "2.5.29.30"
_INFORMATION_ACCESS: Final = "1.3.6.1.5.5.7.1.1"
_NEVER_CRITICAL: Mapping[str, str] = {
    "2.5.29.14": "subject key identifier",
    "2.5.29.35": "authority key identifier",
    _INFORMATION_ACCESS: "authority info access",
}
_READERS: Final[Mapping[str, _Reader]] = {
    "2.5.29.14": _subject_key,
    "2.5.29.15": _key_usage,
    _ALTERNATIVE_NAMES: _alternative_names,
    "2.5.29.19": _basic_constraints,
    _NAME_CONSTRAINTS: _name_constraints,
    "2.5.29.31": _revocation_lists,
    "2.5.29.32": _policies,
    "2.5.29.33": _policy_mappings,
    "2.5.29.35": _authority_key,
    "2.5.29.36": _limits(
        RequireExplicitPolicy="require_explicit_policy",
        InhibitPolicyMapping="inhibit_policy_mapping",
    ),
    "2.5.29.37": _extended_usage,
    "2.5.29.54": _limits(InhibitAnyPolicy="skip_certs"),
    _INFORMATION_ACCESS: _information_access,
}


def _url(text: str) -> object:
    try:
        url = parse_url(text)
    except UrlError as error:
        raise CertificateError(f"x509: cannot parse URI {quote(text)}: {error}") from None
    if url.host.startswith(".") or not _is_domain(url.host):
        raise CertificateError(f"x509: cannot parse URI {quote(text)}: invalid domain")
    return url.as_json()


def _is_domain(text: str) -> bool:
    dots = text.endswith(".") or ".." in text
    return not dots and all("!" <= char <= "~" for char in text)
