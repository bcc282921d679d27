"""The cleanup controller started anew: schedules are made again of what is stored."""

from typing import Final

from kyvsim.sim.kyverno.installed import Kyverno
from kyvsim.sim.kyverno.restart import Process, restart

_PROCESS: Final = Process("kyverno-cleanup-controller", frozenset({"cleanup", "ttl"}), "cleanup")


def restart_cleanup_controller(kyverno: Kyverno) -> None:
    """Let the cleanup controller end, and be at work again some time later.

    A policy's last execution stands in its status, so a time that was missed is made up for.
    """

    def relist() -> None:
        for each in kyverno.cleaning:
            each()

    restart(kyverno.parts, _PROCESS, relist)
