"""Pods as a cluster gives them: what `kubectl get pods -o yaml` prints of 25 replicas of each app.

Probes, tolerations, the volume of the service account, owners, and a status: some 190 lines each.
"""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

REPLICAS = 25


def dumped_pods(count: int) -> Iterator[dict[str, Any]]:
    """Yield Pods that differ as those of a cluster do: in little within an app, in more between."""
    chance = random.Random(0)
    for number in range(count):
        pod = _pod(number, f"app-{number // REPLICAS}", number // REPLICAS, chance)
        yield json.loads(json.dumps(pod))  # nothing is there twice: YAML has no anchors


def write_documents(file: Path, count: int) -> Path:
    """Write Pods as documents of YAML; return the file."""
    with file.open("w") as out:
        for pod in dumped_pods(count):
            out.write("---\n")
            yaml.dump(pod, out, Dumper=yaml.CSafeDumper)
    return file


def write_list(file: Path, count: int) -> Path:
    """Write Pods as one List, in YAML or JSON as the name of the file says; return the file."""
    whole = {"apiVersion": "v1", "items": [*dumped_pods(count)], "kind": "List"}
    whole["metadata"] = {"resourceVersion": ""}
    with file.open("w") as out:
        if file.suffix == ".json":
            json.dump(whole, out, indent=4)
        else:
            yaml.dump(whole, out, Dumper=yaml.CSafeDumper)
    return file


def _pod(number: int, app: str, kind: int, chance: random.Random) -> dict[str, Any]:
    template = f"{chance.getrandbits(36):09x}"
    name = f"{app}-{kind:09x}-{chance.getrandbits(24):05x}"
    namespace = f"team-{kind % 23}"
    token = f"kube-api-access-{chance.getrandbits(24):05x}"
    node = f"node-{number % 60}.example.com"
    started = f"2026-0{1 + number % 9}-1{number % 10}T0{number % 10}:{number % 50 + 10}:00Z"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "annotations": {"checksum/config": f"{kind:064x}"},
            "creationTimestamp": started,
            "generateName": f"{app}-{kind:09x}-",
            "labels": {
                "app.kubernetes.io/instance": app,
                "app.kubernetes.io/name": app,
                "app.kubernetes.io/version": f"1.{kind % 9}.0",
                "pod-template-hash": f"{kind:09x}",
            },
            "name": name,
            "namespace": namespace,
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "blockOwnerDeletion": True,
                    "controller": True,
                    "kind": "ReplicaSet",
                    "name": f"{app}-{kind:09x}",
                    "uid": _uid(kind),
                }
            ],
            "resourceVersion": str(1_000_000 + 37 * number),
            "uid": _uid(chance.getrandbits(60)),
        },
        "spec": {
            "containers": [_container(app, kind, index, token) for index in range(1 + kind % 2)],
            "dnsPolicy": "ClusterFirst",
            "enableServiceLinks": True,
            "nodeName": node,
            "preemptionPolicy": "PreemptLowerPriority",
            "priority": 0,
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
            "securityContext": {
                "fsGroup": 1000 + kind % 7,
                "runAsNonRoot": kind % 3 != 0,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "serviceAccount": app,
            "serviceAccountName": app,
            "terminationGracePeriodSeconds": 30,
            "tolerations": [
                {
                    "effect": "NoExecute",
                    "key": f"node.kubernetes.io/{state}",
                    "operator": "Exists",
                    "tolerationSeconds": 300,
                }
                for state in ("not-ready", "unreachable")
            ],
            "volumes": _volumes(app, kind, token),
        },
        "status": _status(app, kind, number, started, template),
    }


def _uid(number: int) -> str:
    text = f"{number:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def _container(app: str, kind: int, index: int, token: str) -> dict[str, Any]:
    registry = ("docker.io/library", "registry.example.com/apps", "quay.io/other")[kind % 3]
    trace = {
        "failureThreshold": 3,
        "httpGet": {"path": "/healthz", "port": "http", "scheme": "HTTP"},
        "initialDelaySeconds": 5 + kind % 4,
        "periodSeconds": 10,
        "successThreshold": 1,
        "timeoutSeconds": 1,
    }
    return {
        "args": ["--config=/etc/app/config.yaml", f"--log-level={('info', 'debug')[kind % 2]}"],
        "env": [
            {"name": "APP", "value": app},
            {"name": "POD_NAME", "valueFrom": {"fieldRef": _field("metadata.name")}},
            {"name": "POD_NAMESPACE", "valueFrom": {"fieldRef": _field("metadata.namespace")}},
        ],
        "image": f"{registry}/{app}:1.{kind % 9}.0",
        "imagePullPolicy": "IfNotPresent",
        "livenessProbe": trace,
        "name": f"{app}-{index}",
        "ports": [{"containerPort": 8080 + index, "name": "http", "protocol": "TCP"}],
        "readinessProbe": trace | {"initialDelaySeconds": 2},
        "resources": {
            "limits": {"cpu": "500m", "memory": f"{64 * (1 + kind % 50)}Mi"},
            "requests": {"cpu": "100m", "memory": "64Mi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": kind % 4 == 0,
            "capabilities": {"drop": ["ALL"] if kind % 5 else ["MKNOD"]},
            "readOnlyRootFilesystem": True,
        },
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "volumeMounts": [
            {"mountPath": "/etc/app", "name": "config", "readOnly": True},
            {"mountPath": "/tmp", "name": "cache"},
            {
                "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
                "name": token,
                "readOnly": True,
            },
        ],
    }


def _field(path: str) -> dict[str, str]:
    return {"apiVersion": "v1", "fieldPath": path}


def _volumes(app: str, kind: int, token: str) -> list[dict[str, Any]]:
    field = {"items": [{"fieldRef": _field("metadata.namespace"), "path": "namespace"}]}
    sources = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {
            "configMap": {
                "items": [{"key": "ca.crt", "path": "ca.crt"}],
                "name": "kube-root-ca.crt",
            }
        },
        {"downwardAPI": field},
    ]
    return [
        {"configMap": {"defaultMode": 420, "name": f"{app}-config"}, "name": "config"},
        {"emptyDir": {"sizeLimit": f"{1 + kind % 9}Gi"}, "name": "cache"},
        *([{"hostPath": {"path": "/var", "type": ""}, "name": "host"}] if kind % 11 == 0 else []),
        {"name": token, "projected": {"defaultMode": 420, "sources": sources}},
    ]


def _status(app: str, kind: int, number: int, started: str, template: str) -> dict[str, Any]:
    address = f"10.{number // 60_000 % 250}.{number // 250 % 240}.{number % 250}"
    return {
        "conditions": [
            {
                "lastProbeTime": None,
                "lastTransitionTime": started,
                "status": "True",
                "type": condition,
            }
            for condition in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
        ],
        "containerStatuses": [
            {
                "containerID": f"containerd://{template}{number:055x}",
                "image": f"{app}:1.{kind % 9}.0",
                "imageID": f"{app}@sha256:{kind:064x}",
                "lastState": {},
                "name": f"{app}-{index}",
                "ready": True,
                "restartCount": number % 3,
                "started": True,
                "state": {"running": {"startedAt": started}},
            }
            for index in range(1 + kind % 2)
        ],
        "hostIP": f"10.250.0.{number % 60}",
        "phase": "Running",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "qosClass": "Burstable",
        "startTime": started,
    }
