"""Functions on references: images, versions, addresses.

upstream: pkg/engine/jmespath/functions.go.
"""

import ipaddress
from functools import lru_cache

from kyvsim.jmespath.functions import QueryError, function
from kyvsim.kubernetes.go_url import UrlError, parse_url
from kyvsim.kubernetes.image import parse_image
from kyvsim.kubernetes.semver import ZERO, Range, parse_range, parse_version

_PRIVATE = ("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fc00::/7")
_INSIDE_ENDINGS = (
    *(".localhost", ".local", ".internal", ".svc", ".localdomain", ".home.arpa"),
    *(".lan", ".intranet", ".corp", ".private"),
)


def image_normalize(image: str) -> str:
    """Return an image reference with its registry, and its tag or digest."""
    try:
        return parse_image(image).reference
    except ValueError as error:
        raise QueryError(f"JMESPath function 'image_normalize': {error}") from None


def semver_compare(version: str, accepted: str) -> bool:
    """Return whether a version is in a range; a string that is not a version counts as 0.0.0."""
    return _range(accepted)(parse_version(version) or ZERO)


@lru_cache(maxsize=256)
def _range(text: str) -> Range:
    try:
        return parse_range(text)
    except ValueError as error:
        raise QueryError(str(error)) from None


def is_external_url(url: str) -> bool:
    """Return whether the host of a URL is neither a loopback nor a private address.

    Unlike upstream, names are not resolved: internal names (one word, or with an ending such as
    `.svc` or `.internal`) are internal, all others are external.
    """
    try:
        host = parse_url(url).hostname
    except UrlError as error:
        raise QueryError(str(error)) from None
    try:
        address = ipaddress.ip_address(host.partition("%")[0] if ":" in host else host)
    except ValueError:
        name = host.lower().removesuffix(".")
        *_, last = labels = name.split(".")
        if not name or last[:1].isdigit():
            # no host name ends in a number; some resolvers parse it as an address, Go's does not
            raise QueryError(f"lookup {name}: no such host") from None
        return len(labels) > 1 and not name.endswith(_INSIDE_ENDINGS)
    if isinstance(address, ipaddress.IPv6Address):
        address = address.ipv4_mapped or address
    networks = map(ipaddress.ip_network, _PRIVATE)
    return not any(address in network for network in networks)


FUNCTIONS = (
    function(
        "image_normalize(string) string",
        "the full reference of an image: registry, path, and tag or digest",
        image_normalize,
        ("image_normalize('nginx')", "docker.io/nginx:latest"),
    ),
    function(
        "semver_compare(string, string) boolean",
        "whether a version is in a range such as `>=1.2.0 <2.0.0 || 3.x`",
        semver_compare,
        ("semver_compare('1.5.0', '>=1.2.0 <2.0.0')", True),
        ("semver_compare('2.1.0', '1.x')", False),
    ),
    function(
        "is_external_url(string) boolean",
        "whether a URL is external, that is, not a loopback or private address. Decided offline "
        "from the string alone: no name is resolved. Single words (`localhost`) and suffixes "
        "such as `.svc` or `.internal` are internal, other names are external",
        is_external_url,
        ("is_external_url('http://10.0.0.1/x')", False),
        ("is_external_url('https://8.8.8.8')", True),
        ("is_external_url('https://api.default.svc')", False),
    ),
)
