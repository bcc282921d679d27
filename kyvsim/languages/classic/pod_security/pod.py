"""What checks look at, a Pod, and what they find: fields with values that are forbidden."""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from kyvsim.kubernetes.objects import Json

GROUPS = ("initContainers", "containers", "ephemeralContainers")


class Container(NamedTuple):
    """One container of any group."""

    path: str
    """Where it stands, such as `spec.containers[0]`."""
    name: str
    data: Mapping[str, Json]
    security: Mapping[str, Json] | None
    """Its security context, or None where it has none."""


class Pod(NamedTuple):
    """A Pod, or the Pod that a controller makes."""

    annotations: Mapping[str, str]
    spec: Mapping[str, Json]
    containers: tuple[Container, ...]

    @property
    def security(self) -> Mapping[str, Json]:
        """The Pod's own security context; empty where it has none."""
        found: Mapping[str, Json] = self.spec.get("securityContext") or {}
        return found


class Finding(NamedTuple):
    """A field that a check objects to."""

    field: str
    value: str | bool | int | tuple[str, ...] = ""
    """The forbidden value; "" where none is shown."""
    container: Container | None = None
    required: bool = False
    """Whether the field is missing rather than forbidden."""


class Violation(NamedTuple):
    """What one check says about a Pod."""

    reason: str
    findings: tuple[Finding, ...]


PodCheck: TypeAlias = Callable[[Pod], Violation | None]


def read_pod(annotations: Mapping[str, str], spec: Mapping[str, Json]) -> Pod:
    """Return a Pod's annotations and spec, read as Go reads them, as checks look at them."""
    containers = tuple(
        Container(f"spec.{group}[{at}]", one.get("name", ""), one, one.get("securityContext"))
        for group in GROUPS
        for at, one in enumerate(spec.get(group, ()))
    )
    return Pod(annotations, spec, containers)


def violation(reason: str, findings: list[Finding]) -> Violation | None:
    """Return a violation where there is something to object to."""
    return Violation(reason, tuple(findings)) if findings else None


def settings(pod: Pod, option: str) -> Iterator[tuple[str, Mapping[str, Json], Container | None]]:
    """Yield path, content and container of a map in the security contexts, the Pod's own first."""
    own = pod.security.get(option)
    if own is not None:
        yield f"spec.securityContext.{option}", own, None
    for container in pod.containers:
        found = container.security.get(option) if container.security else None
        if found is not None:
            yield f"{container.path}.securityContext.{option}", found, container


def unless_windows(check: PodCheck) -> PodCheck:
    """Return a check that lets Pods for Windows pass."""

    def on_other_systems(pod: Pod) -> Violation | None:
        windows = (pod.spec.get("os") or {}).get("name") == "windows"
        return None if windows else check(pod)

    return on_other_systems
