"""URLs as parsed by Go's net/url.

upstream: net/url/url.go.
"""

import ipaddress
import re
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from kyvsim.kubernetes.go_text import quote

# Regular expressions are strings here, which `re` compiles on first use, if at all.
_SCHEME = r"([A-Za-z][A-Za-z0-9+.-]*):"
_BAD_ESCAPE = r"%(?![0-9A-Fa-f]{2})"
_PORT = r"(:[0-9]*)?"
_IN_HOST = frozenset(
    b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~!$&'()*+,;=:[]<>\""
)
_DOUBTFUL = r"%(?P<byte>[0-9A-Fa-f]{2})?|[^A-Za-z0-9_.~!$&'()*+,;=:\[\]<>\"\u0080-\U0010ffff-]"
"""Characters that are not allowed in a host, or only under conditions."""
_BAD_USER = r"[^A-Za-z0-9_.:~!$&'()*+,;=%@-]"
_UNESCAPED = frozenset(
    b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~$&+,/:;=@"
)
_VALID_ENCODED = r"[A-Za-z0-9_.~$&+,/:;=@!'()*\[\]%-]*"


class UrlError(ValueError):
    """The string is not a URL."""


class GoUrl(NamedTuple):
    """The parts of a URL; raw parts are still escaped."""

    scheme: str = ""
    host: str = ""
    raw_path: str = ""
    raw_query: str = ""
    raw_fragment: str = ""
    opaque: str = ""
    has_user: bool = False
    force_query: bool = False
    """Whether it ends with an empty query."""
    omit_host: bool = False
    """Whether a path follows the scheme immediately."""

    @property
    def hostname(self) -> str:
        """The host without its port and without the brackets of an IPv6 address."""
        name = _without_port(self.host)[0]
        return name[1:-1] if name.startswith("[") and name.endswith("]") else name

    @property
    def port(self) -> str:
        """The port, or ""."""
        return _without_port(self.host)[1]

    @property
    def escaped_path(self) -> str:
        """The path as written if its escaping is valid, otherwise escaped again."""
        if re.fullmatch(_VALID_ENCODED, self.raw_path) or self.raw_path == "*":
            return self.raw_path
        return _escaped(self.raw_path, _UNESCAPED)

    def as_json(self) -> dict[str, str | bool | dict[str, str] | None]:
        """Return the URL as the JSON of Go's struct."""
        return {
            "Scheme": self.scheme,
            "Opaque": self.opaque,
            "User": {} if self.has_user else None,
            "Host": self.host,
            "Path": _decoded(self.raw_path),
            "Fragment": _decoded(self.raw_fragment),
            "RawQuery": self.raw_query,
            "RawPath": _if_unusual(self.raw_path, _UNESCAPED),
            "RawFragment": _if_unusual(self.raw_fragment, _UNESCAPED | frozenset(b"?!()*")),
            "ForceQuery": self.force_query,
            "OmitHost": self.omit_host,
        }

    def query(self) -> dict[str, list[str]]:
        """Return the query's values by name, in their order.

        Invalid parts are omitted.
        """
        found: dict[str, list[str]] = {}
        for part in self.raw_query.split("&"):
            if not part or ";" in part or re.search(_BAD_ESCAPE, part):
                continue
            name, _, value = part.partition("=")
            found.setdefault(_plain(name), []).append(_plain(value))
        return found


def _decoded(text: str) -> str:
    return unquote_to_bytes(text).decode("utf-8", "replace")


def _escaped(text: str, kept: frozenset[int]) -> str:
    return "".join(chr(byte) if byte in kept else f"%{byte:02X}" for byte in unquote_to_bytes(text))


def _if_unusual(text: str, kept: frozenset[int]) -> str:
    return "" if text == _escaped(text, kept) else text


def _without_port(host: str) -> tuple[str, str]:
    name, colon, port = host.rpartition(":")
    return (name, port) if colon and re.fullmatch(_PORT, f":{port}") else (host, "")


def _plain(text: str) -> str:
    return unquote_to_bytes(text.replace("+", " ")).decode("utf-8", "replace")


def parse_url(text: str) -> GoUrl:
    """Return the parts of a URL, like url.Parse; raises `UrlError` with Go's message."""
    before, _, fragment = text.partition("#")
    url = _parse(before, request=False)
    try:
        _check_escapes(fragment)
    except UrlError as error:
        raise UrlError(f"parse {quote(text)}: {error}") from None
    return url._replace(raw_fragment=fragment)


def path_unescape(text: str) -> str:
    """Return a path with decoded escapes, like url.PathUnescape; unchanged if one is invalid."""
    return text if re.search(_BAD_ESCAPE, text) else _decoded(text)


def parse_request_uri(text: str) -> GoUrl:
    """Return the parts of an absolute URL or path; raises `UrlError` with Go's message."""
    return _parse(text, request=True)


def _parse(text: str, *, request: bool) -> GoUrl:
    try:
        return _parts(text, request=request)
    except UrlError as error:
        raise UrlError(f"parse {quote(text)}: {error}") from None


def _parts(text: str, *, request: bool) -> GoUrl:
    if any(char < " " or char == "\x7f" for char in text):
        raise UrlError("net/url: invalid control character in URL")
    if not text and request:
        raise UrlError("empty url")
    if text == "*":
        return GoUrl(raw_path="*")
    if text.startswith(":"):
        raise UrlError("missing protocol scheme")
    found = re.match(_SCHEME, text)
    scheme, rest = (found[1].lower(), text[found.end() :]) if found else ("", text)
    force_query = rest.endswith("?") and rest.count("?") == 1
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return GoUrl(scheme, raw_query=query, opaque=rest, force_query=force_query)
        if request:
            raise UrlError("invalid URI for request")
        if ":" in rest.partition("/")[0]:
            raise UrlError("first path segment in URL cannot contain colon")
    host, authority = "", ""
    has_host = rest.startswith("//") and (
        bool(scheme) or (not request and not rest.startswith("///"))
    )
    if has_host:
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
        host = _authority(scheme, authority)
    _check_escapes(rest)
    return GoUrl(
        scheme,
        host,
        rest,
        query,
        has_user="@" in authority,
        force_query=force_query,
        omit_host=bool(scheme) and not has_host,
    )


def _authority(scheme: str, text: str) -> str:
    user, at, host = text.rpartition("@")
    host = _host(scheme, host)
    if at and re.search(_BAD_USER, user):
        raise UrlError("net/url: invalid userinfo")
    for part in user.split(":", 1):
        _check_escapes(part)
    return host


def _host(scheme: str, host: str) -> str:
    if "[" in host[1:]:
        raise UrlError("invalid IP-literal")
    if host.startswith("["):
        inner, bracket, port = host[1:].rpartition("]")
        if not bracket:
            raise UrlError("missing ']' in host")
        _check_port(port)
        address, percent, zone = inner.partition("%25")
        plain = _unescaped(address) + _unescaped(percent + zone, in_zone=True)
        try:
            is_short = ipaddress.ip_address(plain).version == 4
        except ValueError:
            raise UrlError(f"invalid host: ParseAddr({quote(plain)}): unable to parse IP") from None
        if is_short:
            raise UrlError("invalid IP-literal")
        return f"[{plain}]{port}"
    # Only http and https URLs must not have several colons.
    colon = host.find(":") if scheme in {"http", "https"} else host.rfind(":")
    if colon >= 0:
        _check_port(host[colon:])
    return _unescaped(host)


def _check_port(text: str) -> None:
    if not re.fullmatch(_PORT, text):
        raise UrlError(f"invalid port {quote(text)} after host")


def _unescaped(text: str, *, in_zone: bool = False) -> str:
    """Return a part of a host; different bytes may be escaped in a zone and outside of it."""
    for found in re.finditer(_DOUBTFUL, text):
        if found[0][0] != "%":
            raise UrlError(f"invalid character {quote(found[0])} in host name")
        byte = int(found["byte"] or "-1", 16)
        fits = byte in _IN_HOST or byte == ord(" ") if in_zone else byte >= 0x80
        if not fits and byte != ord("%"):
            raise _bad_escape(text, found.start())
    return unquote_to_bytes(text).decode("utf-8", "replace")


def _check_escapes(text: str) -> None:
    bad = re.search(_BAD_ESCAPE, text)
    if bad:
        raise _bad_escape(text, bad.start())


def _bad_escape(text: str, place: int) -> UrlError:
    """Return the error that shows three bytes from the percent sign."""
    shown = text[place : place + 3].encode("utf-8", "replace")[:3]
    return UrlError(f"invalid URL escape {quote(shown.decode('utf-8', 'surrogateescape'))}")
