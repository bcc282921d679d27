"""JSON patches (RFC 6902) by the rules of Kyverno or the API server; merge patches (RFC 7386)."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kubernetes.go_text import json_kind, quote, to_json
from kyvsim.kubernetes.objects import MAX_DEPTH, TOO_DEEP, Json, is_too_deep, may_be_too_deep
from kyvsim.model.ports import FEW, Meter
from kyvsim.patch.nodes import FailedTestError, PatchError, same
from kyvsim.yaml.document import YamlError
from kyvsim.yaml.text import load_one

# JSON pointers, and their locations in a document.
#
# upstream: github.com/evanphx/json-patch/v5 `patch.go` (findObject, partialDoc, partialArray).

_NUMBER = re.compile(r"[+-]?[0-9]+")
_FEW = 16
"""The number of entries that are copied in a step."""
_INT64 = range(-(2**63), 2**63)


class Pointer(NamedTuple):
    """A parsed path."""

    text: str
    steps: tuple[str, ...]
    """The parts between slashes as written; () for a path without slash."""
    parents: tuple[str, ...]
    """All parts but the last, decoded."""
    key: str
    """The last part, decoded."""


class PatchRules(NamedTuple):
    """The rules for missing values in JSON patches."""

    creates_path: bool
    """Whether `add` creates missing parents."""
    forgives_removal: bool
    """Whether `remove` ignores missing values."""
    reads_missing: bool
    """Whether a missing field of a map is null, which `replace` can set."""
    names_itself: bool
    """Whether an empty part of a path is the document itself at the root, instead of a field."""


KYVERNO = PatchRules(
    creates_path=True, forgives_removal=True, reads_missing=False, names_itself=True
)
"""The rules of mutate rules. upstream: github.com/evanphx/json-patch/v5 with options"""
KUBERNETES = PatchRules(
    creates_path=False, forgives_removal=False, reads_missing=True, names_itself=False
)
"""The rules of the API server's policies. upstream: gopkg.in/evanphx/json-patch.v4"""


class PatchDocument(NamedTuple):
    """A document during a patch."""

    root: Json
    itself: Json
    """The value of an empty part of a path at the root: the original document."""
    rules: PatchRules = KYVERNO
    meter: Meter | None = None
    """Counts copied entries; None for no counting."""

    def counts(self, copied: Sized) -> None:
        """Count a map or list that is copied; raises BudgetError if that exceeds the budget."""
        if self.meter is not None and len(copied) > _FEW:
            self.meter.spend(len(copied) // _FEW)


class Slot(NamedTuple):
    """A map or list and a key in it that may be missing."""

    container: Json
    key: str
    trail: tuple[str | int, ...] | None
    """The path from the root to the container; None for a copy whose changes are lost."""


class MissingKeyError(PatchError):
    """A map lacks a key."""


def parse_pointer(path: str) -> Pointer:
    """Return the parts of a path; anything before the first slash is ignored.

    Raises PatchError for a path that is nested too deeply.
    """
    steps = tuple(path.split("/")[1:])
    if len(steps) > MAX_DEPTH:
        raise PatchError(f"a path is more than {MAX_DEPTH} levels deep")
    parts = tuple(map(decode_step, steps)) or ("",)
    return Pointer(path, steps, parts[:-1], parts[-1])


def decode_step(step: str) -> str:
    """Return one part of a path without escapes."""
    return step.replace("~1", "/").replace("~0", "~") if "~" in step else step


def find_place(document: PatchDocument, pointer: Pointer) -> Slot | None:
    """Return the location of a pointer, or None if its parent is missing."""
    whole = document.rules.names_itself
    if not pointer.steps:
        return None if pointer.text or not whole else Slot(document.root, "", ())
    node = document.root
    trail: tuple[str | int, ...] = ()
    lost = False
    for part in pointer.parents:
        if whole and part == "" and node is document.root and not lost:
            node, lost = document.itself, True
            continue
        key = concrete_key(node, part, empty=not whole)
        node = None if key is None else node[key]
        if key is None or (node.__class__ is not dict and node.__class__ is not list):
            return None
        trail = (*trail, key)
    return Slot(node, pointer.key, None if lost else trail)


def concrete_key(node: Json, part: str, *, empty: bool = False) -> str | int | None:
    """Return the existing key or index of this part in a map or list, or None.

    `empty` is whether an empty string is a key.
    """
    if node.__class__ is dict:
        return part if (part or empty) and part in node else None
    try:
        return existing_index(node, part)
    except PatchError:
        return None


def value_at(document: PatchDocument, place: Slot) -> object:
    """Return the value at a location; raises MissingKeyError or PatchError if there is none."""
    container, key, trail = place
    if key == "" and document.rules.names_itself:
        return document.itself if container is document.root and trail is not None else None
    if container.__class__ is list:
        return container[existing_index(container, key)]
    if key not in container:
        if document.rules.reads_missing:
            return None
        raise MissingKeyError(f"unable to get nonexistent key: {key}: missing value")
    return container[key]


def existing_index(items: Sequence[object], part: str) -> int:
    """Return the index of an existing element; a negative number counts from the end."""
    number = parse_index(part)
    if not -len(items) <= number < len(items):
        raise PatchError(f"Unable to access invalid index: {number}: invalid index referenced")
    return number % len(items)


def parse_index(part: str) -> int:
    """Return a part as a number; raises PatchError with the text of Go's strconv.Atoi."""
    if not _NUMBER.fullmatch(part):
        raise PatchError(f"strconv.Atoi: parsing {quote(part)}: invalid syntax")
    if len(part) > 20 or int(part) not in _INT64:
        raise PatchError(f"strconv.Atoi: parsing {quote(part)}: value out of range")
    return int(part)


def with_container(document: PatchDocument, place: Slot, new: object) -> PatchDocument:
    """Return the document with another map or list at a location; the rest is shared."""
    if place.trail is None:
        return document
    nodes = [document.root]
    for key in place.trail[:-1]:
        nodes.append(nodes[-1][key])
    for node, key in zip(reversed(nodes), reversed(place.trail), strict=False):
        document.counts(node)
        above = node.copy()
        above[key] = new
        new = above
    return document._replace(root=new)


def insertion_index(items: Sequence[object], part: str) -> int:
    """Return the index of a new element in a list: `-` or -1 is the end."""
    if part == "-":
        return len(items)
    try:
        number = parse_index(part)
    except PatchError as error:
        raise PatchError(f"value was not a proper array index: '{part}': {error}") from error
    if not -len(items) - 1 <= number <= len(items):
        raise PatchError(f"Unable to access invalid index: {number}: invalid index referenced")
    return number if number >= 0 else number + len(items) + 1


# Creating the parents of a location for `add`.
#
# upstream: github.com/evanphx/json-patch/v5 `patch.go` (ensurePathExists).

_MOST_PADDING = 100_000


def create_path(document: PatchDocument, pointer: Pointer) -> PatchDocument:
    """Return the document with all parents of a location; raises PatchError if one is a scalar.

    The parent of a number or `-` in the path is created as a list, with nulls up to the index.
    """
    node = document.root
    trail: tuple[str | int, ...] = ()
    for at, step in enumerate(pointer.steps[:-1]):
        if not step and not trail:
            return document  # an empty first part is a copy, whose changes are lost
        key = concrete_key(node, decode_step(step))
        if key is None or node[key] is None:
            new = node.copy()
            _create(new, pointer.steps[at:])
            return with_container(document, Slot(node, "", trail), new)
        node, trail = node[key], (*trail, key)
        if node.__class__ is not dict and node.__class__ is not list:
            raise PatchError("invalid state detected")
    return document


def _create(node: Json, steps: Sequence[str]) -> None:
    """Add the missing steps to a container of our own; keys are used as written."""
    for step, following in pairwise(steps):
        if node.__class__ is list and (number := _number(step)) is not None:
            _pad(node, number)
        number = _number(following)
        below: Json = {}
        if number is not None and number < -1:
            raise PatchError(
                f"Unable to ensure path for negative index other than -1: {number}: "
                "invalid index referenced"
            )
        if number is not None or following == "-":
            below = []
            _pad(below, number or 0)
        if node.__class__ is dict:
            node[step] = below
        else:
            try:
                node.insert(insertion_index(node, step), below)
            except PatchError:
                return  # the location will be missing
        node = below


def _pad(items: list[object], size: int) -> None:
    if size > _MOST_PADDING:
        raise PatchError(f"index {size} is too large: the list would be filled with nulls")
    items.extend([None] * (size - len(items)))


def _number(step: str) -> int | None:
    try:
        return parse_index(step)
    except PatchError:
        return None


# The operations of a JSON patch, parsed from its text.
#
# upstream: `pkg/engine/mutate/patch/{patchesUtils,patchJSON6902}.go`,
# github.com/evanphx/json-patch/v5 (DecodePatch).

OPERATIONS = ("add", "remove", "replace", "move", "copy", "test")
"""The operations of RFC 6902."""


class PatchOperation(NamedTuple):
    """One operation; `source` is the pointer in `from`, if the operation has one."""

    name: str
    path: Pointer
    source: Pointer | None
    value: Json
    has_value: bool = True
    """Whether it has a value; if not, the value is null."""


def read_patch_text(text: str) -> object:
    """Return the data of a patch text, without validation; raises PatchError if it is invalid."""
    if text[:1] != "[":
        try:
            return load_one(text)
        except YamlError as error:
            message = f"failed to convert patchesJSON6902 to JSON: {error.go_text}"
            raise PatchError(message) from error
    try:
        found: object = json.loads(text, parse_int=_int, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise PatchError("failed to decode patches: invalid state detected") from error
    if may_be_too_deep(text.count("{") + text.count("[")) and is_too_deep(found):
        raise PatchError(f"failed to decode patches: {TOO_DEEP}")
    return found


def _int(digits: str) -> int | float:
    return int(digits) if len(digits) <= 20 and int(digits) in _INT64 else float(digits)


def _refuse(word: str) -> object:
    raise ValueError(word)


def prepare_operations(operations: object) -> tuple[PatchOperation, ...]:
    """Return the parsed operations; raises PatchError if they are not a list of operations."""
    if operations is None:
        return ()
    if not isinstance(operations, Sequence) or operations.__class__ is str:
        raise PatchError(f"failed to decode patches: {_cannot_read(operations, 'jsonpatch.Patch')}")
    for operation in operations:
        if operation is not None and operation.__class__ is not dict:
            problem = _cannot_read(operation, "jsonpatch.Operation")
            raise PatchError(f"failed to decode patches: {problem}")
    return tuple(map(_prepared, operations))


def _cannot_read(value: object, wanted: str) -> str:
    return f"json: cannot unmarshal {json_kind(value)} into Go value of type {wanted}"


def _prepared(operation: Mapping[str, Json] | None) -> PatchOperation:
    """Return one parsed operation; raises PatchError if a field is missing or of the wrong type."""
    fields = operation or {}
    name, problem = fields.get("op"), ""
    if name.__class__ is not str or name not in OPERATIONS:
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
    return PatchOperation(name or "", parse_pointer(fields["path"]), source, fields.get("value"))


def _path_problem(fields: Mapping[str, object], name: str, missing: str) -> str:
    path = fields.get(name)
    if path.__class__ is str:
        return ""
    said = f"{missing}: missing value" if path is None else _cannot_read(path, "string")
    return f"failed to decode '{name}': {said}"


# The JSON texts of a document before and after a JSON patch, which upstream compares.
#
# upstream: `pkg/engine/mutate/mutation.go` (`Mutate`): the document's text has sorted keys, the
# patch library keeps the order of keys and the original texts of values
# (github.com/evanphx/json-patch/v5, `partialDoc`).


class _Written(NamedTuple):
    """A number or string of a patch with its JSON text."""

    text: str


def written_operations(text: str) -> tuple[PatchOperation, ...]:
    """Return the operations of a patch, except tests, with values that contain their JSON text.

    A patch in YAML is first converted to JSON with sorted keys.
    """
    # JSON is usually written without escaping `<`, `>` and `&`.
    if text[:1] == "[":
        found = json.loads(text, parse_int=_Written, parse_float=_Written)
        value = _as_written
    else:
        found, value = read_patch_text(text), in_key_order
    operations = (one for one in prepare_operations(found) if one.name != "test")
    return tuple(one._replace(value=value(one.value)) for one in operations)


def in_key_order(value: object) -> object:
    """Return a copy of a value in which the keys of all maps are sorted."""
    if value.__class__ is dict:
        return {key: in_key_order(value[key]) for key in sorted(value)}
    return [in_key_order(one) for one in value] if value.__class__ is list else value


def _as_written(value: object) -> object:
    if value.__class__ is dict:
        return {key: _as_written(one) for key, one in value.items()}
    if value.__class__ is list:
        return [_as_written(one) for one in value]
    return _Written(json.dumps(value, ensure_ascii=False)) if value.__class__ is str else value


def written_text(value: object) -> str:
    """Return the JSON text of a value without sorting its keys."""
    if value.__class__ is dict:
        pairs = (f"{to_json(key)}:{written_text(one)}" for key, one in value.items())
        return f"{{{','.join(pairs)}}}"
    if value.__class__ is list:
        return f"[{','.join(map(written_text, value))}]"
    return value.text if value.__class__ is _Written else to_json(value)


# JSON patches (RFC 6902) with negative indices, by the rules of Kyverno or of the API server.
#
# upstream: `pkg/engine/mutate/patch/{patchesUtils,patchJSON6902}.go`,
# github.com/evanphx/json-patch/v5 with SupportNegativeIndices, AllowMissingPathOnRemove and
# EnsurePathExistsOnAdd; gopkg.in/evanphx/json-patch.v4.

_NO_DOCUMENT = "invalid value, expected object"
_FAULTS_AT_ROOT = MappingProxyType(
    {
        "move": "error in move for path: '{key}'",
        "copy": "error in copy for from: '{path}'",
        "test": "error in test for path: '{path}'",
    }
)


def apply_json_patch(document: object, operations: Sequence[object]) -> Json:
    """Return `document` with the operations applied in order; unchanged parts are shared.

    The result is `document` itself if nothing changes. Raises PatchError.
    """
    return apply_operations(document, prepare_operations(operations), KYVERNO)


def operations_in(text: str) -> Sequence[PatchOperation]:
    """Return the operations of a patch text; raises the errors of parsing."""
    # A variable may have replaced the text by any value.
    return _operations(text) if text.__class__ is str else _operations.__wrapped__(text)


def compile_json_patch(text: str, meter: Meter | None = None) -> Callable[[Json], Json]:
    """Return a function that applies the patch in a text; raises the errors of parsing."""
    is_text, operations = text.__class__ is str, operations_in(text)
    # Whether it may result in an equal document with a different text.
    may_differ = is_text and (
        text[:1] == "[" or any(one.name in {"remove", "move"} for one in operations)
    )

    def patched(document: Json) -> Json:
        if document == {}:
            return _apply_to_nothing(operations, meter)
        found = apply_operations(document, operations, KYVERNO, meter)
        if found is not document or not (may_differ and _is_rewritten(document, text, meter)):
            return found
        return dict(document)

    return patched


def _apply_to_nothing(operations: Sequence[PatchOperation], meter: Meter | None) -> object:
    """Return the result of a patch of no object, whose text is `null`; mostly it raises PatchError.

    This is the case after a deletion. Nothing can be read or added, until an operation without path
    sets the whole document.
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
        else:  # it is missing, as in an empty document
            apply_operations({}, [one], KYVERNO._replace(creates_path=False), meter)
    what = "json: error calling MarshalJSON for type *jsonpatch.partialDoc"
    raise PatchError(f"{what}: {_NO_DOCUMENT}")


def _is_rewritten(document: object, text: str, meter: Meter | None) -> bool:
    """Return whether a patch that results in an equal document changes its JSON text.

    upstream compares the texts: a key that is removed and added again becomes the last one, and a
    value keeps the text of the patch.
    """
    if document.__class__ is not dict:
        return False
    before = in_key_order(document)
    after = _operated(before, written_operations(text), KYVERNO, meter or Meter())
    return written_text(after.root) != written_text(before)


@lru_cache(maxsize=512)
def _operations(text: str) -> Sequence[PatchOperation]:
    """Return the cached operations of a text, often the same for each object in a loop."""
    return prepare_operations(read_patch_text(text))


def moved_removals(
    document: Json,
    operations: Sequence[PatchOperation],
    remedy: str = "remove the last element first",
) -> Iterator[str]:
    """Yield a text if removals by index remove other elements than those of `document`.

    An earlier removal moved them. Lists that other operations change are left out.
    """
    moved = [
        f"`{path}` removes {_shown(removed)} instead of {_shown(meant)}"
        for path, meant, removed in _moved_removals(document, operations)
    ]
    if moved:
        more = f" (and {len(moved) - 1} more)" if moved[1:] else ""
        yield f"an earlier removal moved the elements after it, so {moved[0]}{more}: {remedy}"


def _shown(element: Json) -> str:
    name = element.get("name") if element.__class__ is dict else element
    return "nothing" if element is None else f"`{name if name.__class__ is str else element}`"


def _moved_removals(
    document: Json, operations: Sequence[PatchOperation]
) -> Iterator[tuple[str, Json, Json]]:
    """Yield the path of each, the element with its index, and the removed one or None."""
    if [one.name for one in operations].count("remove") < 2:
        return
    whole, changed = PatchDocument(document, document), set[tuple[str, ...]]()
    rest: dict[tuple[str, ...], list[int]] = {}
    first: dict[tuple[str, ...], int] = {}
    for operation in operations:
        path = operation.path
        parents, place = path.parents, find_place(whole, path)
        if operation.name not in {"remove", "test"}:
            sources = [operation.source] if operation.source else []
            changed |= {(*one.parents, one.key) for one in (path, *sources)}
            changed |= {one.parents for one in (path, *sources)}
        if operation.name != "remove" or place is None or place.container.__class__ is not list:
            continue
        if not path.key.isdecimal() or any(parents[: len(one)] == one for one in changed if one):
            continue
        items, index = place.container, int(path.key)
        left = rest.setdefault(parents, [*range(len(items))])
        removed = left.pop(index) if index < len(left) else None
        if first.setdefault(parents, index) < index < len(items) and removed != index:
            yield path.text, items[index], None if removed is None else items[removed]
        first[parents] = min(first[parents], index)


def apply_operations(
    root: Json, operations: Sequence[PatchOperation], rules: PatchRules, meter: Meter | None = None
) -> Json:
    """Return a document with operations applied in order.

    Raises PatchError, and BudgetError if they copy more than `meter` allows; without meter each
    patch has its own budget.
    """
    document = _operated(root, operations, rules, meter or Meter())
    return root if same(document.root, root) else document.root


def _operated(
    root: object, operations: Sequence[PatchOperation], rules: PatchRules, meter: Meter
) -> PatchDocument:
    document = PatchDocument(root, root, rules, meter)
    if len(operations) > FEW:
        meter.spend(len(operations))
    for operation in operations:
        apply = _APPLY.get(operation.name)
        if apply is None:
            raise PatchError(f"Unexpected kind: {operation.name}")
        document = apply(document, operation)
    return document


def _add(document: PatchDocument, operation: PatchOperation) -> PatchDocument:
    path, value = operation.path, operation.value
    if not path.text and document.rules.names_itself:
        if value.__class__ is not dict and value.__class__ is not list:
            raise PatchError("invalid value, expected object")
        return document._replace(root=value, itself=value)
    if document.rules.creates_path:
        document = create_path(document, path)
    missing = f'add operation does not apply: doc is missing path: "{path.text}"'
    place = _existing_place(document, path, missing)
    return _add_at(document, place, value, f"error in add for path: '{path.text}'")


def _add_at(document: PatchDocument, place: Slot, value: object, context: str) -> PatchDocument:
    container, key, _ = place
    document.counts(container)
    new = container.copy()
    if container.__class__ is dict:
        new[key] = value
    else:
        try:
            new.insert(insertion_index(container, key), value)
        except PatchError as error:
            raise PatchError(f"{context}: {error}") from error
    return with_container(document, place, new)


def _remove(document: PatchDocument, operation: PatchOperation) -> PatchDocument:
    place = find_place(document, operation.path)
    if place is None:
        if document.rules.forgives_removal:
            return document
        said = "remove operation does not apply: doc is missing path"
        raise PatchError(f'{said}: "{operation.path.text}": missing value')
    try:
        return _without(document, place)
    except PatchError as error:
        raise PatchError(f"error in remove for path: '{operation.path.text}': {error}") from error


def _without(document: PatchDocument, place: Slot) -> PatchDocument:
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


def _replace(document: PatchDocument, operation: PatchOperation) -> PatchDocument:
    path, value = operation.path, operation.value
    if not path.text:
        if value.__class__ is not dict and value.__class__ is not list:
            raise PatchError("replace operation value must be object or array: %!w(<nil>)")
        return document._replace(root=value, itself=None)
    said = "replace operation does not apply: doc is missing"
    place = _existing_place(document, path, f"{said} path: {path.text}")
    try:
        value_at(document, place)
    except PatchError as error:
        raise PatchError(f"{said} key: {path.text}: missing value") from error
    document.counts(place.container)
    new = place.container.copy()
    try:
        new[existing_index(new, place.key) if new.__class__ is list else place.key] = value
    except PatchError as error:  # an empty part is the list itself, which has no such index
        raise PatchError(f"error in remove for path: '{path.text}': {error}") from error
    return with_container(document, place, new)


def _move(document: PatchDocument, operation: PatchOperation) -> PatchDocument:
    source = _source(operation)
    if not source.text:
        raise PatchError("unable to move entire document to another path: invalid state detected")
    missing = f"move operation does not apply: doc is missing from path: {source.text}"
    place = _existing_place(document, source, missing)
    try:
        value = value_at(document, place)
        document = _without(document, place)
    except PatchError as error:
        raise PatchError(f"error in move for path: '{place.key}': {error}") from error
    return _put_down(document, operation, value, f"error in move for path: '{operation.path.text}'")


def _copy(document: PatchDocument, operation: PatchOperation) -> PatchDocument:
    source = _source(operation)
    shown = f'"{source.text}"' if document.rules.names_itself else source.text
    missing = f"copy operation does not apply: doc is missing from path: {shown}"
    place = _existing_place(document, source, missing)
    try:
        value = value_at(document, place)
    except PatchError as error:
        raise PatchError(f"error in copy for from: '{source.text}': {error}") from error
    if document.meter is not None:
        document.meter.weigh(value)
    return _put_down(document, operation, value, "error while adding value during copy")


def _source(operation: PatchOperation) -> Pointer:
    if operation.source is None:
        what = f"{operation.name} operation failed to decode from"
        raise PatchError(f"{what}: operation, missing from field: missing value")
    return operation.source


def _existing_place(document: PatchDocument, pointer: Pointer, problem: str) -> Slot:
    place = find_place(document, pointer)
    if place is None:
        raise PatchError(f"{problem}: missing value")
    return place


def _put_down(
    document: PatchDocument, operation: PatchOperation, value: object, context: str
) -> PatchDocument:
    missing = f"{operation.name} operation does not apply: doc is missing destination path"
    place = _existing_place(document, operation.path, f"{missing}: {operation.path.text}")
    return _add_at(document, place, value, context)


def _test(document: PatchDocument, operation: PatchOperation) -> PatchDocument:
    path = operation.path
    if not path.text:
        found = document.root
    else:
        missing = f"test operation does not apply: is missing path: {path.text}"
        place = _existing_place(document, path, missing)
        try:
            found = value_at(document, place)
        except MissingKeyError:
            found = None
        except PatchError as error:
            raise PatchError(f"error in test for path: '{path.text}': {error}") from error
    if document.rules.reads_missing and found is None:
        passes = not operation.has_value  # the API server's library does not find an existing null
    else:
        passes = operation.has_value and same(found, operation.value)
    if not passes:
        raise FailedTestError(f"testing value {path.text} failed: test failed")
    return document


_APPLY: Mapping[str, Callable[[PatchDocument, PatchOperation], PatchDocument]] = MappingProxyType(
    {"add": _add, "remove": _remove, "replace": _replace, "move": _move}
    | {"test": _test, "copy": _copy}
)

# JSON merge patches (RFC 7386).


def merge_patch(target: object, patch: object) -> Json:
    """Return `target` changed by a merge patch: maps are merged, None removes a field."""
    if patch.__class__ is not dict:
        return patch
    merged = dict(target) if target.__class__ is dict else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged
