"""IP addresses and networks.

Source of the rules: upstream k8s.io/apiserver pkg/cel/library/ip.go, cidr.go, over Go's net/netip.
"""

import re
from typing import TYPE_CHECKING, TypeAlias

from kyvsim.cel.environment import Library
from kyvsim.cel.errors import CelError, no_such_overload
from kyvsim.cel.signature import function, way
from kyvsim.cel.types import CelType, opaque
from kyvsim.kube.go_text import quote
from kyvsim.light.named_tuple import NamedTuple

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

_Address: TypeAlias = "IPv4Address | IPv6Address"
_IP = opaque("net.IP")
_CIDR = opaque("net.CIDR")
_HEX_DIGITS = "0123456789abcdefABCDEF"
_HEX = frozenset(_HEX_DIGITS)
_BITS = re.compile(r"0|[1-9][0-9]{0,2}")


class Ip(NamedTuple):
    """An address as a value of expressions."""

    address: _Address

    @property
    def only_own_kind(self) -> bool:
        """Whether `==` fails for values of other kinds."""
        return True

    @property
    def cel_type(self) -> CelType:
        """Its type in expressions."""
        return _IP

    def __str__(self) -> str:
        """Return the address in its shortest form."""
        return str(self.address)


class Cidr(NamedTuple):
    """An address with the number of bits that make its network."""

    address: _Address
    bits: int

    @property
    def only_own_kind(self) -> bool:
        """Whether `==` fails for values of other kinds."""
        return True

    @property
    def cel_type(self) -> CelType:
        """Its type in expressions."""
        return _CIDR

    def __str__(self) -> str:
        """Return the address and its bits, as `10.0.0.0/8`."""
        return f"{self.address}/{self.bits}"


def _read(text: str) -> "_Address | None":
    """Return the address that a text writes, without regard to the kinds that are refused."""
    from ipaddress import ip_address  # noqa: PLC0415 — slow to import, rarely needed

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
    """Return what Go says of a text that is no address."""
    shown = quote(text)
    if "." not in text and ":" not in text:
        return f"ParseAddr({shown}): unable to parse IP"
    if ":" in text:
        return f"ParseAddr({shown}): {_go_problem_of_v6(text)}"
    return f"ParseAddr({shown}): {_go_problem_of_v4(text)}"


def _go_problem_of_v4(text: str) -> str:
    for char in text:
        if char not in "0123456789.":
            return f"unexpected character (at {quote(text[text.index(char) :])})"
    fields = text.split(".")
    for place, field in enumerate(fields):
        if not field:
            rest = quote(("." if place else "") + ".".join(fields[place:]))
            return f"IPv4 field must have at least one digit (at {rest})"
        if len(field) > 1 and field[0] == "0":
            return "IPv4 field has octet with leading zero"
        if int(field) > 255:
            return "IPv4 field has value >255"
    return "IPv4 address too short" if len(fields) < 4 else "IPv4 address too long"


def _go_problem_of_v6(text: str) -> str:
    for field in text.split(":"):
        digits = len(field) - len(field.lstrip(_HEX_DIGITS))
        if digits > 4:
            return f"each group must have 4 or less digits (at {quote(text[text.index(field) :])})"
        if field and not digits:
            rest = quote(text[text.index(field) :])
            return f"each colon-separated field must have at least one digit (at {rest})"
        for char in field:
            if char not in _HEX:
                return f"unexpected character, want colon (at {quote(text[text.index(char) :])})"
    if text.count("::") > 1:
        return f"multiple :: in address (at {quote(text[text.rindex('::') :])})"
    return "address string too short" if text.count(":") < 7 else "trailing garbage after address"


def _ip(text: str) -> Ip:
    return Ip(_address(text))


def _is_ip(text: str) -> bool:
    try:
        _address(text)
    except CelError:
        return False
    return True


def _is_canonical(text: str) -> bool:
    return str(_address(text)) == text


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


def _is_cidr(text: str) -> bool:
    try:
        _cidr(text)
    except CelError:
        return False
    return True


def _masked(cidr: Cidr) -> Cidr:
    hidden = cidr.address.max_prefixlen - cidr.bits
    number = int(cidr.address) >> hidden << hidden
    return Cidr(cidr.address.__class__(number), cidr.bits)


def _holds(cidr: Cidr, address: _Address) -> bool:
    if cidr.address.version != address.version:
        return False
    hidden = cidr.address.max_prefixlen - cidr.bits
    return int(cidr.address) >> hidden == int(address) >> hidden


def _holds_text(cidr: Cidr, text: str) -> bool:
    try:
        return _holds(cidr, _address(text))
    except CelError:
        raise no_such_overload() from None


def _holds_network(cidr: Cidr, other: Cidr) -> bool:
    return cidr.bits <= other.bits and _holds(cidr, other.address)


def _n(signature: str) -> str:
    return signature.replace("IP", _IP.name).replace("NET", _CIDR.name)


NETWORKS = Library(
    "net",
    (
        function("ip", way(_n("(string) -> IP"), _ip)),
        function("family", way(_n("IP.() -> int"), lambda ip: ip.address.version)),
        function("ip.isCanonical", way("(string) -> bool", _is_canonical)),
        function("isUnspecified", way(_n("IP.() -> bool"), lambda ip: ip.address.is_unspecified)),
        function("isLoopback", way(_n("IP.() -> bool"), lambda ip: ip.address.is_loopback)),
        function("isLinkLocalMulticast", way(_n("IP.() -> bool"), _is_link_local_multicast)),
        function(
            "isLinkLocalUnicast", way(_n("IP.() -> bool"), lambda ip: ip.address.is_link_local)
        ),
        function("isGlobalUnicast", way(_n("IP.() -> bool"), _is_global_unicast)),
        function("isIP", way("(string) -> bool", _is_ip)),
        function("string", way(_n("(IP) -> string"), str)),
        function("cidr", way(_n("(string) -> NET"), _cidr)),
        function(
            "containsIP",
            way(_n("NET.(string) -> bool"), _holds_text),
            way(_n("NET.(IP) -> bool"), lambda net, ip: _holds(net, ip.address)),
        ),
        function(
            "containsCIDR",
            way(_n("NET.(string) -> bool"), lambda net, text: _holds_network(net, _cidr(text))),
            way(_n("NET.(NET) -> bool"), _holds_network),
        ),
        function("ip", way(_n("NET.() -> IP"), lambda net: Ip(net.address))),
        function("prefixLength", way(_n("NET.() -> int"), lambda net: net.bits)),
        function("masked", way(_n("NET.() -> NET"), _masked)),
        function("isCIDR", way("(string) -> bool", _is_cidr)),
        function("string", way(_n("(NET) -> string"), str)),
    ),
    types=((Ip, _IP), (Cidr, _CIDR)),
)
