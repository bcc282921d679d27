"""Strategic merge patches: kyaml's rules, with the patch's elements first in merged lists.

upstream: `pkg/engine/mutate/patch/strategicMergePatch.go`; kyaml `yaml/walk` and `yaml/merge2` with
`MergeOptionsListPrepend` and no inference of list keys.

Each value is processed by one of four functions: `_merge` if object and patch have a value,
`_keep` if only the object has one (its keyed lists are tidied nevertheless), `_adopt` if only the
patch has one, and `_settle` inside a part from the patch, which the reference merges with itself.
Each returns ABSENT for a removed value.
"""

from collections import OrderedDict
from collections.abc import Callable, Container, Iterator
from itertools import islice
from typing import Final, TypeAlias

from kyvsim.kubernetes.go_text import quote
from kyvsim.kubernetes.objects import Json, KubernetesObject, text_field
from kyvsim.kubernetes.quantities import with_whole_numbers
from kyvsim.kubernetes.wildcard import fits_itself_only
from kyvsim.patch.keyed_lists import NOTHING_MERGES, Joined, MergeField, find_type, merge_keyed
from kyvsim.patch.nodes import (
    ABSENT,
    ADDITION,
    CONDITION,
    GLOBAL,
    PatchError,
    anchors_of,
    field_of,
    has_anchors,
    is_named,
    kind_of,
    same,
    text,
    texts_at,
    wrong_kind,
)
from kyvsim.patch.preprocess_anchors import (
    TWICE,
    CompileCondition,
    ConditionsFailed,
    check_list,
    compile_preprocess,
    may_double,
)

# The directive `$patch` in maps and lists. upstream: kyaml `yaml/merge2/smpdirective.go`.

_Fields: TypeAlias = dict[str, Json]

DIRECTIVE: Final = "$patch"
DIRECTIVES: Final = frozenset({"replace", "delete", "merge"})


def _map_directive(patch: _Fields) -> tuple[str, _Fields]:
    """Return the directive of a map ("merge" if there is none), and the map without it."""
    found = patch.get(DIRECTIVE, ABSENT)
    if found is ABSENT:
        return "merge", patch
    return _checked(text(found)), _without_directive(patch)


def _list_directive(patch: list[Json]) -> tuple[str, list[Json]]:
    """Return the directive of a list's first `$patch` element, and the list without any of them."""
    first = next((item for item in patch if field_of(item, DIRECTIVE) is not ABSENT), None)
    if first is None or len(first) > 1:
        return "merge", patch
    word = _checked(text(first[DIRECTIVE]))
    left = [
        item
        for item in patch
        if item is not None and item != {} and text(field_of(item, DIRECTIVE)) != word
    ]
    return word, left


def _checked(word: str) -> str:
    if word not in DIRECTIVES:
        raise PatchError(f"unknown patch strategy '{word}'")
    return word


def _without_directive(patch: _Fields) -> _Fields:
    return {name: value for name, value in patch.items() if name != DIRECTIVE}


_NEXT = "\n  "


def apply_strategic_merge(
    patch: object, resource: object, compile_condition: CompileCondition
) -> object:
    """Return `resource` with `patch` merged into it; `resource` itself if nothing changes.

    `compile_condition` returns the check of an anchor's condition. Raises PatchError.
    """
    return compile_strategic_merge(patch, compile_condition)(resource)


def compile_strategic_merge(
    patch: object, compile_condition: CompileCondition
) -> Callable[[object], object]:
    """Return a function that merges `patch` into an object, like `apply_strategic_merge`."""

    def apply_no_map(resource: object) -> object:
        if patch.__class__ is list and patch and patch[0].__class__ is dict:
            check_list(resource)
        raise PatchError(f"failed to preProcess rule: {wrong_kind('MappingNode', patch)}")

    if patch.__class__ is not dict:
        return apply_no_map
    preprocess, doubles = compile_preprocess(patch, compile_condition), may_double(patch)

    def apply(resource: object) -> object:
        try:
            prepared = preprocess(resource)
        except ConditionsFailed:
            prepared = {}
        patched = _merge(resource, prepared, None)
        if patched is ABSENT:
            raise PatchError("filter cannot create or delete objects")
        twice = [*_doubled_keys(patched)] if doubles else []
        if twice:
            # The message is that of go-yaml, which parses the object from one line.
            lines = (f"line 1: mapping key {quote(key)} already defined at line 1" for key in twice)
            raise PatchError(f"yaml: unmarshal errors:{_NEXT}{_NEXT.join(lines)}")
        return patched

    return apply


def _doubled_keys(value: object) -> Iterator[str]:
    if value.__class__ is dict and value.get(TWICE):
        yield from value[TWICE]
    elif value.__class__ is dict or value.__class__ is list:
        for item in value.values() if isinstance(value, dict) else value:
            yield from _doubled_keys(item)


def _merge(dest: object, origin: Json, known: MergeField | None) -> object:
    """Return the merged value; `dest` itself if that has the same JSON text."""
    if dest.__class__ is dict is origin.__class__:
        return _merge_maps(dest, origin, known or _typed(dest, origin))
    if dest is None:
        return _adopt(origin, known)
    if origin is None:
        return ABSENT
    if kind_of(dest) != kind_of(origin):
        raise wrong_kind(kind_of(dest), origin)
    if dest.__class__ is not list:
        if same(dest, origin):
            return dest
        # The node keeps the quotes of the replaced text.
        new = text(origin) if dest.__class__ is str else origin
        return dest if same(dest, new) else new
    if known is None or known.keys is None:
        return dest if same(dest, origin) else origin
    directive, elements = _list_directive(origin)
    if directive == "delete":
        return ABSENT
    if directive == "replace":
        merged = _settle_elements(elements, known)
    else:
        merged = merge_keyed(dest, elements, known.keys, _joiner(known))
    return dest if same(merged, dest) else merged


def _merge_maps(dest: _Fields, origin: _Fields, known: MergeField | None) -> object:
    directive, origin = _map_directive(origin)
    if directive == "delete":
        return ABSENT
    if directive == "replace":
        settled = _settle_fields(origin, known)
        return dest if same(settled, dest) else settled
    _refuse_nameless(origin, dest)
    kept = _keep_fields(dest, known, skip=origin)
    merged = None if kept is dest else kept
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
        if merged is None:
            merged = dict(dest)
        if after is ABSENT:
            del merged[name]
        else:
            merged[name] = after
    return dest if merged is None else merged


def _keep(dest: object, known: MergeField | None) -> object:
    if dest.__class__ is dict:
        return _keep_fields(dest, known or _typed(dest))
    if dest.__class__ is not list or known is None or known.keys is None:
        return dest
    kept = merge_keyed(dest, ABSENT, known.keys, _joiner(known))
    return dest if same(kept, dest) else kept


def _refuse_nameless(names: _Fields, shown: object) -> None:
    """Raise PatchError for a map with a field whose name is empty.

    The reference sets each visited field, and its setter treats an empty name as the node itself,
    which must then be a scalar. upstream: kyaml yaml/fns.go (FieldSetter.Filter)
    """
    if "" in names:
        _settle(names[""], None)  # its value is visited, and rejected, first
        raise wrong_kind("ScalarNode", shown)


def _keep_fields(dest: _Fields, known: MergeField | None, skip: Container[str] = ()) -> _Fields:
    _refuse_nameless(dest, dest)
    changed = {}
    for name, below in dict.fromkeys(dest).items() if known is None else known.fields.items():
        before = dest.get(name)
        kind = before.__class__
        if (kind is dict or kind is list) and name not in skip:
            after = _keep(before, below)
            if after is not before:
                changed[name] = after
    return {**dest, **changed} if changed else dest


def _adopt(origin: object, known: MergeField | None) -> object:
    if origin is None:
        return ABSENT
    if origin.__class__ is dict:
        found = origin.get(DIRECTIVE, ABSENT)
        word = ABSENT if found is ABSENT else text(found)
        if word == "delete":
            return ABSENT
        known = known or _typed(origin)
        # An unknown directive is an ordinary field here.
        return _settle_fields(_without_directive(origin) if word in DIRECTIVES else origin, known)
    if origin.__class__ is list and known is not None and known.keys is not None:
        return _settle_elements(origin, known)
    return origin


def _settle(value: object, known: MergeField | None) -> object:
    if value is None:
        return ABSENT
    if value.__class__ is dict:
        directive, value = _map_directive(value)
        return ABSENT if directive == "delete" else _settle_fields(value, known or _typed(value))
    if value.__class__ is list and known is not None and known.keys is not None:
        directive, value = _list_directive(value)
        return ABSENT if directive == "delete" else _settle_elements(value, known)
    return value


def _settle_fields(value: _Fields, known: MergeField | None) -> object:
    _refuse_nameless(value, value)
    settled = {name: _settle(item, _below(known, name)) for name, item in value.items()}
    return {name: item for name, item in settled.items() if item is not ABSENT}


def _settle_elements(value: list[object], known: MergeField) -> object:
    element = known.element

    def join(dest: object, origin: object) -> Joined:
        return Joined(
            ABSENT if dest is ABSENT and origin is ABSENT else _settle(dest, element), True
        )

    return merge_keyed(value, value, known.keys or (), join)


def _joiner(known: MergeField) -> Callable[[object, object], Joined]:
    element = known.element

    def join(dest: object, origin: object) -> Joined:
        if origin is ABSENT:
            return Joined(dest if dest is ABSENT else _keep(dest, element), True)
        if dest is ABSENT:
            return Joined(_adopt(origin, element), False)
        in_place = field_of(origin, DIRECTIVE) != "replace" and dest.__class__ is dict
        return Joined(_merge(dest, origin, element), in_place)

    return join


def _below(known: MergeField | None, name: str) -> MergeField | None:
    return None if known is None else known.fields.get(name, NOTHING_MERGES)


def _typed(*sources: _Fields) -> MergeField | None:
    """Return the type of a map by its apiVersion and kind, if its parent's type is unknown."""
    for source in sources:
        version, kind = source.get("apiVersion", ABSENT), source.get("kind", ABSENT)
        if is_named(version) and is_named(kind) and (found := find_type(text(version), text(kind))):
            return found
    return None


# Strategic merges of a loop that each patch one element of a long list.
#
# A merge visits each element of the lists in the patch, so that a loop over the elements of a
# list has quadratic cost. If a patch has one element, it is merged into an object with only this
# element and another one in the list, and the result is transferred to the whole list. Any other
# patch or result requires a merge of the whole
# object.

_Path = tuple[str, ...]


class ElementMerges:
    """An object into which several patches are merged."""

    __slots__ = ("_begun", "_items", "_key", "_object", "_path", "_stale")

    def __init__(self, obj: KubernetesObject) -> None:
        """Store the object, which is not changed."""
        self._object = obj
        self._begun = False
        """Whether the whole object was merged before, which tidies all of its lists."""
        self._path: _Path = ()
        self._key = ""
        self._items: OrderedDict[str, object] | None = None
        """The elements of the list at `_path` by their names, in order; None if unknown."""
        self._stale = False
        """Whether the list in `_object` is outdated."""

    @property
    def result(self) -> KubernetesObject:
        """The object after all merges."""
        if self._stale and self._items is not None:
            whole = _with_list(self._object, self._path, [*self._items.values()])
            # Objects decoded after a merge have ints, also in elements that no patch contains.
            self._object, self._stale = with_whole_numbers(whole), False
        return self._object

    @property
    def shown(self) -> KubernetesObject:
        """The object, possibly with an outdated list: it identifies the object."""
        return self._object

    def merge(
        self,
        patch: Json,
        merged: Callable[[KubernetesObject], Json],
        spend_whole: Callable[[], None],
        weigh: Callable[[object], object],
    ) -> KubernetesObject:
        """Merge a patch by `merged`; return `shown`, the same as before if nothing changed.

        `spend_whole` is called before the whole object is merged, `weigh` with a part of it before
        the part is merged. Raises the errors of `merged`.
        """
        small = self._reduced(patch) if self._begun else None
        if small is not None:
            name, other, part = small
            weigh(part)
            if self._take(name, other, part, merged(part)):
                return self._object
        spend_whole()
        whole = self.result
        after = merged(whole)
        self._begun = True
        if after is not whole:
            self._object, self._items = after, None
        return self._object

    def _reduced(self, patch: object) -> tuple[str, object, KubernetesObject] | None:
        """Return the name of the patched element, another one, and an object with only both."""
        found = _only_list(patch)
        if found is None:
            return None
        path, elements = found
        if len(elements) != 1 or elements[0].__class__ is not dict:
            return None
        if (self._items is None or path != self._path) and not self._read(path):
            return None
        items = self._items
        name = _name_of(elements[0], self._key)
        if not name or not items or name not in items or len(items) == 1:
            return None
        first = next(iter(items))
        second = next(islice(items, 1, None)) if name == first else name
        part = _with_list(self._object, path, [items[first], items[second]])
        return name, items[second if name == first else first], part

    def _read(self, path: _Path) -> bool:
        """Read the elements of a list; return whether it is merged by one key."""
        whole = self.result
        known = find_type(text_field(whole, "apiVersion"), text_field(whole, "kind"))
        found: Json = whole
        for step in path:
            known = known.fields.get(step) if known else None
            found = found.get(step) if found.__class__ is dict else None
        self._items = None
        if known is None or known.keys is None or len(known.keys) != 1:
            return False
        if found.__class__ is not list or not found:
            return False
        names = texts_at(found, known.keys[0])
        if names is None or "" in names or len(set(names)) < len(names):
            return False
        self._path, self._key = path, known.keys[0]
        self._items = OrderedDict(zip(names, found, strict=True))
        return True

    def _take(
        self, name: str, other: object, part: KubernetesObject, after: KubernetesObject
    ) -> bool:
        """Store the merged elements; return False if the result is not supported."""
        if after is part:
            return True
        found: Json = after
        for step in self._path:
            found = found.get(step) if found.__class__ is dict else None
        if self._items is None or found.__class__ is not list or len(found) != 2:
            return False
        one, second = found
        if one is not other or second is not self._items[name]:  # if not, only the rest changed
            if second is not other or one.__class__ is not dict or one.get(self._key) != name:
                return False
            self._items[name] = one
            self._items.move_to_end(name, last=False)
        self._object, self._stale = after, True
        return True


def _only_list(patch: object) -> tuple[_Path, list[object]] | None:
    """Return path and value of the only list of a patch, below keys without anchors, or None."""
    path: _Path = ()
    while patch.__class__ is dict:
        lists = [key for key, value in patch.items() if _has_list(value)]
        if len(lists) != 1 or has_anchors(dict.fromkeys(patch)):
            return None
        path, patch = (*path, lists[0]), patch[lists[0]]
    return (path, patch) if path and patch.__class__ is list else None


def _has_list(value: object) -> bool:
    if value.__class__ is dict:
        return any(map(_has_list, value.values()))
    return value.__class__ is list


def _name_of(element: _Fields, key: str) -> str:
    """Return the name of the only element that an element of a patch can match, or ""."""
    if not has_anchors(element):
        return text_field(element, key)
    name = element.get(f"({key})")
    own = [written for written, _ in anchors_of(element, CONDITION)]
    if own != [f"({key})"] or key in element or any(anchors_of(element, ADDITION)):
        return ""
    if name.__class__ is not str or not fits_itself_only(name) or has_anchors(element, GLOBAL):
        return ""
    return str(name)


def _with_list(value: KubernetesObject, path: _Path, items: list[object]) -> _Fields:
    first, *rest = path
    return {**value, first: _with_list(value[first], tuple(rest), items) if rest else items}
