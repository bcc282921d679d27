"""The API server: stored objects and the processing of requests."""

from kyvsim.simulator.api_server.request import (
    ApiError,
    ApiRequest,
    ApiResponse,
    Purpose,
    Review,
    WebhookResponse,
)
from kyvsim.simulator.api_server.server import ApiServer, Client
from kyvsim.simulator.api_server.store import ObjectStore, StoreChange

__all__ = [
    "ApiError",
    "ApiRequest",
    "ApiResponse",
    "ApiServer",
    "Client",
    "ObjectStore",
    "Purpose",
    "Review",
    "StoreChange",
    "WebhookResponse",
]
