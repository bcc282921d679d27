"""The server of the page, on this machine only, until it is interrupted."""

import asyncio
import socket
from collections.abc import Callable
from contextlib import closing
from typing import Any, ClassVar, Final

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from kyvsim.playground.application import ConnectionLimits, application
from kyvsim.playground.evaluator import Evaluator

HOST: Final = "127.0.0.1"
_BUSY: Final = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class PortTakenError(Exception):
    """The port cannot be used; the message explains why."""


def serve(port: int, began: Callable[[str], None]) -> None:
    """Serve the page until an interrupt; raises PortTakenError, and KeyboardInterrupt at the end.

    If `port` is 0, the system chooses one. `began` is called with the address of the page.
    """
    with listening(port) as listener, closing(Evaluator()) as query:
        made = server(listener, query)
        began(f"http://{HOST}:{listener.getsockname()[1]}/")
        made.run(sockets=[listener])


def server(
    listener: socket.socket, query: Evaluator, limits: ConnectionLimits | None = None
) -> uvicorn.Server:
    """Return the server of the page for a listening socket."""
    limits = limits or ConnectionLimits()
    config = uvicorn.Config(
        application(listener.getsockname()[1], query, limits),
        access_log=False,
        log_config=None,
        # It would only log errors of clients: incomplete or invalid HTTP requests.
        log_level="critical",
        lifespan="off",
        ws="none",
        http=type("_LimitedProtocol", (_LimitedProtocol,), {"limits": limits}),
        loop="asyncio",
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    return uvicorn.Server(config)


def listening(port: int) -> socket.socket:
    """Return a socket that listens on a port of this machine; raises PortTakenError."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise PortTakenError(f"port {port} of {HOST} cannot be used: {error.strerror}") from None
    return listener


class _LimitedProtocol(H11Protocol):
    """uvicorn's protocol with limits that it lacks.

    Its own timeout starts after the first response, and ends with the first byte of a request.
    """

    limits: ClassVar[ConnectionLimits] = ConnectionLimits()
    _deadline: asyncio.TimerHandle | None = None
    _is_asked = False

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > self.limits.connections:
            transport.write(_BUSY)
            transport.close()
        else:
            self._watch(self.limits.header_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        self._watch(None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if not self.transport.is_closing():
            super().data_received(data)
            self._follow()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._follow()

    def _follow(self) -> None:
        """Start another deadline when a request has started or has been answered."""
        is_asked = self.cycle is not None and not self.cycle.response_complete
        if is_asked != self._is_asked:
            self._is_asked = is_asked
            limits = self.limits
            self._watch(limits.request_seconds if is_asked else limits.header_seconds)

    def _watch(self, seconds: float | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        has_one = seconds is not None
        self._deadline = self.loop.call_later(seconds or 0, self._end) if has_one else None

    def _end(self) -> None:
        if not self.transport.is_closing():
            self.transport.abort()
