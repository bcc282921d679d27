"""Signatures of functions, written as `list<A>.(A, int) -> bool` or `(string) -> int`."""

import re
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from kyvsim.cel import types
from kyvsim.cel.environment import Function, Overload
from kyvsim.cel.types import CelType

_PART = re.compile(r"[A-Za-z_.][A-Za-z0-9_.]*|[<>,]")
_KNOWN = MappingProxyType(
    {
        "any": types.ANY,
        "dyn": types.DYN,
        "bool": types.BOOL,
        "int": types.INT,
        "uint": types.UINT,
        "double": types.DOUBLE,
        "string": types.STRING,
        "bytes": types.BYTES,
        "duration": types.DURATION,
        "timestamp": types.TIMESTAMP,
        "null": types.NULL,
    }
)
_NESTED: MappingProxyType[str, Callable[..., CelType]] = MappingProxyType(
    {
        "list": types.list_of,
        "map": types.map_of,
        "type": types.type_of,
        "optional": types.optional_of,
    }
)


def way(signature: str, run: Callable[..., Any], cost: int = 1) -> Overload:
    """Return one way to call a function; in front of `.(` stands what is before the dot."""
    head, _, result = signature.partition(" -> ")
    target, _, arguments = head.rpartition("(")
    member = target.endswith(".")
    texts = ([target[:-1]] if member else []) + _split(arguments.removesuffix(")"))
    return Overload(member, tuple(map(read_type, texts)), read_type(result), run, cost)


def function(name: str, *ways: Overload) -> Function:
    """Return a function that looks at the types of its arguments before a call."""
    return Function(name, ways)


def member_and_global(signature: str, run: Callable[..., Any]) -> tuple[Overload, Overload]:
    """Return the ways for a function that may also be called with its first argument in front."""
    first, result = signature.removeprefix("(").split(") -> ")
    target, *rest = _split(first)
    return way(signature, run), way(f"{target}.({', '.join(rest)}) -> {result}", run)


def read_type(text: str) -> CelType:
    """Return the type that a text writes; one capital letter is a type variable."""
    parts = _PART.findall(text)
    found, rest = _read(parts)
    if rest:
        raise ValueError(f"no type: {text}")
    return found


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
    return types.struct(name) if name.startswith("kubernetes.") else types.opaque(name)


def _split(text: str) -> list[str]:
    """Split at the commas that stand outside of angle brackets."""
    found: list[str] = []
    depth = start = 0
    for at, char in enumerate(text):
        depth += (char == "<") - (char == ">")
        if char == "," and not depth:
            found.append(text[start:at].strip())
            start = at + 1
    last = text[start:].strip()
    return [*found, last] if last else found
