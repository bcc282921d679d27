"""Sixteen Pod-security policies in CEL, as data for benches.

They ask what the Pod Security Standards ask, as such policies are written: variables for all
containers, optional fields, loops over containers and lists in them.
"""

from typing import Any

_CONTAINERS = (
    "object.spec.containers + object.spec.?initContainers.orValue([]) + "
    "object.spec.?ephemeralContainers.orValue([])"
)
_POD = "object.spec.?securityContext"
_EACH = "variables.containers.all(one, {})"
_VOLUMES = "object.spec.?volumes.orValue([]).all(one, {})"
_ADDED = "one.?securityContext.?capabilities.?add.orValue([])"
_SYSCTLS = (
    "'kernel.shm_rmid_forced', 'net.ipv4.ip_local_port_range', 'net.ipv4.tcp_syncookies', "
    "'net.ipv4.ping_group_range', 'net.ipv4.ip_unprivileged_port_start'"
)
_BASELINE_CAPABILITIES = "'CHOWN', 'FOWNER', 'KILL', 'NET_BIND_SERVICE', 'SETGID', 'SETUID'"
_VOLUME_TYPES = (
    "'configMap', 'csi', 'downwardAPI', 'emptyDir', 'ephemeral', 'persistentVolumeClaim', "
    "'projected', 'secret', 'name'"
)
_PROFILES = "['RuntimeDefault', 'Localhost']"
_RULES = {
    "host-namespaces": (
        "!object.spec.?hostNetwork.orValue(false) && !object.spec.?hostPID.orValue(false) && "
        "!object.spec.?hostIPC.orValue(false)"
    ),
    "host-path": _VOLUMES.format("!has(one.hostPath)"),
    "host-ports": _EACH.format("one.?ports.orValue([]).all(p, p.?hostPort.orValue(0) == 0)"),
    "host-process": (
        f"!{_POD}.?windowsOptions.?hostProcess.orValue(false) && "
        + _EACH.format("!one.?securityContext.?windowsOptions.?hostProcess.orValue(false)")
    ),
    "privileged": _EACH.format("!one.?securityContext.?privileged.orValue(false)"),
    "capabilities": _EACH.format(f"{_ADDED}.all(c, c in [{_BASELINE_CAPABILITIES}])"),
    "capabilities-strict": _EACH.format(
        "'ALL' in one.?securityContext.?capabilities.?drop.orValue([]) && "
        f"{_ADDED}.all(c, c == 'NET_BIND_SERVICE')"
    ),
    "proc-mount": _EACH.format("one.?securityContext.?procMount.orValue('Default') == 'Default'"),
    "se-linux-type": _EACH.format(
        "one.?securityContext.?seLinuxOptions.?type.orValue('') in "
        "['', 'container_t', 'container_init_t', 'container_kvm_t']"
    ),
    "se-linux-user": (
        f"{_POD}.?seLinuxOptions.?user.orValue('') == '' && "
        + _EACH.format("one.?securityContext.?seLinuxOptions.?role.orValue('') == ''")
    ),
    "sysctls": f"{_POD}.?sysctls.orValue([]).all(one, one.name in [{_SYSCTLS}])",
    "seccomp": _EACH.format(
        f"one.?securityContext.?seccompProfile.?type.orValue('RuntimeDefault') in {_PROFILES}"
    ),
    "seccomp-strict": (
        f"{_POD}.?seccompProfile.?type.orValue('') in {_PROFILES} || "
        + _EACH.format(f"one.?securityContext.?seccompProfile.?type.orValue('') in {_PROFILES}")
    ),
    "escalation": _EACH.format("!one.?securityContext.?allowPrivilegeEscalation.orValue(true)"),
    "non-root": (
        f"{_POD}.?runAsNonRoot.orValue(false) || "
        + _EACH.format("one.?securityContext.?runAsNonRoot.orValue(false)")
    ),
    "volume-types": _VOLUMES.format(f"one.all(key, key in [{_VOLUME_TYPES}])"),
}


def policies() -> list[dict[str, Any]]:
    """Return the policies."""
    return [
        {
            "apiVersion": "policies.kyverno.io/v1",
            "kind": "ValidatingPolicy",
            "metadata": {"name": name},
            "spec": {
                "matchConstraints": {
                    "resourceRules": [
                        {
                            "apiGroups": [""],
                            "apiVersions": ["v1"],
                            "operations": ["CREATE", "UPDATE"],
                            "resources": ["pods"],
                        }
                    ]
                },
                "variables": [{"name": "containers", "expression": _CONTAINERS}],
                "validations": [{"expression": rule, "message": f"{name} is not allowed"}],
            },
        }
        for name, rule in _RULES.items()
    ]
