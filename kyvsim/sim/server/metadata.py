"""The fields that an API server itself writes into objects.

Source of the rules: k8s.io/apiserver pkg/registry/rest (create.go, update.go).
"""

from collections.abc import Mapping
from types import MappingProxyType

from kyvsim.kube.objects import Json, metadata, text_field

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
_HOLDS = MappingProxyType({"Foreground": FOREGROUND, "Orphan": ORPHAN})
"""By kind of propagation, the finalizer that waits for what belongs to an object."""
_KEPT = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "resourceVersion",
)


def with_metadata(obj: Json, fields: Mapping[str, Json]) -> Json:
    """Return an object with further fields of `metadata`; a None takes the field out."""
    meta = {**metadata(obj), **fields}
    return {**obj, "metadata": {name: value for name, value in meta.items() if value is not None}}


def without_status(obj: Json) -> Json:
    """Return an object without its status."""
    return {name: value for name, value in obj.items() if name != "status"}


def as_successor(obj: Json, old: Json) -> Json:
    """Return an object with the fields that an update cannot change taken from the old one."""
    before = metadata(old)
    kept = {name: before[name] for name in _KEPT if name in before}
    named = {"name": before["name"], "namespace": before.get("namespace")}
    return with_metadata(obj, {**kept, **named})


def with_generation(obj: Json, old: Json) -> Json:
    """Return an updated object with its generation, which counts changes of what is wished."""
    if _wishes(obj) == _wishes(old):
        return obj
    return with_metadata(obj, {"generation": int(metadata(old).get("generation") or 1) + 1})


def is_terminating(obj: Json) -> bool:
    """Return whether an object waits for its end."""
    return bool(text_field(metadata(obj), "deletionTimestamp"))


def is_held(obj: Json) -> bool:
    """Return whether a finalizer keeps an object that is to be deleted."""
    if metadata(obj).get("finalizers"):
        return True
    spec = obj.get("spec")
    is_namespace = (obj.get("apiVersion"), obj.get("kind")) == ("v1", "Namespace")
    return bool(is_namespace and spec.__class__ is dict and spec.get("finalizers"))


def marked_for_deletion(obj: Json, stamp: str, propagation: str) -> Json:
    """Return an object as a request to delete it leaves it, if anything holds it."""
    meta = metadata(obj)
    held = [one for one in meta.get("finalizers") or () if one not in {FOREGROUND, ORPHAN}]
    held += [_HOLDS[propagation]] if propagation in _HOLDS else []
    fields = {
        "deletionTimestamp": stamp,
        "deletionGracePeriodSeconds": 0,
        "finalizers": held or None,
        "generation": int(meta.get("generation") or 0) + 1,
    }
    marked = with_metadata(obj, fields)
    if (obj.get("apiVersion"), obj.get("kind")) == ("v1", "Namespace"):
        return {**marked, "status": {"phase": "Terminating"}}
    return marked


def _wishes(obj: Json) -> Json:
    return {name: value for name, value in obj.items() if name not in {"metadata", "status"}}
