"""The web application: the page, and the evaluation of its input.

It listens on this machine only, and accepts only requests from its own page: other host names (as
in DNS rebinding) and pages of other origins are rejected. Nothing is kept between two requests.
"""

import json
from importlib.resources import files
from typing import Final, NamedTuple

import anyio
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kyvsim.api.inline_inputs import Typed
from kyvsim.model.diagnostic import likely, listed
from kyvsim.playground.evaluator import VIEWS, Evaluator, NoAnswerError, PageQuery
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
_EXAMPLES: Final = (
    ("failing-pod", "a Pod that fails"),
    ("mutation", "a policy that changes objects"),
    ("generation", "a policy that generates objects"),
    ("cel", "a policy in CEL, with an exception"),
)
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


def _json(content: dict[str, str], status: int = 200) -> Response:
    """Return a response in ASCII: input may have characters that UTF-8 cannot encode."""
    return Response(json.dumps(content), status, media_type="application/json")


def application(port: int, evaluator: Evaluator, limits: ConnectionLimits) -> ASGIApp:
    """Return the application that serves requests at a port of this machine."""
    content = page(
        "playground.html",
        style=("timeline.css", "playground.css"),
        script=("playground.js",),
        connects=True,
        editors=_EDITORS,
        examples=[{"title": title, "texts": _texts_of(name)} for name, title in _EXAMPLES],
    )
    shown_page = "".join(content)
    one_at_a_time = anyio.Lock()

    async def show(_: Request) -> Response:
        return HTMLResponse(shown_page)

    async def evaluate(request: Request) -> Response:
        try:
            query = query_in(await _body(request, limits.body_seconds))
            with anyio.move_on_after(limits.waiting_seconds) as waiting:
                await one_at_a_time.acquire()
            if waiting.cancelled_caught:
                return _refused(503, "too many requests: try again")
            try:
                if await request.is_disconnected():  # the user has continued typing
                    return Response(status_code=204)
                shown = await anyio.to_thread.run_sync(evaluator.evaluate, query)
            finally:
                one_at_a_time.release()
        except RefusedError as error:
            return _refused(error.status, str(error))
        except NoAnswerError as error:
            return _refused(422, str(error))
        except ClientDisconnect:
            return Response(status_code=204)
        return _json(shown._asdict())

    async def unknown(request: Request, _: Exception) -> Response:
        return _refused(404, f"not found: {request.url.path} (the page is at /)")

    async def other_method(request: Request, _: Exception) -> Response:
        return _refused(405, f"{request.method} is not supported at {request.url.path}")

    hosts = frozenset(f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]"))
    served = Starlette(
        routes=[Route("/", show, methods=["GET"]), Route("/evaluate", evaluate, methods=["POST"])],
        exception_handlers={404: unknown, 405: other_method},
    )
    return _for_own_pages(served, hosts)


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


def query_in(body: bytes) -> PageQuery:
    """Return the query in a request's body; raises RefusedError."""
    try:
        found = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise RefusedError(400, f"invalid JSON: {error}") from None
    if not isinstance(found, dict):
        raise RefusedError(400, "a request must be a JSON object")
    known = {*Typed._fields, "view"}
    for name, value in found.items():
        if not _is_text(name):
            raise RefusedError(
                400, f"the key {json.dumps(name)} is not a valid string: {_SURROGATE}"
            )
        if name not in known:
            raise RefusedError(400, f"unknown key `{name}`{likely(name, known)}")
        if not isinstance(value, str):
            raise RefusedError(400, f"`{name}` must be a string")
        if not _is_text(value):
            raise RefusedError(400, f"`{name}` is not a valid string: {_SURROGATE}")
    view = found.pop("view", next(iter(VIEWS)))
    if view not in VIEWS:
        raise RefusedError(400, f"`view` must be one of {listed(VIEWS)}, not `{view}`")
    return PageQuery(Typed(**found), view)
