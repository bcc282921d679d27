"""Defaults of Pods and of what they are made of.

Source of the rules: k8s.io/kubernetes pkg/apis/core/v1/defaults.go.
"""

from types import MappingProxyType

from kyvsim.kube.image import parse_image
from kyvsim.kube.objects import Json, text_field
from kyvsim.sim.server.filling import changed, each, filled

CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
_SPEC = MappingProxyType(
    {
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "securityContext": {},
        "schedulerName": "default-scheduler",
    }
)
_PROBE = MappingProxyType(
    {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
)
_FILES = ("configMap", "secret", "downwardAPI", "projected")
_MODE = 0o644
_TOKEN_SECONDS = 3600


def pod(obj: Json) -> Json:
    """Return a Pod with its defaults, among them some that templates do not have."""
    return changed(obj, "spec", _own_spec)


def pod_template(template: Json) -> Json:
    """Return the template of Pods with its defaults."""
    return changed(template, "spec", _spec)


def _own_spec(spec: Json) -> Json:
    spec = filled(_spec(spec), {"enableServiceLinks": True})
    for group in CONTAINERS:
        spec = changed(spec, group, lambda some: each(some, _with_requests))
    return spec


def _with_requests(container: Json) -> Json:
    """Return a container that asks for what it is limited to, where it asks for nothing."""
    resources = container.get("resources") or {}
    limits = resources.get("limits")
    if not limits:
        return container
    requests = {**limits, **(resources.get("requests") or {})}
    return {**container, "resources": {**resources, "requests": requests}}


def _spec(spec: Json) -> Json:
    spec = filled(spec, _SPEC)
    for group in CONTAINERS:
        spec = changed(spec, group, lambda some: each(some, _container))
    spec = changed(spec, "volumes", lambda some: each(some, _volume))
    account = text_field(spec, "serviceAccountName") or text_field(spec, "serviceAccount")
    return {**spec, "serviceAccountName": account, "serviceAccount": account} if account else spec


def _container(container: Json) -> Json:
    defaults: dict[str, Json] = {
        "resources": {},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    }
    if text_field(container, "image"):
        defaults["imagePullPolicy"] = _pull_policy(container["image"])
    container = filled(container, defaults)
    container = changed(
        container, "ports", lambda some: each(some, lambda port: filled(port, {"protocol": "TCP"}))
    )
    container = changed(container, "env", lambda some: each(some, _variable))
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        container = changed(container, name, _probe)
    return changed(container, "lifecycle", _lifecycle)


def _pull_policy(image: str) -> str:
    try:
        tag = parse_image(image).tag
    except ValueError:
        tag = ""
    return "Always" if tag == "latest" else "IfNotPresent"


def _variable(variable: Json) -> Json:
    return changed(variable, "valueFrom", _field_source)


def _field_source(source: Json) -> Json:
    return changed(source, "fieldRef", lambda one: filled(one, {"apiVersion": "v1"}))


def _probe(probe: Json) -> Json:
    probe = changed(filled(probe, _PROBE), "httpGet", _http)
    return changed(probe, "grpc", lambda one: filled(one, {"service": ""}))


def _http(action: Json) -> Json:
    return filled(action, {"path": "/", "scheme": "HTTP"})


def _lifecycle(lifecycle: Json) -> Json:
    for name in ("postStart", "preStop"):
        lifecycle = changed(lifecycle, name, lambda one: changed(one, "httpGet", _http))
    return lifecycle


def _volume(volume: Json) -> Json:
    if set(volume) <= {"name"}:
        return {**volume, "emptyDir": {}}
    for source in _FILES:
        volume = changed(volume, source, lambda one: filled(one, {"defaultMode": _MODE}))
    volume = changed(volume, "hostPath", lambda one: filled(one, {"type": ""}))
    volume = changed(volume, "downwardAPI", _downward)
    return changed(
        volume,
        "projected",
        lambda one: changed(one, "sources", lambda some: each(some, _projection)),
    )


def _projection(source: Json) -> Json:
    token = {"expirationSeconds": _TOKEN_SECONDS}
    source = changed(source, "serviceAccountToken", lambda one: filled(one, token))
    return changed(source, "downwardAPI", _downward)


def _downward(source: Json) -> Json:
    return changed(source, "items", lambda some: each(some, _field_source))
