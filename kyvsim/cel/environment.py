"""Environments of expressions: variables, libraries of functions with their signatures, macros."""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from kyvsim.cel import types
from kyvsim.cel.errors import CelError
from kyvsim.cel.types import CelType
from kyvsim.model.ports import CEL_STEPS

CALL_LIMIT = 1_000_000
"""Maximum number of evaluation steps per expression.

upstream: k8s.io/apiserver/pkg/apis/cel/config.go
"""

Frame: TypeAlias = list[Any]
"""The state of an evaluation: the remaining steps, then values of variables and loops."""
Run: TypeAlias = Callable[[Frame], object]
"""An expression as a closure over its frame."""


class Overload(NamedTuple):
    """One signature of a function, and its implementation."""

    member: bool
    """Whether its first argument is the receiver, before a dot."""
    arguments: tuple[CelType, ...]
    result: CelType
    run: Callable[..., object]
    cost: int = 1
    """The steps of a call besides those of its arguments, if that is significant."""
    optimize: Callable[..., Run] | None = None
    """Returns the closure for a constant second argument; may raise CelError."""


class FunctionDecl(NamedTuple):
    """Overloads of one name; an environment merges those of all declarations."""

    name: str
    overloads: tuple[Overload, ...]
    guarded: bool = True
    """Whether argument types are checked before the call; if not, the function checks them."""
    fault: str = ""
    """The message for unsupported arguments; "" for their types."""


class StructType(NamedTuple):
    """A type whose values expressions can construct, as `Type{field: value}`."""

    field: Callable[[str], CelType]
    """Returns the type of a field by its name."""
    make: Callable[[dict[str, object]], object]
    """Returns a value with these fields; may raise CelError."""


class Library(NamedTuple):
    """Related functions."""

    name: str
    functions: tuple[FunctionDecl, ...]
    macros: str = ""
    """Name of the macro set of the library; "" if none."""
    types: tuple[tuple[type, CelType], ...] = ()
    """The Python classes of its own values."""
    variables: tuple[tuple[str, CelType], ...] = ()
    """The variables on which its functions are called."""
    struct_of: Callable[[str], StructType | None] | None = None
    """Returns the types that expressions can construct, by name."""


class Environment(NamedTuple):
    """All names that an expression can use; it is only equal to itself."""

    variables: tuple[tuple[str, CelType], ...]
    functions: Mapping[str, FunctionDecl]
    macros: frozenset[str]
    classes: Mapping[str, type]
    fields: Mapping[str, Mapping[str, CelType]]
    """The fields of typed objects, by the name of the type."""
    checks_literals: bool = True
    """Whether constant durations, times and patterns are checked."""
    latest_formats: bool = False
    """Whether `format` supports the newest version of cel-go's strings."""
    checks_mixtures: bool = True
    """Whether the elements of a list or map literal must have the same type."""
    structs: tuple[Callable[[str], StructType | None], ...] = ()
    """Return the types that expressions can construct, by name."""
    limit: int = CALL_LIMIT
    per_step: int = CEL_STEPS
    """The number of them that counts as one step of a rule."""
    folds: bool = True
    """Whether constants are converted, and errors reported, at compile time."""

    types_defaults: bool = False
    """Whether `orValue` has the type of its operand if its default has it, too.

    Kyverno only knows that it is dynamic; checks that report mistakes know more. They do not report
    the sum of lists of different objects, such as containers and ephemeral containers.
    """

    unbound: frozenset[str] = frozenset()
    """Variables that expressions may name but that have no value."""

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    def __hash__(self) -> int:
        return id(self)

    def with_variables(self, *variables: tuple[str, CelType]) -> "Environment":
        """Return the environment with additional variables."""
        return self._replace(variables=(*self.variables, *variables))

    def with_library(self, library: Library) -> "Environment":
        """Return the environment with a library's functions instead of those with their names."""
        functions = {**self.functions, **{one.name: one for one in library.functions}}
        return self._replace(functions=MappingProxyType(functions))

    def with_fields(self, type_name: str, fields: Mapping[str, CelType]) -> "Environment":
        """Return the environment with fields for an additional or existing typed object."""
        return self._replace(fields=MappingProxyType({**self.fields, type_name: fields}))

    def struct_type(self, name: str) -> StructType | None:
        """Return the type that an expression constructs by a name, or None if there is none."""
        found = (struct_of(name) for struct_of in self.structs)
        return next((one for one in found if one is not None), None)


def environment(libraries: tuple[Library, ...]) -> Environment:
    """Return an environment with the functions and variables of all libraries."""
    functions: dict[str, FunctionDecl] = {}
    classes: dict[str, type] = {}
    for library in libraries:
        for function in library.functions:
            name = function.name
            known = functions.get(name)
            functions[name] = (
                FunctionDecl(name, known.overloads + function.overloads, known.guarded, known.fault)
                if known is not None
                else function
            )
        classes.update((kind.name, cls) for cls, kind in library.types)
    macros = frozenset(library.macros for library in libraries if library.macros)
    return Environment(
        variables=tuple(one for library in libraries for one in library.variables),
        functions=MappingProxyType(functions),
        macros=macros,
        classes=MappingProxyType(classes),
        fields={},
        structs=tuple(one.struct_of for one in libraries if one.struct_of is not None),
    )


# Signatures of functions, such as `list<A>.flatten(int) -> list<A>` or `int(string) -> int`.

_PART = re.compile(r"[A-Za-z_.][A-Za-z0-9_.]*|[<>,]")
_KNOWN = MappingProxyType(
    {types.show(one): one for one in (types.ANY, types.DYN, types.BOOL, types.INT, types.UINT)}
    | {types.show(one): one for one in (types.DOUBLE, types.STRING, types.BYTES, types.NULL)}
    | {types.show(one): one for one in (types.DURATION, types.TIMESTAMP)}
)
_STRUCTS = (
    "kubernetes.",
    "user.",
    "envoy.",
    "google.rpc.",
    "http.Check",
    "jwt.",
    "mcp.MCPRequest",
    "mcp.Implementation",
)
"""The prefixes of types with fields."""
_NESTED: Mapping[str, Callable[..., CelType]] = {
    "list": types.list_of,
    "map": types.map_of,
    "type": types.type_of,
    "optional": types.optional_of,
}


def function(
    signature: str,
    run: Callable[..., object],
    cost: int = 1,
    optimize: Callable[..., Run] | None = None,
) -> FunctionDecl:
    """Return one overload of a function with a signature such as `math.abs(int) -> int`."""
    name, arguments, result = _read_signature(signature)
    return FunctionDecl(name, (Overload(False, arguments, result, run, cost, optimize),))


def method(
    signature: str,
    run: Callable[..., object],
    cost: int = 1,
    optimize: Callable[..., Run] | None = None,
) -> FunctionDecl:
    """Return one overload of a method with a signature such as `list<A>.indexOf(A) -> int`."""
    name, arguments, result = _read_signature(signature)
    receiver, _, name = name.rpartition(".")
    arguments = (read_type(receiver), *arguments)
    return FunctionDecl(name, (Overload(True, arguments, result, run, cost, optimize),))


def _read_signature(signature: str) -> tuple[str, tuple[CelType, ...], CelType]:
    head, _, result = signature.partition(" -> ")
    name, _, arguments = head.partition("(")
    kinds: list[CelType] = []
    rest = _PART.findall(arguments)
    while rest:
        kind, rest = _read(rest)
        kinds.append(kind)
        rest = rest[1:]  # the rest after the comma
    return name, tuple(kinds), read_type(result)


def signature(name: str, overload: Overload) -> str:
    """Return the signature of an overload."""
    arguments = [str(argument) for argument in overload.arguments]
    if not overload.member:
        return f"{name}({', '.join(arguments)}) -> {overload.result}"
    return f"{arguments[0]}.{name}({', '.join(arguments[1:])}) -> {overload.result}"


def succeeds(run: Callable[..., object]) -> Callable[..., bool]:
    """Return a predicate: whether `run` raises no CelError."""

    def test(*given: object) -> bool:
        try:
            run(*given)
        except CelError:
            return False
        return True

    return test


def read_type(text: str) -> CelType:
    """Return the type of a string; one capital letter is a type variable."""
    if text in _KNOWN:
        return _KNOWN[text]
    found, rest = _read(_PART.findall(text))
    if rest:
        raise ValueError(f"unknown type: {text}")
    return found


def read_fields(text: str) -> Mapping[str, CelType]:
    """Return the fields of a string such as `name=string items=list<int>`."""
    fields = (one.split("=") for one in text.split())
    return MappingProxyType({name: read_type(kind) for name, kind in fields})


def _read(parts: list[str]) -> tuple[CelType, list[str]]:
    name, rest = parts[0], parts[1:]
    if not rest or rest[0] != "<":
        return _named(name), rest
    inner: list[CelType] = []
    while rest[0] != ">":
        found, rest = _read(rest[1:])
        inner.append(found)
    return _NESTED[name](*inner), rest[1:]


def _named(name: str) -> CelType:
    if len(name) == 1:
        return types.parameter(name)
    if name in _KNOWN:
        return _KNOWN[name]
    return types.struct(name) if name.startswith(_STRUCTS) else types.opaque(name)
