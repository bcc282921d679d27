"""What Kyverno does not let policies reach: blocked addresses, and paths of other namespaces.

Nothing is called here, and no name but `localhost` is resolved. Source of the rules: upstream
pkg/toggle/toggle.go (the default block list), kyverno/sdk extensions/cel/libs/http,
pkg/engine/apicall (executor.go, apiCall.go).
"""

import re
from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from posixpath import normpath
from types import MappingProxyType

from kyvsim.kubernetes.go_url import GoUrl, UrlError, parse_url, path_unescape
from kyvsim.model.release import Release

_PORTS: Mapping[str, int] = MappingProxyType({"http": 80, "https": 443})
_PASSWORD = re.compile(r"(//[^/@:]*):[^/@]*@")


def blocked(method: str, url: str, release: Release) -> str:
    """Return why an expression cannot call a URL, or ""."""
    try:
        parts = parse_url(url)
    except UrlError:
        return ""
    if _is_blocked_host(parts, release):
        return _on_the_list(url, parts)
    resolved = "resolved IP {address} falls in"
    reason = _unsendable(parts) or _blocked_address(parts, release, resolved)
    return reason and f"request failed: {_failed(method, url, parts, reason)}"


def service_problem(name: str, method: str, url: str, release: Release) -> str:
    """Return why the service call of a context entry cannot be made, or ""."""
    guards, reason = release.blocks_service_calls, ""
    try:
        parts = parse_url(url)
    except UrlError as error:
        if guards:
            return f"failed to validate URL for APICall {name}: invalid URL: {error}"
        build = f"failed to build request for APICall {name}: {error}"
        return f"failed to build HTTP request for APICall {name}: {build}"
    if guards and _is_blocked_host(parts, release):
        return f"failed to validate URL for APICall {name}: {_on_the_list(url, parts)}"
    resolved = "{host} resolves into"
    reason = _unsendable(parts) or (_blocked_address(parts, release, resolved) if guards else "")
    start = f"failed to execute HTTP request for APICall {name}"
    return reason and f"{start}: {_failed(method, url, parts, reason)}"


def _failed(method: str, url: str, parts: GoUrl, reason: str) -> str:
    # Go shows the parsed URL: with an escaped path, and without its password.
    escaped = url.replace(parts.raw_path, parts.escaped_path, 1)
    shown = _PASSWORD.sub(r"\1:***@", escaped, count=1)
    return f'{method.capitalize()} "{shown}": {reason}'


def _on_the_list(url: str, parts: GoUrl) -> str:
    return f'URL "{url}" is blocked: hostname "{parts.hostname}" is on the blocklist'


def _is_blocked_host(parts: GoUrl, release: Release) -> bool:
    return parts.hostname.rstrip(".").lower() in release.blocked_hosts


def _unsendable(parts: GoUrl) -> str:
    if parts.scheme not in _PORTS:
        return f'unsupported protocol scheme "{parts.scheme}"'
    return "" if parts.host else "http: no Host in request URL"


def _blocked_address(parts: GoUrl, release: Release, resolved: str) -> str:
    """Return why an address cannot be reached, or ""; `resolved` describes that of a name.

    The only name with a known address is `localhost`.
    """
    host = parts.hostname
    is_name = host.lower() == "localhost"
    try:
        address = ip_address("127.0.0.1" if is_name else host)
    except ValueError:
        return ""
    if isinstance(address, IPv6Address):
        # Go takes an IPv4-mapped address for the IPv4 address.
        address = address.ipv4_mapped or address
    candidates: list[IPv4Address | IPv6Address] = [address]
    if release.blocks_embedded_addresses and isinstance(address, IPv6Address):
        candidates += _embedded(address)
    for one in candidates:
        for network in map(ip_network, release.blocked_networks):
            if one.version == network.version and one in network:
                shown = f"[{host}]" if ":" in host else host
                found = (resolved if is_name else "IP {address} falls in").format(
                    host=host, address=address
                )
                return (
                    f"connection to {shown}:{parts.port or _PORTS[parts.scheme]} blocked: "
                    f"{found} blocked range {network}"
                )
    return ""


def _embedded(address: IPv6Address) -> list[IPv4Address]:
    """Return the IPv4 address that an IPv6 address carries, if any: compatible, NAT64 or 6to4."""
    if address in _NAT64 or address in _COMPATIBLE:
        return [IPv4Address(int(address) & 0xFFFFFFFF)]
    return [address.sixtofour] if address.sixtofour else []


_NAT64, _COMPATIBLE = IPv6Network("64:ff9b::/96"), IPv6Network("::/96")

_NAMESPACED = re.compile(r"/apis?/.*?/namespaces/([^/]+)")


def path_problem(path: str, namespace: str, release: Release) -> str:
    """Return why a policy cannot call a path of the Kubernetes API, or "".

    Those of a namespace reach only this; `namespace` is "" for other policies.
    """
    if not namespace:
        return ""
    path = path_unescape(path) if release.decodes_paths else path
    clean = normpath(path) if path else "."
    found = _NAMESPACED.match(clean)
    if found is None:
        return (
            f"path {clean} does not contain a namespace segment, "
            "which is required for namespaced policies"
        )
    if found[1] == namespace:
        return ""
    return (
        f"path {clean} refers to namespace {found[1]}, "
        f"which is different from the policy namespace {namespace}"
    )
