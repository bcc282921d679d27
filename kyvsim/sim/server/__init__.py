"""The API server: objects, and the way of a request to them."""

from kyvsim.sim.server.client import Client
from kyvsim.sim.server.request import (
    ApiError,
    ApiRequest,
    ApiResponse,
    Purpose,
    Review,
    Verdict,
)
from kyvsim.sim.server.server import ApiServer
from kyvsim.sim.server.store import Change, Store

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
