"""Patches against plain models: RFC 6902 on copies, and merging as its documentation tells it."""

import copy
import json

from hypothesis import assume, given
from hypothesis import strategies as st

from kyvsim.patch.json_patch import apply_json_patch
from kyvsim.patch.nodes import PatchError
from kyvsim.patch.strategic_merge import apply_strategic_merge

KEYS = st.sampled_from(["a", "b", "c/d", "e~f"])
LEAVES = st.sampled_from([None, True, 1.0, 2.5, "x", "y"])
DATA = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=10,
)
OBJECTS = st.dictionaries(KEYS, DATA, max_size=3)

# --- JSON patches, RFC 6902 -----------------------------------------------------------------------


class Failed(Exception):  # noqa: N818 — an outcome, no error
    """An operation that a patch may not do."""


def steps(pointer):
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def parent(document, pointer):
    """Return what holds the place of a pointer, and the key or index of it there."""
    *before, last = steps(pointer)
    for step in before:
        document = look(document, step)
    if isinstance(document, list) and last != "-":
        last = number(last)
    return document, last


def number(text):
    if not (text.isdigit() and text == str(int(text))):
        raise Failed
    return int(text)


def look(document, step):
    if isinstance(document, list):
        if number(step) >= len(document):
            raise Failed
        return document[number(step)]
    if not isinstance(document, dict) or step not in document:
        raise Failed
    return document[step]


def find(document, pointer):
    for step in steps(pointer):
        document = look(document, step)
    return document


def add(document, pointer, value):
    holder, last = parent(document, pointer)
    if isinstance(holder, list):
        place = len(holder) if last == "-" else last
        if place > len(holder):
            raise Failed
        holder.insert(place, value)
    elif isinstance(holder, dict):
        holder[last] = value
    else:
        raise Failed


def remove(document, pointer):
    find(document, pointer)
    holder, last = parent(document, pointer)
    del holder[last]


def same(left, right):
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


def apply_one(document, operation):
    name, pointer, value = operation["op"], operation["path"], operation.get("value")
    if name == "add":
        add(document, pointer, copy.deepcopy(value))
    elif name == "remove":
        remove(document, pointer)
    elif name == "replace":
        find(document, pointer)
        holder, last = parent(document, pointer)
        holder[last] = copy.deepcopy(value)
    elif name == "test":
        if not same(find(document, pointer), value):
            raise Failed
    else:
        found = copy.deepcopy(find(document, operation["from"]))
        if name == "move":
            remove(document, operation["from"])
        add(document, pointer, found)


def pointers(data, start=""):
    yield start
    items = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in items:
        text = str(key).replace("~", "~0").replace("/", "~1")
        yield from (
            pointers(value, f"{start}/{text}")
            if isinstance(value, (dict, list))
            else [f"{start}/{text}"]
        )


@st.composite
def patches(draw):
    obj = draw(OBJECTS.filter(bool))
    known = list(pointers(obj))[1:]
    places = st.sampled_from(known) | st.tuples(
        st.sampled_from(["", *known]), st.sampled_from(["/a", "/new", "/0", "/1", "/-", "/9"])
    ).map("".join)
    operations = []
    for _ in range(draw(st.integers(1, 3))):
        name = draw(st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]))
        one = {"op": name, "path": draw(places)}
        if name in {"move", "copy"}:
            one["from"] = draw(places)
        if name in {"add", "replace", "test"}:
            one["value"] = draw(DATA)
        operations.append(one)
    return obj, operations


@given(patches())
def test_json_patches(case):
    obj, operations = case
    expected = copy.deepcopy(obj)
    try:
        for one in operations:
            apply_one(expected, one)
    except Failed:
        # Not in the RFC: Kyverno adds what is missing on the way, removes what is not there, and
        # what is not there is null to its tests.
        assume(one["op"] not in {"add", "remove"} and one != {**one, "op": "test", "value": None})
        expected = None
    before = copy.deepcopy(obj)
    try:
        found = apply_json_patch(obj, operations)
    except PatchError:
        found = None
    assert obj == before
    assert same(found, expected)


# --- strategic merges -----------------------------------------------------------------------------


def merged(base, patch):
    """Return what the documentation says: maps merge, null deletes, lists replace or go by name."""
    if type(base) is not type(patch):
        raise Failed
    if not isinstance(base, dict):
        return patch
    found = dict(base)
    for key, value in patch.items():
        if value is None:
            found.pop(key, None)
        elif key == "containers":
            found[key] = by_name(base.get(key, []), value)
        else:
            found[key] = merged(base.get(key, without_nulls(value)), value)
    return found


def without_nulls(patch):
    if not isinstance(patch, dict):
        return patch
    return {key: without_nulls(value) for key, value in patch.items() if value is not None}


def by_name(items, patches):
    """Return the patch's items, each merged into the one of its name, and then the other items."""
    known = {one["name"]: one for one in items}
    names = [one["name"] for one in patches]
    return [merged(known.get(one["name"], without_nulls(one)), one) for one in patches] + [
        one for one in items if one["name"] not in names
    ]


FIELDS = st.sampled_from(["image", "args", "x", "y"])
SOME = st.sampled_from(["x", "y", "z w"])
VALUES = st.recursive(
    SOME | st.lists(SOME, min_size=1, max_size=2),
    lambda inner: st.dictionaries(FIELDS, inner, min_size=1, max_size=2),
    max_leaves=4,
)


def containers(values):
    names = st.lists(st.sampled_from("abc"), min_size=1, max_size=3, unique=True)
    return names.flatmap(
        lambda all_of: st.tuples(
            *(
                st.dictionaries(FIELDS, values, max_size=2).map(
                    lambda one, n=name: {"name": n, **one}
                )
                for name in all_of
            )
        )
    ).map(list)


def specs(values):
    return st.fixed_dictionaries(
        {"z": SOME}, optional={"containers": containers(values), "a": values, "b": values}
    )


@given(specs(VALUES), specs(st.none() | VALUES))
def test_strategic_merges(spec, change):
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    before = copy.deepcopy(pod)
    try:
        expected = merged(spec, change)
    except Failed:
        expected = None
    try:
        found = apply_strategic_merge({"spec": change}, pod, None)["spec"]
    except PatchError:
        found = None
    assert pod == before
    assert same(found, expected)
