"""Strategic merges → JSON patches, for fields that are replaced as a whole and unknown kinds."""

from collections.abc import Mapping
from typing import Final

from kyvsim.kube.objects import Json
from kyvsim.light.named_tuple import NamedTuple
from kyvsim.migrate.expressions import TRUE, Test, every, one_line, opposite, quoted
from kyvsim.migrate.patches.draft import Around, Patched, no_twin, struct, value_text
from kyvsim.migrate.refusal import NotConvertible
from kyvsim.migrate.scalars import scalar_test
from kyvsim.migrate.values import Value
from kyvsim.pattern.anchors import ADDITION, CONDITION, GLOBAL, parse_anchor

_ESCAPES: Final = str.maketrans({"~": "~0", "/": "~1"})

_Operations = list[tuple[Test, str]]
"""JSON patches, each with what has to hold for it."""


class _Place(NamedTuple):
    """The object that a part of a patch is for."""

    value: Value
    pointer: str
    around: Around
    guards: list[Test]
    """What conditions ask, gathered on the way."""


def added_values(patch: Mapping[str, Json], root: Value, around: Around) -> Patched:
    """Return a patch as a list of JSON patches.

    Raises NotConvertible for what has no twin.
    """
    guards: list[Test] = []
    found = _operations(patch, _Place(root, "", around, guards))
    order = list(dict.fromkeys(test for test, _ in found))
    parts = [_list(test, [text for one, text in found if one == test]) for test in order]
    return Patched(" +\n".join(parts), tuple(guards))


def _list(test: Test, texts: list[str]) -> str:
    listed = struct("", texts, opening="[").removesuffix("}") + "]"
    return listed if test == TRUE else f"({one_line(test)} ? {listed} : [])"


def _operations(patch: Mapping[str, Json], place: _Place) -> _Operations:
    found: _Operations = []
    for text, data in patch.items():
        anchor = parse_anchor(text)
        sign, key = (None, text) if anchor is None else anchor
        try:
            if "{{" in key or data is None or key == "$patch":
                raise no_twin(f"`{text}`", "write a JSON patch")
            child = place.value.child(key)
            if sign in {CONDITION, GLOBAL} and not isinstance(data, dict | list):
                place.guards.append(scalar_test(data, child, if_missing=False))
                continue
            if sign not in {None, ADDITION}:
                raise no_twin(f"the anchor `{text}`")
            pointer = f"{place.pointer}/{key.translate(_ESCAPES)}"
            below = place._replace(value=child, pointer=pointer)
            found += _operation(data, below, only_new=sign == ADDITION)
        except NotConvertible as refusal:
            raise refusal.below(text) from None
    return found


def _operation(data: Json, place: _Place, *, only_new: bool) -> _Operations:
    value, path, around = place.value, place.pointer, place.around
    missing = opposite(value.is_there())
    if isinstance(data, dict) and not only_new:
        below = _operations(data, place._replace(value=value.given(), guards=[]))
        if not value.may_miss:
            return below
        added = [(missing, _add(path, value_text(_bare(data), around)))]
        return added + [(every([value.is_there(), test]), text) for test, text in below]
    if isinstance(data, list):
        raise no_twin("a list of which nothing is known", "write a JSON patch")
    text = _add(path, value_text(_bare(data), around))
    return [(missing if only_new else TRUE, text)]


def _add(path: str, value: str) -> str:
    return f"JSONPatch{{op: 'add', path: {quoted(path)}, value: {value}}}"


def _bare(data: Json) -> Json:
    """Return what is added where there was nothing: all of it, without anchors."""
    if not isinstance(data, dict):
        return data
    found = {}
    for text, one in data.items():
        anchor = parse_anchor(text)
        if anchor and anchor.sign != ADDITION:
            raise no_twin(f"the anchor `{text}` below what may be missing")
        found[anchor.key if anchor else text] = _bare(one)
    return found
