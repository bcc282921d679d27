"""What a Pod refers to, and what of it is missing.

What blocks what: a volume that cannot be mounted holds every container of its Pod, for a kubelet
mounts all volumes before it starts the first one; a volume that no container mounts is never
looked at. A variable whose ConfigMap or Secret is missing holds its own container only, and those
behind it where it is an init container: so `1/4` ready means variables, `0/4` a volume. What is
`optional` blocks nothing. A missing claim keeps a Pod from being bound to a node at all. A missing
imagePullSecret is a warning: images are pulled without it.

Source of the rules and texts: k8s.io/kubernetes pkg/kubelet (kubelet_pods.go,
volumemanager/populator), pkg/volume (configmap, secret, projected),
pkg/scheduler/framework/plugins/volumebinding.
"""

from collections.abc import Iterator
from typing import NamedTuple

from kyvsim.kube.objects import Json, ObjectKey, object_key, text_field
from kyvsim.sim.server import Store
from kyvsim.sim.server.filling import entries

_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")


class Missing(NamedTuple):
    """Something that a Pod refers to and that is not there."""

    key: ObjectKey
    """The object that is missing, or that lacks a key."""
    reason: str
    """Why it does not do, as a kubelet says it."""
    volume: str = ""
    """The volume that needs it; "" for a variable."""

    @property
    def message(self) -> str:
        """What the kubelet's event says."""
        if not self.volume:
            return self.reason
        return f'MountVolume.SetUp failed for volume "{self.volume}" : {self.reason}'


class _Place(NamedTuple):
    namespace: str
    store: Store


def missing_volumes(pod: Json, store: Store) -> list[Missing]:
    """Return what is missing for the volumes that a Pod's containers mount."""
    spec, place = pod["spec"], _Place(object_key(pod).namespace, store)
    used = {
        text_field(mount, "name")
        for group in _CONTAINERS
        for container in entries(spec, group)
        for mount in entries(container, "volumeMounts")
    }
    return [
        problem._replace(volume=text_field(volume, "name"))
        for volume in entries(spec, "volumes")
        if text_field(volume, "name") in used
        for problem in _volume(volume, pod, place)
    ]


def missing_variables(container: Json, namespace: str, store: Store) -> list[Missing]:
    """Return what is missing for the environment of a container."""
    place = _Place(namespace, store)
    found: list[Missing] = []
    for source in entries(container, "envFrom"):
        found += _whole(source.get("configMapRef"), "ConfigMap", place)
        found += _whole(source.get("secretRef"), "Secret", place)
    for variable in entries(container, "env"):
        source = variable.get("valueFrom") or {}
        found += _one(source.get("configMapKeyRef"), "ConfigMap", place)
        found += _one(source.get("secretKeyRef"), "Secret", place)
    return found


def missing_claims(pod: Json, store: Store) -> list[Missing]:
    """Return the PersistentVolumeClaims of a Pod that are not there."""
    place = _Place(object_key(pod).namespace, store)
    found: list[Missing] = []
    for volume in entries(pod["spec"], "volumes"):
        source = volume.get("persistentVolumeClaim") or {}
        named = {"name": text_field(source, "claimName")}
        found += _whole(named if source else None, "PersistentVolumeClaim", place)
    return found


def missing_pull_secrets(pod: Json, store: Store) -> list[Missing]:
    """Return the imagePullSecrets of a Pod that are not there."""
    place = _Place(object_key(pod).namespace, store)
    found: list[Missing] = []
    for reference in entries(pod["spec"], "imagePullSecrets"):
        found += _whole(reference, "Secret", place)
    return found


def _volume(volume: Json, pod: Json, place: _Place) -> Iterator[Missing]:
    yield from _files(volume.get("configMap"), "ConfigMap", place)
    secret = volume.get("secret")
    if secret:
        yield from _files({**secret, "name": secret.get("secretName")}, "Secret", place)
    for source in entries(volume.get("projected"), "sources"):
        yield from _files(source.get("configMap"), "ConfigMap", place)
        yield from _files(source.get("secret"), "Secret", place)
        if source.get("serviceAccountToken"):
            name = text_field(pod["spec"], "serviceAccountName") or "default"
            key = ObjectKey("v1", "ServiceAccount", place.namespace, name)
            if place.store.get(*key) is None:
                yield Missing(key, f'failed to fetch token: serviceaccounts "{name}" not found')


def _files(source: Json, kind: str, place: _Place) -> Iterator[Missing]:
    """Yield what a volume lacks that shows an object's keys as files."""
    lacking = [*_whole(source, kind, place)]
    yield from lacking
    if not source or lacking or source.get("optional") is True:
        return
    key = ObjectKey("v1", kind, place.namespace, text_field(source, "name"))
    for item in entries(source, "items"):
        if not _holds(key, text_field(item, "key"), place.store):
            word = "config" if kind == "ConfigMap" else "secret"
            name = text_field(item, "key")
            yield Missing(key, f"references non-existent {word} key: {name}")


def _whole(source: Json, kind: str, place: _Place) -> Iterator[Missing]:
    """Yield that an object is not there, unless it may be missing."""
    if not source or source.get("optional") is True:
        return
    key = ObjectKey("v1", kind, place.namespace, text_field(source, "name"))
    if place.store.get(*key) is None:
        yield Missing(key, f'{kind.lower()} "{key.name}" not found')


def _one(source: Json, kind: str, place: _Place) -> Iterator[Missing]:
    """Yield that a variable's object is not there, or lacks its key."""
    lacking = [*_whole(source, kind, place)]
    yield from lacking
    if not source or lacking or source.get("optional") is True:
        return
    key = ObjectKey("v1", kind, place.namespace, text_field(source, "name"))
    name = text_field(source, "key")
    if not _holds(key, name, place.store):
        where = f"{kind} {key.namespace}/{key.name}"
        yield Missing(key, f"couldn't find key {name} in {where}")


def _holds(key: ObjectKey, name: str, store: Store) -> bool:
    found = store.get(*key) or {}
    return any(name in (found.get(part) or {}) for part in ("data", "binaryData"))
