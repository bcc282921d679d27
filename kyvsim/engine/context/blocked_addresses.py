"""Addresses that Kyverno lets no policy call, whatever answers there.

upstream: pkg/toggle/toggle.go (the default block list), kyverno/sdk extensions/cel/libs/http.
"""

from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from types import MappingProxyType
from urllib.parse import urlsplit

_HOSTS = frozenset({"169.254.169.254", "169.254.169.253", "metadata.google.internal"})
_NETWORKS = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
_PORTS: Mapping[str, int] = MappingProxyType({"http": 80, "https": 443})


def blocked(method: str, url: str) -> str:
    """Return why Kyverno calls nothing at a URL, "" where it would; nothing is looked up."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        return ""
    if host.rstrip(".") in _HOSTS:
        return f'URL "{url}" is blocked: hostname "{host}" is on the blocklist'
    try:
        address = ip_address(host)
    except ValueError:
        return ""
    for network in _NETWORKS:
        if address.version == network.version and address in network:
            shown = f"[{host}]" if address.version == 6 else host
            why = (
                f"connection to {shown}:{port} blocked: IP {host} falls in blocked range {network}"
            )
            return f'request failed: {method.capitalize()} "{url}": {why}'
    return ""
