"""The web application: the page, and the evaluation of its input.

It listens on this machine only, and accepts only requests from its own page: other host names (as
in DNS rebinding) and pages of other origins are rejected. Nothing is kept between two requests.
"""

import json
from collections.abc import Awaitable, Callable, Collection, Iterator
from importlib.resources import files
from typing import Any, Final, NamedTuple, TypeAlias

import anyio
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kyvsim.api.inline_inputs import Typed
from kyvsim.model.diagnostic import likely, listed
from kyvsim.model.request import Operation
from kyvsim.playground.evaluator import (
    VIEWS,
    CompletionQuery,
    Evaluator,
    NoAnswerError,
    PageQuery,
)
from kyvsim.report.page import page

MOST: Final = 1 << 20  # maximum bytes of a request


class ConnectionLimits(NamedTuple):
    """Limits for clients."""

    connections: int = 64
    header_seconds: float = 10.0
    """How long a connection may be open without a complete request header."""
    body_seconds: float = 10.0
    """Time limit for receiving the request body."""
    waiting_seconds: float = 30.0
    """How long a request waits for others to complete."""
    request_seconds: float = 90.0
    """How long a request may take in total, until the response has been read."""


_EDITORS: Final = (
    ("policies", "Kyverno policies and Kubernetes admission policies"),
    ("resources", "resources to evaluate and to look up"),
    ("values", "values of variables, responses to API calls"),
    ("exceptions", "policy exceptions"),
)
_EXAMPLES: Final[tuple[tuple[str, str, dict[str, str]], ...]] = (
    ("failing-pod", "a Pod that fails", {}),
    ("mutation", "a policy that changes objects", {}),
    ("generation", "a policy that generates objects", {}),
    ("cel", "a policy in CEL, with an exception", {}),
    ("deletion", "who may delete", {"operation": "DELETE", "user": "jane", "groups": "shop"}),
    ("lookup", "values of a ConfigMap and an API call", {}),
    ("admission", "a Kubernetes admission policy with parameters", {}),
    ("mistakes", "mistakes that Kyverno accepts", {}),
)
"""Folders, titles, and inputs besides texts."""
_HEADERS: Final = (
    ("Cache-Control", "no-store"),
    ("Content-Security-Policy", "frame-ancestors 'none'"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Referrer-Policy", "no-referrer"),
    ("X-Content-Type-Options", "nosniff"),
)


class RefusedError(Exception):
    """A rejected request: its status, and why."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def _for_own_pages(served: ASGIApp, hosts: frozenset[str]) -> ASGIApp:
    """Return an application that accepts only requests from pages of `hosts`."""
    origins = {f"http://{one}" for one in hosts}

    async def answered(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = Request(scope).headers
        host, origin = headers.get("host", ""), headers.get("origin")
        answering = served
        if host.lower() not in hosts:
            answering = _refused(403, f"not served for the host {host or 'without a name'}")
        elif origin is not None and origin.lower() not in origins:
            answering = _refused(403, f"not served for pages of {origin}")

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [(name.lower().encode(), value.encode()) for name, value in _HEADERS]
                message["headers"] = [*message.get("headers", ()), *own]
            await send(message)

        await answering(scope, receive, sending)

    return answered


def _refused(status: int, text: str) -> Response:
    return _json({"error": text}, status)


def _json(content: object, status: int = 200) -> Response:
    """Return a response in ASCII: input may have characters that UTF-8 cannot encode."""
    return Response(json.dumps(content), status, media_type="application/json")


def application(port: int, evaluator: Evaluator, limits: ConnectionLimits) -> ASGIApp:
    """Return the application that serves requests at a port of this machine."""
    shown_page = "".join(_page())
    answering = _answering(evaluator, limits)

    async def show(_: Request) -> Response:
        return HTMLResponse(shown_page)

    async def no_icon(_: Request) -> Response:
        return Response(status_code=204)

    async def unknown(request: Request, _: Exception) -> Response:
        return _refused(404, f"not found: {request.url.path} (the page is at /)")

    async def other_method(request: Request, _: Exception) -> Response:
        return _refused(405, f"{request.method} is not supported at {request.url.path}")

    hosts = frozenset(f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]"))
    served = Starlette(
        routes=[
            Route("/", show, methods=["GET"]),
            Route("/favicon.ico", no_icon, methods=["GET"]),  # browsers look for one
            Route("/evaluate", answering(query_in), methods=["POST"]),
            Route("/complete", answering(completion_in), methods=["POST"]),
        ],
        exception_handlers={404: unknown, 405: other_method},
    )
    return _for_own_pages(served, hosts)


def _page() -> Iterator[str]:
    editor = (files("kyvsim.playground") / "assets/editor.js").read_text("utf-8")
    return page(
        "playground.html",
        style=("timeline.css", "playground.css"),
        script=(editor, "playground.js"),
        connects=True,
        editors=_EDITORS,
        operations=tuple(Operation),
        examples=[
            {"title": title, "texts": {**_texts_of(name), **inputs}}
            for name, title, inputs in _EXAMPLES
        ],
    )


_Query: TypeAlias = PageQuery | CompletionQuery
_Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]


def _answering(
    evaluator: Evaluator, limits: ConnectionLimits
) -> Callable[[Callable[[bytes], _Query]], _Endpoint]:
    """Return a function that makes an endpoint, whose queries are read from bodies.

    All endpoints have one evaluator, which answers one query at a time.
    """
    one_at_a_time = anyio.Lock()

    def answering(read: Callable[[bytes], _Query]) -> _Endpoint:
        async def answered(request: Request) -> Response:
            try:
                query = read(await _body(request, limits.body_seconds))
                with anyio.move_on_after(limits.waiting_seconds) as waiting:
                    await one_at_a_time.acquire()
                if waiting.cancelled_caught:
                    return _refused(503, "too many requests: try again")
                try:
                    if await request.is_disconnected():  # the user has continued typing
                        return Response(status_code=204)
                    found = await anyio.to_thread.run_sync(evaluator.evaluate, query)
                finally:
                    one_at_a_time.release()
            except RefusedError as error:
                return _refused(error.status, str(error))
            except NoAnswerError as error:
                return _refused(422, str(error))
            except ClientDisconnect:
                return Response(status_code=204)
            return _json(found)

        return answered

    return answering


def _texts_of(example: str) -> dict[str, str]:
    folder = files("kyvsim.playground") / "examples" / example
    return {one.name.removesuffix(".yaml"): one.read_text("utf-8") for one in folder.iterdir()}


async def _body(request: Request, seconds: float) -> bytes:
    """Return the body of a request; raises RefusedError where it is too large or not JSON.

    It is also raised where the body takes longer than `seconds` to arrive.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise RefusedError(415, "a request must be application/json")
    too_much = RefusedError(413, f"more than {MOST >> 10} KiB are not accepted")
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length[:20]) > MOST:
        raise too_much
    body = bytearray()
    with anyio.move_on_after(seconds) as arriving:
        async for piece in request.stream():
            body += piece
            if len(body) > MOST:
                raise too_much
    if arriving.cancelled_caught:
        raise RefusedError(408, f"the request did not arrive within {seconds:g} seconds")
    return bytes(body)


_SURROGATE: Final = "it contains a lone surrogate (\\ud800 to \\udfff)"


def _is_text(value: str) -> bool:
    """Return whether a JSON string is valid Unicode text, without lone surrogates."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _object_in(body: bytes, known: Collection[str]) -> dict[str, Any]:
    """Return the JSON object in a request's body; raises RefusedError, also for unknown keys."""
    try:
        found = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise RefusedError(400, f"invalid JSON: {error}") from None
    if not isinstance(found, dict):
        raise RefusedError(400, "a request must be a JSON object")
    for name in found:
        if not _is_text(name):
            raise RefusedError(
                400, f"the key {json.dumps(name)} is not a valid string: {_SURROGATE}"
            )
        if name not in known:
            raise RefusedError(400, f"unknown key `{name}`{likely(name, known)}")
    return found


def _check_string(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise RefusedError(400, f"`{name}` must be a string")
    if not _is_text(value):
        raise RefusedError(400, f"`{name}` is not a valid string: {_SURROGATE}")


def query_in(body: bytes) -> PageQuery:
    """Return the query in a request's body; raises RefusedError."""
    found = _object_in(body, {*Typed._fields, "view"})
    for name, value in found.items():
        _check_string(name, value)
    view = found.pop("view", "") or next(iter(VIEWS))
    for name, value, accepted in (
        ("view", view, tuple(VIEWS)),
        ("operation", found.get("operation", ""), tuple(Operation)),
    ):
        if value and value not in accepted:
            raise RefusedError(400, f"`{name}` must be one of {listed(accepted)}, not `{value}`")
    return PageQuery(Typed(**found), view)


def completion_in(body: bytes) -> CompletionQuery:
    """Return the query in a request's body; raises RefusedError."""
    found = _object_in(body, CompletionQuery._fields)
    _check_string("text", found.get("text"))
    for name in ("line", "column"):
        if type(found.get(name)) is not int or found[name] < 1:
            raise RefusedError(400, f"`{name}` must be a number from 1")
    return CompletionQuery(**found)
