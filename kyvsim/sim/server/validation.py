"""What an API server refuses: names, labels, Pods that cannot be, fields that stay as they are.

A refusal comes after mutating webhooks and before validating ones. Source of the rules:
k8s.io/apimachinery pkg/api/validation, k8s.io/kubernetes pkg/apis/*/validation.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from kyvsim.kube.objects import Json, object_key
from kyvsim.kube.required_fields import required_problems
from kyvsim.model.request import Operation
from kyvsim.sim.server import errors
from kyvsim.sim.server.request import ApiError, Review
from kyvsim.sim.server.validation_definitions import definition_problems
from kyvsim.sim.server.validation_metadata import metadata_problems
from kyvsim.sim.server.validation_pods import pod_problems
from kyvsim.sim.server.validation_updates import update_problems
from kyvsim.sim.server.validation_workloads import workload_problems

_CHECKS: Mapping[tuple[str, str], Callable[[Json], Iterator[str]]] = MappingProxyType(
    {
        ("v1", "Pod"): lambda obj: pod_problems(obj.get("spec"), "spec"),
        ("v1", "ReplicationController"): workload_problems,
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition"): definition_problems,
        ("apps/v1", "DaemonSet"): workload_problems,
        ("apps/v1", "Deployment"): workload_problems,
        ("apps/v1", "ReplicaSet"): workload_problems,
        ("apps/v1", "StatefulSet"): workload_problems,
        ("batch/v1", "CronJob"): workload_problems,
        ("batch/v1", "Job"): workload_problems,
    }
)


def refuse_invalid(review: Review) -> ApiError | None:
    """Return why an object cannot be stored as it is, or None."""
    request, obj = review.request, review.object
    if obj is None or request.subresource or request.operation is Operation.CONNECT:
        return None
    found = list(dict.fromkeys(problems_of(obj, review.old)))
    return errors.invalid(object_key(obj), *found) if found else None


def problems_of(obj: Json, old: Json = None) -> Iterator[str]:
    """Yield what is wrong with an object; `old` is None for a new one."""
    yield from metadata_problems(obj, new=old is None)
    check = _CHECKS.get(object_key(obj)[:2])
    if check:
        yield from check(obj)
    yield from required_problems(obj)
    if old is not None:
        yield from update_problems(obj, old)
