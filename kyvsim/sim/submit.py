"""A request in two steps, between which others may be faster: admission, then storage."""

from collections.abc import Callable

from kyvsim.sim.latency import WEBHOOK
from kyvsim.sim.parts import Parts
from kyvsim.sim.server import ApiRequest, ApiResponse
from kyvsim.sim.server.server import Admitted


def submit(
    parts: Parts, actor: str, request: ApiRequest, answered: Callable[[ApiResponse], None]
) -> None:
    """Let `actor` make a request from now on; `answered` is told the response when it comes."""

    def admit() -> None:
        admitted = parts.server.admit(request)
        if isinstance(admitted, Admitted):
            parts.scheduler.after(WEBHOOK, actor, lambda: answered(parts.server.persist(admitted)))
        else:
            answered(admitted)

    parts.scheduler.after(WEBHOOK, actor, admit)
