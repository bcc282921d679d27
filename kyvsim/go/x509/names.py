"""Names, addresses and identifiers of certificates in the formats that Go's JSON has.

upstream: crypto/x509 parser.go (parseSANExtension, parseNameConstraintsExtension), net/url.
"""

import base64
import ipaddress
from types import MappingProxyType
from typing import TypeAlias
from urllib.parse import quote as percent_encoded
from urllib.parse import unquote, urlsplit

from kyvsim.go.x509.der import CertificateError, Element
from kyvsim.kube.go_text import quote
from kyvsim.kube.go_url import UrlError, parse_url
from kyvsim.kube.objects import Json

Fields: TypeAlias = dict[str, Json]

_EMAIL, _DOMAIN, _URI, _ADDRESS = 0x81, 0x82, 0x86, 0x87
_ALTERNATIVE_NAMES = MappingProxyType(
    {_EMAIL: "EmailAddresses", _DOMAIN: "DNSNames", _URI: "URIs", _ADDRESS: "IPAddresses"}
)
_CONSTRAINTS = MappingProxyType(
    {_EMAIL: "EmailAddresses", _DOMAIN: "DNSDomains", _URI: "URIDomains", _ADDRESS: "IPRanges"}
)
_KINDS = MappingProxyType(
    {_EMAIL: "rfc822Name", _DOMAIN: "dNSName", _URI: "uniformResourceIdentifier"}
)
_CONSTRAINT_KINDS = MappingProxyType({_EMAIL: "rfc822Name", _DOMAIN: "dnsName", _URI: "URI"})
_PLAIN_IN_PATHS = "/$&+,:;=@"
_PLAIN_IN_FRAGMENTS = "/$&+,:;=@?!()*"


def base64_text(data: bytes) -> str:
    """Return bytes as Go writes them to JSON."""
    return base64.b64encode(data).decode()


def numbers(name: str) -> list[Json]:
    """Return the numbers of an object identifier such as `1.2.3`; ValueError for big ones."""
    if not has_small_numbers(name):
        raise ValueError("number over 2147483647 in an object identifier")
    return [float(part) for part in name.split(".")]


def has_small_numbers(name: str) -> bool:
    """Tell whether Go takes an object identifier for its lists of numbers."""
    return all(int(part) < 1 << 31 for part in name.split("."))


def add(fields: Fields, name: str, value: Json) -> None:
    """Add to the list that a field holds."""
    fields[name] = [*(fields[name] or ()), value]


def add_alternative_name(fields: Fields, name: Element) -> bool:
    """Add another name of a subject; False for kinds that upstream passes over."""
    field = _ALTERNATIVE_NAMES.get(name.tag)
    if field is not None:
        value: Json
        if name.tag == _ADDRESS:
            value = _address(name.body)
        else:
            value = _ascii(name.body, f"SAN {_KINDS[name.tag]} is malformed")
        add(fields, field, _url(value) if name.tag == _URI else value)
    return field is not None


def add_constraint(fields: Fields, prefix: str, name: Element) -> bool:
    """Add a constraint of names; False for kinds that upstream passes over."""
    field = _CONSTRAINTS.get(name.tag)
    if field is not None:
        is_network = name.tag == _ADDRESS
        add(fields, prefix + field, _network(name.body) if is_network else _domain(name))
    return field is not None


def _ascii(data: bytes, problem: str) -> str:
    if not data.isascii():
        raise CertificateError(f"x509: {problem}")
    return data.decode()


def _address(data: bytes) -> str:
    if len(data) not in {4, 16}:
        raise CertificateError(f"x509: cannot parse IP address of length {len(data)}")
    address = ipaddress.ip_address(data)
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)


def _network(data: bytes) -> Json:
    if len(data) not in {8, 32}:
        raise CertificateError(f"x509: IP constraint contained value of length {len(data)}")
    start, mask = data[: len(data) // 2], data[len(data) // 2 :]
    if "01" in "".join(f"{byte:08b}" for byte in mask):
        raise CertificateError(f"x509: IP constraint contained invalid mask {mask.hex()}")
    return {"IP": _address(start), "Mask": base64_text(mask)}


def _domain(name: Element) -> str:
    text = _ascii(name.body, "invalid constraint value")
    problem = f"x509: failed to parse {_CONSTRAINT_KINDS[name.tag]} constraint {quote(text)}"
    if not _is_domain(text):
        raise CertificateError(problem)
    if name.tag == _URI and _is_address(text):
        raise CertificateError(f"{problem}: cannot be IP address")
    return text


def _is_domain(text: str) -> bool:
    dots = text.endswith(".") or ".." in text
    return not dots and all("!" <= char <= "~" for char in text)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _url(text: str) -> Json:
    """Return the fields of Go's url.URL."""
    try:
        parse_url(text)
    except UrlError as error:
        raise CertificateError(f"x509: cannot parse URI {quote(text)}: {error}") from None
    parts = urlsplit(text)
    _, user, host = parts.netloc.rpartition("@")
    if host.startswith(".") or not _is_domain(host):
        raise CertificateError(f"x509: cannot parse URI {quote(text)}: invalid domain")
    opaque = bool(parts.scheme) and not parts.netloc and not parts.path.startswith("/")
    path, raw_path = ("", "") if opaque else _plain_and_raw(parts.path, _PLAIN_IN_PATHS)
    fragment, raw_fragment = _plain_and_raw(parts.fragment, _PLAIN_IN_FRAGMENTS)
    return {
        "Scheme": parts.scheme,
        "Opaque": parts.path if opaque else "",
        "User": {} if user else None,
        "Host": host,
        "Path": path,
        "RawPath": raw_path,
        "OmitHost": False,
        "ForceQuery": text.endswith("?"),
        "RawQuery": parts.query,
        "Fragment": fragment,
        "RawFragment": raw_fragment,
    }


def _plain_and_raw(text: str, kept: str) -> tuple[str, str]:
    """Return a text without its escapes, and as it stands unless Go would escape it so anyway."""
    plain = unquote(text)
    return plain, "" if percent_encoded(plain, safe=kept) == text else text
