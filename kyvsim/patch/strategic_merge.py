"""Strategic merge patches: kyaml's rules, patch elements first in merged lists.

upstream: `pkg/engine/mutate/patch/strategicMergePatch.go`; kyaml `yaml/walk` and `yaml/merge2` with
`MergeOptionsListPrepend` and no inference of list keys.

Four functions treat a place: `_merge` where object and patch have a value, `_keep` where only the
object has one (its keyed lists are tidied all the same), `_adopt` where only the patch has one, and
`_settle` for what lies inside a part taken from the patch, which the reference merges with itself.
Each returns ABSENT for a value that goes.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import repeat

from kyvsim.kube.go_text import quote
from kyvsim.kube.numbers import tidy_parts, within_bounds
from kyvsim.kube.objects import Json
from kyvsim.patch.directives import (
    DIRECTIVE,
    DIRECTIVES,
    list_directive,
    map_directive,
    without_directive,
)
from kyvsim.patch.errors import PatchError
from kyvsim.patch.keyed_lists import Joined, merge_keyed
from kyvsim.patch.merge_keys import NOTHING_MERGES, Field, find_type
from kyvsim.patch.nodes import ABSENT, field_of, is_named, kind_of, same, text, wrong_kind
from kyvsim.patch.preprocess_anchors import (
    TWICE,
    CompileCondition,
    ConditionsFailed,
    check_list,
    compile_preprocess,
    may_double,
)

_NEXT = "\n  "


def apply_strategic_merge(patch: Json, resource: Json, compile_condition: CompileCondition) -> Json:
    """Return `resource` with `patch` merged into it; `resource` itself when nothing changes.

    `compile_condition` makes the check of an anchor's condition. Raises PatchError.
    """
    return compile_strategic_merge(patch, compile_condition)(resource)


def compile_strategic_merge(
    patch: Json, compile_condition: CompileCondition
) -> Callable[[Json], Json]:
    """Return a function that merges `patch` into an object, as `apply_strategic_merge` does."""

    def apply_no_map(resource: Json) -> Json:
        if patch.__class__ is list and patch and patch[0].__class__ is dict:
            check_list(resource)
        raise PatchError(f"failed to preProcess rule: {wrong_kind('MappingNode', patch)}")

    if patch.__class__ is not dict:
        return apply_no_map
    preprocess, doubles = compile_preprocess(patch, compile_condition), may_double(patch)

    def apply(resource: Json) -> Json:
        try:
            prepared = preprocess(resource)
        except ConditionsFailed:
            prepared = {}
        patched = _apply(prepared, resource)
        if doubles:
            _refuse_doubled(patched)
        return patched

    return apply


def _refuse_doubled(patched: Json) -> None:
    """Raise PatchError for an object that has got a map with a key that is there twice.

    The text is that of go-yaml, which reads the object back; it stands on one line.
    """
    faults = [*_doubled_keys(patched)]
    if faults:
        lines = (f"line 1: mapping key {quote(key)} already defined at line 1" for key in faults)
        raise PatchError(f"yaml: unmarshal errors:{_NEXT}{_NEXT.join(lines)}")


def _doubled_keys(value: Json) -> Iterator[str]:
    if value.__class__ is dict:
        found = value.get(TWICE)
        if found:
            yield from found
        else:
            for item in value.values():
                yield from _doubled_keys(item)
    elif value.__class__ is list:
        for item in value:
            yield from _doubled_keys(item)


def _apply(patch: Json, resource: Json) -> Json:
    within_bounds(tidy_parts())
    result = _merge(resource, patch, None)
    if result is ABSENT:
        raise PatchError("filter cannot create or delete objects")
    return result


def _merge(dest: Json, origin: Json, known: Field | None) -> Json:
    """Return the merged value; it is `dest` itself where that has the same JSON text."""
    if dest.__class__ is dict is origin.__class__:
        return _merge_maps(dest, origin, known or _typed(dest, origin))
    if dest is None:
        return _adopt(origin, known)
    if origin is None:
        return ABSENT
    if kind_of(dest) != kind_of(origin):
        raise wrong_kind(kind_of(dest), origin)
    if dest.__class__ is not list:
        return _merge_scalars(dest, origin)
    if known is None or known.keys is None:
        return dest if same(dest, origin) else origin
    directive, origin = list_directive(origin)
    if directive == "delete":
        return ABSENT
    if directive == "replace":
        merged = _settle_elements(origin, known)
    else:
        are_tidy = partial(_are_tidy, known.element)
        merged = merge_keyed(dest, origin, known.keys, _joiner(known), are_tidy)
    return dest if same(merged, dest) else merged


def _merge_scalars(dest: Json, origin: Json) -> Json:
    if same(dest, origin):
        return dest
    # The node keeps the quotes of the text that it replaces.
    new = text(origin) if dest.__class__ is str else origin
    return dest if same(dest, new) else new


def _merge_maps(dest: Json, origin: Json, known: Field | None) -> Json:
    directive, origin = map_directive(origin)
    if directive == "delete":
        return ABSENT
    if directive == "replace":
        settled = _settle_fields(origin, known)
        return dest if same(settled, dest) else settled
    _refuse_nameless(origin, dest)
    merged = _keep_fields(dest, known, skip=origin)
    changed = merged is not dest
    for name in sorted(origin):
        if name == TWICE:
            continue
        before = dest.get(name, ABSENT)
        below = _below(known, name)
        after = (
            _adopt(origin[name], below) if before is ABSENT else _merge(before, origin[name], below)
        )
        if after is before:
            continue
        if not changed:
            merged, changed = dict(dest), True
        if after is ABSENT:
            del merged[name]
        else:
            merged[name] = after
    return merged


def _keep(dest: Json, known: Field | None) -> Json:
    if dest.__class__ is not dict and (
        dest.__class__ is not list or known is None or known.keys is None
    ):
        return dest
    tidy = tidy_parts()
    about = id(dest), id(known)
    if about in tidy:
        return dest
    if known is not None and known.keys is not None and dest.__class__ is list:
        kept = merge_keyed(dest, ABSENT, known.keys, _joiner(known))
        kept = dest if same(kept, dest) else kept
    else:
        kept = _keep_fields(dest, known or _typed(dest))
    if kept is dest:
        tidy[about] = dest, known  # both held: the table of types forgets some
    return kept


def _are_tidy(known: Field | None, values: Iterable[Json]) -> Iterable[bool]:
    """Return for each value whether `_keep` is known to leave it alone."""
    return map(tidy_parts().__contains__, zip(map(id, values), repeat(id(known)), strict=False))


def _refuse_nameless(names: Json, shown: Json) -> None:
    """Raise PatchError for a map with a field whose name is empty.

    The reference sets each field that it walks, and its setter takes an empty name for "the node
    itself", which then has to be a scalar. upstream: kyaml yaml/fns.go (FieldSetter.Filter)
    """
    if "" in names:
        _settle(names[""], None)  # what is inside of it is walked, and refused, first
        raise wrong_kind("ScalarNode", shown)


def _keep_fields(dest: Json, known: Field | None, skip: Json = ()) -> Json:
    _refuse_nameless(dest, dest)
    tidy, changed = tidy_parts(), {}
    for name, below in dict.fromkeys(dest).items() if known is None else known.fields.items():
        before = dest.get(name)
        kind = before.__class__
        if (
            (kind is dict or kind is list)
            and (id(before), id(below)) not in tidy
            and name not in skip
        ):
            after = _keep(before, below)
            if after is not before:
                changed[name] = after
    return {**dest, **changed} if changed else dest


def _adopt(origin: Json, known: Field | None) -> Json:
    if origin is None:
        return ABSENT
    if origin.__class__ is dict:
        found = origin.get(DIRECTIVE, ABSENT)
        word = ABSENT if found is ABSENT else text(found)
        if word == "delete":
            return ABSENT
        known = known or _typed(origin)
        # An unknown directive is a field like others here.
        return _settle_fields(without_directive(origin) if word in DIRECTIVES else origin, known)
    if origin.__class__ is list and known is not None and known.keys is not None:
        return _settle_elements(origin, known)
    return origin


def _settle(value: Json, known: Field | None) -> Json:
    if value is None:
        return ABSENT
    if value.__class__ is dict:
        directive, value = map_directive(value)
        return ABSENT if directive == "delete" else _settle_fields(value, known or _typed(value))
    if value.__class__ is list and known is not None and known.keys is not None:
        directive, value = list_directive(value)
        return ABSENT if directive == "delete" else _settle_elements(value, known)
    return value


def _settle_fields(value: Json, known: Field | None) -> Json:
    _refuse_nameless(value, value)
    settled = {name: _settle(item, _below(known, name)) for name, item in value.items()}
    return {name: item for name, item in settled.items() if item is not ABSENT}


def _settle_elements(value: Json, known: Field) -> Json:
    element = known.element

    def join(dest: Json, origin: Json) -> Joined:
        return Joined(
            ABSENT if dest is ABSENT and origin is ABSENT else _settle(dest, element), True
        )

    return merge_keyed(value, value, known.keys or (), join)


def _joiner(known: Field) -> Callable[[Json, Json], Joined]:
    element = known.element

    def join(dest: Json, origin: Json) -> Joined:
        if origin is ABSENT:
            return Joined(dest if dest is ABSENT else _keep(dest, element), True)
        if dest is ABSENT:
            return Joined(_adopt(origin, element), False)
        in_place = field_of(origin, DIRECTIVE) != "replace" and dest.__class__ is dict
        return Joined(_merge(dest, origin, element), in_place)

    return join


def _below(known: Field | None, name: str) -> Field | None:
    return None if known is None else known.fields.get(name, NOTHING_MERGES)


def _typed(*sources: Json) -> Field | None:
    """Return the type that the apiVersion and kind of a map without a typed place name."""
    for source in sources:
        version, kind = source.get("apiVersion", ABSENT), source.get("kind", ABSENT)
        if is_named(version) and is_named(kind) and (found := find_type(text(version), text(kind))):
            return found
    return None
