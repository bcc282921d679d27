"""Changes of plain data at a path: what is not on the way to it stays the same object."""

from typing import TypeAlias

from kyvsim.kubernetes.objects import Json

_Path: TypeAlias = tuple[str | int, ...]


def replaced(value: Json, path: _Path, leaf: Json) -> Json:
    """Return a value with `leaf` in place of what stands at a path."""
    if not path:
        return leaf
    return _with_member(value, path[0], replaced(value[path[0]], path[1:], leaf))


def without(value: Json, path: _Path) -> Json:
    """Return a value without what stands at a path, which is not the whole."""
    step, *rest = path
    if rest:
        return _with_member(value, step, without(value[step], tuple(rest)))
    if value.__class__ is list:
        return [one for index, one in enumerate(value) if index != step]
    return {name: one for name, one in value.items() if name != step}


def renamed(value: Json, path: _Path, key: str) -> Json:
    """Return a value in which the last key of a path is another one, at the same place."""
    around = path[:-1]
    inner = found_at(value, around)
    return replaced(
        value, around, {key if name == path[-1] else name: one for name, one in inner.items()}
    )


def found_at(value: Json, path: _Path) -> Json:
    """Return what stands at a path that is there."""
    for step in path:
        value = value[step]
    return value


def _with_member(value: Json, step: str | int, inner: Json) -> Json:
    if value.__class__ is list:
        return [inner if index == step else one for index, one in enumerate(value)]
    return {**value, step: inner}
