"""The API server: objects, and the way of a request to them."""

from kyvsim.simulator.server.client import Client
from kyvsim.simulator.server.request import (
    ApiError,
    ApiRequest,
    ApiResponse,
    Purpose,
    Review,
    Verdict,
)
from kyvsim.simulator.server.server import ApiServer
from kyvsim.simulator.server.store import Change, Store

__all__ = [
    "ApiError",
    "ApiRequest",
    "ApiResponse",
    "ApiServer",
    "Change",
    "Client",
    "Purpose",
    "Review",
    "Store",
    "Verdict",
]
