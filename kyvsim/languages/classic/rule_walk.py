"""Ways through a rule that advice shares."""

from collections.abc import Iterable, Iterator

from kyvsim.kube.objects import Json
from kyvsim.model.source import Path

_FREE = frozenset(
    {"pattern", "anyPattern", "patchStrategicMerge", "data", "cel", "manifests", "value", "default"}
)
"""Fields that hold data of the user's, in which no field of a rule stands."""


def is_free(path: Path) -> bool:
    """Return whether a path of a rule leads into data of the user's."""
    return not _FREE.isdisjoint(path)


def nodes(data: Json, path: Path = ()) -> Iterator[tuple[Path, Json]]:
    """Yield everything in `data` with its path, in the order of the text.

    Goes down without recursion: documents may be deep.
    """
    pending: list[tuple[Path, Json]] = [(path, data)]
    while pending:
        place, value = pending.pop()
        yield place, value
        children: Iterable[tuple[str | int, Json]] = ()
        if value.__class__ is dict:
            children = value.items()
        elif value.__class__ is list:
            children = enumerate(value)
        pending += reversed([((*place, step), child) for step, child in children])


def texts(data: Json) -> Iterator[tuple[Path, str]]:
    """Yield path and text of every key and text in `data`; a key has its mapping's path."""
    for path, value in nodes(data):
        if value.__class__ is str:
            yield path, value
        elif value.__class__ is dict:
            yield from ((path, key) for key in value)


def is_query(path: Path) -> bool:
    """Return whether the text at a path of a rule is a JMESPath expression as a whole."""
    if is_free(path[:-1]):
        return False
    loop = len(path) > 2 and path[-3] == "foreach"
    return path[-1:] == ("jmesPath",) or (loop and path[-1] == "list")


_TO_CONDITIONS = frozenset(
    {
        "validate", "mutate", "generate", "verifyImages", "foreach", "targets", "attestations",
        "preconditions", "deny", "conditions", "any", "all",
    }
)  # fmt: skip
"""The fields below which conditions stand; everything else of a rule is left alone."""


def conditions_of(data: Json, path: Path) -> Iterator[tuple[Path, Json]]:
    """Yield every condition of a rule with its path."""
    if data.__class__ is list:
        for index, item in enumerate(data):
            yield from conditions_of(item, (*path, index))
    elif data.__class__ is dict:
        if data.get("operator").__class__ is str:
            yield path, data
            return
        for name in data:
            if name in _TO_CONDITIONS:
                yield from conditions_of(data[name], (*path, name))


def is_open(data: Json) -> bool:
    """Return whether there are variables or references in data."""
    pending = [data]
    while pending:
        one = pending.pop()
        if one.__class__ is dict:
            pending += [*one, *one.values()]
        elif one.__class__ is list:
            pending += one
        elif one.__class__ is str and ("{{" in one or "$(" in one):
            return True
    return False
