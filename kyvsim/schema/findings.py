"""Where data does not fit a schema, found as an API server finds it; the words are the caller's.

Source of the rules: k8s.io/kube-openapi pkg/validation/validate, and listtype validation of
k8s.io/apiextensions-apiserver pkg/apiserver/schema.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kubernetes.go_time import TimeError, parse_rfc3339
from kyvsim.kubernetes.objects import Json, Path
from kyvsim.kubernetes.quantities import parse_duration
from kyvsim.kubernetes.regexes import RegexError, compile_regex
from kyvsim.schema.node import SchemaNode

# What the `format` of a text or number says of it, as far as an API server looks.
#
# upstream: k8s.io/kube-openapi pkg/validation/strfmt.


_LARGEST = MappingProxyType({"int32": 1 << 31, "int64": 1 << 63})


def has_format(name: str, data: Json) -> bool:
    """Return whether a text or number is of a format; unknown formats fit everything."""
    if name in _LARGEST and data.__class__ is int:
        return bool(-_LARGEST[name] <= data < _LARGEST[name])
    if data.__class__ is not str:
        return True
    if name == "date-time":
        try:
            parse_rfc3339(data)
        except TimeError:
            return False
        return True
    # Besides Go's spelling there is a lenient one, in which a number and a letter are enough.
    lenient = any(one.isdigit() for one in data) and any(one.isalpha() for one in data)
    return name != "duration" or lenient or parse_duration(data) is not None


class SchemaFinding(NamedTuple):
    """A word of a schema that a value breaks.

    The words are Kubernetes', and `unknown` for a field that no schema describes, `duplicate` for
    an item that repeats an earlier one.
    """

    word: str
    path: Path
    value: Json
    limit: Json = None
    """The value in the schema, or the possible names."""
    fitting: int = 0
    """Of the schemas of a combination, those that fit."""
    inner: tuple["SchemaFinding", ...] = ()
    """What keeps the parts of a combination from fitting."""


_DISTINCT = ("map", "set")
"""The types of lists that have no item twice."""
_HOLDERS: frozenset[type] = frozenset({dict, list})


class _SchemaWalk(NamedTuple):
    as_written: bool
    found: list[SchemaFinding]
    in_order: bool = True
    """Whether fields are walked in the order in which an API server reports them."""


def findings(data: Json, schema: SchemaNode) -> list[SchemaFinding]:
    """Return all that does not fit, in the order in which an API server reports it.

    Fields that the schema does not know are not among it: they are pruned before.
    """
    quick = _SchemaWalk(as_written=False, found=[], in_order=False)
    _visit(quick, schema, data, ())
    if not quick.found:
        return []  # as of nearly all objects
    walk = _SchemaWalk(as_written=False, found=[])
    _visit(walk, schema, data, ())
    return walk.found


def findings_as_written(data: Json, schema: SchemaNode) -> list[SchemaFinding]:
    """Return what does not fit in the order of the text, each mapping's own after its parts'.

    Of a value whose type is wrong no more is said, and of a text or number the first bound that
    it breaks. Unknown fields are reported with the others.
    """
    walk = _SchemaWalk(as_written=True, found=[], in_order=False)
    _visit(walk, schema, data, ())
    return walk.found


def duplicates(data: Json, schema: SchemaNode) -> Iterator[SchemaFinding]:
    """Yield the items of lists that repeat an earlier one, where that is not allowed."""
    yield from _duplicates(schema, data, ())


def _visit(walk: _SchemaWalk, schema: SchemaNode, data: Json, path: Path) -> None:
    kind = data.__class__
    if schema.choices:
        schema = schema.meant_for(data)
    fits = kind in schema.classes or (data is None and schema.nullable) or schema.takes(data)
    if not fits:
        walk.found.append(SchemaFinding("type", path, data, schema.types))
    if walk.as_written and (data is None or not fits):
        return
    combined = schema.combined and data is not None
    if combined and not walk.as_written:
        _combine(walk, schema, data, path)
    words = schema.words
    if kind is str or kind is int or kind is float:
        told = _bounds(words, data, path, as_written=walk.as_written)
        walk.found.extend(islice(told, 1 if walk.as_written else None))
    elif kind is list:
        _visit_list(walk, schema, data, path)
    if "enum" in words and data not in words["enum"]:
        walk.found.append(SchemaFinding("enum", path, data, words["enum"]))
    if kind is dict:
        _visit_mapping(walk, schema, data, path)
    if combined and walk.as_written:
        _combine(walk, schema, data, path)


def _combine(walk: _SchemaWalk, schema: SchemaNode, data: Json, path: Path) -> None:
    """Find what `anyOf`, `oneOf`, `allOf` and `not` object to."""
    for word, parts in schema.combined.items():
        tries = [_tried(one, data, path) for one in parts]
        fitting = sum(not one for one in tries)
        if _IS_BROKEN[word](fitting, len(tries)):
            told = tries if word == "allOf" else () if fitting else tries[:1]
            inner = tuple(finding for one in told for finding in one)
            walk.found.append(
                SchemaFinding(
                    word=word,
                    path=path,
                    value=data,
                    limit=schema.words[word],
                    fitting=fitting,
                    inner=inner,
                )
            )


_IS_BROKEN: Mapping[str, Callable[[int, int], bool]] = MappingProxyType(
    {
        "anyOf": lambda fitting, _: fitting == 0,
        "oneOf": lambda fitting, _: fitting != 1,
        "allOf": lambda fitting, parts: fitting < parts,
        "not": lambda fitting, _: fitting == 1,
    }
)
"""Whether a combination is broken, by how many of its schemas fit and how many there are."""


def _tried(schema: SchemaNode, data: Json, path: Path) -> list[SchemaFinding]:
    """Return what one schema of a combination objects to; those know only of what they name."""
    walk = _SchemaWalk(as_written=False, found=[])
    _visit(walk, schema, data, path)
    return walk.found


def _bounds(
    words: Mapping[str, Json], data: Json, path: Path, *, as_written: bool
) -> Iterator[SchemaFinding]:
    if data.__class__ is str:
        size = len(data)
        if size > words.get("maxLength", size):
            yield SchemaFinding("maxLength", path, data, words["maxLength"])
        if size < words.get("minLength", 0):
            yield SchemaFinding("minLength", path, data, words["minLength"])
        if "form" in words and not _form(words["form"]).fullmatch(data):
            yield SchemaFinding("pattern", path, data, words["form"])
        if "pattern" in words and not _is_found(words["pattern"], data):
            yield SchemaFinding("pattern", path, data, words["pattern"])
        if "format" in words and not has_format(words["format"], data):
            yield SchemaFinding("format", path, data, words["format"])
        return
    yield from _number_bounds(words, data, path)
    # A number that Go's type cannot hold is refused before an API server looks at schemas.
    if as_written and "format" in words and not has_format(words["format"], data):
        yield SchemaFinding("format", path, data, words["format"])


def _number_bounds(words: Mapping[str, Json], data: float, path: Path) -> Iterator[SchemaFinding]:
    least, most = words.get("minimum"), words.get("maximum")
    if least is not None:
        if words.get("exclusiveMinimum") and data <= least:
            yield SchemaFinding("exclusiveMinimum", path, data, least)
        elif data < least:
            yield SchemaFinding("minimum", path, data, least)
    if most is not None:
        if words.get("exclusiveMaximum") and data >= most:
            yield SchemaFinding("exclusiveMaximum", path, data, most)
        elif data > most:
            yield SchemaFinding("maximum", path, data, most)


def _visit_list(walk: _SchemaWalk, schema: SchemaNode, data: list[Json], path: Path) -> None:
    items = schema.items
    if items is not None:
        for index, item in enumerate(data):
            if item.__class__ not in items.settled:
                _visit(walk, items, item, (*path, index))
    size = len(data)
    for word, is_broken in (("minItems", int.__lt__), ("maxItems", int.__gt__)):
        limit = schema.words.get(word)
        if limit is not None and is_broken(size, limit):
            walk.found.append(SchemaFinding(word, path, data, limit))


def _visit_mapping(
    walk: _SchemaWalk, schema: SchemaNode, data: dict[str, Json], path: Path
) -> None:
    words = schema.words
    if len(data) < words.get("minProperties", 0):
        walk.found.append(SchemaFinding("minProperties", path, data, words["minProperties"]))
    described = data if walk.as_written or not schema.describes_none else ()
    for name in _in_order(schema, described) if walk.in_order else described:
        child = schema.child(name)
        if child is not None:
            if schema.keys is not None and _tried(schema.keys, name, path):
                walk.found.append(SchemaFinding("propertyNames", (*path, name), data))
            if data[name].__class__ not in child.settled:
                _visit(walk, child, data[name], (*path, name))
        elif walk.as_written and not schema.keeps(name):
            walk.found.append(
                SchemaFinding("unknown", (*path, name), data, tuple(schema.properties))
            )
    for name in words.get("required") or ():
        if name not in data:
            walk.found.append(SchemaFinding("required", path, data, name))


def _in_order(schema: SchemaNode, data: Iterable[str]) -> list[str]:
    """Return the names of fields in the order of an API server, further ones before properties."""
    return sorted(data, key=lambda name: (name in schema.properties, name))


def _duplicates(schema: SchemaNode, data: Json, path: Path) -> Iterator[SchemaFinding]:
    if data.__class__ is dict:
        for name in sorted(data):
            child, value = schema.child(name), data[name]
            if child is not None and value.__class__ in _HOLDERS:
                yield from _duplicates(child, value, (*path, name))
    elif data.__class__ is list:
        sort = schema.words.get("x-kubernetes-list-type")
        repeated = _repeated(schema, data, sort) if sort in _DISTINCT else {}
        for index, item in enumerate(data):
            if index in repeated:
                yield SchemaFinding("duplicate", (*path, index), repeated[index])
            if schema.items is not None and item.__class__ in _HOLDERS:
                yield from _duplicates(schema.items, item, (*path, index))


def _repeated(schema: SchemaNode, data: list[Json], sort: str) -> dict[int, Json]:
    """Return the keys of the items that repeat an earlier one, by their place."""
    seen: list[Json] = []
    found = {}
    for index, item in enumerate(data):
        own = _identity(schema, item) if sort == "map" else item
        if own in seen:
            found[index] = own
        seen.append(own)
    return found


def _identity(schema: SchemaNode, item: Json) -> Json:
    """Return what identifies an item of a keyed list."""
    names = schema.words.get("x-kubernetes-list-map-keys") or ()
    return {name: item[name] for name in names if name in item} if item.__class__ is dict else item


_form = lru_cache(maxsize=64)(re.compile)


def _is_found(pattern: str, text: str) -> bool:
    try:
        return bool(compile_regex(pattern).search(text))
    except RegexError:
        return True
