"""Subresources: parts of an object that are read and written by themselves.

Source of the rules: k8s.io/kubernetes pkg/registry (core/pod/storage, apps/*/storage,
core/namespace/storage).
"""

from kyvsim.kubernetes.objects import Json, ObjectKey, metadata, object_key
from kyvsim.model.request import Operation, UserInfo
from kyvsim.simulator.api_server.defaults import with_defaults
from kyvsim.simulator.api_server.metadata import with_generation, with_metadata
from kyvsim.simulator.api_server.request import ApiRequest


def scale_of(obj: Json) -> Json:
    """Return an object's Scale: how many replicas it should have, and has."""
    meta = metadata(obj)
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    selector = (spec.get("selector") or {}).get("matchLabels") or {}
    selecting = {"selector": ",".join(f"{key}={value}" for key, value in sorted(selector.items()))}
    return {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {name: meta[name] for name in kept if name in meta},
        "spec": {"replicas": spec.get("replicas", 1)},
        "status": {"replicas": status.get("replicas", 0), **(selecting if selector else {})},
    }


def as_shown(obj: Json, subresource: str) -> Json:
    """Return an object as a subresource presents it."""
    return scale_of(obj) if subresource == "scale" and obj is not None else obj


def as_sent(subresource: str, sent: Json, old: Json) -> Json:
    """Return an update of a subresource without the fields that it cannot change."""
    if subresource == "scale":
        shown = scale_of(old)
        return {**shown, "spec": {**shown["spec"], **(sent.get("spec") or {})}}
    if subresource == "status":
        return {**old, "status": sent.get("status")}
    if subresource == "finalize":
        finalizers = (sent.get("spec") or {}).get("finalizers")
        return {**old, "spec": {**(old.get("spec") or {}), "finalizers": finalizers or []}}
    if subresource == "resize":
        return with_defaults(_resized(sent, old))
    if subresource == "ephemeralcontainers":
        added = (sent.get("spec") or {}).get("ephemeralContainers") or []
        spec = {**(old.get("spec") or {}), "ephemeralContainers": added}
        return with_defaults({**old, "spec": spec})
    return old


def _resized(sent: Json, old: Json) -> Json:
    """Return a Pod whose containers have the resources of another; nothing else is taken over."""
    spec = dict(old.get("spec") or {})
    for field in ("containers", "initContainers"):
        wanted = {one.get("name"): one for one in (sent.get("spec") or {}).get(field) or ()}
        if field in spec:
            spec[field] = [_sized(one, wanted.get(one.get("name"))) for one in spec[field]]
    return {**old, "spec": spec}


def _sized(container: Json, wanted: Json) -> Json:
    if wanted is None:
        return container
    sizes = {name: wanted[name] for name in ("resources", "resizePolicy") if name in wanted}
    return {**container, **sizes}


def as_stored(subresource: str, shown: Json, now: Json) -> Json:
    """Return the whole object that a write of a subresource leaves."""
    if subresource == "scale":
        replicas = (shown.get("spec") or {}).get("replicas", 0)
        return with_generation({**now, "spec": {**now["spec"], "replicas": replicas}}, now)
    if subresource == "binding":
        node = (shown.get("target") or {}).get("name", "")
        return {**now, "spec": {**now["spec"], "nodeName": node}}
    if subresource in {"ephemeralcontainers", "resize"}:
        return with_generation(shown, now)
    # A token, an approval: answered, not stored.
    return shown if object_key(shown)[:2] == object_key(now)[:2] else now


def eviction_request(key: ObjectKey, user: UserInfo) -> ApiRequest:
    """Return the request to evict a Pod, which deletes it unless that is denied."""
    sent = {"apiVersion": "policy/v1", "kind": "Eviction"}
    sent = with_metadata(sent, {"name": key.name, "namespace": key.namespace})
    return ApiRequest(Operation.CREATE, key, user, sent, "eviction")


def scale_request(obj: Json, replicas: int, user: UserInfo) -> ApiRequest:
    """Return the request to give an object another number of replicas."""
    sent = {**scale_of(obj), "spec": {"replicas": replicas}}
    return ApiRequest(Operation.UPDATE, object_key(obj), user, sent, "scale", patch="merge")


def exec_request(
    key: ObjectKey, user: UserInfo, command: tuple[str, ...], container: str = ""
) -> ApiRequest:
    """Return the request to run a command in a Pod's container."""
    sent: dict[str, Json] = {
        "apiVersion": "v1",
        "kind": "PodExecOptions",
        "stdin": True,
        "stdout": True,
        "stderr": True,
        "tty": True,
        "command": list(command),
    }
    if container:
        sent["container"] = container
    return ApiRequest(Operation.CONNECT, key, user, sent, "exec")
