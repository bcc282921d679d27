"""Volumes of the kinds that a restricted Pod may have."""

from collections.abc import Mapping

from kyvsim.kubernetes.objects import Json
from kyvsim.languages.classic.pod_security.pod import Finding, Pod, Violation, violation

ALLOWED = frozenset(
    (
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "image",
        "persistentVolumeClaim",
        "projected",
        "secret",
    )
)
OTHERS = (
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "gitRepo",
    "nfs",
    "iscsi",
    "glusterfs",
    "rbd",
    "flexVolume",
    "cinder",
    "cephfs",
    "flocker",
    "fc",
    "azureFile",
    "vsphereVolume",
    "quobyte",
    "azureDisk",
    "photonPersistentDisk",
    "portworxVolume",
    "scaleIO",
    "storageos",
)
"""In the order in which the first is told where a volume has several."""


def restricted(pod: Pod) -> Violation | None:
    """No volumes of other kinds, nor of no kind."""
    findings = [
        Finding(f"spec.volumes[{at}].{_kind(volume)}")
        for at, volume in enumerate(pod.spec.get("volumes", ()))
        if ALLOWED.isdisjoint(volume)
    ]
    return violation("restricted volume types", findings)


def _kind(volume: Mapping[str, Json]) -> str:
    return next((kind for kind in OTHERS if kind in volume), "unknown")
