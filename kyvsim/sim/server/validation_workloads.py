"""What an API server refuses in kinds whose controllers make Pods.

Source of the rules: k8s.io/kubernetes pkg/apis/apps/validation and pkg/apis/batch/validation.
"""

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from kyvsim.kube.labels import SelectorError, compile_selector
from kyvsim.kube.objects import Json, labels, text_field
from kyvsim.sim.server.validation_metadata import label_value_problems
from kyvsim.sim.server.validation_pods import pod_problems

_JOB_POLICIES = frozenset({"OnFailure", "Never"})
_EMPTY_SELECTORS: Mapping[str, str] = MappingProxyType(
    {
        "DaemonSet": "empty selector is invalid for daemonset",
        "Deployment": "empty selector is invalid for deployment",
        # The API server names Deployments here, too.
        "ReplicaSet": "empty selector is invalid for deployment",
        "StatefulSet": "empty selector is invalid for statefulset",
    }
)
"""By kind why a selector that is there must not be empty."""


def workload_problems(obj: Json) -> Iterator[str]:
    """Yield what is wrong with a workload: its template, its selector, how its Pods restart."""
    kind, path = text_field(obj, "kind"), "spec"
    spec: Json = obj.get("spec")
    if kind == "CronJob":
        spec = (((spec or {}).get("jobTemplate")) or {}).get("spec")
        path = "spec.jobTemplate.spec"
    template = spec.get("template") if spec.__class__ is dict else None
    if template.__class__ is not dict:
        yield f"{path}.template: Required value"
        return
    if kind == "ReplicationController":
        # Labels alone; where there are none, those of the template are taken.
        labelled = spec.get("selector")
        spec = {"selector": {"matchLabels": labelled or labels(template)}}
    if kind not in {"CronJob", "Job"}:
        yield from _selector_problems(kind, spec, template)
    yield from label_value_problems(template, f"{path}.template.labels")
    pod = template.get("spec")
    yield from pod_problems(pod, f"{path}.template.spec", mounts=kind != "StatefulSet")
    if kind in {"CronJob", "Job"} and text_field(pod, "restartPolicy") not in _JOB_POLICIES:
        place = f"{path}.template.spec.restartPolicy"
        yield f'{place}: Required value: valid values: "OnFailure", "Never"'


def _selector_problems(kind: str, spec: Json, template: Json) -> Iterator[str]:
    """Yield what is wrong with the selector of a workload, which has to select its template.

    Values are shown as JSON, as API servers have done since 1.34.
    """
    selector = spec.get("selector")
    if selector is None:
        yield "spec.selector: Required value"
        return
    if selector.__class__ is dict and not any(
        selector.get(field) for field in ("matchLabels", "matchExpressions")
    ):
        if kind in _EMPTY_SELECTORS:
            yield f"spec.selector: Invalid value: {{}}: {_EMPTY_SELECTORS[kind]}"
        else:
            yield "spec.selector: Required value"
        return
    held = labels(template)
    try:
        selects = compile_selector(selector)
    except SelectorError as error:
        yield f"spec.selector: Invalid value: {error}"
        return
    if not selects(held):
        shown = json.dumps(held, sort_keys=True, separators=(",", ":"))
        yield (
            f"spec.template.metadata.labels: Invalid value: {shown}: "
            "`selector` does not match template `labels`"
        )
