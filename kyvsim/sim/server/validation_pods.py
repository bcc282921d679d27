"""What an API server refuses in the specification of a Pod.

Source of the rules: k8s.io/kubernetes pkg/apis/core/validation.
"""

from collections.abc import Iterator

from kyvsim.kube.formats import format_problems
from kyvsim.kube.objects import Json, entries, text_field


def pod_problems(spec: Json, path: str, *, mounts: bool = True) -> Iterator[str]:
    """Yield what is wrong with a Pod's specification; `mounts` tells whether all volumes are in it.

    (A StatefulSet adds volumes of its own.)
    """
    volumes = [text_field(one, "name") for one in entries(spec, "volumes")]
    yield from _duplicates(volumes, f"{path}.volumes")
    if not entries(spec, "containers"):
        yield f"{path}.containers: Required value"
    seen: set[str] = set()
    for group in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(entries(spec, group)):
            place = f"{path}.{group}[{index}]"
            yield from _container(container, place)
            name = text_field(container, "name")
            if name in seen:
                yield f'{place}.name: Duplicate value: "{name}"'
            seen.add(name)
            if mounts:
                yield from _mounts(container, place, volumes)


def _duplicates(names: list[str], path: str) -> Iterator[str]:
    for index, name in enumerate(names):
        if name in names[:index]:
            yield f'{path}[{index}].name: Duplicate value: "{name}"'


def _container(container: Json, path: str) -> Iterator[str]:
    name = text_field(container, "name")
    if not name:
        yield f"{path}.name: Required value"
    else:
        for problem in format_problems("dns1123Label", name):
            yield f'{path}.name: Invalid value: "{name}": {problem}'
    if not text_field(container, "image"):
        yield f"{path}.image: Required value"
    for index, port in enumerate(entries(container, "ports")):
        if not port.get("containerPort"):
            yield f"{path}.ports[{index}].containerPort: Required value"


def _mounts(container: Json, path: str, volumes: list[str]) -> Iterator[str]:
    paths: set[str] = set()
    for index, mount in enumerate(entries(container, "volumeMounts")):
        name, where = text_field(mount, "name"), text_field(mount, "mountPath")
        if name not in volumes:
            yield f'{path}.volumeMounts[{index}].name: Not found: "{name}"'
        if where in paths:
            place = f"{path}.volumeMounts[{index}].mountPath"
            yield f'{place}: Invalid value: "{where}": must be unique'
        paths.add(where)
