"""`kubectl patch`: an object changed by a merge, strategic or JSON patch."""

from kyvsim.chainsaw.ending import UnsupportedError
from kyvsim.chainsaw.kubectl.call import Call, KubectlError, answer, failure, named_objects
from kyvsim.chainsaw.kubectl.kinds import shown_kind
from kyvsim.chainsaw.streams import STDOUT, Printed, Result
from kyvsim.kube.objects import Json, ObjectKey
from kyvsim.model.request import Operation
from kyvsim.patch import PatchError, apply_json_patch, apply_strategic_merge
from kyvsim.patch.merge_patch import merge_patch
from kyvsim.sim.server import ApiRequest, ApiResponse, errors


def run(call: Call) -> Result:
    """Patch the one object that is named."""
    given = call.invocation
    named = named_objects(call, given.words)
    if len(named) != 1 or not named[0][1]:
        raise KubectlError("error: one resource name is required")
    key = call.key(*named[0])
    now = call.there(key)
    if now is None:
        return Result(1, (failure(errors.not_found(key, call.store.defined)),))
    patched = _patched(call, now, _patch(call))
    done = f"{shown_kind(key.api_version, key.kind)}/{key.name} patched"
    subresource = given.value("subresource")
    if patched == now and not subresource:
        return Result(0, (Printed(STDOUT, f"{done} (no change)\n"),))
    return answer(_send(call, key, patched, subresource), done)


def _send(call: Call, key: ObjectKey, patched: Json, subresource: str) -> ApiResponse:
    kind = _kind(call)
    request = ApiRequest(Operation.UPDATE, key, call.user, patched, subresource, patch=kind)
    return call.client.send(request)


def _kind(call: Call) -> str:
    return call.invocation.value("type", "strategic")


def _patch(call: Call) -> Json:
    given = call.invocation
    text = given.value("patch")
    if "patch-file" in given.flags:
        text = call.surroundings.read(given.value("patch-file"), call.stdin) or ""
    objects, why = call.surroundings.situation.session.files.parsed(text)
    if why or len(objects) != 1:
        raise KubectlError(f"error: unable to parse {text!r}: {why or 'no document'}")
    wanted, kind = (list, "array") if _kind(call) == "json" else (dict, "object")
    if objects[0].__class__ is not wanted:
        raise KubectlError(f"error: unable to parse {text!r}: the patch must be an {kind}")
    return objects[0]


def _patched(call: Call, now: Json, patch: Json) -> Json:
    kind = _kind(call)
    try:
        if kind == "json":
            return apply_json_patch(now, patch)
        if kind == "merge":
            return merge_patch(now, patch)
        if kind == "strategic":
            return apply_strategic_merge(patch, now, lambda _pattern: lambda _value: False)
    except PatchError as error:
        raise KubectlError(f"The request is invalid: {error.message}") from None
    raise UnsupportedError(f"`kubectl patch --type {kind}`")
