"""Values in CEL: their text, their types, and how they may be missing."""

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

# The known types of a value: one for each kind of object that it may be part of.
#
# The types are those of structured merges; nothing is known of custom resources.

Types: TypeAlias = tuple[merge_types.Type, ...]
"""What a value is, by kind; () where nothing is known."""

UNKNOWN: Final[Types] = ()
TEXT: Final[Types] = (merge_types.Type(merge_types.STRING),)
NUMBER: Final[Types] = (merge_types.Type(merge_types.NUMERIC),)
BOOL: Final[Types] = (merge_types.Type(merge_types.BOOLEAN),)
MAP: Final[Types] = (merge_types.Type(mapping=merge_types.MapType({}, "*", False)),)

_TIMES: Final = frozenset({"creationTimestamp", "deletionTimestamp"})
"""Fields of metadata that are texts, although merges take them for anything."""
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
"""Fields that an API server insists on, with neighbours by which they are known."""


def types_of(kinds: Iterable[tuple[str, str]]) -> Types:
    """Return the types of objects by apiVersion and kind; () where one of them is not known."""
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
    """Return the types of a field, () where one of the maps does not know it."""
    maps = [one.mapping for one in types]
    refs: list[merge_types.TypeRef | None] = [
        one and (one.fields.get(key) or one.others) for one in maps
    ]
    if key in _TIMES:
        refs = [TEXT[0] if one is not None else None for one in refs]
    return _resolved(refs)


def field_names(types: Types) -> tuple[str, ...]:
    """Return the names of the fields of objects; () where nothing is known."""
    return tuple(dict.fromkeys(name for one in types if one.mapping for name in one.mapping.fields))


def list_of(types: Types) -> Types:
    """Return the type of a list of such elements."""
    element = types[0] if types else "*"
    return (merge_types.Type(sequence=merge_types.ListType(element, None, {})),)


def is_always_given(types: Types, key: str) -> bool:
    """Return whether no API server takes such a map without a key."""
    beside = _GIVEN.get(key, ())
    return bool(types) and all(
        one.mapping is not None and any(name in one.mapping.fields for name in beside)
        for one in types
    )


class Expr(NamedTuple):
    """One value."""

    text: str
    """The expression; it cannot be evaluated where the value is missing."""
    types: Types = UNKNOWN
    level: int = TIGHT
    """How tightly the expression binds."""
    optional: str = ""
    """The expression that gives an optional; "" where the value is always there."""
    has: str = ""
    """The test that it exists, if that is shorter than a test of the optional."""
    noun: str = ""
    """The field that it is the value of."""
    rewritten: bool = False
    """Whether autogen rewrites it textually, so that it has to be written as it is."""
    soft: str = ""
    """The expression of a list that is empty where what it is made of is missing."""
    needs: tuple[Test, ...] = ()
    """What has to be there for the expression to be evaluated."""
    parts: "tuple[Expr, ...]" = ()
    """The lists that a list of lists is made of."""
    fields: "Mapping[str, Expr]" = MappingProxyType({})
    """Expressions of fields that replace the usual ones."""
    fallback: tuple[Json, ...] = ()
    """The default of the value, in a tuple of one; `bare_optional` may be missing."""
    bare_optional: str = ""
    """The optional behind a value with a fallback."""
    nullable: bool = False
    """Whether a rule sees null where it is missing, rather than end in an error."""
    is_looked_up: bool = False
    """Whether it is data of the cluster, which may hold wildcards on purpose."""
    is_double: bool = False
    """Whether the type checker knows it as a number with a fraction."""
    moment: str = ""
    """The expression of the time that it is the text of, if it is one."""
    keys_of: str = ""
    """The expression of the map that it lists the keys of, if it does."""
    duration: str = ""
    """The expression of the duration that it is the text of, if it is one."""
    test: Test | None = None
    """What decides where it is true or false, if it is known."""
    constant: tuple[Json, ...] = ()
    """The value itself, in a tuple of one, where it is fixed."""
    is_choice: bool = False
    """Whether the optional is a choice made by `has`, so that a default is one, too."""

    @property
    def is_text(self) -> bool:
        """Whether it is certainly a text."""
        return self._is(merge_types.STRING)

    @property
    def is_number(self) -> bool:
        """Whether it is certainly a number."""
        return self._is(merge_types.NUMERIC)

    @property
    def is_bool(self) -> bool:
        """Whether it is certainly true or false."""
        return self._is(merge_types.BOOLEAN)

    @property
    def is_scalar(self) -> bool:
        """Whether it is a text or a number, as quantities are."""
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
        """Whether there may be nothing."""
        return bool(self.optional)

    def or_else(self, default: object) -> str:
        """Return the text of the value, or of a default where there is none."""
        if self.soft:
            return self.soft
        if self.is_choice:
            return f"({self.has} ? {self.text} : {literal(default)})"
        return f"{self.optional}.orValue({literal(default)})" if self.optional else self.text

    @property
    def list_or_empty(self) -> str:
        """The text of a list, which is empty where there is none."""
        return self.or_else([]) if self.may_miss or self.soft else self.tight()

    def tight(self, least: int = TIGHT) -> str:
        """Return the text, in parentheses if it binds less tightly than `least`."""
        return self.text if self.level >= least else f"({self.text})"

    def given(self) -> "Expr":
        """Return the value where it is known to be there."""
        return self._replace(optional="", has="")

    def child(self, key: str) -> "Expr":
        """Return what a map has under a key."""
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
        """Return what is at a path of maps."""
        found = self
        for key in keys:
            found = found.child(key)
        return found

    def entry(self, key: str) -> "Expr":
        """Return what a map has under the key that an expression gives."""
        before = self.tight()
        optional = f"{self.optional or before}[?{key}]"
        has = "" if self.optional else f"({key}) in {before}"
        found = Expr(f"{before}[{key}]", self.value_types, optional=optional, has=has)
        return found._replace(needs=self.needs, is_looked_up=self.is_looked_up)

    def is_there(self) -> Test:
        """Return the test that there is a value."""
        if not self.optional:
            return Plain("true")
        if self.has:
            return Plain(self.has, TIGHT if self.has.startswith("has(") else 4)
        return Plain(f"{self.optional}.hasValue()")

    def needed(self) -> "tuple[Test, ...]":
        """Return what has to be there for the plain expression to be evaluated."""
        return (*self.needs, self.is_there()) if self.optional else self.needs

    def is_missing(self) -> Test:
        """Return the test that there is no value."""
        return Not(self.is_there()) if self.optional else Plain("false")

    def if_needed_is_there(self) -> "Expr":
        """Return a value that is missing where what its expression needs is missing.

        The plain expression ends in an error there, and has no optional.
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
        """The expression of the value as a text."""
        return self.text if self.is_text else f"string({self.text})"


def constant(value: object) -> Expr:
    """Return plain data as a value."""
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
    """Return the expression of a value within a string; null becomes `null`."""
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
