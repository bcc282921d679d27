"""The program `curl` on a running `kubectl proxy`: requests to the simulated API server.

Source of the paths and methods: the Kubernetes API reference; of the options: curl's manual.
"""

import json
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.chainsaw import unsupported
from kyvsim.chainsaw.environment import STDERR, STDOUT, Printed, ProgramCall, Result, error_output
from kyvsim.chainsaw.errors import KUBECTL_STEPS, UnsupportedError
from kyvsim.chainsaw.kubectl.call import KubectlError
from kyvsim.chainsaw.kubectl.write import patched
from kyvsim.chainsaw.session import REQUEST
from kyvsim.engine.context.cluster_api import CallError, answer_get
from kyvsim.kubernetes.discovery import ApiPath, parse_path
from kyvsim.kubernetes.objects import Json, KubernetesObject, ObjectKey, metadata, object_key
from kyvsim.model.request import Operation
from kyvsim.simulator.api_server import ApiError, ApiRequest, Client, ObjectStore, errors
from kyvsim.simulator.api_server.server import eviction_request

_VALUED = MappingProxyType(
    {"-d": "data", "--data": "data", "-H": "header", "--header": "header", "-o": "output"}
    | {"--output": "output", "-X": "request", "--request": "request"}
)
_SILENT = frozenset({"-f", "-k", "-L", "-s", "-S", "--fail", "--location", "--silent"})
_PATCHES: Mapping[str, str] = {
    "application/json-patch+json": "json",
    "application/merge-patch+json": "merge",
    "application/strategic-merge-patch+json": "strategic",
}
_URL = re.compile(r"http://(localhost|127\.0\.0\.1):([0-9]{1,5})((?:/[\w.:/-]*)?)")
_INDEXES = frozenset({"", "/api", "/apis", "/healthz", "/livez", "/readyz", "/version"})
_NO_CONNECTION, _HTTP_ERROR = 7, 22


class _Sent(NamedTuple):
    method: str
    path: str
    content_type: str
    body: Json


def curl(call: ProgramCall) -> Result:
    """Send a request to the API server; raise UnsupportedError for any other server."""
    options, flags, urls = _arguments(call)
    url = _URL.fullmatch(urls[0]) if len(urls) == 1 else None
    if url is None:
        raise UnsupportedError(f"`curl {' '.join(urls)}`: only `kubectl proxy` can be reached")
    session = call.environment.session
    host, port, path = url.groups()
    if port != session.proxy:
        refused = f"Failed to connect to {host} port {port}: Connection refused"
        return error_output(f"curl: ({_NO_CONNECTION}) {refused}\n", _NO_CONNECTION)
    body, text = None, options.get("data", [""])[-1]
    if text.startswith("@"):
        text = call.environment.read(text[1:], call.stdin) or ""
    if text:
        documents, why = session.files.parsed(text)
        if why or len(documents) != 1:
            raise UnsupportedError(f"`curl --data` with {why or 'several documents'}")
        body = documents[0]
    headers = dict(one.lower().split(":", 1) for one in options.get("header", ()) if ":" in one)
    method = options.get("request", ["POST" if "data" in options else "GET"])[-1]
    sent = _Sent(method, path, headers.get("content-type", "").strip(), body)
    call.usage.step(KUBECTL_STEPS)
    session.wait(REQUEST)
    if sent.path.rstrip("/") in _INDEXES:
        # Whether the server answers is known, what it prints is not.
        where = options.get("output", [""])[-1]
        unknown = (Printed(STDOUT, "", f"`curl` of `{sent.path}`"),)
        return Result(0, () if where == "/dev/null" else unknown)
    code, answer = _answer(sent, session.client, session.sim.store)
    if code >= 400 and {"-f", "--fail"} & flags:
        return error_output(
            f"curl: ({_HTTP_ERROR}) The requested URL returned error: {code}\n", _HTTP_ERROR
        )
    printed = json.dumps(answer, indent=2, ensure_ascii=False)
    if "output" in options:
        call.environment.write(options["output"][-1], printed, append=False)
        printed = ""
    lines = [f"> {method} {path} HTTP/1.1", f"< HTTP/1.1 {code}"] if "-v" in flags else []
    texts = (Printed(STDERR, "".join(f"{one}\n" for one in lines)), Printed(STDOUT, printed))
    return Result(0, tuple(one for one in texts if one.text))


def _arguments(call: ProgramCall) -> tuple[dict[str, list[str]], set[str], list[str]]:
    """Return the options with values, the flags, and the URLs."""
    options: dict[str, list[str]] = {}
    flags: set[str] = set()
    urls: list[str] = []
    rest = iter(call.arguments)
    for one in rest:
        letters = {one} if one.startswith("--") else {f"-{letter}" for letter in one[1:]}
        if one in _VALUED:
            options.setdefault(_VALUED[one], []).append(next(rest, ""))
        elif one.startswith("-") and letters <= {*_SILENT, "-v"}:
            flags |= letters
        elif one.startswith("-"):
            raise call.unsupported("curl")
        else:
            urls.append(one)
    return options, flags, urls


def _answer(sent: _Sent, client: Client, store: ObjectStore) -> tuple[int, object]:
    """Return the status code and the body of a response."""
    wanted = parse_path(sent.path)
    kind = store.kind_of(wanted.api_version, wanted.resource) if wanted else ""
    if wanted is None or not kind:
        why = "the server could not find the requested resource"
        return _status(ApiError(404, "NotFound", why))
    key = ObjectKey(wanted.api_version, kind, wanted.namespace, wanted.name)
    unsupported.require_simulated(key)
    before = client.get(*key) if key.name else None
    if key.name and before is None:
        unsupported.require_written(key, store)
        return _status(errors.not_found(key, store.defined))
    if sent.method == "GET":
        try:
            return 200, answer_get(sent.path, store)
        except CallError as error:
            raise UnsupportedError(f"`curl` of `{sent.path}`: {error}") from None
    response = client.send(_request(sent, wanted, key, before or {}, client))
    if response.error is not None:
        return _status(response.error)
    return 201 if sent.method == "POST" else 200, response.object


def _request(
    sent: _Sent, wanted: ApiPath, key: ObjectKey, before: KubernetesObject, client: Client
) -> ApiRequest:
    """Return the request of a method; raise UnsupportedError for others."""
    user, part = client.user, wanted.part
    if sent.method == "DELETE" and key.name and not part:
        return ApiRequest(Operation.DELETE, key, user)
    if sent.method == "POST" and (wanted.resource, part) == ("pods", "eviction"):
        return eviction_request(key, user)
    if isinstance(sent.body, dict) and sent.method == "POST" and not key.name:
        place = {"namespace": key.namespace} if key.namespace else {}
        created = {**sent.body, "metadata": {**metadata(sent.body), **place}}
        named = key._replace(name=object_key(created).name)
        return ApiRequest(Operation.CREATE, named, user, created)
    if isinstance(sent.body, dict) and sent.method == "PUT" and key.name:
        return ApiRequest(Operation.UPDATE, key, user, sent.body, part)
    kind = _PATCHES.get(sent.content_type, "")
    if sent.method == "PATCH" and key.name and kind and sent.body is not None:
        try:
            changed = patched(kind, before, sent.body)
        except KubectlError as error:
            raise UnsupportedError(f"`curl` with an unusable patch: {error}") from None
        return ApiRequest(Operation.UPDATE, key, user, changed, part, patch=kind)
    raise UnsupportedError(f"`curl --request {sent.method}` of `{sent.path}`")


def _status(error: ApiError) -> tuple[int, object]:
    """Return the code and the body of a failed request."""
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    about = {"message": error.message, "reason": error.reason, "code": error.code}
    return error.code, {**status, **about}
