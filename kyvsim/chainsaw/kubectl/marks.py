"""`kubectl label` and `kubectl annotate`: one or more marks set, or taken away."""

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
from kyvsim.kube.objects import Json, ObjectKey, metadata, object_key
from kyvsim.sim.server import errors


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
