"""Objects that a policy makes.

Source of the rules: upstream kyverno/sdk extensions/cel/libs/generator. In a namespaced policy the
function takes no namespace.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from kyvsim.cel.environment import Library, function, way
from kyvsim.cel.errors import CelError
from kyvsim.cel.kyverno.native import struct_value
from kyvsim.cel.types import CelType, opaque

_TYPE = opaque("generator.Context")


class Generator(NamedTuple):
    """The value of the variable `generator`."""

    apply: Callable[[str, list[Any]], None]
    """Takes a namespace and objects as plain data; raises ValueError with the reason."""
    namespace: str = ""
    """Of the policy, where it is namespaced."""

    @property
    def cel_type(self) -> CelType:
        """Its type in expressions."""
        return _TYPE


def _apply(generator: Generator, namespace: str, objects: list[Any], *, argument: int = 2) -> bool:
    try:
        made = struct_value(objects)
    except CelError as error:
        raise CelError(f"invalid arg {argument}: {error}") from None
    try:
        generator.apply(namespace, made)
    except ValueError as error:
        raise CelError(f"failed to generate resources: {error}") from None
    return True


def _apply_in_own(generator: Generator, objects: list[Any]) -> bool:
    return _apply(generator, generator.namespace, objects, argument=1)


def _library(arguments: str, run: Callable[..., bool]) -> Library:
    signature = f"{_TYPE.name}.({arguments}list<map<string, any>>) -> bool"
    return Library(
        "generator",
        tuple(function(name, way(signature, run)) for name in ("Apply", "apply")),
        types=((Generator, _TYPE),),
        variables=(("generator", _TYPE),),
    )


CLUSTER_GENERATOR = _library("string, ", _apply)
NAMESPACED_GENERATOR = _library("", _apply_in_own)
