"""`forceTerminationGracePeriod`: how long the Pods of a test may take to end.

Source of the kinds: chainsaw's documentation, "Termination grace period".
"""

from collections.abc import Mapping
from types import MappingProxyType

from kyvsim.kubernetes.objects import Json, object_key

_TEMPLATE = ("spec", "template", "spec")
_PLACES: Mapping[tuple[str, str], tuple[str, ...]] = MappingProxyType(
    {
        ("v1", "Pod"): ("spec",),
        ("apps/v1", "Deployment"): _TEMPLATE,
        ("apps/v1", "StatefulSet"): _TEMPLATE,
        ("apps/v1", "DaemonSet"): _TEMPLATE,
        ("batch/v1", "Job"): _TEMPLATE,
        ("batch/v1", "CronJob"): ("spec", "jobTemplate", *_TEMPLATE),
    }
)
"""Where the specification of Pods is, by apiVersion and kind."""


def with_grace_period(obj: Json, seconds: float | None) -> Json:
    """Return an object whose Pods get some seconds to end; None and 0 leave it as it is."""
    key = object_key(obj)
    path = _PLACES.get((key.api_version, key.kind))
    return obj if path is None or not seconds else _set(obj, path, int(seconds))


def _set(data: Json, path: tuple[str, ...], seconds: int) -> Json:
    if not path:
        return {**data, "terminationGracePeriodSeconds": seconds}
    inner = data.get(path[0])
    if inner.__class__ is not dict:
        return data
    return {**data, path[0]: _set(inner, path[1:], seconds)}
