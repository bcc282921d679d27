"""Where that which a result speaks of is written: its object, the failing part of it, its rule."""

from kyvsim.kube.objects import Json
from kyvsim.model.result import EngineResponse
from kyvsim.model.source import Document, Location
from kyvsim.report.summary import Row

_MOST_SLASHES = 8
"""So many pieces of a path are tried as one key; label keys have one slash at most."""


def resource_place(response: EngineResponse) -> Location | None:
    """Return where a response's object is written, or None for one that no manifest holds."""
    return response.document.locate(()) if response.document else None


def rule_place(row: Row) -> Location:
    """Return where the rule of a row is written; that of the one it was derived from, if so."""
    return row.policy.document.locate(row.result.rule.path)


def failed_place(document: Document | None, path: str) -> Location | None:
    """Return the position of the deepest node along `path` that the input has; None for none.

    A path that starts at no field of the input has no place.
    """
    names = path.strip("/").split("/")
    if document is None or _member(document.data, names[0]) is None:
        return None
    steps: list[str | int] = []
    node: Json = document.data
    while names:
        # Keys such as `example.com/team` have slashes of their own, and the path escapes none.
        length = next(
            (
                n
                for n in range(1, min(len(names), _MOST_SLASHES) + 1)
                if _has(node, "/".join(names[:n]))
            ),
            1,
        )
        name = "/".join(names[:length])
        step: str | int = int(name) if node.__class__ is list and name.isdecimal() else name
        steps.append(step)
        node = _member(node, step)
        names = names[length:]
    return document.locate(tuple(steps))


def location_json(place: Location | None) -> dict[str, Json]:
    """Return a place as data; for none its file is "" and its line and column are 0."""
    return (place or Location(""))._asdict()


def _has(node: Json, name: str) -> bool:
    return node.__class__ is dict and name in node


def _member(node: Json, step: str | int) -> Json:
    if node.__class__ is dict:
        return node.get(step)
    in_list = node.__class__ is list and step.__class__ is int
    return node[step] if in_list and int(step) < len(node) else None
