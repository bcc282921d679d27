"""Structural schemas, read part by part, and objects pruned and completed by them."""

from collections.abc import Mapping
from functools import cached_property, lru_cache
from operator import is_
from types import MappingProxyType
from typing import TypeAlias

from kyvsim.kubernetes.objects import Json, texts_in

# Structural schemas, made ready to be walked: each part when it is first asked for.
#
# They are written in Kubernetes' words (`type`, `properties`, `items`, `additionalProperties`,
# `default`, `x-kubernetes-…`), with a few more for files that our commands read: `either`,
# schemas of which that of the fitting type counts; `form`, an expression that the whole of a text
# fits; and `propertyNames`, a schema of keys. In place of a schema may stand a name: of another
# one beside it, or of a plain type.

SchemaRef: TypeAlias = str | Mapping[str, Json]
"""A schema as it is written, or a name for it."""
NO_DEFINITIONS: Mapping[str, Mapping[str, Json]] = MappingProxyType({})
_NO_PROPERTIES: Mapping[str, Json] = MappingProxyType({})
_LISTS = ("anyOf", "oneOf", "allOf")
_ABOUT_TYPES = frozenset({"type", "nullable", "default", "description"})
_MANIFOLD = frozenset({dict, list, type(None)})
_NO_CLASSES: frozenset[type] = frozenset()
_OF_EMBEDDED_OBJECTS = frozenset({"apiVersion", "kind", "metadata"})


class NamedSchemas:
    """Schemas by name, each made ready once."""

    def __init__(self, table: Mapping[str, Mapping[str, Json]] = NO_DEFINITIONS) -> None:
        self.table = table
        self._nodes: dict[str, SchemaNode] = {}
        self._mentioning: dict[tuple[str, ...], frozenset[str]] = {}

    def node(self, ref: SchemaRef) -> "SchemaNode":
        """Return the schema that a reference means; a name that is none of them is a type."""
        if not isinstance(ref, str):
            return SchemaNode(ref, self)
        found = self._nodes.get(ref)
        if found is None:
            found = self._nodes[ref] = SchemaNode(self.table.get(ref) or {"type": ref}, self)
        return found

    def mention(self, some: tuple[str, ...], words: Mapping[str, Json]) -> bool:
        """Return whether a schema, or one inside it, may have one of some words, or its value."""
        found = self._mentioning.get(some)
        if found is None:
            found = self._mentioning[some] = self._names_mentioning(some)
        return not found.isdisjoint(texts_in(words))

    def _names_mentioning(self, some: tuple[str, ...]) -> frozenset[str]:
        """Return some words, and the names of schemas that have them, or name one that has them."""
        new, found = {*some}, {*some}
        while new:
            new = {
                name
                for name, texts in self._texts.items()
                if name not in found and not new.isdisjoint(texts)
            }
            found |= new
        return frozenset(found)

    @cached_property
    def _texts(self) -> Mapping[str, frozenset[str]]:
        return {name: frozenset(texts_in(words)) for name, words in self.table.items()}


def schemas_of(table: Mapping[str, Json]) -> "Mapping[str, SchemaNode]":
    """Return the schemas of a table, by the kinds that it says they are for."""
    named = NamedSchemas(table["schemas"])
    return {name: named.node(root) for name, root in table["kinds"].items()}


class SchemaNode:
    """A structural schema, and the way to those inside it. Nobody changes it.

    Those of fields are made when they are asked for: of most schemas few are.
    """

    def __init__(self, words: Mapping[str, Json], named: NamedSchemas) -> None:
        self.words = words
        self.named = named
        self.properties: Mapping[str, Json] = words.get("properties") or _NO_PROPERTIES
        self.nullable: bool = bool(words.get("nullable"))
        self.default: Json = words.get("default")
        self.items = self._inner("items")
        """The schema of the items of a list."""
        self.further = self._inner("additionalProperties")
        """The schema of fields that are none of the properties."""
        self.keys = self._inner("propertyNames")
        """The schema of the names of fields."""
        self.choices = tuple(map(named.node, words.get("either") or ()))
        """The schemas of which one counts, () where it is this one."""
        self.types: tuple[str, ...] = (words["type"],) if words.get("type") else ()
        """The types that a value may have, () for any."""
        if self.choices:
            self.types = tuple(name for one in self.choices for name in one.types)
        elif words.get("x-kubernetes-int-or-string"):
            self.types = ("integer", "string")
        self.classes = _classes(self.types)
        """Those of loaded data."""
        bare = not self.choices and words.keys() <= _ABOUT_TYPES
        self.settled = self.classes - _MANIFOLD if bare else _NO_CLASSES
        """The types whose values need no further check once the type is known.

        Most fields take any text, or any boolean: these are not looked at further.
        """
        self.describes_none = not self.properties and self.further is None
        """Whether it says nothing of any field."""
        self._children: dict[str, SchemaNode] = {}
        self._reach: dict[tuple[str, ...], bool] = {}

    def child(self, name: str) -> "SchemaNode | None":
        """Return the schema of a field, None for one that this schema does not describe."""
        found = self._children.get(name)
        if found is not None:
            return found
        ref = self.properties.get(name)
        if ref is None:
            return self.further
        found = self._children[name] = self.named.node(ref)
        return found

    def reaches(self, *some: str) -> bool:
        """Return whether this schema, or one inside it, may have one of some words or values."""
        found = self._reach.get(some)
        if found is None:
            found = self._reach[some] = self.named.mention(some, self.words)
        return found

    def keeps(self, name: str) -> bool:
        """Return whether a field that this schema does not describe is kept as it is."""
        words = self.words
        if words.get("x-kubernetes-preserve-unknown-fields"):
            return True
        if words.get("additionalProperties") is True:
            return True
        embedded = words.get("x-kubernetes-embedded-resource")
        return bool(embedded) and name in _OF_EMBEDDED_OBJECTS

    def meant_for(self, data: Json) -> "SchemaNode":
        """Return the schema that counts for a value: of several, that of the fitting type."""
        if not self.choices:
            return self
        return next((one for one in self.choices if one.takes(data)), self)

    def takes(self, data: Json) -> bool:
        """Return whether a value has a type that this schema allows; null is not asked about."""
        if data.__class__ in self.classes:
            return True
        return data.__class__ is float and "integer" in self.types and data.is_integer()

    def _inner(self, word: str) -> "SchemaNode | None":
        ref = self.words.get(word)
        return None if ref is None or ref.__class__ is bool else self.named.node(ref)

    @cached_property
    def combined(self) -> "Mapping[str, tuple[SchemaNode, ...]]":
        """The schemas of `anyOf`, `oneOf`, `allOf` and `not`, by these words."""
        refs = {word: self.words[word] for word in _LISTS if self.words.get(word)}
        if self.words.get("not") is not None:
            refs["not"] = (self.words["not"],)
        return {word: tuple(map(self.named.node, some)) for word, some in refs.items()}

    @cached_property
    def defaults(self) -> Mapping[str, Json]:
        """What fields have that are not given."""
        found = {}
        for name, ref in self.properties.items():
            words = self.named.table.get(ref, {}) if isinstance(ref, str) else ref
            if words.get("default") is not None:
                found[name] = words["default"]
        return found


TYPE_NAMES: Mapping[type, str] = MappingProxyType(
    {
        dict: "object",
        list: "array",
        str: "string",
        bool: "boolean",
        int: "integer",
        float: "number",
        type(None): "null",
    }
)
"""What schemas call the types of loaded data."""


@lru_cache(maxsize=32)
def _classes(types: tuple[str, ...]) -> frozenset[type]:
    """Return the types of loaded data that have one of these names, all where none is named."""
    names = {"integer", *types} if "number" in types else set(types)
    return frozenset(one for one, name in TYPE_NAMES.items() if not names or name in names)


# Objects as an API server keeps them by a schema: pruned, and with defaults filled in.
#
# Source of the rules: k8s.io/apiextensions-apiserver pkg/apiserver/schema (pruning, defaulting).

_OBJECT_FIELDS = frozenset({"apiVersion", "kind", "metadata"})


def stored(obj: Json, schema: SchemaNode) -> Json:
    """Return an object without fields that its schema does not know, and with its defaults."""
    kept = {name: value for name, value in obj.items() if name in _OBJECT_FIELDS}
    rest = {name: value for name, value in obj.items() if name not in _OBJECT_FIELDS}
    return {**kept, **_mapping(schema, rest, prune=True)}


def completed(data: Json, schema: SchemaNode) -> Json:
    """Return data with its defaults (sharing what has none), and without nulls for no value.

    A null where none is allowed counts as a missing field. Fields that the schema does not know
    stay.
    """
    return _shaped(schema, data, prune=False)


def _shaped(schema: SchemaNode, data: Json, *, prune: bool) -> Json:
    if data.__class__ is dict:
        return _mapping(schema.meant_for(data), data, prune=prune)
    items = schema.meant_for(data).items if data.__class__ is list else None
    return data if items is None else _list(items, data, prune=prune)


def _list(items: SchemaNode, data: list[Json], *, prune: bool) -> Json:
    shaped = [
        _shaped(items, items.default if item is None and not items.nullable else item, prune=prune)
        for item in data
    ]
    return data if all(map(is_, shaped, data)) else shaped


def _mapping(schema: SchemaNode, data: dict[str, Json], *, prune: bool) -> Json:
    if not prune and schema.describes_none:
        return data
    kept = {}
    changed = False
    for name, value in data.items():
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
