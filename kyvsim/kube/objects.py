"""Reading Kubernetes objects that are plain data: identity and metadata."""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

Json: TypeAlias = Any
"""Plain data as loaded: dict, list, str, int, float, bool or None.

A Python `int` stands for Go's int64 and a `float` for float64: Kyverno tells them apart.
"""


class ObjectKey(NamedTuple):
    """What names one object in a cluster."""

    api_version: str
    kind: str
    namespace: str
    name: str


def metadata(obj: Json) -> Mapping[str, Json]:
    """Return `obj.metadata`, or an empty mapping where it is missing or no mapping."""
    found = obj.get("metadata") if obj.__class__ is dict else None
    return found if found.__class__ is dict else {}


def text_field(data: Json, name: str) -> str:
    """Return the text at `data[name]`, or "" where it is missing or no text."""
    found = data.get(name) if data.__class__ is dict else None
    return found if found.__class__ is str else ""


def labels(obj: Json) -> dict[str, Json]:
    """Return the labels of `obj`, or an empty dict."""
    found = metadata(obj).get("labels")
    return found if found.__class__ is dict else {}


def annotations(obj: Json) -> dict[str, Json]:
    """Return the annotations of `obj`, or an empty dict."""
    found = metadata(obj).get("annotations")
    return found if found.__class__ is dict else {}


def object_key(obj: Json) -> ObjectKey:
    """Return the identity of `obj`; missing parts are empty texts."""
    meta = metadata(obj)
    return ObjectKey(
        text_field(obj, "apiVersion"),
        text_field(obj, "kind"),
        text_field(meta, "namespace"),
        text_field(meta, "name"),
    )
