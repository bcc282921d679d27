"""Strategic merges by a loop, each of which patches one element of a long list.

A merge looks at each element of the lists that it names, so that a loop over the elements of a list
takes the square of their number. Where a patch names one element, it is merged into an object that
has only this element and another one in the list; the result shows what became of both. Every patch
or result that is not as simple as that is left to a merge of the whole object.
"""

from collections import OrderedDict
from collections.abc import Callable
from itertools import islice

from kyvsim.kube.numbers import with_whole_numbers
from kyvsim.kube.objects import Json, text_field
from kyvsim.kube.wildcard import fits_itself_only
from kyvsim.patch.anchor_keys import ADDITION, CONDITION, GLOBAL, anchors_of, has_anchors
from kyvsim.patch.merge_keys import find_type
from kyvsim.patch.nodes import texts_at

_Path = tuple[str, ...]


class ElementMerges:
    """An object into which patches are merged one after the other."""

    __slots__ = ("_begun", "_items", "_key", "_object", "_path", "_stale")

    def __init__(self, obj: Json) -> None:
        """Begin with an object, which is not changed."""
        self._object = obj
        self._begun = False
        """Whether the whole object went through a merge, which tidies the lists of all of it."""
        self._path: _Path = ()
        self._key = ""
        self._items: OrderedDict[str, Json] | None = None
        """The elements of the list at `_path` by their names, in order; None where not known."""
        self._stale = False
        """Whether the list in `_object` is older than the elements."""

    @property
    def result(self) -> Json:
        """The object with all that was merged into it."""
        if self._stale and self._items is not None:
            whole = _with_list(self._object, self._path, [*self._items.values()])
            # What is read back after a merge has ints, in elements that no patch named as well.
            self._object, self._stale = with_whole_numbers(whole), False
        return self._object

    @property
    def shown(self) -> Json:
        """The object, of whose list there may be an earlier state: it names the object."""
        return self._object

    def merge(
        self,
        patch: Json,
        merged: Callable[[Json], Json],
        spend_whole: Callable[[], None],
        weigh: Callable[[Json], object],
    ) -> Json:
        """Merge a patch by `merged`; return `shown`, the same as before if nothing changed.

        `spend_whole` is called before the whole object is merged, `weigh` with a part of it before
        that is. Raises what `merged` raises.
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

    def _reduced(self, patch: Json) -> tuple[str, Json, Json] | None:
        """Return the name of the element that a patch is about, another one, and both alone."""
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
        if name == first:
            names = (first, next(islice(items, 1, None)))
            other = items[names[1]]
        else:
            names = (first, name)
            other = items[first]
        return name, other, _with_list(self._object, path, [items[one] for one in names])

    def _read(self, path: _Path) -> bool:
        """Take the elements of a list; return whether it is one that merges by one key."""
        whole = self.result
        known = find_type(text_field(whole, "apiVersion"), text_field(whole, "kind"))
        found = whole
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

    def _take(self, name: str, other: Json, part: Json, after: Json) -> bool:
        """Take what became of an object with two elements; False where it is not understood."""
        if after is part:
            return True
        found = _at(after, self._path)
        if self._items is None or found.__class__ is not list or len(found) != 2:
            return False
        one, second = found
        if one is other and second is self._items[name]:
            self._object, self._stale = after, True  # something beside the list changed
            return True
        if second is not other or one.__class__ is not dict or one.get(self._key) != name:
            return False
        self._items[name] = one
        self._items.move_to_end(name, last=False)
        self._object, self._stale = after, True
        return True


def _only_list(patch: Json) -> tuple[_Path, list[Json]] | None:
    """Return the only list of a patch that is below plain keys, and its path; None for others."""
    path: _Path = ()
    while patch.__class__ is dict:
        lists = [key for key, value in patch.items() if _has_list(value)]
        if len(lists) != 1 or has_anchors(dict.fromkeys(patch)):
            return None
        path, patch = (*path, lists[0]), patch[lists[0]]
    return (path, patch) if path and patch.__class__ is list else None


def _has_list(value: Json) -> bool:
    if value.__class__ is dict:
        return any(map(_has_list, value.values()))
    return value.__class__ is list


def _name_of(element: Json, key: str) -> str:
    """Return the name of the one element that an element of a patch can be about, or ""."""
    if not has_anchors(element):
        return text_field(element, key)
    name = element.get(f"({key})")
    own = [written for written, _ in anchors_of(element, CONDITION)]
    if own != [f"({key})"] or key in element or any(anchors_of(element, ADDITION)):
        return ""
    if name.__class__ is not str or not fits_itself_only(name) or has_anchors(element, GLOBAL):
        return ""
    return str(name)


def _at(value: Json, path: _Path) -> Json:
    for step in path:
        value = value.get(step) if value.__class__ is dict else None
    return value


def _with_list(value: Json, path: _Path, items: list[Json]) -> Json:
    if not path:
        return items
    return {**value, path[0]: _with_list(value[path[0]], path[1:], items)}
