"""Defaults of the kinds whose controllers make Pods.

Source of the rules: k8s.io/kubernetes pkg/apis/apps/v1/defaults.go and
pkg/apis/batch/v1/defaults.go.
"""

from collections.abc import Mapping
from types import MappingProxyType

from kyvsim.kube.objects import Json
from kyvsim.sim.server.defaults_pods import pod_template
from kyvsim.sim.server.filling import changed, each, filled

_HISTORY = 10
_QUARTER = "25%"
_CLAIM_KIND = MappingProxyType({"apiVersion": "v1", "kind": "PersistentVolumeClaim"})


def deployment(obj: Json) -> Json:
    """Return a Deployment with its defaults."""
    rolling = {"maxUnavailable": _QUARTER, "maxSurge": _QUARTER}
    defaults = {
        "replicas": 1,
        "strategy": {"type": "RollingUpdate"},
        "revisionHistoryLimit": _HISTORY,
        "progressDeadlineSeconds": 600,
    }
    return _workload(obj, defaults, "strategy", rolling)


def stateful_set(obj: Json) -> Json:
    """Return a StatefulSet with its defaults."""
    defaults = {
        "replicas": 1,
        "podManagementPolicy": "OrderedReady",
        "updateStrategy": {"type": "RollingUpdate"},
        "revisionHistoryLimit": _HISTORY,
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
    }
    obj = _workload(obj, defaults, "updateStrategy", {"partition": 0})
    return changed(obj, "spec", lambda spec: changed(spec, "volumeClaimTemplates", _claims))


def daemon_set(obj: Json) -> Json:
    """Return a DaemonSet with its defaults."""
    rolling = {"maxUnavailable": 1, "maxSurge": 0}
    defaults = {"updateStrategy": {"type": "RollingUpdate"}, "revisionHistoryLimit": _HISTORY}
    return _workload(obj, defaults, "updateStrategy", rolling)


def replica_set(obj: Json) -> Json:
    """Return a ReplicaSet with its defaults."""
    return changed(obj, "spec", lambda spec: _templated(filled(spec, {"replicas": 1})))


def job(obj: Json) -> Json:
    """Return a Job with its defaults."""
    return changed(obj, "spec", _job_spec)


def cron_job(obj: Json) -> Json:
    """Return a CronJob with its defaults; its Jobs get theirs when they are made."""
    defaults = {
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
    }
    return changed(
        obj, "spec", lambda spec: changed(filled(spec, defaults), "jobTemplate", _job_template)
    )


def _workload(obj: Json, defaults: Mapping[str, Json], strategy: str, rolling: Json) -> Json:
    def complete(spec: Json) -> Json:
        spec = changed(filled(spec, defaults), strategy, lambda one: _strategy(one, rolling))
        return _templated(spec)

    return changed(obj, "spec", complete)


def _strategy(strategy: Json, rolling: Mapping[str, Json]) -> Json:
    strategy = filled(strategy, {"type": "RollingUpdate"})
    if strategy.__class__ is not dict or strategy["type"] != "RollingUpdate":
        return strategy
    return {**strategy, "rollingUpdate": filled(strategy.get("rollingUpdate") or {}, rolling)}


def _templated(spec: Json) -> Json:
    return changed(spec, "template", pod_template)


def _claims(claims: Json) -> Json:
    return each(claims, lambda one: changed(filled(one, _CLAIM_KIND), "spec", _claim_spec))


def _claim_spec(spec: Json) -> Json:
    return filled(spec, {"volumeMode": "Filesystem"})


def _job_template(template: Json) -> Json:
    return changed(template, "spec", _templated)


def _job_spec(spec: Json) -> Json:
    if spec.__class__ is dict and spec.get("parallelism") is None:
        # Without both, one Pod; with parallelism alone, a queue of work that has no number.
        spec = filled({**spec, "parallelism": 1}, {"completions": 1})
    policy = spec.get("podFailurePolicy") if spec.__class__ is dict else None
    defaults = {
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "suspend": False,
        "podReplacementPolicy": "Failed" if policy else "TerminatingOrFailed",
        "manualSelector": False,
    }
    return _templated(filled(spec, defaults))
