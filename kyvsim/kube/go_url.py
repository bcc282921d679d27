"""URLs as Go's net/url reads them.

upstream: net/url/url.go.
"""

import re
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from kyvsim.kube.go_text import quote

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}", re.DOTALL)
_PORT = re.compile(r"(:[0-9]*)?")
_BAD_HOST = re.compile(r"[^A-Za-z0-9_.~!$&'()*+,;=:\[\]<>\"%\u0080-\U0010ffff-]")
_BAD_USER = re.compile(r"[^A-Za-z0-9_.:~!$&'()*+,;=%@-]")
_UNESCAPED = frozenset(
    b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~$&+,/:;=@"
)
_VALID_ENCODED = re.compile(r"[A-Za-z0-9_.~$&+,/:;=@!'()*\[\]%-]*")


class UrlError(ValueError):
    """The text is no URL."""


class GoUrl(NamedTuple):
    """The parts of a URL; `raw_path` and `raw_query` are still escaped."""

    scheme: str = ""
    host: str = ""
    raw_path: str = ""
    raw_query: str = ""

    @property
    def hostname(self) -> str:
        """The host without its port and without the brackets of an IPv6 address."""
        host = self.host
        if host.startswith("[") and "]" in host:
            return host[1 : host.index("]")]
        return host.partition(":")[0] if _has_port(host) else host

    @property
    def port(self) -> str:
        """The port, or ""."""
        host = self.host
        if host.startswith("[") and "]:" in host:
            return host.rpartition("]:")[2]
        return host.rpartition(":")[2] if _has_port(host) else ""

    @property
    def escaped_path(self) -> str:
        """The path as written where that is a valid way to escape it, else escaped anew."""
        path = unquote_to_bytes(self.raw_path)
        if _VALID_ENCODED.fullmatch(self.raw_path) or self.raw_path == "*":
            return self.raw_path
        return "".join(chr(byte) if byte in _UNESCAPED else f"%{byte:02X}" for byte in path)

    def query(self) -> dict[str, list[str]]:
        """Return the query's values by name, in the order written.

        What cannot be read is left out.
        """
        found: dict[str, list[str]] = {}
        for part in self.raw_query.split("&"):
            if not part or ";" in part or _BAD_ESCAPE.search(part):
                continue
            name, _, value = part.partition("=")
            found.setdefault(_plain(name), []).append(_plain(value))
        return found


def _has_port(host: str) -> bool:
    return ":" in host and not host.startswith("[")


def _plain(text: str) -> str:
    return unquote_to_bytes(text.replace("+", " ")).decode("utf-8", "replace")


def parse_url(text: str) -> GoUrl:
    """Return the parts of a URL, as url.Parse does; raises `UrlError` with Go's message."""
    return _parse(text.partition("#")[0], request=False)


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
    scheme, rest = _scheme(text)
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return GoUrl(scheme, raw_query=query)
        if request:
            raise UrlError("invalid URI for request")
        if ":" in rest.partition("/")[0]:
            raise UrlError("first path segment in URL cannot contain colon")
    host = ""
    if rest.startswith("//") and (scheme or (not request and not rest.startswith("///"))):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
        host = _authority(authority)
    _check_escapes(rest)
    return GoUrl(scheme, host, rest, query)


def _scheme(text: str) -> tuple[str, str]:
    if text.startswith(":"):
        raise UrlError("missing protocol scheme")
    found = _SCHEME.match(text)
    return (found[1].lower(), text[found.end() :]) if found else ("", text)


def _authority(text: str) -> str:
    user, at, host = text.rpartition("@")
    host = _host(host)
    if at and _BAD_USER.search(user):
        raise UrlError("net/url: invalid userinfo")
    return host


def _host(host: str) -> str:
    if host.startswith("["):
        end = host.rfind("]")
        if end < 0:
            raise UrlError("missing ']' in host")
        port = host[end + 1 :]
    else:
        colon = host.rfind(":")
        port = host[colon:] if colon >= 0 else ""
    if not _PORT.fullmatch(port):
        raise UrlError(f"invalid port {quote(port)} after host")
    _check_escapes(host)
    bad = _BAD_HOST.search(host)
    if bad:
        raise UrlError(f"invalid character {quote(bad[0])} in host name")
    return unquote_to_bytes(host).decode("utf-8", "replace")


def _check_escapes(text: str) -> None:
    bad = _BAD_ESCAPE.search(text)
    if bad:
        raise UrlError(f"invalid URL escape {quote(bad[0])}")
