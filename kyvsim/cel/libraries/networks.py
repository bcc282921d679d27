"""IP addresses and networks.

Source of the rules: upstream k8s.io/apiserver pkg/cel/library/ip.go, cidr.go, over Go's net/netip.
"""

import re
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import NamedTuple, TypeAlias

from kyvsim.cel.environment import Library, function, method, succeeds
from kyvsim.cel.errors import CelError, no_such_overload
from kyvsim.cel.types import CelType, opaque
from kyvsim.kubernetes.go_text import quote

_Address: TypeAlias = IPv4Address | IPv6Address
_IP = opaque("net.IP")
_NET = opaque("net.CIDR")
_HEX_DIGITS = "0123456789abcdefABCDEF"
_LAST_FIELD = 3
_GROUPS = 8
_LONG_GROUP = "each group must have 4 or less digits"
_NO_GROUP = "each colon-separated field must have at least one digit"
_BITS = re.compile(r"0|[1-9][0-9]{0,2}")


class Ip(NamedTuple):
    """An IP address in expressions."""

    address: _Address
    only_own_kind: bool = True
    cel_type: CelType = _IP

    def __str__(self) -> str:
        return str(self.address)


class Cidr(NamedTuple):
    """An address with the prefix length of its network."""

    address: _Address
    bits: int
    only_own_kind: bool = True
    cel_type: CelType = _NET

    def __str__(self) -> str:
        return f"{self.address}/{self.bits}"


def _read(text: str) -> "_Address | None":
    """Return the address of a string, including unsupported kinds of addresses."""
    try:
        return ip_address(text)
    except ValueError:
        return None


def _address(text: str) -> _Address:
    found = _read(text)
    if found is None:
        problem = _go_problem(text)
        raise CelError(
            f"IP Address {quote(text)} parse error during conversion from string: {problem}"
        )
    if "%" in text:
        raise CelError(f"IP address {quote(text)} with zone value is not allowed")
    if found.version == 6 and found.ipv4_mapped is not None:
        raise CelError(f"IPv4-mapped IPv6 address {quote(text)} is not allowed")
    return found


def _go_problem(text: str) -> str:
    first = next((one for one in text if one in ".:%"), "")
    if first == ".":
        problem = _go_problem_of_v4(text)
    elif first == ":":
        problem = _go_problem_of_v6(text)
    else:
        problem = "missing IPv6 address" if first else "unable to parse IP"
    return f"ParseAddr({quote(text)}): {problem}"


def _go_problem_of_v4(text: str) -> str:
    """Return the first error in the fields of an IPv4 address."""
    fields, field = 0, ""
    for place, char in enumerate(text):
        if char == ".":
            if not field or place == len(text) - 1:
                return f"IPv4 field must have at least one digit (at {quote(text[place:])})"
            if fields == _LAST_FIELD:
                return "IPv4 address too long"
            fields, field = fields + 1, ""
        elif char not in "0123456789":
            return f"unexpected character (at {quote(text[place:])})"
        elif field == "0":
            return "IPv4 field has octet with leading zero"
        else:
            field += char
            if int(field) > 255:
                return "IPv4 field has value >255"
    return "IPv4 address too short" if fields < _LAST_FIELD else ""


def _go_problem_of_v6(text: str) -> str:
    """Return the first error in the groups of an IPv6 address."""
    rest, marked, zone = text.partition("%")
    if marked and not zone:
        return "zone must be a non-empty string"
    shortened = rest.startswith("::")
    rest = rest.removeprefix("::")
    groups = 0
    while rest and groups < _GROUPS:
        digits = len(rest) - len(rest.lstrip(_HEX_DIGITS))
        if not 0 < digits <= 4:
            problem = _LONG_GROUP if digits else _NO_GROUP
            return f"{problem} (at {quote(rest)})"
        if rest[digits:].startswith("."):
            return _problem_of_embedded(rest, groups, shortened=shortened)
        groups += 1
        rest = rest[digits:]
        if rest and rest[0] != ":":
            return f"unexpected character, want colon (at {quote(rest)})"
        if rest == ":":
            return 'colon must be followed by more characters (at ":")'
        rest = rest[1:]
        if rest.startswith(":"):
            if shortened:
                return f"multiple :: in address (at {quote(rest)})"
            shortened, rest = True, rest[1:]
    return _problem_of_length(rest, groups)


def _problem_of_length(rest: str, groups: int) -> str:
    if rest:
        return f"trailing garbage after address (at {quote(rest)})"
    if groups < _GROUPS:
        return "address string too short"
    return "the :: must expand to at least one field of zeros"


def _problem_of_embedded(rest: str, groups: int, *, shortened: bool) -> str:
    """Return the error in an IPv4 address at the end of an IPv6 address."""
    if not shortened and groups != _GROUPS - 2:
        problem = "embedded IPv4 address must replace the final 2 fields of the address"
    elif groups > _GROUPS - 2:
        problem = "too many hex fields to fit an embedded IPv4 at the end of the address"
    else:
        return _go_problem_of_v4(rest) or "address string too short"
    return f"{problem} (at {quote(rest)})"


def _is_global_unicast(ip: Ip) -> bool:
    address = ip.address
    if address.version == 4 and (address.is_unspecified or int(address) == (1 << 32) - 1):
        return False
    return not (
        address.is_unspecified
        or address.is_loopback
        or address.is_multicast
        or address.is_link_local
    )


def _is_link_local_multicast(ip: Ip) -> bool:
    packed = ip.address.packed
    if ip.address.version == 4:
        return packed[:3] == b"\xe0\x00\x00"
    return packed[0] == 0xFF and packed[1] & 0x0F == 2


def _cidr(text: str) -> Cidr:
    head, slash, bits = text.rpartition("/")
    prefix = f"netip.ParsePrefix({quote(text)}): "
    twice = "network address parse error during conversion from string: "
    if not slash:
        raise CelError(f"{twice}{twice}{prefix}no '/'")
    found = _read(head)
    if found is None:
        raise CelError(f"{twice}{twice}{prefix}{_go_problem(head)}")
    if "%" in head:
        raise CelError(f"{twice}{twice}{prefix}IPv6 zones cannot be present in a prefix")
    if not _BITS.fullmatch(bits):
        raise CelError(f"{twice}{twice}{prefix}bad bits after slash: {quote(bits)}")
    if int(bits) > found.max_prefixlen:
        raise CelError(f"{twice}{twice}{prefix}prefix length out of range")
    if found.version == 6 and found.ipv4_mapped is not None:
        raise CelError(f"{twice}IPv4-mapped IPv6 address {quote(text)} is not allowed")
    return Cidr(found, int(bits))


def _masked(cidr: Cidr) -> Cidr:
    hidden = cidr.address.max_prefixlen - cidr.bits
    return Cidr(cidr.address.__class__(int(cidr.address) >> hidden << hidden), cidr.bits)


def _holds(cidr: Cidr, given: Ip | Cidr | str) -> bool:
    """Return whether a network contains an address or a network; a string must be an address."""
    if isinstance(given, str):
        try:
            address = _address(given)
        except CelError:
            raise no_such_overload() from None
    else:
        address = given.address
    if cidr.address.version != address.version:
        return False
    if isinstance(given, Cidr) and cidr.bits > given.bits:
        return False
    hidden = cidr.address.max_prefixlen - cidr.bits
    return int(cidr.address) >> hidden == int(address) >> hidden


NETWORKS = Library(
    "net",
    (
        function(f"ip(string) -> {_IP}", lambda text: Ip(_address(text))),
        method(f"{_IP}.family() -> int", lambda ip: ip.address.version),
        function("ip.isCanonical(string) -> bool", lambda text: str(_address(text)) == text),
        method(f"{_IP}.isUnspecified() -> bool", lambda ip: ip.address.is_unspecified),
        method(f"{_IP}.isLoopback() -> bool", lambda ip: ip.address.is_loopback),
        method(f"{_IP}.isLinkLocalMulticast() -> bool", _is_link_local_multicast),
        method(f"{_IP}.isLinkLocalUnicast() -> bool", lambda ip: ip.address.is_link_local),
        method(f"{_IP}.isGlobalUnicast() -> bool", _is_global_unicast),
        function("isIP(string) -> bool", succeeds(_address)),
        function(f"string({_IP}) -> string", str),
        function(f"cidr(string) -> {_NET}", _cidr),
        method(f"{_NET}.containsIP(string) -> bool", _holds),
        method(f"{_NET}.containsIP({_IP}) -> bool", _holds),
        method(f"{_NET}.containsCIDR(string) -> bool", lambda net, text: _holds(net, _cidr(text))),
        method(f"{_NET}.containsCIDR({_NET}) -> bool", _holds),
        method(f"{_NET}.ip() -> {_IP}", lambda net: Ip(net.address)),
        method(f"{_NET}.prefixLength() -> int", lambda net: net.bits),
        method(f"{_NET}.masked() -> {_NET}", _masked),
        function("isCIDR(string) -> bool", succeeds(_cidr)),
        function(f"string({_NET}) -> string", str),
    ),
    types=((Ip, _IP), (Cidr, _NET)),
)
