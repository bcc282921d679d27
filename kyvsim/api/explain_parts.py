"""Where the maps and lists of an object stand, to be asked for by what they are or what they equal.

A loop asks so for each of its elements: an object is gone through once for all of them.
"""

from collections.abc import Callable, Hashable

from kyvsim.kubernetes.objects import Json
from kyvsim.model.source import Path

Numbers = dict[object, int]
"""A number for each distinct value that was seen, by its content: equal values have one."""


class Parts:
    """The paths of an object's maps and lists."""

    def __init__(self, obj: Json, numbers: Numbers) -> None:
        """Take an object, and the numbers that its values share with those of others."""
        self._equal: dict[int, list[tuple[Json, Path]]] = {}
        self._numbers = numbers
        self._add(obj, ())

    def path_of(self, value: Json, number: int) -> Path | None:
        """Return the first place at which this very map or list stands, which has a number."""
        return next((path for one, path in self._equal.get(number, ()) if one is value), None)

    def only_path_of(self, number: int) -> Path | None:
        """Return where a value with a number stands, if that is one place only."""
        equal = self._equal.get(number, ())
        return equal[0][1] if len(equal) == 1 else None

    def _add(self, value: Json, path: Path) -> int:
        if value.__class__ is not dict and value.__class__ is not list:
            return number_of(value, self._numbers)
        content = _content(value, lambda key, one: self._add(one, (*path, key)))
        number = self._numbers.setdefault(content, len(self._numbers))
        self._equal.setdefault(number, []).append((value, path))
        return number


def number_of(value: Json, numbers: Numbers) -> int:
    """Return the number of a value, a new one if none that equals it was seen."""
    content = _content(value, lambda _, one: number_of(one, numbers))
    return numbers.setdefault(content, len(numbers))


def _content(value: Json, number_at: Callable[[str | int, Json], int]) -> Hashable:
    """Return what values that are equal have in common, by the numbers of what is in them."""
    if value.__class__ is dict:
        return frozenset((key, number_at(key, one)) for key, one in value.items())
    if value.__class__ is list:
        return tuple(number_at(index, one) for index, one in enumerate(value))
    return value  # type: ignore[no-any-return]
