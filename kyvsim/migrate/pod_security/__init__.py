"""Controls of the Pod Security Standards → tests.

The controls, and the values that they allow, are those of `kyvsim.languages.classic.pod_security`.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from kyvsim.languages.classic.pod_security.controls import ActiveCheck
from kyvsim.migrate.expressions import Plain, Test, some
from kyvsim.migrate.pod_security import host, privileges, profiles
from kyvsim.migrate.pod_security.pod import Pod

_Emit: TypeAlias = Callable[[Pod], Test]

CONTROLS: Final[Mapping[str, _Emit]] = MappingProxyType(
    {
        "allowPrivilegeEscalation": privileges.escalation,
        "appArmorProfile": profiles.app_armor,
        "capabilities_baseline": privileges.baseline,
        "capabilities_restricted": privileges.restricted,
        "hostNamespaces": host.namespaces,
        "hostPathVolumes": host.path_volumes,
        "hostPorts": host.ports,
        "hostProbesAndHostLifecycle": host.probes,
        "privileged": privileges.privileged,
        "procMount": privileges.proc_mount,
        "restrictedVolumes": host.restricted,
        "runAsNonRoot": privileges.non_root,
        "runAsUser": privileges.root_user,
        "seLinuxOptions": profiles.selinux,
        "seccompProfile_baseline": profiles.baseline,
        "seccompProfile_restricted": profiles.restricted,
        "sysctls": host.sysctls,
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
