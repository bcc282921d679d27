"""Where the built-in kinds that run Pods keep the Pod's specification."""

from collections.abc import Mapping
from types import MappingProxyType

IN_TEMPLATE = ("spec", "template", "spec")

POD_SPEC_PATHS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Pod": ("spec",),
        "CronJob": ("spec", "jobTemplate", *IN_TEMPLATE),
        **dict.fromkeys(
            (
                "DaemonSet",
                "Deployment",
                "Job",
                "ReplicaSet",
                "ReplicationController",
                "StatefulSet",
            ),
            IN_TEMPLATE,
        ),
    }
)
"""By kind, the fields that lead to the specification."""
