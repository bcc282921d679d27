"""What a node shares with a Pod: namespaces, ports, paths, kernel parameters, volumes."""

from kyvsim.languages.classic.pod_security.controls import (
    HOST_HANDLERS,
    HOST_NAMESPACES,
    LIFECYCLE,
    OTHER_VOLUMES,
    PROBES,
    RESTRICTED_VOLUMES,
)
from kyvsim.migrate.expressions import Each, Not, Relation, Test, every, some
from kyvsim.migrate.known_types import element_of
from kyvsim.migrate.pod_security.pod import Container, Pod, each, fixed, nothing, read
from kyvsim.migrate.pod_security.privileges import is_set
from kyvsim.migrate.values import Value

# What the node shares: namespaces, ports, paths, and hosts that probes call.


def namespaces(pod: Pod) -> Test:
    """No namespaces of the node."""
    return every(
        pod.unless_excused(Not(is_set(pod.spec.child(field))), f"spec.{field}", fixed("true"))
        for field in HOST_NAMESPACES
    )


def path_volumes(pod: Pod) -> Test:
    """No paths of the node as volumes."""
    volumes = pod.spec.child("volumes")
    path = Value("volume", element_of(volumes.types)).child("hostPath")
    test = pod.unless_excused(
        path.is_missing(), "spec.volumes[*].hostPath", read(f"{path.text}.path")
    )
    return each(volumes.or_else([]), "volume", test)


def ports(pod: Pod) -> Test:
    """No ports of the node."""

    def of_container(one: Container) -> Test:
        listed = one.value.child("ports")
        port = Value("port", element_of(listed.types)).child("hostPort")
        unused = Relation(port.or_else(0), "==", "0")
        test = one.unless_excused(unused, "ports[*].hostPort", read(f"string({port.text})"))
        return each(listed.or_else([]), "port", test)

    return pod.containers(of_container)


def probes(pod: Pod) -> Test:
    """Probes and lifecycle handlers name no host; no exclusion is about this."""

    def of_container(one: Container) -> Test:
        lifecycle = one.value.child("lifecycle")
        handlers = [one.value.child(name) for name in PROBES]
        handlers += [lifecycle.child(name) for name in LIFECYCLE]
        listed = f"[{', '.join(handler.optional for handler in handlers)}]"
        hosts = (f"handler.?{way}.?host.orValue('')" for way in HOST_HANDLERS)
        return each(listed, "handler", every(Relation(host, "==", "''") for host in hosts))

    return pod.containers(of_container)


# Kernel parameters: only those that a Pod has for itself.


def sysctls(pod: Pod) -> Test:
    """No parameters but the safe ones."""
    listed = pod.setting("sysctls")
    safe = Relation("sysctl.name", "in", pod.words("safeSysctls", pod.variant.allowed))
    field = "spec.securityContext.sysctls[*].name"
    return each(listed.or_else([]), "sysctl", pod.unless_excused(safe, field, read("sysctl.name")))


# Volumes of the kinds that a restricted Pod may have.


def restricted(pod: Pod) -> Test:
    """No volumes of other kinds, nor of no kind."""
    listed = pod.spec.child("volumes")
    volume = Value("volume", element_of(listed.types))
    kinds = pod.words("volumeTypes", RESTRICTED_VOLUMES)
    allowed = Each(kinds, "kind", Relation("kind", "in", volume.text), "exists")
    test = pod.unless_excused(allowed, "", nothing)
    excused = (
        volume.child(kind).is_there()
        for kind in OTHER_VOLUMES
        if any(one.field == f"spec.volumes[*].{kind}" for one in pod.own)
    )
    return each(listed.or_else([]), volume.text, some([test, *excused]))
