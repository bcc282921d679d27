"""Controls of the Pod Security Standards → tests, one file for each idea as in the language.

The controls, and the values that they allow, are those of `kyvsim.languages.classic.pod_security`.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from kyvsim.languages.classic.pod_security import ActiveCheck
from kyvsim.migrate.expressions import Plain, Test, some
from kyvsim.migrate.pod_security import (
    app_armor,
    capabilities,
    host,
    privileges,
    seccomp,
    selinux,
    sysctls,
    users,
    volumes,
)
from kyvsim.migrate.pod_security.pod import Pod

_Emit: TypeAlias = Callable[[Pod], Test]

CONTROLS: Final[Mapping[str, _Emit]] = MappingProxyType(
    {
        "allowPrivilegeEscalation": privileges.escalation,
        "appArmorProfile": app_armor.app_armor,
        "capabilities_baseline": capabilities.baseline,
        "capabilities_restricted": capabilities.restricted,
        "hostNamespaces": host.namespaces,
        "hostPathVolumes": host.path_volumes,
        "hostPorts": host.ports,
        "hostProbesAndHostLifecycle": host.probes,
        "privileged": privileges.privileged,
        "procMount": privileges.proc_mount,
        "restrictedVolumes": volumes.restricted,
        "runAsNonRoot": users.non_root,
        "runAsUser": users.root_user,
        "seLinuxOptions": selinux.selinux,
        "seccompProfile_baseline": seccomp.baseline,
        "seccompProfile_restricted": seccomp.restricted,
        "sysctls": sysctls.sysctls,
        "windowsHostProcess": privileges.windows_host_process,
    }
)
"""By the ids of the checks."""


def control_test(check: ActiveCheck, pod: Pod) -> Test:
    """Return the test that a Pod keeps a control; it is true where all of it is let pass.

    Raises NotConvertible for an exclusion that has no twin.
    """
    test = CONTROLS[check.id](pod)
    if not check.variant.spares_windows:
        return test
    return some([Plain(pod.is_windows()), test])
