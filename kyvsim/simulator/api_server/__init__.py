"""The API server: objects, and the way of a request to them."""

from kyvsim.simulator.api_server.request import (
    ApiError,
    ApiRequest,
    ApiResponse,
    Purpose,
    Review,
    Verdict,
)
from kyvsim.simulator.api_server.server import ApiServer, Client
from kyvsim.simulator.api_server.store import Change, Store

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
