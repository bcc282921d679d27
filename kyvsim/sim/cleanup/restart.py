"""The cleanup controller started anew: what is stored is seen again, schedules included."""

from kyvsim.kube.objects import ObjectKey
from kyvsim.sim.kyverno.installed import Kyverno
from kyvsim.sim.kyverno.users import NAMESPACE
from kyvsim.sim.latency import RESTART

_ACTORS = frozenset({"cleanup", "ttl"})
"""What runs in the cleanup controller's process."""


def restart_cleanup_controller(kyverno: Kyverno) -> None:
    """Let the cleanup controller end, and be at work again some time later.

    A policy's last execution stands in its status, so a time that was missed is made up for.
    """
    parts = kyverno.parts
    deployment = ObjectKey("apps/v1", "Deployment", NAMESPACE, "kyverno-cleanup-controller")
    event = parts.timeline.record("user", "restart", deployment)
    parts.scheduler.stop(_ACTORS)

    def begin() -> None:
        parts.scheduler.resume(_ACTORS)
        with parts.timeline.following(event.number):
            parts.timeline.record("cleanup", "begin", deployment, message="lists all anew")
        for relist in kyverno.cleaning:
            relist()

    parts.scheduler.after(RESTART, "kubelet", begin)
