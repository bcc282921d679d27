"""Defaults that an API server fills in, as far as rules and people look at them.

Source of the rules: k8s.io/kubernetes pkg/apis/*/v1/defaults.go.
"""

from base64 import b64encode
from collections.abc import Callable, Mapping
from types import MappingProxyType

from kyvsim.kube.objects import Json, labels, metadata, object_key
from kyvsim.sim.server.metadata import with_metadata


def with_defaults(obj: Json) -> Json:
    """Return an object with the defaults of its kind."""
    fill = _DEFAULTS.get(object_key(obj)[:2])
    return fill(obj) if fill else obj


def _namespace(obj: Json) -> Json:
    name = metadata(obj).get("name")
    spec = obj.get("spec") or {}
    filled = {**obj, "spec": {"finalizers": ["kubernetes"], **spec}}
    filled["status"] = obj.get("status") or {"phase": "Active"}
    if not name:
        return filled
    return with_metadata(filled, {"labels": {**labels(obj), "kubernetes.io/metadata.name": name}})


def _secret(obj: Json) -> Json:
    texts = obj.get("stringData")
    filled = {"type": "Opaque", **obj}
    if texts.__class__ is not dict:
        return filled
    encoded = {name: b64encode(str(text).encode()).decode() for name, text in texts.items()}
    filled.pop("stringData")
    return {**filled, "data": {**(obj.get("data") or {}), **encoded}}


_DEFAULTS: Mapping[tuple[str, str], Callable[[Json], Json]] = MappingProxyType(
    {
        ("v1", "Namespace"): _namespace,
        ("v1", "Secret"): _secret,
    }
)
