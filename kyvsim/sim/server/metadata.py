"""The fields that an API server itself writes into objects.

Source of the rules: k8s.io/apiserver pkg/registry/rest (create.go, update.go).
"""

from collections.abc import Mapping

from kyvsim.kube.objects import Json, metadata, text_field

_KEPT = ("uid", "creationTimestamp", "deletionTimestamp", "generation", "resourceVersion")


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


def _wishes(obj: Json) -> Json:
    return {name: value for name, value in obj.items() if name not in {"metadata", "status"}}
