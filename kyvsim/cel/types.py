"""Types of expressions, as in the checker and as results of `type()`; their unification."""

from collections.abc import Sequence
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

# Types of expressions, as in the checker and as results of `type()`.
#
# Source of the names: upstream cel-go common/types/types.go, checker/format.go.


class CelType(NamedTuple):
    """A type: its kind, its name if the kind has several, and its parameters."""

    kind: str
    name: str
    parameters: tuple["CelType", ...] = ()

    def __str__(self) -> str:
        """Return the type as in messages about declared types."""
        name = f"<{self.name}>" if self.kind == "parameter" else self.name
        if not self.parameters:
            return name
        return f"{name}({', '.join(map(str, self.parameters))})"


DYN = CelType("dyn", "dyn")
ANY = CelType("dyn", "any")
"""A value that contains its type; it is used like `dyn`, but shown differently."""
ERROR = CelType("error", "!error!")
NULL = CelType("null", "null_type")
BOOL = CelType("bool", "bool")
INT = CelType("int", "int")
UINT = CelType("uint", "uint")
DOUBLE = CelType("double", "double")
STRING = CelType("string", "string")
BYTES = CelType("bytes", "bytes")
DURATION = CelType("duration", "google.protobuf.Duration")
TIMESTAMP = CelType("timestamp", "google.protobuf.Timestamp")
TYPE = CelType("type", "type")

_SHORT_NAMES = MappingProxyType({"null": "null", "duration": "duration", "timestamp": "timestamp"})


def list_of(element: CelType) -> CelType:
    """Return the type of lists of `element`."""
    return CelType("list", "list", (element,))


def map_of(key: CelType, value: CelType) -> CelType:
    """Return the type of maps from `key` to `value`."""
    return CelType("map", "map", (key, value))


def type_of(inner: CelType) -> CelType:
    """Return the type of the type `inner`."""
    return CelType("type", "type", (inner,))


def optional_of(inner: CelType) -> CelType:
    """Return the type of optional values of `inner`."""
    return CelType("opaque", "optional_type", (inner,))


opaque = partial(CelType, "opaque")
"""Returns an opaque type, by its name, for the functions of a library."""
struct = partial(CelType, "struct")
"""Returns a type with declared fields, by its name."""
parameter = partial(CelType, "parameter")
"""Returns a type variable, by its name."""


def unwrap_optional(found: CelType) -> tuple[CelType, bool]:
    """Return the type inside an optional type, and whether it was one."""
    if found.kind == "opaque" and found.name == "optional_type":
        return found.parameters[0], True
    return found, False


def show(found: CelType) -> str:
    """Return the type as in messages about expressions."""
    name = _SHORT_NAMES.get(found.kind, found.name)
    if not found.parameters:
        return name
    return f"{name}({', '.join(map(show, found.parameters))})"


# Whether a value of one type is assignable to another, with type variables.
#
# Source of the rules: upstream cel-go checker/types.go.

_NULLABLE = frozenset({"opaque", "struct", "duration", "timestamp"})
_PARAMETRIC = frozenset({"opaque", "list", "map"})
_PLAIN = frozenset({"bool", "bytes", "double", "dyn", "int", "string", "uint"})
"""Types without parameters or variables."""


class Substitutions:
    """The types that replace the type variables of one expression."""

    def __init__(self) -> None:
        self._found: dict[str, CelType] = {}
        self._fresh = 0

    def fresh(self) -> CelType:
        """Return a new type variable."""
        found = CelType("parameter", f"_var{self._fresh}")
        self._fresh += 1
        return found

    def assignable(self, given: Sequence[CelType], expected: Sequence[CelType]) -> bool:
        """Return whether each type matches the expected one; records the required substitutions."""
        if len(given) != len(expected):
            return False
        before = dict(self._found)
        for one, other in zip(given, expected, strict=True):
            # Most argument types are identical to the expected ones.
            if (one is other and one.kind in _PLAIN) or self._fits(one, other):
                continue
            self._found = before
            return False
        return True

    def resolve(self, kind: CelType, *, free_is_dyn: bool = False) -> CelType:
        """Return the type with replaced variables; free ones are kept, or become `dyn`."""
        if kind.kind == "parameter":
            found = self._found.get(kind.name)
            if found is not None:
                return self.resolve(found, free_is_dyn=free_is_dyn)
            return DYN if free_is_dyn else kind
        if not kind.parameters:
            return kind
        inner = tuple([self.resolve(one, free_is_dyn=free_is_dyn) for one in kind.parameters])
        return CelType(kind.kind, kind.name, inner)

    def _fits(self, given: CelType, expected: CelType) -> bool:
        if expected.kind == "parameter":
            valid, known = self._substitutes(given, expected)
            if valid or known:
                return valid
        if given.kind == "parameter":
            return self._substitutes(expected, given)[0]
        if given.kind in {"dyn", "error"} or expected.kind in {"dyn", "error"}:
            return True
        if given.kind == "null" or expected.kind == "null":
            other = expected if given.kind == "null" else given
            return other.kind == "null" or other.kind in _NULLABLE
        if given.kind == expected.kind == "type":
            return True
        if given.kind in _PARAMETRIC:
            return (
                (given.kind, given.name) == (expected.kind, expected.name)
                and len(given.parameters) == len(expected.parameters)
                and all(map(self._fits, given.parameters, expected.parameters))
            )
        return given == expected

    def _substitutes(self, kind: CelType, variable: CelType) -> tuple[bool, bool]:
        """Return whether `kind` can replace the variable, and whether the variable was bound."""
        if kind == variable:
            return True, True
        found = self._found.get(variable.name)
        if found is not None:
            if kind == found:
                return True, True
            if not self._fits(kind, found):
                return False, True
            general = most_general(kind, found)
            if not self._occurs(variable, general):
                self._found[variable.name] = general
            return True, True
        if self._occurs(variable, kind):
            return False, False
        self._found[variable.name] = kind
        return True, False

    def _occurs(self, variable: CelType, within: CelType) -> bool:
        if variable == within:
            return True
        if within.kind == "parameter":
            found = self._found.get(within.name)
            return found is not None and self._occurs(variable, found)
        return any(self._occurs(variable, one) for one in within.parameters)


def most_general(left: CelType, right: CelType) -> CelType:
    """Return the less specific of two types, one of which matches the other."""
    return left if _is_less_specific(left, right) else right


def _is_less_specific(left: CelType, right: CelType) -> bool:
    if left.kind in {"dyn", "parameter"}:
        return True
    if right.kind in {"dyn", "parameter"} or left.kind != right.kind:
        return False
    if left.kind in _PARAMETRIC:
        return left.name == right.name and all(
            map(_is_less_specific, left.parameters, right.parameters)
        )
    return left.kind == "type" or left == right


def same_shape(left: CelType, right: CelType) -> bool:
    """Return whether two types are the same except for type variables."""
    if left.kind == right.kind == "parameter":
        return True
    return (left.kind, left.name) == (right.kind, right.name) and (
        len(left.parameters) == len(right.parameters)
        and all(map(same_shape, left.parameters, right.parameters))
    )
