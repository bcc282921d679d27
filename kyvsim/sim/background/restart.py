"""The background controller started anew: policies and UpdateRequests are seen again."""

from typing import Final

from kyvsim.sim.background.background_controller import take_up
from kyvsim.sim.background.update_requests import KIND
from kyvsim.sim.kyverno.installed import Kyverno
from kyvsim.sim.kyverno.restart import Process, restart
from kyvsim.sim.kyverno.users import NAMESPACE

_PROCESS: Final = Process(
    "kyverno-background-controller",
    frozenset({"background-controller", "policy-controller"}),
    "background",
)


def restart_background_controller(kyverno: Kyverno) -> None:
    """Let the background controller end, and be at work again some time later.

    Policies that are deleted meanwhile are never noticed, as their informer's events are lost.
    """

    def relist() -> None:
        kyverno.downstreams.restart()
        kyverno.lister.relist()
        kyverno.generating.relist()
        kyverno.mutating.relist()
        for one in kyverno.parts.store.list(*KIND, NAMESPACE):
            take_up(one, kyverno)

    restart(kyverno.parts, _PROCESS, relist)
