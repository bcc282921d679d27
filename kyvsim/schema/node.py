"""Structural schemas, processed on demand; pruning, defaulting and validation of objects."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from itertools import islice
from operator import is_
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from kyvsim.kubernetes.go_time import TimeError, parse_rfc3339
from kyvsim.kubernetes.objects import Json, KubernetesObject, Path, texts_in
from kyvsim.kubernetes.quantities import parse_duration
from kyvsim.kubernetes.regexes import RegexError, compile_regex

# Structural schemas, processed on first use.
#
# They use Kubernetes' keywords (`type`, `properties`, `items`, `additionalProperties`, `default`,
# `x-kubernetes-…`), and additional ones for files that our commands read: `either`, schemas of
# which the one with the matching type applies; `form`, a regular expression for a whole string;
# and `propertyNames`, a schema of keys. Instead of a schema there may be a name: of another schema
# in the same table, or of a type.

SchemaWords: TypeAlias = Mapping[str, Json]
"""A schema as written."""
SchemaRef: TypeAlias = str | SchemaWords
"""A schema as written, or the name of one."""
NO_DEFINITIONS: Mapping[str, SchemaWords] = MappingProxyType({})
_NO_PROPERTIES: Mapping[str, Json] = MappingProxyType({})
_LISTS = ("anyOf", "oneOf", "allOf")
_ABOUT_TYPES = frozenset({"type", "nullable", "default", "description"})
_MANIFOLD = frozenset({dict, list, type(None)})
_NO_CLASSES: frozenset[type] = frozenset()
_OBJECT_FIELDS = frozenset({"apiVersion", "kind", "metadata"})


class NamedSchemas:
    """Schemas by name, each processed once."""

    def __init__(self, table: Mapping[str, SchemaWords] = NO_DEFINITIONS) -> None:
        self.table = table
        self._nodes: dict[str, SchemaNode] = {}
        self._naming: dict[tuple[str, ...], set[str]] = {}

    def node(self, ref: SchemaRef) -> "SchemaNode":
        """Return the schema of a reference; a name that is not in the table is a type."""
        if not isinstance(ref, str):
            return SchemaNode(ref, self)
        found = self._nodes.get(ref)
        if found is None:
            found = self._nodes[ref] = SchemaNode(self.table.get(ref) or {"type": ref}, self)
        return found

    def may_have(self, some: tuple[str, ...], words: SchemaWords) -> bool:
        """Return whether a schema, or a nested one, may have one of these keywords or values."""
        found = self._naming.get(some)
        if found is None:
            # These keywords, and the names of schemas that have them, or refer to one of these.
            new, found = {*some}, {*some}
            while new:
                new = {
                    name
                    for name, texts in self._texts.items()
                    if name not in found and not new.isdisjoint(texts)
                }
                found |= new
            self._naming[some] = found
        return not found.isdisjoint(texts_in(words))

    @cached_property
    def _texts(self) -> Mapping[str, frozenset[str]]:
        return {name: frozenset(texts_in(words)) for name, words in self.table.items()}


def schemas_of(table: Mapping[str, Json]) -> "Mapping[str, SchemaNode]":
    """Return the schemas of a table, by kind."""
    named = NamedSchemas(table["schemas"])
    return {name: named.node(root) for name, root in table["kinds"].items()}


class SchemaNode:
    """A structural schema, with its nested schemas; immutable.

    Schemas of fields are created on first use: of most schemas few are used.
    """

    def __init__(self, words: SchemaWords, named: NamedSchemas) -> None:
        self.words = words
        self.named = named
        self.properties: Mapping[str, Json] = words.get("properties") or _NO_PROPERTIES
        self.nullable: bool = bool(words.get("nullable"))
        self.default: object = words.get("default")
        self.items = self._inner("items")
        self.further = self._inner("additionalProperties")
        """The schema of fields that are not in the properties."""
        self.keys = self._inner("propertyNames")
        """The schema of field names."""
        self.choices = tuple(map(named.node, words.get("either") or ()))
        """The schemas of which one applies, () if this one does."""
        self.types: tuple[str, ...] = (words["type"],) if words.get("type") else ()
        """The allowed types of a value, () for any."""
        if self.choices:
            self.types = tuple(name for one in self.choices for name in one.types)
        elif words.get("x-kubernetes-int-or-string"):
            self.types = ("integer", "string")
        self.classes = _classes(self.types)
        """The Python types of loaded data."""
        bare = not self.choices and words.keys() <= _ABOUT_TYPES
        self.settled = self.classes - _MANIFOLD if bare else _NO_CLASSES
        """The types whose values need no further validation.

        Most fields accept any string, or any boolean: these are not validated further.
        """
        self.describes_none = not self.properties and self.further is None
        self.settled_fields: dict[str, frozenset[type]] = {}
        """By the name of a field whose schema was used before, its `settled` types."""
        self._children: dict[str, SchemaNode] = {}
        self._reach: dict[tuple[str, ...], bool] = {}

    def child(self, name: str) -> "SchemaNode | None":
        """Return the schema of a field, None if this schema does not describe it."""
        found = self._children.get(name)
        if found is not None:
            return found
        ref = self.properties.get(name)
        if ref is None:
            return self.further
        found = self._children[name] = self.named.node(ref)
        self.settled_fields[name] = found.settled
        return found

    def unsettled(self, data: Mapping[str, object]) -> list[str]:
        """Return the names of the fields whose values may need validation."""
        settled = self.settled_fields
        return [
            name
            for name, value in data.items()
            if value.__class__ not in settled.get(name, _NO_CLASSES)
        ]

    def reaches(self, *some: str) -> bool:
        """Return whether this schema, or a nested one, may have one of these keywords or values."""
        if some not in self._reach:
            self._reach[some] = self.named.may_have(some, self.words)
        return self._reach[some]

    def keeps(self, name: str) -> bool:
        """Return whether a field that this schema does not describe is preserved."""
        words = self.words
        if words.get("x-kubernetes-preserve-unknown-fields"):
            return True
        embedded = words.get("x-kubernetes-embedded-resource") and name in _OBJECT_FIELDS
        return bool(embedded) or words.get("additionalProperties") is True

    def meant_for(self, data: object) -> "SchemaNode":
        """Return the schema that applies to a value: of several, the one with the matching type."""
        if not self.choices:
            return self
        return next((one for one in self.choices if one.takes(data)), self)

    def takes(self, data: object) -> bool:
        """Return whether this schema allows the type of a value, except for null."""
        if data.__class__ in self.classes:
            return True
        return data.__class__ is float and "integer" in self.types and data.is_integer()

    def _inner(self, word: str) -> "SchemaNode | None":
        ref = self.words.get(word)
        return None if ref is None or ref.__class__ is bool else self.named.node(ref)

    @cached_property
    def combined(self) -> "Mapping[str, tuple[SchemaNode, ...]]":
        """The schemas of `anyOf`, `oneOf`, `allOf` and `not`, by keyword."""
        refs = {word: self.words[word] for word in _LISTS if self.words.get(word)}
        if self.words.get("not") is not None:
            refs["not"] = (self.words["not"],)
        return {word: tuple(map(self.named.node, some)) for word, some in refs.items()}

    @cached_property
    def defaults(self) -> Mapping[str, object]:
        """The default values of missing fields."""
        found = {}
        for name, ref in self.properties.items():
            words = self.named.table.get(ref, {}) if isinstance(ref, str) else ref
            if words.get("default") is not None:
                found[name] = words["default"]
        return found


TYPE_NAMES: Mapping[type, str] = MappingProxyType(
    {dict: "object", list: "array", str: "string", bool: "boolean"}
    | {int: "integer", float: "number", type(None): "null"}
)
"""The names of types of loaded data in schemas."""


@lru_cache(maxsize=32)
def _classes(types: tuple[str, ...]) -> frozenset[type]:
    """Return the types of loaded data with these names, all if there are no names."""
    names = {"integer", *types} if "number" in types else set(types)
    return frozenset(one for one, name in TYPE_NAMES.items() if not names or name in names)


# Objects as an API server stores them: pruned, and with defaults.
#
# Source of the rules: k8s.io/apiextensions-apiserver pkg/apiserver/schema (pruning, defaulting).


def stored(obj: KubernetesObject, schema: SchemaNode) -> dict[str, Json]:
    """Return an object without fields that its schema does not describe, and with its defaults."""
    kept = {name: value for name, value in obj.items() if name in _OBJECT_FIELDS}
    rest = {name: value for name, value in obj.items() if name not in _OBJECT_FIELDS}
    return {**kept, **_mapping(schema, rest, prune=True)}


def completed(data: object, schema: SchemaNode) -> Json:
    """Return data with its defaults (sharing unchanged parts), and without forbidden nulls.

    A null that is not allowed counts as a missing field. Fields that the schema does not describe
    are kept.
    """
    return _shaped(schema, data, prune=False)


def _shaped(schema: SchemaNode, data: object, *, prune: bool) -> Json:
    if data.__class__ is dict:
        return _mapping(schema.meant_for(data), data, prune=prune)
    if data.__class__ is not list:
        return data
    items = schema.meant_for(data).items
    if items is None:
        return data
    shaped = [
        _shaped(items, items.default if item is None and not items.nullable else item, prune=prune)
        for item in data
    ]
    return data if all(map(is_, shaped, data)) else shaped


def _mapping(schema: SchemaNode, data: dict[str, Json], *, prune: bool) -> dict[str, Json]:
    if not prune and schema.describes_none:
        return data
    kept = {}
    changed = False
    for name, value in data.items():
        if value.__class__ in schema.settled_fields.get(name, _NO_CLASSES):
            kept[name] = value
            continue
        child = schema.child(name)
        if child is None:
            if prune and not schema.keeps(name):
                changed = True
            else:
                kept[name] = value
        elif value.__class__ is dict or value.__class__ is list:
            new = kept[name] = _shaped(child, value, prune=prune)
            changed = changed or new is not value
        elif value is not None or child.nullable:
            kept[name] = value
        else:
            changed = True
    for name, value in schema.defaults.items():
        if name not in kept:
            child = schema.child(name)
            kept[name] = value if child is None else _shaped(child, value, prune=prune)
            changed = True
    return kept if changed else data


# Validation of data, like in an API server; messages are created by callers.
#
# Source of the rules: k8s.io/kube-openapi pkg/validation/validate, and listtype validation of
# k8s.io/apiextensions-apiserver pkg/apiserver/schema.

_LARGEST = MappingProxyType({"int32": 1 << 31, "int64": 1 << 63})


def has_format(name: str, data: object) -> bool:
    """Return whether a string or number has a format; unknown formats match everything.

    upstream: k8s.io/kube-openapi pkg/validation/strfmt
    """
    if name in _LARGEST and data.__class__ is int:
        return -_LARGEST[name] <= data < _LARGEST[name]
    if data.__class__ is not str:
        return True
    if name == "date-time":
        try:
            parse_rfc3339(data)
        except TimeError:
            return False
        return True
    # Besides Go's format there is a lenient one, in which a digit and a letter suffice.
    lenient = any(one.isdigit() for one in data) and any(one.isalpha() for one in data)
    return name != "duration" or lenient or parse_duration(data) is not None


class SchemaFinding(NamedTuple):
    """A keyword of a schema that a value violates.

    The keywords are Kubernetes', and `unknown` for a field that no schema describes, `duplicate`
    for an item that repeats an earlier one.
    """

    word: str
    path: Path
    value: Json
    limit: Json = None
    """The value in the schema, or the allowed names."""
    fitting: int = 0
    """The number of matching schemas in a combination."""
    inner: tuple["SchemaFinding", ...] = ()
    """The findings of a combination's parts."""


_DISTINCT = ("map", "set")
"""The types of lists without duplicate items."""
_HOLDERS: frozenset[type] = frozenset({dict, list})


class _SchemaWalk(NamedTuple):
    as_written: bool
    found: list[SchemaFinding]
    in_order: bool = True
    """Whether fields are visited in the order in which an API server reports them."""


def findings(data: object, schema: SchemaNode) -> list[SchemaFinding]:
    """Return all findings, in the order in which an API server reports them.

    Fields that the schema does not describe are not included: they are pruned before.
    """
    quick = _SchemaWalk(as_written=False, found=[], in_order=False)  # most objects are valid
    _visit(quick, schema, data, ())
    return _tried(schema, data, ()) if quick.found else []


def findings_as_written(data: object, schema: SchemaNode) -> list[SchemaFinding]:
    """Return findings in the order of the text, those of a mapping after those of its parts.

    A value of the wrong type has no other finding, a string or number only the first bound that it
    violates. Unknown fields are reported with the others.
    """
    walk = _SchemaWalk(as_written=True, found=[], in_order=False)
    _visit(walk, schema, data, ())
    return walk.found


def _visit(walk: _SchemaWalk, schema: SchemaNode, data: object, path: Path) -> None:
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
    if data.__class__ is str or data.__class__ is int or data.__class__ is float:
        broken = _bounds(words, data, path, as_written=walk.as_written)
        walk.found.extend(islice(broken, 1 if walk.as_written else None))
    elif data.__class__ is list:
        _visit_list(walk, schema, data, path)
    if "enum" in words and data not in words["enum"]:
        walk.found.append(SchemaFinding("enum", path, data, words["enum"]))
    if data.__class__ is dict:
        _visit_mapping(walk, schema, data, path)
    if combined and walk.as_written:
        _combine(walk, schema, data, path)


def _combine(walk: _SchemaWalk, schema: SchemaNode, data: object, path: Path) -> None:
    for word, parts in schema.combined.items():
        tries = [_tried(one, data, path) for one in parts]
        fitting = sum(not one for one in tries)
        if _IS_BROKEN[word](fitting, len(tries)):
            shown = tries if word == "allOf" else () if fitting else tries[:1]
            inner = tuple(finding for one in shown for finding in one)
            walk.found.append(SchemaFinding(word, path, data, schema.words[word], fitting, inner))


_IS_BROKEN: Mapping[str, Callable[[int, int], bool]] = {
    "anyOf": lambda fitting, _: fitting == 0,
    "oneOf": lambda fitting, _: fitting != 1,
    "allOf": lambda fitting, parts: fitting < parts,
    "not": lambda fitting, _: fitting == 1,
}
"""Whether a combination is violated, by the numbers of matching schemas and of all schemas."""


def _tried(schema: SchemaNode, data: object, path: Path) -> list[SchemaFinding]:
    """Return the findings of one schema of a combination, which ignores fields it does not name."""
    walk = _SchemaWalk(as_written=False, found=[])
    _visit(walk, schema, data, path)
    return walk.found


def _bounds(
    words: SchemaWords, data: str | float, path: Path, *, as_written: bool
) -> Iterator[SchemaFinding]:
    if isinstance(data, str):
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
    # A number that Go's type cannot hold is rejected before an API server validates schemas.
    if as_written and "format" in words and not has_format(words["format"], data):
        yield SchemaFinding("format", path, data, words["format"])


def _number_bounds(words: SchemaWords, data: float, path: Path) -> Iterator[SchemaFinding]:
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


def _visit_list(walk: _SchemaWalk, schema: SchemaNode, data: list[object], path: Path) -> None:
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
    walk: _SchemaWalk, schema: SchemaNode, data: dict[str, object], path: Path
) -> None:
    words = schema.words
    if len(data) < words.get("minProperties", 0):
        walk.found.append(SchemaFinding("minProperties", path, data, words["minProperties"]))
    names = schema.unsettled(data) if schema.keys is None else data
    described: Iterable[str] = names if walk.as_written or not schema.describes_none else ()
    if walk.in_order:  # of an API server: additional fields precede properties
        described = sorted(described, key=lambda name: (name in schema.properties, name))
    for name in described:
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


def duplicates(data: object, schema: SchemaNode, path: Path = ()) -> Iterator[SchemaFinding]:
    """Yield the items of lists that repeat an earlier one, if that is not allowed."""
    if not schema.reaches(*_DISTINCT):
        return
    if data.__class__ is dict:
        for name in sorted(data):
            child, value = schema.child(name), data[name]
            if child is not None and value.__class__ in _HOLDERS:
                yield from duplicates(value, child, (*path, name))
    elif data.__class__ is list:
        sort = schema.words.get("x-kubernetes-list-type")
        repeated = _repeated(schema, data, sort) if sort in _DISTINCT else {}
        for index, item in enumerate(data):
            if index in repeated:
                yield SchemaFinding("duplicate", (*path, index), repeated[index])
            if schema.items is not None and item.__class__ in _HOLDERS:
                yield from duplicates(item, schema.items, (*path, index))


def _repeated(schema: SchemaNode, data: list[object], sort: str) -> dict[int, object]:
    """Return the keys of the items that repeat an earlier one, by index."""
    seen: list[object] = []
    found = {}
    for index, item in enumerate(data):
        own = _identity(schema, item) if sort == "map" else item
        if own in seen:
            found[index] = own
        seen.append(own)
    return found


def _identity(schema: SchemaNode, item: object) -> object:
    """Return the identity of an item in a keyed list."""
    names = schema.words.get("x-kubernetes-list-map-keys") or ()
    return {name: item[name] for name in names if name in item} if item.__class__ is dict else item


_form = lru_cache(maxsize=64)(re.compile)


def _is_found(pattern: str, text: str) -> bool:
    try:
        return bool(compile_regex(pattern).search(text))
    except RegexError:
        return True
