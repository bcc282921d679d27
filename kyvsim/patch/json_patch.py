"""JSON patches (RFC 6902) with negative indices, by the rules of Kyverno or of the API server.

upstream: `pkg/engine/mutate/patch/{patchesUtils,patchJSON6902}.go`,
github.com/evanphx/json-patch/v5 with SupportNegativeIndices, AllowMissingPathOnRemove and
EnsurePathExistsOnAdd; gopkg.in/evanphx/json-patch.v4.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

from kyvsim.kube.objects import Json
from kyvsim.model.ports import FEW, Meter
from kyvsim.patch.create_path import create_path
from kyvsim.patch.errors import FailedTestError, PatchError
from kyvsim.patch.json_operations import Operation, prepare_operations, read_patch_text
from kyvsim.patch.json_pointer import (
    KYVERNO,
    Document,
    MissingKeyError,
    PatchRules,
    Pointer,
    Slot,
    existing_index,
    find_place,
    parse_index,
    value_at,
    with_container,
    with_value,
)
from kyvsim.patch.json_texts import in_key_order, may_rewrite, written_operations, written_text
from kyvsim.patch.nodes import same

_NO_DOCUMENT = "invalid value, expected object"
_FAULTS_AT_ROOT = MappingProxyType(
    {
        "move": "error in move for path: '{key}'",
        "copy": "error in copy for from: '{path}'",
        "test": "error in test for path: '{path}'",
    }
)


def apply_json_patch(document: Json, operations: Sequence[Json]) -> Json:
    """Return `document` with the operations applied in order; what they do not touch is shared.

    `document` itself comes back when nothing changes. Raises PatchError.
    """
    return apply_operations(document, prepare_operations(operations), KYVERNO)


def compile_json_patch(text: str, meter: Meter | None = None) -> Callable[[Json], Json]:
    """Return a function that applies the patch of a text to a document; raises as parsing does."""
    # A variable can have put anything in the place of the text.
    is_text = text.__class__ is str
    operations = _operations(text) if is_text else _operations.__wrapped__(text)
    may_differ = is_text and may_rewrite(text, operations)

    def patched(document: Json) -> Json:
        if document == {}:
            return _apply_to_nothing(operations, meter)
        found = apply_operations(document, operations, KYVERNO, meter)
        if found is not document or not (may_differ and _is_rewritten(document, text, meter)):
            return found
        return dict(document)

    return patched


def _apply_to_nothing(operations: Sequence[Operation], meter: Meter | None) -> Json:
    """Return what a patch makes of no object, whose text is `null`; mostly it raises PatchError.

    That is what a deletion leaves. Nothing can be read or put there, until an operation without a
    path gives the whole document.
    """
    for number, one in enumerate(operations):
        path, place = one.path, one.source or one.path
        if not path.text and one.name in {"add", "replace"}:
            return apply_operations({}, operations[number:], KYVERNO, meter)
        at_root, key = len(place.steps) == 1, place.key
        if one.name == "add" and at_root:
            raise PatchError(f"error in add for path: '{path.text}': {_NO_DOCUMENT}")
        if one.name == "remove":
            if at_root:
                raise PatchError(f"error in remove for path: '{path.text}': {_NO_DOCUMENT}")
        elif at_root and one.name == "replace":
            said = "replace operation does not apply: doc is missing key"
            raise PatchError(f"{said}: {path.text}: missing value")
        elif at_root and one.name in _FAULTS_AT_ROOT:
            said = _FAULTS_AT_ROOT[one.name].format(key=key, path=place.text)
            raise PatchError(f"{said}: {_NO_DOCUMENT}")
        else:  # it is not found, as in an empty document
            creates_nothing = KYVERNO._replace(creates_path=False)
            apply_operations({}, [one], creates_nothing, meter)
    what = "json: error calling MarshalJSON for type *jsonpatch.partialDoc"
    raise PatchError(f"{what}: {_NO_DOCUMENT}")


def _is_rewritten(document: Json, text: str, meter: Meter | None) -> bool:
    """Return whether a patch that leaves an equal document leaves another JSON text of it.

    upstream compares the texts: a key that goes and comes back is the last one then, and a value
    stays as the patch writes it.
    """
    if document.__class__ is not dict:
        return False
    before = in_key_order(document)
    after = _operated(before, written_operations(text), KYVERNO, meter or Meter())
    return written_text(after.root) != written_text(before)


@lru_cache(maxsize=512)
def _operations(text: str) -> Sequence[Operation]:
    """Return the operations of a text; a loop's are mostly the same for each object."""
    return prepare_operations(read_patch_text(text))


def apply_operations(
    root: Json, operations: Sequence[Operation], rules: PatchRules, meter: Meter | None = None
) -> Json:
    """Return a document with operations applied in order.

    Raises PatchError, and BudgetError where they copy more than `meter` allows; without one each
    patch has a budget of its own.
    """
    document = _operated(root, operations, rules, meter or Meter())
    return root if same(document.root, root) else document.root


def _operated(
    root: Json, operations: Sequence[Operation], rules: PatchRules, meter: Meter
) -> Document:
    document = Document(root, root, rules, meter)
    if len(operations) > FEW:
        meter.spend(len(operations))
    for operation in operations:
        apply = _APPLY.get(operation.name)
        if apply is None:
            raise PatchError(f"Unexpected kind: {operation.name}")
        document = apply(document, operation)
    return document


def _add(document: Document, operation: Operation) -> Document:
    path, value = operation.path, operation.value
    if not path.text and document.rules.names_itself:
        if value.__class__ is not dict and value.__class__ is not list:
            raise PatchError("invalid value, expected object")
        return document._replace(root=value, itself=value)
    if document.rules.creates_path:
        document = create_path(document, path)
    place = find_place(document, path)
    if place is None:
        said = f'add operation does not apply: doc is missing path: "{path.text}": missing value'
        raise PatchError(said)
    return _add_at(document, place, value, f"error in add for path: '{path.text}'")


def _add_at(document: Document, place: Slot, value: Json, context: str) -> Document:
    document.counts(place.container)
    try:
        return with_container(document, place, with_value(place, value))
    except PatchError as error:
        raise PatchError(f"{context}: {error}") from error


def _remove(document: Document, operation: Operation) -> Document:
    place = find_place(document, operation.path)
    if place is None:
        if document.rules.forgives_removal:
            return document
        said = "remove operation does not apply: doc is missing path"
        raise PatchError(f'{said}: "{operation.path.text}": missing value')
    try:
        return _without(document, place)
    except PatchError as error:
        message = f"error in remove for path: '{operation.path.text}': {error}"
        raise PatchError(message) from error


def _without(document: Document, place: Slot) -> Document:
    """Return the document without the value at a place."""
    container, key, _ = place
    at: str | int = key
    forgives = document.rules.forgives_removal
    if container.__class__ is list:
        at = parse_index(key)
        if not -len(container) <= at < len(container):
            if forgives:
                return document
            at = existing_index(container, key)
    elif key not in container:
        if forgives:
            return document
        raise PatchError(f"Unable to remove nonexistent key: {key}: missing value")
    document.counts(container)
    new = container.copy()
    del new[at]
    return with_container(document, place, new)


def _replace(document: Document, operation: Operation) -> Document:
    path, value = operation.path, operation.value
    if not path.text:
        if value.__class__ is not dict and value.__class__ is not list:
            raise PatchError("replace operation value must be object or array: %!w(<nil>)")
        return document._replace(root=value, itself=None)
    place = find_place(document, path)
    said = "replace operation does not apply: doc is missing"
    if place is None:
        raise PatchError(f"{said} path: {path.text}: missing value")
    try:
        value_at(document, place)
    except PatchError as error:
        raise PatchError(f"{said} key: {path.text}: missing value") from error
    document.counts(place.container)
    new = place.container.copy()
    try:
        new[existing_index(new, place.key) if new.__class__ is list else place.key] = value
    except PatchError as error:  # an empty part names the list itself, which has no such place
        raise PatchError(f"error in remove for path: '{path.text}': {error}") from error
    return with_container(document, place, new)


def _move(document: Document, operation: Operation) -> Document:
    source = _source(operation)
    if not source.text:
        raise PatchError("unable to move entire document to another path: invalid state detected")
    place = _source_place(document, source, "move operation", source.text)
    try:
        value = value_at(document, place)
        document = _without(document, place)
    except PatchError as error:
        raise PatchError(f"error in move for path: '{place.key}': {error}") from error
    return _put_down(document, operation, value, f"error in move for path: '{operation.path.text}'")


def _copy(document: Document, operation: Operation) -> Document:
    source = _source(operation)
    shown = f'"{source.text}"' if document.rules.names_itself else source.text
    place = _source_place(document, source, "copy operation", shown)
    try:
        value = value_at(document, place)
    except PatchError as error:
        raise PatchError(f"error in copy for from: '{source.text}': {error}") from error
    if document.meter is not None:
        document.meter.weigh(value)
    return _put_down(document, operation, value, "error while adding value during copy")


def _source(operation: Operation) -> Pointer:
    if operation.source is None:
        what = f"{operation.name} operation failed to decode from"
        raise PatchError(f"{what}: operation, missing from field: missing value")
    return operation.source


def _source_place(document: Document, source: Pointer, what: str, shown: str) -> Slot:
    place = find_place(document, source)
    if place is None:
        message = f"{what} does not apply: doc is missing from path: {shown}: missing value"
        raise PatchError(message)
    return place


def _put_down(document: Document, operation: Operation, value: Json, context: str) -> Document:
    place = find_place(document, operation.path)
    if place is None:
        raise PatchError(
            f"{operation.name} operation does not apply: doc is missing destination path: "
            f"{operation.path.text}: missing value"
        )
    return _add_at(document, place, value, context)


def _test(document: Document, operation: Operation) -> Document:
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
    if not _is_expected(document, found, operation):
        raise FailedTestError(f"testing value {path.text} failed: test failed")
    return document


def _is_expected(document: Document, found: Json, operation: Operation) -> bool:
    """Return whether a `test` finds what it wants; the API server's finds no null there is."""
    if document.rules.reads_missing and found is None:
        return not operation.has_value
    return operation.has_value and same(found, operation.value)


_APPLY: Mapping[str, Callable[[Document, Operation], Document]] = MappingProxyType(
    {
        "add": _add,
        "remove": _remove,
        "replace": _replace,
        "move": _move,
        "test": _test,
        "copy": _copy,
    }
)
