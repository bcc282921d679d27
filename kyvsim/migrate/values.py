"""Values in CEL: their expression, their types, and how they can be missing."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from kyvsim.kubernetes.objects import Json
from kyvsim.migrate.expressions import (
    RELATION,
    SUM,
    TIGHT,
    Not,
    Plain,
    Test,
    enclosed,
    every,
    is_name,
    literal,
    one_line,
    quoted,
)
from kyvsim.schema import merge_types

# The known types of a value: one for each kind of object that it can be part of.
#
# The types are those of structured merges; those of custom resources are unknown.

Types: TypeAlias = tuple[merge_types.Type, ...]
"""The types of a value, by kind; () if unknown."""

UNKNOWN: Final[Types] = ()
TEXT: Final[Types] = (merge_types.Type(merge_types.STRING),)
NUMBER: Final[Types] = (merge_types.Type(merge_types.NUMERIC),)
BOOL: Final[Types] = (merge_types.Type(merge_types.BOOLEAN),)
MAP: Final[Types] = (merge_types.Type(mapping=merge_types.MapType({}, "*", False)),)

_TIMES: Final = frozenset({"creationTimestamp", "deletionTimestamp"})
"""Fields of metadata that are strings, although they are untyped in merges."""
_GIVEN: Final[Mapping[str, tuple[str, ...]]] = {
    "containers": ("initContainers",),
    "image": ("imagePullPolicy",),
    "name": ("imagePullPolicy", "valueFrom"),
    "verbs": ("nonResourceURLs",),
    "roleRef": ("subjects",),
    "containerPort": ("hostIP",),
    "port": ("targetPort",),
    "template": ("serviceName", "revisionHistoryLimit", "minReadySeconds", "backoffLimit"),
    "jobTemplate": ("schedule",),
    "spec": ("metadata",),
}
"""Required fields, with sibling fields that identify their type."""


def types_of(kinds: Iterable[tuple[str, str]]) -> Types:
    """Return the types of objects by apiVersion and kind; () if one of them is unknown."""
    found: list[merge_types.Type] = []
    for api_version, kind in kinds:
        try:
            one = merge_types.find_type(api_version, kind)
        except merge_types.NoTypesError:
            return UNKNOWN
        if one is None:
            return UNKNOWN
        found.append(one)
    return tuple(found)


def _resolved(refs: Iterable[merge_types.TypeRef | None]) -> Types:
    found: list[merge_types.Type] = []
    for ref in refs:
        if ref is None or isinstance(ref, str):
            return UNKNOWN
        found.append(merge_types.resolve(ref))
    return tuple(found)


def field_of(types: Types, key: str) -> Types:
    """Return the types of a field, () if it is unknown in one of the maps."""
    maps = [one.mapping for one in types]
    refs: list[merge_types.TypeRef | None] = [
        one and (one.fields.get(key) or one.others) for one in maps
    ]
    if key in _TIMES:
        refs = [TEXT[0] if one is not None else None for one in refs]
    return _resolved(refs)


def field_names(types: Types) -> tuple[str, ...]:
    """Return the names of the fields of objects; () if unknown."""
    return tuple(dict.fromkeys(name for one in types if one.mapping for name in one.mapping.fields))


def list_of(types: Types) -> Types:
    """Return the type of a list with elements of these types."""
    element = types[0] if types else "*"
    return (merge_types.Type(sequence=merge_types.ListType(element, None, {})),)


def is_always_given(types: Types, key: str) -> bool:
    """Return whether a key is required in maps of these types."""
    beside = _GIVEN.get(key, ())
    return bool(types) and all(
        one.mapping is not None and any(name in one.mapping.fields for name in beside)
        for one in types
    )


class Expr(NamedTuple):
    """A value in CEL."""

    text: str
    """The expression; it cannot be evaluated if the value is missing."""
    types: Types = UNKNOWN
    level: int = TIGHT
    """The precedence of the expression."""
    optional: str = ""
    """The expression for an optional; "" if the value always exists."""
    has: str = ""
    """The test that it exists, if that is shorter than a test of the optional."""
    noun: str = ""
    """The name of the field."""
    rewritten: bool = False
    """Whether autogen rewrites its text, so that it must not be changed."""
    soft: str = ""
    """The expression of a list that is empty if its source is missing."""
    needs: tuple[Test, ...] = ()
    """The conditions under which the expression can be evaluated."""
    parts: "tuple[Expr, ...]" = ()
    """The lists that a list of lists consists of."""
    fields: "Mapping[str, Expr]" = MappingProxyType({})
    """Expressions of fields that replace the usual ones."""
    fallback: tuple[Json, ...] = ()
    """The default of the value, in a tuple of one; `bare_optional` may be missing."""
    bare_optional: str = ""
    """The optional of a value with a fallback."""
    nullable: bool = False
    """Whether a missing value is null in a rule, and not an error."""
    is_looked_up: bool = False
    """Whether it is data of the cluster, which may contain wildcards on purpose."""
    is_double: bool = False
    """Whether the type checker treats it as a double."""
    moment: str = ""
    """The expression of the timestamp whose string it is, or ""."""
    keys_of: str = ""
    """The expression of the map whose keys it lists, or ""."""
    duration: str = ""
    """The expression of the duration whose string it is, or ""."""
    test: Test | None = None
    """The test for its truth, if known."""
    constant: tuple[Json, ...] = ()
    """The value itself, in a tuple of one, if it is constant."""
    is_choice: bool = False
    """Whether the optional is a choice by `has`, so that a default is one, too."""

    @property
    def is_text(self) -> bool:
        """Whether it is certainly a string."""
        return self._is(merge_types.STRING)

    @property
    def is_number(self) -> bool:
        """Whether it is certainly a number."""
        return self._is(merge_types.NUMERIC)

    @property
    def is_bool(self) -> bool:
        """Whether it is certainly a boolean."""
        return self._is(merge_types.BOOLEAN)

    @property
    def is_scalar(self) -> bool:
        """Whether it is a string or a number, as quantities are."""
        return self._is(merge_types.UNTYPED)

    @property
    def is_list(self) -> bool:
        """Whether it is certainly a list."""
        return self._is("", sequence=True)

    @property
    def is_map(self) -> bool:
        """Whether it is certainly a map."""
        return self._is("", mapping=True)

    def _is(self, scalar: str, *, mapping: bool = False, sequence: bool = False) -> bool:
        return bool(self.types) and all(
            (one.scalar, one.mapping is not None, one.sequence is not None)
            == (scalar, mapping, sequence)
            for one in self.types
        )

    @property
    def element_types(self) -> Types:
        """The types of the elements of a list."""
        return _resolved(one.sequence and one.sequence.element for one in self.types)

    @property
    def value_types(self) -> Types:
        """The types of the values of a map."""
        return _resolved(one.mapping and one.mapping.others for one in self.types)

    @property
    def may_miss(self) -> bool:
        """Whether it may be missing."""
        return bool(self.optional)

    def or_else(self, default: object) -> str:
        """Return the expression of the value with a default."""
        if self.soft:
            return self.soft
        if self.is_choice:
            return f"({self.has} ? {self.text} : {literal(default)})"
        return f"{self.optional}.orValue({literal(default)})" if self.optional else self.text

    @property
    def list_or_empty(self) -> str:
        """The expression of a list, which is empty if it is missing."""
        return self.or_else([]) if self.may_miss or self.soft else self.tight()

    def tight(self, least: int = TIGHT) -> str:
        """Return the text, in parentheses if its precedence is lower than `least`."""
        return self.text if self.level >= least else f"({self.text})"

    def given(self) -> "Expr":
        """Return the value as one that exists."""
        return self._replace(optional="", has="")

    def child(self, key: str) -> "Expr":
        """Return the value of a key of a map."""
        if key in self.fields:
            return self.fields[key]
        before, types = self.tight(), field_of(self.types, key)
        named = is_name(key)
        text = f"{before}.{key}" if named else f"{before}[{quoted(key)}]"
        found = Expr(text, types, noun=key, needs=self.needs, is_looked_up=self.is_looked_up)
        if self.rewritten and (key == "metadata" or (key == "spec" and self.types)):
            return found
        if not self.optional and is_always_given(self.types, key):
            return found
        start = self.optional or before
        optional = f"{start}.?{key}" if named else f"{start}[?{quoted(key)}]"
        has = "" if self.optional else f"has({text})" if named else f"{quoted(key)} in {before}"
        return found._replace(optional=optional, has=has)

    def at(self, *keys: str) -> "Expr":
        """Return the value at a path of maps."""
        found = self
        for key in keys:
            found = found.child(key)
        return found

    def entry(self, key: str) -> "Expr":
        """Return the value in a map for a key that is an expression."""
        before = self.tight()
        optional = f"{self.optional or before}[?{key}]"
        has = "" if self.optional else f"({key}) in {before}"
        found = Expr(f"{before}[{key}]", self.value_types, optional=optional, has=has)
        return found._replace(needs=self.needs, is_looked_up=self.is_looked_up)

    def is_there(self) -> Test:
        """Return the test that the value exists."""
        if not self.optional:
            return Plain("true")
        if self.has:
            return Plain(self.has, TIGHT if self.has.startswith("has(") else 4)
        return Plain(f"{self.optional}.hasValue()")

    def needed(self) -> "tuple[Test, ...]":
        """Return the conditions under which the plain expression can be evaluated."""
        return (*self.needs, self.is_there()) if self.optional else self.needs

    def is_missing(self) -> Test:
        """Return the test that the value is missing."""
        return Not(self.is_there()) if self.optional else Plain("false")

    def if_needed_is_there(self) -> "Expr":
        """Return a value that is missing if its expression cannot be evaluated.

        Without this, the expression ends in an error, and has no optional.
        """
        needs = self.needed()
        if not needs:
            return self
        has = enclosed(every(needs), RELATION)
        optional = f"({has} ? optional.of({self.text}) : optional.none())"
        return self._replace(
            optional=optional, has=has, is_choice=True, needs=(), soft="", keys_of="", test=None
        )

    @property
    def empty(self) -> object:
        """The empty value of its type."""
        if self.is_list or self.is_map:
            return [] if self.is_list else {}
        if self.is_number or self.is_bool:
            return 0 if self.is_number else False
        return ""

    @property
    def as_text(self) -> str:
        """The expression for the value as a string."""
        return self.text if self.is_text else f"string({self.text})"


def constant(value: object) -> Expr:
    """Return constant data as a value."""
    if isinstance(value, bool):
        types = BOOL
    elif isinstance(value, int | float):
        types = NUMBER
    elif isinstance(value, str):
        types = TEXT
    elif isinstance(value, list):
        types = list_of(TEXT if all(isinstance(one, str) for one in value) else UNKNOWN)
    else:
        types = MAP if isinstance(value, dict) else UNKNOWN
    return Expr(literal(value), types, constant=(value,))


def shown(value: Expr) -> str:
    """Return the expression for a value in a string; null becomes `null`."""
    if value.nullable and value.may_miss and not (value.is_list or value.is_map):
        if value.is_text:
            return value.or_else("null")
        there = one_line(value.is_there())
        return f"({there} ? {shown(value.given())} : 'null')"
    if value.is_text:
        return value.tight(SUM)
    if value.is_list or value.is_map:
        return f"json.marshal({value.or_else(value.empty)})"
    if value.is_number or value.is_bool:
        return f"string({value.text})"
    return f"(type({value.text}) == string ? {value.text} : json.marshal({value.text}))"
