"""Pod specifications in objects, and their references to other objects."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias

from kyvsim.kubernetes.objects import Json, JsonMap, entries, object_key

IN_TEMPLATE = ("spec", "template", "spec")

POD_SPEC_PATHS: Mapping[str, tuple[str, ...]] = {
    "Pod": ("spec",),
    "CronJob": ("spec", "jobTemplate", *IN_TEMPLATE),
    **dict.fromkeys(("DaemonSet", "Deployment", "Job", "ReplicaSet"), IN_TEMPLATE),
    **dict.fromkeys(("ReplicationController", "StatefulSet"), IN_TEMPLATE),
}
"""By kind, the path of the Pod specification."""

Target: TypeAlias = tuple[str, str, str]
"""Kind, namespace and name of a referenced object."""

KINDS = frozenset({"ConfigMap", "Secret", "ServiceAccount", "PersistentVolumeClaim"})
_ALWAYS_THERE = frozenset({("ServiceAccount", "default"), ("ConfigMap", "kube-root-ca.crt")})


class Reference(NamedTuple):
    """A reference to an object that a Pod (or a controller's Pod template) needs to start."""

    target: Target
    places: tuple[str, ...]
    """The places of the reference in the Pod, such as ``volume `config` ``."""
    optional: bool
    """Whether all references to it are optional."""


def injected_references(
    before: object, after: object, known: Mapping[Target, str]
) -> list[tuple[Reference, str | None]]:
    """Return the references that only `after` has, each with what resolves it or None."""
    had = {reference.target for reference in references(before)}
    added = (reference for reference in references(after) if reference.target not in had)
    return [(reference, met_by(reference, known)) for reference in added]


def met_by(reference: Reference, known: Mapping[Target, str]) -> str | None:
    """Return what resolves a reference: the text in `known`, or that every namespace has it."""
    kind, _, name = reference.target
    if (kind, name) in _ALWAYS_THERE:
        return "in every namespace"
    return known.get(reference.target)


def target_of(obj: object) -> Target | None:
    """Return `obj` as a reference target; None for a kind that Pods do not refer to."""
    key = object_key(obj)
    if key.api_version != "v1" or key.kind not in KINDS:
        return None
    return key.kind, key.namespace or "default", key.name


def references(obj: Json) -> list[Reference]:
    """Return the references of a Pod or Pod template, in order of occurrence."""
    key = object_key(obj)
    found: dict[Target, Reference] = {}
    spec: JsonMap = obj
    for field in POD_SPEC_PATHS.get(key.kind, IN_TEMPLATE):
        spec = _dict(spec, field)
    for kind, name, place, optional in _named(spec):
        if name.__class__ is not str or not name:
            continue
        target = (kind, key.namespace or "default", name)
        earlier = found.get(target)
        if earlier is None:
            found[target] = Reference(target, (place,), optional)
        else:
            places = earlier.places if place in earlier.places else (*earlier.places, place)
            found[target] = Reference(target, places, earlier.optional and optional)
    return list(found.values())


_Name: TypeAlias = tuple[str, object, str, bool]


def _named(spec: JsonMap) -> Iterator[_Name]:
    for volume in entries(spec, "volumes"):
        yield from _of_volume(volume, f"volume `{volume.get('name', '')}`")
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for container in entries(spec, field):
            of = f"of container `{container.get('name', '')}`"
            for variable in entries(container, "env"):
                source = variable.get("valueFrom")
                for kind, name, optional in _key_sources(source, "configMapKeyRef", "secretKeyRef"):
                    yield kind, name, f"env `{variable.get('name', '')}` {of}", optional
            for source in entries(container, "envFrom"):
                for kind, name, optional in _key_sources(source, "configMapRef", "secretRef"):
                    yield kind, name, f"envFrom {of}", optional
    for secret in entries(spec, "imagePullSecrets"):
        yield "Secret", secret.get("name"), "imagePullSecrets", False
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    yield "ServiceAccount", account, "serviceAccountName", False


def _of_volume(volume: JsonMap, place: str) -> Iterator[_Name]:
    if "persistentVolumeClaim" in volume:
        claim = _dict(volume, "persistentVolumeClaim")
        yield "PersistentVolumeClaim", claim.get("claimName"), place, False
    if "secret" in volume:
        secret = _dict(volume, "secret")
        yield "Secret", secret.get("secretName"), place, secret.get("optional") is True
    for source in (volume, *entries(_dict(volume, "projected"), "sources")):
        for kind, name, optional in _key_sources(source, "configMap", "secret"):
            yield kind, name, place, optional
    for plugin in (one for one in volume.values() if one.__class__ is dict):
        for field in ("secretRef", "nodePublishSecretRef"):
            if field in plugin:
                yield "Secret", _dict(plugin, field).get("name"), place, False


def _key_sources(
    source: object, config_map: str, secret: str
) -> Iterator[tuple[str, object, bool]]:
    if source.__class__ is not dict:
        return
    for kind, field in (("ConfigMap", config_map), ("Secret", secret)):
        if field in source:
            found = _dict(source, field)
            yield kind, found.get("name"), found.get("optional") is True


def _dict(obj: object, field: str) -> JsonMap:
    found = obj.get(field) if obj.__class__ is dict else None
    return found if found.__class__ is dict else {}
