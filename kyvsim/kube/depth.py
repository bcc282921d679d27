"""How deep data may be nested: deeper than any manifest, and no deeper than all that reads it can.

What comes after loading walks maps and lists by calls. Depth is therefore bounded here, by us, and
the interpreter's own bound is set so that it is not met before (`kyvsim/cli/main.py`).
"""

from kyvsim.kube.objects import Json

MAX_DEPTH = 200
"""Maps and lists in one another. Definitions of custom resources, the deepest manifests that there
are, have some sixty."""
TOO_DEEP = f"nested more than {MAX_DEPTH} deep"


def held_by(level: list[Json]) -> list[Json]:
    """Return what the maps and lists among some values hold."""
    return [
        inner
        for one in level
        if one.__class__ is dict or one.__class__ is list
        for inner in (one.values() if one.__class__ is dict else one)
    ]


def is_too_deep(data: Json) -> bool:
    """Return whether maps and lists in `data` are nested more than MAX_DEPTH deep."""
    level = [data]
    for _ in range(MAX_DEPTH):
        level = held_by(level)
        if not level:
            return False
    return any(one.__class__ is dict or one.__class__ is list for one in level)


def may_be_too_deep(brackets: int) -> bool:
    """Return whether a text with so many opening brackets may hold data that is too deep."""
    return brackets > MAX_DEPTH
