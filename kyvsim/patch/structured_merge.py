"""Structured merges: a patch laid over an object by the types of its fields.

Maps merge by field, lists with keys by the elements' names, sets by value; what is atomic is
replaced as a whole, and refused unless that is wanted.

Source of the rules: upstream sigs.k8s.io/structured-merge-diff/v6 typed/merge.go,
k8s.io/apiserver pkg/admission/plugin/policy/mutating/patch/smd.go.
"""

from collections import deque
from collections.abc import Hashable, Iterator, Mapping, Sequence

from kyvsim.kubernetes.numbers import with_whole_numbers
from kyvsim.kubernetes.objects import Json
from kyvsim.patch.merge_types import FindType, ListType, NoTypesError, Type, TypeRef, resolve
from kyvsim.patch.results import PatchError
from kyvsim.patch.typed_values import Misfit, element_name, misfits


def apply_structured_merge(
    obj: Json, fields: Json, find_type: FindType, *, replaces: bool = False
) -> Json:
    """Return `obj` with the fields of a patch merged in; what they do not touch is shared.

    `replaces` lets the patch set what is atomic. Raises PatchError.
    """
    api_version, kind = obj.get("apiVersion") or "", obj.get("kind") or ""
    try:
        found = find_type(api_version, kind)
    except NoTypesError:
        raise PatchError("type converter must not be nil") from None
    patch = {**fields, "apiVersion": api_version, "kind": kind}
    if found is None:
        missing = f"no corresponding type for {api_version}, Kind={kind}"
        raise PatchError(f"failed to convert patch object to typed object: {missing}")
    _check("patch", misfits(found, patch))
    if not replaces:
        atomic = list(_atomics(found, patch, ""))
        if atomic:
            raise PatchError(
                "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: "
                + ", ".join(atomic)
            )
    wrong = misfits(found, obj, duplicates=True)
    if wrong:
        _check("original", misfits(found, with_whole_numbers(obj), duplicates=True))
    return _merged(found, obj, patch)


def _check(which: str, found: Sequence[Misfit]) -> None:
    if not found:
        return
    text = str(found[0]) if len(found) == 1 else "\n  ".join(["errors:", *map(str, found)])
    raise PatchError(f"failed to convert {which} object to typed object: {text}")


def _atomics(ref: TypeRef, value: Json, path: str) -> Iterator[str]:
    """Yield the ways to what a value sets that is atomic; maps without fields are not entered."""
    kind = resolve(ref)
    if value.__class__ is dict and kind.mapping is not None:
        if kind.mapping.atomic:
            yield path
        for name, field in value.items():
            if name in kind.mapping.fields:
                yield from _atomics(kind.mapping.fields[name], field, f"{path}.{name}")
    elif value.__class__ is list and kind.sequence is not None:
        if kind.sequence.keys is None:
            yield path
        for index, element in enumerate(value):
            yield from _atomics(kind.sequence.element, element, f"{path}[{index}]")


def _merged(ref: TypeRef, old: Json, new: Json) -> Json:
    """Return a value with another laid over it; both fit the type."""
    kind = resolve(ref)
    if new is None:
        return old if _outlasts_null(kind, old) else None
    if new.__class__ is dict and old.__class__ is dict and kind.mapping is not None:
        shape = kind.mapping
        if shape.atomic or not (old or new):
            return new
        over = {
            name: _merged(_field(shape.fields.get(name, shape.others)), old[name], field)
            if name in old
            else field
            for name, field in new.items()
        }
        return {**old, **over}
    if new.__class__ is list and old.__class__ is list and kind.sequence is not None:
        if kind.sequence.keys is None or not (old or new):
            return new
        return list(_merged_elements(kind.sequence, old, new))
    return new


def _outlasts_null(kind: Type, old: Json) -> bool:
    """Return whether a null leaves a value as it is: a map or list whose elements merge."""
    if kind.mapping is not None:
        return old.__class__ is dict and bool(old) and not kind.mapping.atomic
    if kind.sequence is not None and not kind.scalar:
        return old.__class__ is list and bool(old) and kind.sequence.keys is not None
    return False


def _field(ref: TypeRef | None) -> TypeRef:
    if ref is None:
        raise PatchError("field not declared in schema")
    return ref


def _merged_elements(kind: ListType, old: list[Json], new: list[Json]) -> Iterator[Json]:
    """Yield the elements of both lists.

    Those of the patch keep their order, and so do those that only the object has: each comes
    before the elements of the patch that follow the same shared ones. Elements of the object
    that have one name are replaced by the patch's.
    """
    names = [element_name(kind, one) for one in old]
    theirs = {element_name(kind, one): one for one in new}
    ours: dict[Hashable, Json] = {}
    for name, one in zip(names, old, strict=True):
        ours[name] = None if name in ours else one
    shared = deque(name for name in theirs if name in ours)
    waiting = deque(zip(names, old, strict=True))
    placed = dict.fromkeys(theirs, False)
    for name, element in theirs.items():
        yield from _before(name, waiting, shared, placed)
        if waiting and waiting[0][0] == name:
            waiting.popleft()
        if shared and shared[0] == name:
            shared.popleft()
        placed[name] = True
        yield _merged(kind.element, ours[name], element) if name in ours else element
    yield from (one for name, one in waiting if name not in theirs)


def _before(
    name: Hashable,
    waiting: deque[tuple[Hashable, Json]],
    shared: deque[Hashable],
    placed: Mapping[Hashable, bool],
) -> Iterator[Json]:
    """Yield the object's own elements that come before the patch's element of a name.

    Shared ones on the way are passed over, as they come at their place in the patch; the next
    of them ends it. `placed` says of the patch's elements whether they have come.
    """
    while waiting and waiting[0][0] != name:
        first = waiting[0][0]
        if first not in placed:
            yield waiting.popleft()[1]
        elif shared and shared[0] != first:
            waiting.popleft()
        else:
            if placed[first]:
                waiting.popleft()
            return
