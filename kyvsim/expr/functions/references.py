"""Functions on what names things elsewhere: images, versions, addresses.

upstream: pkg/engine/jmespath/functions.go.
"""

import ipaddress
from functools import lru_cache
from urllib.parse import unquote

from kyvsim.expr.errors import QueryError
from kyvsim.expr.functions.record import BOOLEAN, STRING, Example, Function
from kyvsim.kube.go_text import quote
from kyvsim.kube.image import parse_image
from kyvsim.kube.semver import ZERO, Range, parse_range, parse_version

_PRIVATE = ("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fc00::/7")


def image_normalize(image: str) -> str:
    """Return an image reference with its registry, and its tag or digest."""
    try:
        return parse_image(image).reference
    except ValueError as error:
        raise QueryError(f"JMESPath function 'image_normalize': {error}") from None


def semver_compare(version: str, accepted: str) -> bool:
    """Tell whether a version lies in a range; a text that is no version counts as 0.0.0."""
    return _range(accepted)(parse_version(version) or ZERO)


@lru_cache(maxsize=256)
def _range(text: str) -> Range:
    try:
        return parse_range(text)
    except ValueError as error:
        raise QueryError(str(error)) from None


def is_external_url(url: str) -> bool:
    """Tell whether the host of a URL is neither a loopback nor a private address.

    Names are not resolved, other than upstream: `localhost` is internal and every other name
    external.
    """
    host = _host(url)
    try:
        address = ipaddress.ip_address(host.partition("%")[0] if ":" in host else host)
    except ValueError:
        name = host.lower().removesuffix(".")
        if not name:
            raise QueryError("lookup : no such host") from None
        return name != "localhost" and not name.endswith(".localhost")
    if isinstance(address, ipaddress.IPv6Address):
        address = address.ipv4_mapped or address
    networks = map(ipaddress.ip_network, _PRIVATE)
    return not any(address in network for network in networks)


def _host(url: str) -> str:
    """Return the host of a URL without its port; raises QueryError where Go refuses the URL."""
    bare = url.partition("#")[0]
    scheme, colon, rest = bare.partition(":")
    if any(char < " " or char == "\x7f" for char in bare):
        raise _bad_url(url, "net/url: invalid control character in URL")
    if not colon or not scheme.replace("+", "").replace("-", "").replace(".", "").isalnum():
        if bare.startswith(":"):
            raise _bad_url(url, "missing protocol scheme")
        rest = bare
    if not rest.startswith("//") or rest.startswith("///"):
        first = rest.partition("/")[0].partition("?")[0]
        if rest is bare and ":" in first:
            raise _bad_url(url, "first path segment in URL cannot contain colon")
        return ""
    authority = rest[2:].partition("/")[0].partition("?")[0]
    host = unquote(authority.rpartition("@")[2])
    if host.startswith("["):
        inner, bracket, port = host[1:].rpartition("]")
        if not bracket:
            raise _bad_url(url, "missing ']' in host")
        host = inner
    else:
        host, colon, port = host.partition(":")
        port = colon + port
    if port and not (port[0] == ":" and (port[1:] or "0").isdecimal()):
        raise _bad_url(url, f"invalid port {quote(port)} after host")
    if " " in host:
        raise _bad_url(url, 'invalid character " " in host name')
    return host


def _bad_url(url: str, problem: str) -> QueryError:
    return QueryError(f"parse {quote(url)}: {problem}")


FUNCTIONS = (
    Function(
        "image_normalize",
        (STRING,),
        STRING,
        "the full reference of an image: registry, path, and tag or digest",
        image_normalize,
        examples=(Example("image_normalize('nginx')", "docker.io/nginx:latest"),),
    ),
    Function(
        "semver_compare",
        (STRING, STRING),
        BOOLEAN,
        "whether a version lies in a range such as `>=1.2.0 <2.0.0 || 3.x`",
        semver_compare,
        examples=(
            Example("semver_compare('1.5.0', '>=1.2.0 <2.0.0')", output=True),
            Example("semver_compare('2.1.0', '1.x')", output=False),
        ),
    ),
    Function(
        "is_external_url",
        (STRING,),
        BOOLEAN,
        "whether a URL leads outside: not to a loopback or private address. Decided offline "
        "from the text alone: no name is resolved; `localhost` is inside, other names are outside",
        is_external_url,
        examples=(
            Example("is_external_url('http://10.0.0.1/x')", output=False),
            Example("is_external_url('https://8.8.8.8')", output=True),
        ),
    ),
)
