"""`kubectl wait`: until objects are deleted, have a condition, or a field a value."""

from collections.abc import Callable

from kyvsim.chainsaw.ending import UnsupportedError
from kyvsim.chainsaw.kubectl.call import Call, KubectlError, failure, named_objects
from kyvsim.chainsaw.kubectl.jsonpath import JsonPathError, find
from kyvsim.chainsaw.kubectl.kinds import shown_kind
from kyvsim.chainsaw.kubectl.pods import awaited
from kyvsim.chainsaw.kubectl.selecting import chosen
from kyvsim.chainsaw.streams import STDERR, STDOUT, Printed, Result, complaint
from kyvsim.kubernetes.objects import Json, ObjectKey, object_key
from kyvsim.simulator.api_server import errors

_DEFAULT = "30s"
_LONGEST_PATH = 1_000


def run(call: Call) -> Result:
    """Wait for every object that is named."""
    own = awaited(call)
    if own is not None:
        return own
    given = call.invocation
    keys: list[ObjectKey] = []
    for kind, name in named_objects(call, given.words):
        keys += [call.key(kind, name)] if name else [object_key(one) for one in chosen(call, kind)]
    condition = given.value("for")
    if not keys:
        return (
            Result() if condition == "delete" else complaint("error: no matching resources found\n")
        )
    met = condition_of(condition)
    printed: list[Printed] = []
    for key in keys:
        result = _wait(call, key, condition, met)
        printed += result.printed
        if result.status:
            return Result(result.status, tuple(printed))
    return Result(0, tuple(printed))


def _wait(call: Call, key: ObjectKey, condition: str, met: Callable[[Json], bool]) -> Result:
    deletes = condition == "delete"
    if not deletes and call.there(key) is None:
        return Result(1, (failure(errors.not_found(key, call.store.defined)),))
    limit = call.seconds("timeout", _DEFAULT)
    shown = f"{shown_kind(key.api_version, key.kind)}/{key.name}"
    session = call.surroundings.situation.session
    try:
        done_in_time = session.wait_until(lambda: met(call.client.get(*key)), limit)
    except JsonPathError as error:
        raise KubectlError(f"error: {error}") from None
    if done_in_time:
        done = "deleted" if deletes else "condition met"
        return Result(0, (Printed(STDOUT, f"{shown} {done}\n"),))
    text = f"error: timed out waiting for the condition on {key.kind.lower()}s/{key.name}\n"
    return Result(1, (Printed(STDERR, text),))


def condition_of(text: str) -> Callable[[Json], bool]:
    """Return the test of an object that `--for` asks for; raise UnsupportedError for others."""
    kind, _, rest = text.partition("=")
    if text == "delete":
        return lambda obj: obj is None
    if text == "create":
        return lambda obj: obj is not None
    if kind == "condition":
        name, _, value = rest.partition("=")
        return lambda obj: _has_condition(obj, name, value or "True")
    if kind == "jsonpath":
        path, assigned, wanted = rest.rpartition("=")
        if not assigned or len(path) > _LONGEST_PATH:
            raise UnsupportedError(f"`kubectl wait --for={text}`")
        inner = path.strip("'\"").strip("{}")
        return lambda obj: obj is not None and [str(one) for one in find(inner, obj)] == [wanted]
    raise UnsupportedError(f"`kubectl wait --for={text}`")


def _has_condition(obj: Json, name: str, value: str) -> bool:
    status = obj.get("status") if obj.__class__ is dict else None
    conditions = status.get("conditions") if status.__class__ is dict else None
    return any(
        str(one.get("type")).lower() == name.lower()
        and str(one.get("status")).lower() == value.lower()
        for one in (conditions if conditions.__class__ is list else [])
        if one.__class__ is dict
    )
