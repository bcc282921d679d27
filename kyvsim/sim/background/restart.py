"""A controller started anew: what it had in memory is lost, what is stored is seen again."""

from kyvsim.kube.objects import ObjectKey
from kyvsim.sim.background.background_controller import take_up
from kyvsim.sim.background.update_requests import KIND
from kyvsim.sim.kyverno.installed import Kyverno
from kyvsim.sim.kyverno.users import NAMESPACE
from kyvsim.sim.latency import RESTART

_ACTORS = frozenset({"background-controller", "policy-controller"})
"""What runs in the background controller's process."""


def restart_background_controller(kyverno: Kyverno) -> None:
    """Let the background controller end, and be at work again some time later.

    Policies that are deleted meanwhile are never noticed, as their informer's events are lost.
    """
    parts = kyverno.parts
    deployment = ObjectKey("apps/v1", "Deployment", NAMESPACE, "kyverno-background-controller")
    event = parts.timeline.record("user", "restart", deployment)
    parts.scheduler.stop(_ACTORS)

    def begin() -> None:
        parts.scheduler.resume(_ACTORS)
        with parts.timeline.following(event.number):
            parts.timeline.record("background", "begin", deployment, message="lists all anew")
        kyverno.downstreams.restart()
        kyverno.lister.relist()
        kyverno.generating.relist()
        kyverno.mutating.relist()
        for one in parts.store.list(*KIND, NAMESPACE):
            take_up(one, kyverno)

    parts.scheduler.after(RESTART, "kubelet", begin)
