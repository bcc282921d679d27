"""What an API server makes of an object that is new, once it has a uid.

It happens after mutating webhooks and before validating ones. Source of the rules:
k8s.io/kubernetes pkg/registry/*/*/strategy.go (PrepareForCreate), pkg/registry/core/service.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from kyvsim.kubernetes.objects import Json, entries, metadata, object_key
from kyvsim.simulator.server.defaults import CONTAINERS
from kyvsim.simulator.server.store import Store

_REACHABLE = frozenset({"NodePort", "LoadBalancer"})
_FIRST_PORT = 30000
_FIRST_HOST = 10


def prepared(obj: Json, store: Store) -> Json:
    """Return a new object with what its kind gets from the server."""
    prepare = _PREPARATIONS.get(object_key(obj)[:2])
    spec = obj.get("spec")
    return prepare(obj, store) if prepare and spec.__class__ is dict else obj


def _pod(obj: Json, store: Store) -> Json:
    del store
    return {**obj, "status": {"phase": "Pending", "qosClass": qos_class(obj["spec"])}}


def qos_class(spec: Json) -> str:
    """Return how well a Pod is treated when its node runs short."""
    limited = True
    asked = False
    for group in CONTAINERS[:2]:
        for container in entries(spec, group):
            resources = container.get("resources") or {}
            limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
            asked = asked or bool({"cpu", "memory"} & {*limits, *requests})
            for name in ("cpu", "memory"):
                limit = limits.get(name)
                limited = limited and limit is not None and requests.get(name, limit) == limit
    if not asked:
        return "BestEffort"
    return "Guaranteed" if limited else "Burstable"


def _job(obj: Json, store: Store) -> Json:
    """Return a Job with a selector of its own, which its template's labels fit."""
    del store
    spec, meta = obj["spec"], metadata(obj)
    if spec.get("manualSelector") is True:
        return obj
    uid, name = meta["uid"], meta["name"]
    template = spec.get("template") or {}
    template_meta = metadata(template)
    marks = {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
        "controller-uid": uid,
        "job-name": name,
    }
    marked = {**template_meta, "labels": {**(template_meta.get("labels") or {}), **marks}}
    selector = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    template = {**template, "metadata": marked}
    return {**obj, "spec": {**spec, "selector": selector, "template": template}}


def _service(obj: Json, store: Store) -> Json:
    spec = obj["spec"]
    if spec.get("type") == "ExternalName":
        return obj
    services = [one.get("spec") or {} for one in store.list("v1", "Service", "")]
    if not spec.get("clusterIP"):
        taken = {one.get("clusterIP") for one in services}
        spec = {**spec, "clusterIP": _free_address(taken)}
    spec = {**spec, "clusterIPs": [spec["clusterIP"]]}
    if spec.get("type") in _REACHABLE:
        used = {port.get("nodePort") for one in services for port in entries(one, "ports")}
        spec = {**spec, "ports": _with_node_ports(entries(spec, "ports"), used)}
    return {**obj, "spec": spec}


def _free_address(taken: set[Json]) -> str:
    for number in range(_FIRST_HOST, 1 << 16):
        address = f"10.96.{number >> 8}.{number & 255}"
        if address not in taken:
            return address
    return ""


def _with_node_ports(ports: list[Json], used: set[Json]) -> list[Json]:
    given = []
    for port in ports:
        number = port.get("nodePort") or _FIRST_PORT
        while not port.get("nodePort") and number in used:
            number += 1
        used = {*used, number}
        given.append({**port, "nodePort": number})
    return given


_PREPARATIONS: Mapping[tuple[str, str], Callable[[Json, Store], Json]] = MappingProxyType(
    {
        ("v1", "Pod"): _pod,
        ("v1", "Service"): _service,
        ("batch/v1", "Job"): _job,
    }
)
