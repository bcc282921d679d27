"""Anchors and aliases of one YAML document, under go-yaml's limit on expansion.

upstream: go-yaml v2 `decode.go` counts every decoded node and those that were reached through an
alias, and refuses a document in which the second kind outweighs the rest.
"""

from typing import NamedTuple

from kyvsim.kube.depth import TOO_DEEP, is_too_deep
from kyvsim.kube.go_text import go_syntax
from kyvsim.kube.objects import Json
from kyvsim.kube.yaml_scalars import ScalarError, key_text

_FREE_ALIASED = 100
_FREE_DECODED = 1_000
_RATIO_FALLS_FROM = 400_000
_RATIO_FALLS_TO = 4_000_000


class Anchor(NamedTuple):
    """A finished node that aliases may name."""

    value: Json
    cost: int
    """Nodes that decoding it takes."""
    scalar: Json = None
    """The Go value of a scalar, from which a key is made."""
    is_scalar: bool = False


class _Open(NamedTuple):
    name: str
    depth: int
    start: int


def copy_tree(value: Json) -> Json:
    """Return a copy of plain data that shares no dict and no list with it."""
    if value.__class__ is not dict and value.__class__ is not list:
        return value
    root = value.copy()
    pending = [root]
    while pending:
        node = pending.pop()
        for key, child in node.items() if node.__class__ is dict else enumerate(node):
            if child.__class__ is dict or child.__class__ is list:
                node[key] = child.copy()
                pending.append(node[key])
    return root


def _allowed_ratio(decoded: int) -> float:
    if decoded <= _RATIO_FALLS_FROM:
        return 0.99
    if decoded >= _RATIO_FALLS_TO:
        return 0.10
    return 0.99 - 0.89 * (decoded - _RATIO_FALLS_FROM) / (_RATIO_FALLS_TO - _RATIO_FALLS_FROM)


class Anchors:
    """The anchors met so far in one document."""

    __slots__ = ("_aliased", "_known", "_open")

    def __init__(self) -> None:
        self._known: dict[str, Anchor | _Open] = {}
        self._open: list[_Open] = []
        self._aliased = 0

    def add_scalar(self, name: str, value: Json, resolved: Json) -> None:
        """Record an anchored scalar."""
        self._known[name] = Anchor(value, 1, resolved, is_scalar=True)

    def open(self, name: str, depth: int, decoded: int) -> None:
        """Record that an anchored list or map begins."""
        entry = _Open(name, depth, decoded)
        self._known[name] = entry
        self._open.append(entry)

    def close(self, depth: int, value: Json, decoded: int) -> None:
        """Record that the list or map at `depth` is complete, if it is anchored."""
        if not self._open or self._open[-1].depth != depth:
            return
        entry = self._open.pop()
        # The name may have been given to another node meanwhile.
        if self._known[entry.name] is entry:
            self._known[entry.name] = Anchor(value, decoded - entry.start + 1)

    def _find(self, name: str) -> Anchor:
        found = self._known.get(name)
        if found is None:
            raise ScalarError(f"unknown anchor '{name}' referenced")
        if isinstance(found, _Open):
            raise ScalarError(f"anchor '{name}' value contains itself")
        return found

    def expand(self, name: str, decoded: int) -> tuple[Json, int]:
        """Return a copy of what an alias names, and the new count of decoded nodes.

        Raises ScalarError for unknown names, cycles and excessive expansion.
        """
        found = self._find(name)
        decoded += found.cost
        self._aliased += found.cost
        if (
            self._aliased > _FREE_ALIASED
            and decoded > _FREE_DECODED
            and self._aliased / decoded > _allowed_ratio(decoded)
        ):
            raise ScalarError("document contains excessive aliasing")
        if is_too_deep(found.value):  # else aliases of aliases could lead to any depth
            raise ScalarError(TOO_DEEP)
        return copy_tree(found.value), decoded

    def key(self, name: str) -> str:
        """Return the map key that an alias makes."""
        found = self._find(name)
        if not found.is_scalar:
            raise ScalarError(f"invalid map key: {go_syntax(found.value)}")
        return key_text(found.scalar)
