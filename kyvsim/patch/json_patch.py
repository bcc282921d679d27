"""JSON patches (RFC 6902): negative indices, lenient `remove`, an `add` that makes its path.

upstream: `pkg/engine/mutate/patch/{patchesUtils,patchJSON6902}.go`,
github.com/evanphx/json-patch/v5 with SupportNegativeIndices, AllowMissingPathOnRemove and
EnsurePathExistsOnAdd.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kube.go_text import to_json
from kyvsim.kube.objects import Json
from kyvsim.kube.yaml_text import YamlError, load_one
from kyvsim.patch.create_path import create_path
from kyvsim.patch.errors import PatchError
from kyvsim.patch.json_pointer import (
    Document,
    MissingKeyError,
    Place,
    Pointer,
    existing_index,
    find_place,
    parse_index,
    parse_pointer,
    value_at,
    with_container,
    with_value,
)
from kyvsim.patch.nodes import same

_INT64 = range(-(2**63), 2**63)


class _Operation(NamedTuple):
    name: str
    path: Pointer
    source: Pointer | None
    value: Json


def parse_json_patch(text: str) -> list[Json]:
    """Return the operations that a patch text lists: JSON if it begins with `[`, else YAML.

    Raises PatchError for a text that cannot be read, and for operations that lack what they need.
    """
    operations = _read(text)
    _prepare(operations)
    return operations or []


def apply_json_patch(document: Json, operations: Sequence[Json]) -> Json:
    """Return `document` with the operations applied in order; what they do not touch is shared.

    `document` itself comes back when nothing changes. Raises PatchError.
    """
    return _apply(document, _prepare(operations))


def compile_json_patch(text: str) -> Callable[[Json], Json]:
    """Return a function that applies the patch of a text to a document; raises as parsing does."""
    operations = _prepare(_read(text))
    return lambda document: _apply(document, operations)


def _apply(root: Json, operations: Sequence[_Operation]) -> Json:
    document = Document(root, root)
    for operation in operations:
        document = _APPLY[operation.name](document, operation)
    return root if same(document.root, root) else document.root


def _read(text: str) -> Json:
    if text[:1] != "[":
        try:
            return load_one(text)
        except YamlError as error:
            message = f"failed to convert patchesJSON6902 to JSON: yaml: {_complaint(error)}"
            raise PatchError(message) from error
    try:
        return json.loads(text, parse_int=_int, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise PatchError("failed to decode patches: invalid state detected") from error


def _complaint(error: YamlError) -> str:
    """Return go-yaml's text, whose lines count from 0 for its parser, from 1 for its scanner."""
    if error.line < 2:
        return error.message
    of_parser = error.message.startswith("did not find expected")
    return f"line {error.line - 1 if of_parser else error.line}: {error.message}"


def _int(digits: str) -> int | float:
    return int(digits) if len(digits) <= 20 and int(digits) in _INT64 else float(digits)


def _refuse(word: str) -> Json:
    raise ValueError(word)


def _prepare(operations: Json) -> tuple[_Operation, ...]:
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
    names = {dict: "object", list: "array", str: "string", bool: "bool"}
    found = names.get(value.__class__, "number")
    return f"json: cannot unmarshal {found} into Go value of type {wanted}"


def _prepared(operation: Json) -> _Operation:
    """Return one operation taken apart; raises PatchError if a part is missing or mistyped."""
    fields: Mapping[str, Json] = operation or {}
    name, problem = fields.get("op"), ""
    if name.__class__ is not str or name not in _APPLY:
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
    return _Operation(name or "", parse_pointer(fields["path"]), source, fields.get("value"))


def _path_problem(fields: Mapping[str, Json], name: str, missing: str) -> str:
    path = fields.get(name)
    if path.__class__ is str:
        return ""
    said = f"{missing}: missing value" if path is None else _cannot_read(path, "string")
    return f"failed to decode '{name}': {said}"


def _add(document: Document, operation: _Operation) -> Document:
    path, value = operation.path, operation.value
    if not path.text:
        if value.__class__ is not dict and value.__class__ is not list:
            raise PatchError("invalid value, expected object")
        return Document(value, value)
    document = create_path(document, path)
    place = find_place(document, path)
    if place is None:
        said = f'add operation does not apply: doc is missing path: "{path.text}": missing value'
        raise PatchError(said)
    return _add_at(document, place, value, f"error in add for path: '{path.text}'")


def _add_at(document: Document, place: Place, value: Json, context: str) -> Document:
    try:
        return with_container(document, place, with_value(place, value))
    except PatchError as error:
        raise PatchError(f"{context}: {error}") from error


def _remove(document: Document, operation: _Operation) -> Document:
    place = find_place(document, operation.path)
    if place is None:
        return document
    try:
        return _without(document, place)
    except PatchError as error:
        message = f"error in remove for path: '{operation.path.text}': {error}"
        raise PatchError(message) from error


def _without(document: Document, place: Place) -> Document:
    """Return the document without the value at a place; nothing there is no error."""
    container, key, _ = place
    at: str | int = key
    if container.__class__ is list:
        at = parse_index(key)
        if not -len(container) <= at < len(container):
            return document
    elif key not in container:
        return document
    new = container.copy()
    del new[at]
    return with_container(document, place, new)


def _replace(document: Document, operation: _Operation) -> Document:
    path, value = operation.path, operation.value
    if not path.text:
        if value.__class__ is not dict and value.__class__ is not list:
            raise PatchError("replace operation value must be object or array: %!w(<nil>)")
        return Document(value, None)
    place = find_place(document, path)
    said = "replace operation does not apply: doc is missing"
    if place is None:
        raise PatchError(f"{said} path: {path.text}: missing value")
    try:
        value_at(document, place)
    except PatchError as error:
        raise PatchError(f"{said} key: {path.text}: missing value") from error
    new = place.container.copy()
    try:
        new[existing_index(new, place.key) if new.__class__ is list else place.key] = value
    except PatchError as error:  # an empty part names the list itself, which has no such place
        raise PatchError(f"error in remove for path: '{path.text}': {error}") from error
    return with_container(document, place, new)


def _move(document: Document, operation: _Operation) -> Document:
    source = operation.source or operation.path
    if not source.text:
        raise PatchError("unable to move entire document to another path: invalid state detected")
    place = _source_place(document, source, "move operation", source.text)
    try:
        value = value_at(document, place)
        document = _without(document, place)
    except PatchError as error:
        raise PatchError(f"error in move for path: '{place.key}': {error}") from error
    return _put_down(document, operation, value, f"error in move for path: '{operation.path.text}'")


def _copy(document: Document, operation: _Operation) -> Document:
    source = operation.source or operation.path
    place = _source_place(document, source, "copy operation", f'"{source.text}"')
    try:
        value = value_at(document, place)
    except PatchError as error:
        raise PatchError(f"error in copy for from: '{source.text}': {error}") from error
    return _put_down(document, operation, value, "error while adding value during copy")


def _source_place(document: Document, source: Pointer, what: str, shown: str) -> Place:
    place = find_place(document, source)
    if place is None:
        message = f"{what} does not apply: doc is missing from path: {shown}: missing value"
        raise PatchError(message)
    return place


def _put_down(document: Document, operation: _Operation, value: Json, context: str) -> Document:
    place = find_place(document, operation.path)
    if place is None:
        raise PatchError(
            f"{operation.name} operation does not apply: doc is missing destination path: "
            f"{operation.path.text}: missing value"
        )
    return _add_at(document, place, value, context)


def _test(document: Document, operation: _Operation) -> Document:
    path = operation.path
    if not path.text:
        found = document.root
    else:
        place = find_place(document, path)
        if place is None:
            said = f"test operation does not apply: is missing path: {path.text}: missing value"
            raise PatchError(said)
        try:
            found = value_at(document, place)
        except MissingKeyError:
            found = None
        except PatchError as error:
            raise PatchError(f"error in test for path: '{path.text}': {error}") from error
    if not same(found, operation.value):
        raise PatchError(f"testing value {path.text} failed: test failed")
    return document


_APPLY: Mapping[str, Callable[[Document, _Operation], Document]] = MappingProxyType(
    {
        "add": _add,
        "remove": _remove,
        "replace": _replace,
        "move": _move,
        "test": _test,
        "copy": _copy,
    }
)
