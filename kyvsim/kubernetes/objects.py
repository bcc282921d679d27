"""Functions to read and change Kubernetes objects as plain data."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

Json: TypeAlias = Any
"""Plain data as loaded: dict, list, str, int, float, bool or None.

`int` represents Go's int64 and `float` float64, which Kyverno distinguishes.
"""

JsonMap: TypeAlias = Mapping[str, Json]
"""A map in plain data, such as the `spec` of an object."""

KubernetesObject: TypeAlias = JsonMap
"""An object of a cluster as JSON, such as a Pod."""

Path: TypeAlias = tuple[str | int, ...]
"""Mapping keys and list indices from the root of a document to a node."""


def path_text(path: Path) -> str:
    """Return a path as shown in messages, such as `spec.rules[0].match`."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).removeprefix(".")


MAP_FIELDS = frozenset(
    {"annotations", "labels", "matchLabels", "nodeSelector", "data", "stringData"}
)
"""Kyverno's command replaces null with an empty map in these fields of resources, at any depth."""


class ObjectKey(NamedTuple):
    """The identity of an object in a cluster."""

    api_version: str
    kind: str
    namespace: str
    name: str

    @property
    def group(self) -> str:
        """The group of its apiVersion; the core group is ""."""
        group, slash, _ = self.api_version.partition("/")
        return group if slash else ""

    @property
    def title(self) -> str:
        """The object's title in sentences."""
        return f"{self.kind} {self.namespace}{'/' if self.namespace else ''}{self.name}"


_NO_KEY = ObjectKey("", "", "", "")
_new = tuple.__new__


def metadata(obj: object) -> JsonMap:
    """Return `obj.metadata`, or an empty mapping if it is missing or not a mapping."""
    found = obj.get("metadata") if obj.__class__ is dict else None
    return found if found.__class__ is dict else {}


def text_field(data: object, name: str) -> str:
    """Return the string at `data[name]`, or "" if it is missing or not a string."""
    found = data.get(name) if data.__class__ is dict else None
    return found if found.__class__ is str else ""


def contains_text(data: object, *texts: str) -> bool:
    """Return whether a key or string anywhere in data contains one of some texts."""
    joined = "\0".join(texts_in(data))
    for text in texts:  # noqa: SIM110 — called hundreds of times at start-up, for small data
        if text in joined:
            return True
    return False


def texts_in(data: Json) -> list[str]:
    """Return all keys and strings in data, at any depth, in no particular order."""
    found: list[str] = []
    pending = [data]
    for one in pending:
        kind = type(one)
        if kind is str:
            found.append(one)
        elif kind is dict:
            found += one
            pending += one.values()
        elif kind is list or kind is tuple:
            pending += one
        elif one is not None and isinstance(one, Mapping):
            found += one
            pending += one.values()
    return found


def labels(obj: object) -> dict[str, str]:
    """Return the labels of `obj`; empty if they are not a map of strings (null counts as "")."""
    return _string_map(metadata(obj).get("labels"))


def annotations(obj: object) -> dict[str, str]:
    """Return the annotations of `obj`; empty if they are not a map of strings."""
    return _string_map(metadata(obj).get("annotations"))


def _string_map(found: object) -> dict[str, str]:
    if found.__class__ is not dict:
        return {}
    for value in found.values():
        if value.__class__ is not str:
            break
    else:
        return found  # all values are strings
    coerced = {key: "" if value is None else value for key, value in found.items()}
    return coerced if all(value.__class__ is str for value in coerced.values()) else {}


def in_version(obj: KubernetesObject, api_version: str) -> KubernetesObject:
    """Return `obj` with another version of its group.

    Its fields are not converted, unlike in an API server.
    """
    return obj if obj["apiVersion"] == api_version else {**obj, "apiVersion": api_version}


def object_key(obj: object) -> ObjectKey:
    """Return the identity of `obj`; missing parts are ""."""
    # Called very often, so it does not use the functions above.
    if obj.__class__ is not dict:
        return _NO_KEY
    get = obj.get
    api_version, kind, meta = get("apiVersion", ""), get("kind", ""), get("metadata")
    if api_version.__class__ is not str:
        api_version = ""
    if kind.__class__ is not str:
        kind = ""
    namespace = name = ""
    if meta.__class__ is dict:
        namespace, name = meta.get("namespace", ""), meta.get("name", "")
        if namespace.__class__ is not str:
            namespace = ""
        if name.__class__ is not str:
            name = ""
    return _new(ObjectKey, (api_version, kind, namespace, name))


def entries(data: object, name: str) -> list[Json]:
    """Return the mappings in the list at `data[name]`, none if there is no list."""
    found = data.get(name) if data.__class__ is dict else None
    return [one for one in found if one.__class__ is dict] if found.__class__ is list else []


# Maximum nesting of data.
# Code after loading is recursive. Depth is therefore limited here, and Python's recursion limit is
# set so that it is not reached first (`kyvsim/cli/main.py`).

MAX_DEPTH = 200
"""Nested maps and lists. CRDs, the deepest common manifests, have about sixty."""
TOO_DEEP = f"nested more than {MAX_DEPTH} deep"


def held_by(level: list[object]) -> list[Json]:
    """Return the values in the maps and lists among some values."""
    return [
        inner
        for one in level
        if one.__class__ is dict or one.__class__ is list
        for inner in (one.values() if one.__class__ is dict else one)
    ]


def is_too_deep(data: object) -> bool:
    """Return whether maps and lists in `data` are nested more than MAX_DEPTH deep."""
    level = [data]
    for _ in range(MAX_DEPTH):
        level = held_by(level)
        if not level:
            return False
    return any(one.__class__ is dict or one.__class__ is list for one in level)


def may_be_too_deep(brackets: int) -> bool:
    """Return whether a text with this many opening brackets may be nested too deeply."""
    return brackets > MAX_DEPTH


# Changes of plain data at a path; other parts are shared with the original.


def replaced(value: Json, path: Path, leaf: Json) -> Json:
    """Return a value with `leaf` at a path."""
    if not path:
        return leaf
    return _with_member(value, path[0], replaced(value[path[0]], path[1:], leaf))


def without(value: Json, path: Path) -> Json:
    """Return a value without the node at a path, which must not be empty."""
    step, *rest = path
    if rest:
        return _with_member(value, step, without(value[step], tuple(rest)))
    if value.__class__ is list:
        return [one for index, one in enumerate(value) if index != step]
    return {name: one for name, one in value.items() if name != step}


def renamed(value: object, path: Path, key: str) -> Json:
    """Return a value with the last key of a path renamed, in the same position."""
    around = path[:-1]
    inner = found_at(value, around)
    return replaced(
        value, around, {key if name == path[-1] else name: one for name, one in inner.items()}
    )


def found_at(value: Json, path: Path) -> Json:
    """Return the node at an existing path."""
    for step in path:
        value = value[step]
    return value


def value_at(data: Json, path: Iterable[str]) -> Json:
    """Return the value at a path of maps; None if it is missing."""
    for name in path:
        data = data.get(name) if data.__class__ is dict else None
    return data


def changed_fields(before: object, after: object, path: Path = ()) -> Iterator[Path]:
    """Yield the paths of the outermost values that were added, removed or replaced.

    Lists of the same length are compared element by element.
    """
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys((*before, *after)):
            if key in before and key in after:
                yield from changed_fields(before[key], after[key], (*path, key))
            else:
                yield (*path, key)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, pair in enumerate(zip(before, after, strict=True)):
            yield from changed_fields(*pair, (*path, index))
    elif before != after:
        yield path


def _with_member(value: Json, step: str | int, inner: Json) -> Json:
    if value.__class__ is list:
        return [inner if index == step else one for index, one in enumerate(value)]
    return {**value, step: inner}


# The parts of an object that do not depend on the time and number of its writes.

_PASSING = frozenset(
    {"creationTimestamp", "deletionTimestamp", "generation", "managedFields", "resourceVersion"}
    | {"selfLink", "uid"}
)
_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"


def without_server_fields(obj: object) -> Json:
    """Return an object without fields that a server sets, at any depth.

    All remaining times are replaced with the same text.
    """
    if obj.__class__ is dict:
        return {
            name: without_server_fields(value)
            for name, value in obj.items()
            if name not in _PASSING
        }
    if obj.__class__ is list:
        return [without_server_fields(value) for value in obj]
    return "TIME" if obj.__class__ is str and re.fullmatch(_TIME, obj) else obj
