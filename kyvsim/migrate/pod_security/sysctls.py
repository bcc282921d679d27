"""Kernel parameters: only those that a Pod has for itself."""

from kyvsim.migrate.expressions import Relation, Test
from kyvsim.migrate.pod_security.pod import Pod, each, read


def sysctls(pod: Pod) -> Test:
    """No parameters but the safe ones."""
    listed = pod.setting("sysctls")
    safe = Relation("sysctl.name", "in", pod.words("safeSysctls", pod.variant.allowed))
    field = "spec.securityContext.sysctls[*].name"
    return each(listed.or_else([]), "sysctl", pod.unless_excused(safe, field, read("sysctl.name")))
