"""What shapes look at in an object, as a key: objects with one key look the same to them.

Types are told apart: what Python takes for equal, as `1` and `true`, need not look the same.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Final, TypeAlias

from kyvsim.kube.objects import Json
from kyvsim.proof.shapes import Both, DoubtError, Each, Fields, Keys, Shape

Look: TypeAlias = Callable[[Json], Hashable]
"""Takes an object; returns the key. Raises `DoubtError` where what is looked at is neither a scalar
nor a list of scalars, or is a text with variables: these may ask for anything."""

_ABSENT: Final = object()
_WITHOUT: Final = (_ABSENT,)
_AS_THEY_ARE: Final = frozenset({str, bool, type(None)})
"""Types of scalars that are equal to none of another type."""


def compile_look(shapes: Sequence[Shape]) -> Look:
    """Return what makes the key of all that some shapes look at."""
    looks = tuple(map(_compile, shapes))
    if len(looks) == 1:
        return looks[0]
    if len(looks) == 2:
        first, second = looks
        return lambda value: (first(value), second(value))
    return lambda value: tuple([look(value) for look in looks])


def _compile(shape: Shape) -> Look:
    if isinstance(shape, Both):
        return compile_look(shape.shapes)
    if isinstance(shape, Fields):
        return _fields(shape)
    if isinstance(shape, Each):
        return _elements(_compile(shape.shape))
    return _names if isinstance(shape, Keys) else _scalar


def _fields(shape: Fields) -> Look:
    looks = tuple(
        (key, _is_there if wanted is None else _compile(wanted)) for key, wanted, _ in shape.entries
    )
    if len(looks) == 1:  # as most are: what a list costs more is half of the look
        return _field(*looks[0])

    def look(value: Json) -> Hashable:
        if value.__class__ is not dict:
            return _scalar(value)
        return tuple([inside(value[key]) if key in value else _ABSENT for key, inside in looks])

    return look


def _field(key: str, inside: Look) -> Look:
    def look(value: Json) -> Hashable:
        if value.__class__ is not dict:
            return _scalar(value)
        return (inside(value[key]),) if key in value else _WITHOUT

    return look


def _elements(element: Look) -> Look:
    def look(value: Json) -> Hashable:
        if value.__class__ is not list:
            return _scalar(value)
        return tuple(map(element, value))

    return look


def _names(value: Json) -> Hashable:
    return tuple(map(_scalar, value)) if value.__class__ is dict else _scalar(value)


def _is_there(_: Json) -> Hashable:
    return True


def _scalar(value: Json) -> Hashable:
    kind = value.__class__
    if kind is dict or (kind is str and "{{" in value):
        raise DoubtError
    if kind is list:
        return (list, *map(_item, value))
    scalar: Hashable = value if kind in _AS_THEY_ARE else (kind, repr(value))
    return scalar


def _item(value: Json) -> Hashable:
    if value.__class__ is list:
        raise DoubtError
    return _scalar(value)
