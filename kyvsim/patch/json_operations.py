"""The operations of a JSON patch, read from its text and taken apart.

upstream: `pkg/engine/mutate/patch/{patchesUtils,patchJSON6902}.go`,
github.com/evanphx/json-patch/v5 (DecodePatch).
"""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kyvsim.go.json import json_kind
from kyvsim.kube.go_text import to_json
from kyvsim.kube.objects import TOO_DEEP, Json, is_too_deep, may_be_too_deep
from kyvsim.kube.yaml_text import YamlError, load_one
from kyvsim.patch.errors import PatchError
from kyvsim.patch.json_pointer import Pointer, parse_pointer

_INT64 = range(-(2**63), 2**63)
_NAMES = frozenset({"add", "remove", "replace", "move", "copy", "test"})


class Operation(NamedTuple):
    """One operation; `source` is the pointer under `from`, where the operation has one."""

    name: str
    path: Pointer
    source: Pointer | None
    value: Json
    has_value: bool = True
    """Whether a value is given; otherwise it is a null."""


def parse_json_patch(text: str) -> list[Json]:
    """Return the operations that a patch text lists: JSON if it begins with `[`, else YAML.

    Raises PatchError for a text that cannot be read, and for operations that lack what they need.
    """
    operations = read_patch_text(text)
    prepare_operations(operations)
    return operations or []


def read_patch_text(text: str) -> Json:
    """Return the data of a patch text, unchecked; raises PatchError for a text that is none."""
    if text[:1] != "[":
        try:
            return load_one(text)
        except YamlError as error:
            message = f"failed to convert patchesJSON6902 to JSON: {error.go_text}"
            raise PatchError(message) from error
    try:
        found: Json = json.loads(text, parse_int=_int, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise PatchError("failed to decode patches: invalid state detected") from error
    if may_be_too_deep(text.count("{") + text.count("[")) and is_too_deep(found):
        raise PatchError(f"failed to decode patches: {TOO_DEEP}")
    return found


def _int(digits: str) -> int | float:
    return int(digits) if len(digits) <= 20 and int(digits) in _INT64 else float(digits)


def _refuse(word: str) -> Json:
    raise ValueError(word)


def prepare_operations(operations: Json) -> tuple[Operation, ...]:
    """Return the operations taken apart; raises PatchError for what is no list of them."""
    if operations is None:
        return ()
    if not isinstance(operations, Sequence) or operations.__class__ is str:
        raise _mistyped(operations, "jsonpatch.Patch")
    for operation in operations:
        if operation is not None and operation.__class__ is not dict:
            raise _mistyped(operation, "jsonpatch.Operation")
    return tuple(map(_prepared, operations))


def _mistyped(value: Json, wanted: str) -> PatchError:
    return PatchError(f"failed to decode patches: {_cannot_read(value, wanted)}")


def _cannot_read(value: Json, wanted: str) -> str:
    return f"json: cannot unmarshal {json_kind(value)} into Go value of type {wanted}"


def _prepared(operation: Json) -> Operation:
    """Return one operation taken apart; raises PatchError if a part is missing or mistyped."""
    fields: Mapping[str, Json] = operation or {}
    name, problem = fields.get("op"), ""
    if name.__class__ is not str or name not in _NAMES:
        problem = "unsupported operation"
    elif name in {"add", "replace"} and "value" not in fields:
        problem = "failed to decode 'value': operation, missing value field: missing value"
    elif name in {"move", "copy"}:
        problem = _path_problem(fields, "from", "operation, missing from field")
    problem = problem or _path_problem(fields, "path", "operation missing path field")
    if problem:
        shown = to_json(operation)
        raise PatchError(f"failed to decode patches: invalid operation {shown}: {problem}")
    source = parse_pointer(fields["from"]) if name in {"move", "copy"} else None
    return Operation(name or "", parse_pointer(fields["path"]), source, fields.get("value"))


def _path_problem(fields: Mapping[str, Json], name: str, missing: str) -> str:
    path = fields.get(name)
    if path.__class__ is str:
        return ""
    said = f"{missing}: missing value" if path is None else _cannot_read(path, "string")
    return f"failed to decode '{name}': {said}"
