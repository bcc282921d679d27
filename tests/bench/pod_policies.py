"""Twenty Pod policies and any number of Pods, as data for benches.

Thirteen patterns, two anyPattern, three deny rules with JMESPath, two loops: the mix that a
Pod-security policy set has.
"""

from collections.abc import Iterator
from typing import Any

import yaml

_ALLOWED_VOLUMES = ("configMap", "csi", "downwardAPI", "emptyDir", "projected", "secret")
_CAPABILITIES = ("CHOWN", "FOWNER", "KILL", "NET_BIND_SERVICE", "SETGID", "SETUID")
_EVERY_CONTAINER = "request.object.spec.[ephemeralContainers, initContainers, containers][]"


class _Written(yaml.SafeDumper):
    """Writes YAML as people do: what is there twice is written twice."""

    def ignore_aliases(self, data: Any) -> bool:
        del data
        return True


def policies_text() -> str:
    """Return the policies as a file of them."""
    return yaml.dump_all(policies(), Dumper=_Written, sort_keys=False, width=1_000)


def policies() -> list[dict[str, Any]]:
    """Return the policies."""
    patterns = {
        "no-host-pid": {"spec": {"=(hostPID)": "false"}},
        "no-host-ipc": {"spec": {"=(hostIPC)": "false"}},
        "no-host-network": {"spec": {"=(hostNetwork)": "false"}},
        "no-host-path": {"spec": {"=(volumes)": [{"X(hostPath)": "null"}]}},
        "no-privileged": _each({"=(securityContext)": {"=(privileged)": "false"}}),
        "no-escalation": _each({"securityContext": {"allowPrivilegeEscalation": "false"}}),
        "no-host-ports": _each({"=(ports)": [{"=(hostPort)": "0"}]}),
        "proc-mount": _each({"=(securityContext)": {"=(procMount)": "Default"}}),
        "se-linux": _each(
            {"=(securityContext)": {"=(seLinuxOptions)": {"=(type)": "container_t | spc_t"}}}
        ),
        "app-armor": {
            "=(metadata)": {
                "=(annotations)": {
                    "=(container.apparmor.security.beta.kubernetes.io/*)": (
                        "runtime/default | localhost/*"
                    )
                }
            }
        },
        "sysctls": {
            "spec": {
                "=(securityContext)": {
                    "=(sysctls)": [{"=(name)": "kernel.shm_rmid_forced | net.ipv4.*"}]
                }
            }
        },
        "windows": _each(
            {"=(securityContext)": {"=(windowsOptions)": {"=(hostProcess)": "false"}}}
        ),
        "memory-limit": _each({"resources": {"limits": {"memory": "<=2Gi"}}}),
    }
    found = [_policy(name, {"pattern": pattern}) for name, pattern in patterns.items()]
    found.append(_policy("non-root", {"anyPattern": _at_pod_or_each("runAsNonRoot", "true")}))
    profile = {"type": "RuntimeDefault | Localhost"}
    found.append(_policy("seccomp", {"anyPattern": _at_pod_or_each("seccompProfile", profile)}))
    found.append(_deny("added-capabilities", ".securityContext.capabilities.add[]", _CAPABILITIES))
    found.append(_deny("image-sources", ".image", ("docker.io/*", "registry.example.com/*")))
    found.append(_deny("pull-policies", ".imagePullPolicy", ("Always", "IfNotPresent")))
    found.append(_loop("volume-types", "request.object.spec.volumes[]", _volume_type()))
    found.append(_loop("drop-all", _EVERY_CONTAINER, _drops_all()))
    return found


def _each(container: dict[str, Any]) -> dict[str, Any]:
    return {
        "spec": {
            "=(ephemeralContainers)": [container],
            "=(initContainers)": [container],
            "containers": [container],
        }
    }


def _at_pod_or_each(field: str, value: Any) -> list[dict[str, Any]]:
    optional = {"=(securityContext)": {f"=({field})": value}}
    required = {"securityContext": {field: value}}
    return [
        {"spec": {"securityContext": {field: value}, "containers": [optional]}},
        {"spec": {"containers": [required]}},
    ]


def _deny(name: str, path: str, allowed: tuple[str, ...]) -> dict[str, Any]:
    key = f"{{{{ {_EVERY_CONTAINER}{path} }}}}"
    condition = {"key": key, "operator": "AnyNotIn", "value": list(allowed)}
    return _policy(name, {"deny": {"conditions": {"all": [condition]}}})


def _loop(name: str, items: str, condition: dict[str, Any]) -> dict[str, Any]:
    return _policy(
        name, {"foreach": [{"list": items, "deny": {"conditions": {"all": [condition]}}}]}
    )


def _volume_type() -> dict[str, Any]:
    return {
        "key": "{{ element.keys(@)[?@ != 'name'] }}",
        "operator": "AnyNotIn",
        "value": list(_ALLOWED_VOLUMES),
    }


def _drops_all() -> dict[str, Any]:
    key = "{{ element.securityContext.capabilities.drop[] || `[]` }}"
    return {"key": "ALL", "operator": "AnyNotIn", "value": key}


def _policy(name: str, validate: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": name},
        "spec": {
            "rules": [
                {
                    "name": name,
                    "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
                    "preconditions": {
                        "all": [
                            {
                                "key": "{{ request.operation || 'BACKGROUND' }}",
                                "operator": "NotEquals",
                                "value": "DELETE",
                            }
                        ]
                    },
                    "validate": {"message": f"Pods have to keep to {name}.", **validate},
                }
            ]
        },
    }


def pods(count: int) -> Iterator[dict[str, Any]]:
    """Yield Pods that differ in containers, security contexts, volumes and annotations."""
    for number in range(count):
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"pod-{number}",
                "namespace": f"team-{number % 7}",
                "labels": {"app": f"app-{number % 40}", "tier": "web" if number % 3 else "data"},
                **({"annotations": {"note": f"n{number}"}} if number % 5 == 0 else {}),
            },
            "spec": {
                "containers": [_container(number, index) for index in range(1 + number % 3)],
                "volumes": [
                    {"name": "cache", "emptyDir": {"sizeLimit": f"{1 + number % 9}Gi"}},
                    *([{"name": "host", "hostPath": {"path": "/var"}}] if number % 11 == 0 else []),
                ],
                "hostNetwork": number % 13 == 0,
                **({"securityContext": {"runAsNonRoot": True}} if number % 2 else {}),
            },
        }


def _container(number: int, index: int) -> dict[str, Any]:
    registry = ("docker.io/library", "registry.example.com/apps", "quay.io/other")[number % 3]
    return {
        "name": f"c{index}",
        "image": f"{registry}/app-{number % 25}:1.{number % 10}",
        "imagePullPolicy": "IfNotPresent",
        "ports": [{"containerPort": 8000 + index}],
        "resources": {"limits": {"memory": f"{64 * (1 + number % 50)}Mi", "cpu": "500m"}},
        "securityContext": {
            "allowPrivilegeEscalation": number % 4 == 0,
            "capabilities": {"drop": ["ALL"] if number % 5 else ["MKNOD"]},
        },
    }
