"""`kubectl label`, `annotate`, `patch` and `scale`: stored objects are changed."""

from kyvsim.chainsaw.ending import UnsupportedError
from kyvsim.chainsaw.kubectl.call import (
    Call,
    KubectlError,
    answer,
    failure,
    named_objects,
    together,
)
from kyvsim.chainsaw.kubectl.kinds import shown_kind
from kyvsim.chainsaw.kubectl.selecting import chosen
from kyvsim.chainsaw.streams import STDERR, STDOUT, Printed, Result
from kyvsim.kubernetes.objects import Json, ObjectKey, metadata, object_key
from kyvsim.model.request import Operation
from kyvsim.patch.json_patch import apply_json_patch, merge_patch
from kyvsim.patch.nodes import PatchError
from kyvsim.patch.strategic_merge import apply_strategic_merge
from kyvsim.simulator.api_server import ApiRequest, ApiResponse, errors
from kyvsim.simulator.api_server.subresources import scale_request

# `kubectl label` and `kubectl annotate`: one or more marks set, or taken away.


def label(call: Call) -> Result:
    """Set and take away labels."""
    return _mark(call, "labels", "labeled")


def annotate(call: Call) -> Result:
    """Set and take away annotations."""
    return _mark(call, "annotations", "annotated")


def _mark(call: Call, field: str, done: str) -> Result:
    words = call.invocation.words
    marks = [word for word in words if "=" in word or (word.endswith("-") and word != "-")]
    if not marks:
        raise KubectlError(f"error: at least one {field[:-1]} update is required")
    named = tuple(word for word in words if word not in marks)
    keys: list[ObjectKey] = []
    for kind, name in named_objects(call, named):
        keys += [call.key(kind, name)] if name else [object_key(one) for one in chosen(call, kind)]
    return together([_mark_one(call, key, (field, done), marks) for key in keys])


def _mark_one(call: Call, key: ObjectKey, names: tuple[str, str], marks: list[str]) -> Result:
    field, done = names
    now = call.there(key)
    if now is None:
        return Result(1, (failure(errors.not_found(key, call.store.defined)),))
    before = metadata(now).get(field) or {}
    changes = dict(_change(mark) for mark in marks)
    shown = f"{shown_kind(key.api_version, key.kind)}/{key.name}"
    taken = [
        name
        for name, value in changes.items()
        if value is not None and name in before and before[name] != value
    ]
    if taken and not call.invocation.holds("overwrite"):
        name = taken[0]
        text = f"error: '{name}' already has a value ({before[name]}), and --overwrite is false\n"
        return Result(1, (Printed(STDERR, text),))
    changed = {name: value for name, value in changes.items() if before.get(name) != value}
    if not changed:
        missing = [f'{field[:-1]} "{name}" not found.\n' for name in changes if name not in before]
        printed = [Printed(STDOUT, text) for text in missing]
        return Result(0, (*printed, Printed(STDOUT, f"{shown} not {done}\n")))
    response = call.client.merge(key, {"metadata": {field: changed}})
    removed = field == "labels" and all(value is None for value in changed.values())
    return answer(response, f"{shown} {'unlabeled' if removed else done}")


def _change(mark: str) -> tuple[str, Json]:
    name, assigned, value = mark.partition("=")
    return (name, value) if assigned else (mark[:-1], None)


# `kubectl patch`: an object changed by a merge, strategic or JSON patch.


def run_patch(call: Call) -> Result:
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


# `kubectl scale`: another number of replicas.


def run_scale(call: Call) -> Result:
    """Scale what is named."""
    replicas = call.whole_number("replicas", "-1")
    if replicas < 0:
        raise KubectlError("error: The --replicas=COUNT flag is required, and COUNT must be >= 0")
    named = named_objects(call, call.invocation.words)
    return together([_scale(call, call.key(*one), replicas) for one in named])


def _scale(call: Call, key: ObjectKey, replicas: int) -> Result:
    now = call.there(key)
    if now is None:
        return Result(1, (failure(errors.not_found(key, call.store.defined)),))
    response = call.client.send(scale_request(now, replicas, call.user))
    return answer(response, f"{shown_kind(key.api_version, key.kind)}/{key.name} scaled")
