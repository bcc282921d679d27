"""Loops over the lists of containers: those that ask the same become one."""

from collections.abc import Iterable

from kyvsim.migrate.desk import Desk
from kyvsim.migrate.expressions import Each, Test

CONTAINER = "container"
"""What elements of all lists of containers are called."""


def joined_loops(tests: Iterable[Test], desk: Desk, *, nested: bool = False) -> list[Test]:
    """Return tests with those that ask the same of several lists of containers made one.

    The lists together are a variable, unless the tests are `nested` in another loop.
    """
    listed = list(tests)
    loops = [one for one in listed if isinstance(one, Each) and one.name == CONTAINER]
    same: dict[Test, list[Each]] = {}
    for one in loops:
        same.setdefault(one.body, []).append(one)
    return [
        _over_all(same[one.body], desk, nested) if isinstance(one, Each) and one in loops else one
        for one in listed
        if not (isinstance(one, Each) and one in loops) or one is same[one.body][0]
    ]


def _over_all(loops: list[Each], desk: Desk, nested: bool) -> Test:
    first = loops[0]
    if len(loops) == 1:
        return first
    sources = sorted((one.source for one in loops), key=lambda text: ".orValue" in text)
    if nested:
        return first._replace(source=f"({' + '.join(sources)})")
    name = "allContainers" if len(loops) > 2 else "containers"
    return first._replace(source=desk.variable(name, " + ".join(sources)))
