"""A controller's process started anew: memory is lost, and what is stored is seen again."""

from collections.abc import Callable
from typing import NamedTuple

from kyvsim.kubernetes.objects import ObjectKey
from kyvsim.simulator.kyverno.configuration import NAMESPACE
from kyvsim.simulator.latency import RESTART
from kyvsim.simulator.parts import Parts


class Process(NamedTuple):
    """A controller's process."""

    deployment: str
    actors: frozenset[str]
    """What runs in it."""
    speaker: str
    """Who says on the timeline that it begins."""


def restart(parts: Parts, process: Process, relist: Callable[[], None]) -> None:
    """Let a process end, and `relist` what it looks at when it is at work again some time later."""
    deployment = ObjectKey("apps/v1", "Deployment", NAMESPACE, process.deployment)
    event = parts.timeline.record("user", "restart", deployment)
    parts.scheduler.stop(process.actors)

    def begin() -> None:
        parts.scheduler.resume(process.actors)
        with parts.timeline.following(event.number):
            parts.timeline.record(process.speaker, "begin", deployment, message="lists all anew")
        relist()

    parts.scheduler.after(RESTART, "kubelet", begin)
