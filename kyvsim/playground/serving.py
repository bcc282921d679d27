"""The server of the page: on this machine only, until somebody ends it."""

import socket
from collections.abc import Callable

import uvicorn

from kyvsim.light.typed import Final
from kyvsim.playground.application import application
from kyvsim.playground.evaluator import evaluator

HOST: Final = "127.0.0.1"


class PortTakenError(Exception):
    """Somebody else listens at the port, or nobody may; the text says so."""


def serve(port: int, began: Callable[[str], None]) -> None:
    """Serve the page until an interrupt; raises PortTakenError, and KeyboardInterrupt at the end.

    Where `port` is 0 the system chooses one. `began` is given the address of the page.
    """
    with _listening(port) as listener, evaluator() as asked:
        own = listener.getsockname()[1]
        config = uvicorn.Config(
            application(own, asked),
            access_log=False,
            log_config=None,
            lifespan="off",
            ws="none",
            http="h11",
            loop="asyncio",
            server_header=False,
            timeout_graceful_shutdown=1,
        )
        began(f"http://{HOST}:{own}/")
        uvicorn.Server(config).run(sockets=[listener])


def _listening(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen()
    except OSError as error:
        listener.close()
        text = f"port {port} of {HOST} cannot be used: {error.strerror}"
        raise PortTakenError(text) from None
    return listener
