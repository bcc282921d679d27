"""What the node shares: namespaces, ports, paths, and hosts that probes call."""

from collections.abc import Iterator

from kyvsim.languages.classic.pod_security.pod import Container, Finding, Pod, Violation, violation

NAMESPACES = ("hostNetwork", "hostPID", "hostIPC")
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
LIFECYCLE = ("postStart", "preStop")
WAYS = ("httpGet", "tcpSocket")
"""The fields of a handler that may name a host."""


def namespaces(pod: Pod) -> Violation | None:
    """No namespaces of the node."""
    findings = [Finding(f"spec.{field}", value=True) for field in NAMESPACES if pod.spec.get(field)]
    return violation("host namespaces", findings)


def path_volumes(pod: Pod) -> Violation | None:
    """No paths of the node as volumes."""
    findings = [
        Finding(f"spec.volumes[{at}].hostPath", volume["hostPath"].get("path", ""))
        for at, volume in enumerate(pod.spec.get("volumes", ()))
        if "hostPath" in volume
    ]
    return violation("hostPath volumes", findings)


def ports(pod: Pod) -> Violation | None:
    """No ports of the node."""
    findings = [
        Finding(f"{container.path}.ports[{at}].hostPort", int(port["hostPort"]), container)
        for container in pod.containers
        for at, port in enumerate(container.data.get("ports", ()))
        if port.get("hostPort")
    ]
    return violation("hostPort", findings)


def probes(pod: Pod) -> Violation | None:
    """Probes and lifecycle handlers name no host; which field did is not said."""
    named = any(host for container in pod.containers for host in _hosts(container))
    return Violation("probe or lifecycle host", ()) if named else None


def _hosts(container: Container) -> Iterator[str]:
    data = container.data
    lifecycle = data.get("lifecycle", {})
    handlers = [data.get(name) for name in PROBES] + [lifecycle.get(name) for name in LIFECYCLE]
    for handler in filter(None, handlers):
        for way in WAYS:
            yield handler.get(way, {}).get("host", "")
