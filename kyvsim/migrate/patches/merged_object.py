"""Strategic merges → `Object{...}`, which is merged by the types of the fields."""

from collections.abc import Mapping
from typing import Final

from kyvsim.kube.objects import Json
from kyvsim.light.named_tuple import NamedTuple
from kyvsim.migrate.expressions import TRUE, Test, every, is_name, one_line, quoted
from kyvsim.migrate.known_types import Types, element_of, is_list, is_map
from kyvsim.migrate.patches.draft import (
    WIDTH,
    Around,
    Atomic,
    Patched,
    indented,
    no_twin,
    optional_text,
    struct,
    value_text,
)
from kyvsim.migrate.refusal import NotConvertible
from kyvsim.migrate.scalars import scalar_test
from kyvsim.migrate.values import Value
from kyvsim.model.migration import Condition
from kyvsim.pattern.anchors import ADDITION, CONDITION, GLOBAL, parse_anchor

_ORDER: Final = Condition(
    "order of elements",
    "lists of which some elements change keep their order, and what is new stands at the end",
)
_ELEMENT_NAME: Final = "{{element.name}}"
_EVERY_NAME: Final = ("*",)


class _Place(NamedTuple):
    """The object that a part of a patch is for."""

    value: Value
    name: str
    """The name of its type: `Object.spec.containers`."""
    around: Around
    guards: list[Test]
    """What conditions ask, gathered on the way."""

    def below(self, key: str) -> "_Place":
        return self._replace(value=self.value.child(key), name=f"{self.name}.{key}")


def merged_object(patch: Mapping[str, Json], root: Value, around: Around) -> Patched:
    """Return a patch as an object to be applied.

    Raises Atomic where the types of the fields do not merge so, NotConvertible for what has no
    twin.
    """
    if not root.types:
        raise Atomic
    place = _Place(root, "Object", around, [])
    fields = _fields(patch, place)
    return Patched(struct("Object", fields), tuple(place.guards))


def _fields(patch: Mapping[str, Json], place: _Place) -> list[str]:
    found: list[str] = []
    for text, data in patch.items():
        try:
            found += _field(text, data, place)
        except NotConvertible as refusal:
            raise refusal.below(text) from None
    return found


def _field(text: str, data: Json, place: _Place) -> list[str]:
    anchor = parse_anchor(text)
    sign, key = (None, text) if anchor is None else anchor
    if "{{" in key or key == "$patch" or data is None:
        raise no_twin(f"`{text}`", "write a JSON patch")
    inner = place.below(key)
    if sign in {CONDITION, GLOBAL}:
        if isinstance(data, dict | list):
            raise no_twin("a condition on a map or list", "ask in a precondition")
        place.guards.append(scalar_test(data, inner.value, if_missing=False))
        return []
    shown = key if is_name(key) and not _is_open(place.value.types) else quoted(key)
    optional = optional_text(data, place.around)
    if sign == ADDITION:
        given = optional or f"optional.of({_whole(data, inner)})"
        there = one_line(inner.value.is_there())
        return [f"?{shown}: {there} ? optional.none() : {given}"]
    if sign is not None:
        raise no_twin(f"the anchor `{text}`")
    if isinstance(data, list):
        return _list(shown, data, inner)
    return [f"?{shown}: {optional}" if optional else f"{shown}: {_whole(data, inner)}"]


def _is_open(types: Types) -> bool:
    """Return whether a map has no fields of its own, as labels."""
    return is_map(types) and not any(one.mapping and one.mapping.fields for one in types)


def _whole(data: Json, place: _Place) -> str:
    """Return a value that is no list of a patch."""
    types = place.value.types
    if isinstance(data, list):
        raise no_twin("a list under `+()`")
    if not isinstance(data, dict):
        return value_text(data, place.around)
    if not is_map(types) or any(one.mapping and one.mapping.atomic for one in types):
        raise Atomic
    return struct("" if _is_open(types) else place.name, _fields(data, place))


# ---------------------------------------------------------------------------- lists


def _list(shown: str, patch: list[Json], place: _Place) -> list[str]:
    types = place.value.types
    keys = {one.sequence.keys for one in types if one.sequence}
    if not is_list(types) or keys in ({None}, set()):
        raise Atomic
    if keys == {()}:
        return [f"{shown}: {value_text(patch, place.around)}"]
    if not all(isinstance(one, dict) for one in patch):
        raise no_twin("a list of scalars merged by keys")
    parts: list[str] = []
    present: Test = TRUE
    for index, one in enumerate(patch):
        try:
            text, needs = _element(one, place)
        except NotConvertible as refusal:
            raise refusal.below(index) from None
        parts.append(text)
        present = every([present, needs])
    joined = " + ".join(parts)
    if present == TRUE:
        return [f"{shown}: {joined}"]
    return [f"?{shown}: {one_line(present)} ? optional.of({joined}) : optional.none()"]


def _element(patch: Mapping[str, Json], place: _Place) -> tuple[str, Test]:
    """Return a list with what becomes of elements, and what has to be there for it."""
    named = next((one for one in patch if one in {"name", "(name)"}), "")
    conditions = [one for one in patch if _sign(one) in {CONDITION, GLOBAL}]
    looped = place.around.loop is not None and _reads_element(patch.get(named))
    if not conditions and not looped:
        place.around.scope.desk.note(_ORDER)
        element = Value("", element_of(place.value.types))
        return f"[{_literal_element(patch, place._replace(value=element))}]", TRUE
    return _each(patch, place, "" if not looped else named)


def _sign(text: str) -> str | None:
    anchor = parse_anchor(text)
    return None if anchor is None else anchor.sign


def _reads_element(data: Json) -> bool:
    return isinstance(data, str) and data.replace(" ", "") == _ELEMENT_NAME


def _literal_element(patch: Mapping[str, Json], place: _Place) -> str:
    if any(one.mapping is not None and one.mapping.atomic for one in place.value.types):
        raise Atomic
    if any(parse_anchor(one) for one in patch):
        raise no_twin("an anchor in an element that is named", "name the element in a condition")
    return struct(place.name, _fields(patch, place))


def _each(patch: Mapping[str, Json], place: _Place, named: str) -> tuple[str, Test]:
    """Return the elements that conditions choose, or that a loop goes over, each patched."""
    around = place.around
    name = around.element or around.scope.element(place.value.noun)
    element = Value(name, element_of(place.value.types), noun=place.value.noun)
    inner = _Place(element, place.name, around, [])
    rest = {
        key: one
        for key, one in patch.items()
        if key != named and not (key == "(name)" and one in _EVERY_NAME)
    }
    if not named and around.loop is not None:
        raise no_twin("conditions on elements in a loop")
    fields = _fields(rest, inner)
    kept = every([*inner.guards, around.kept]) if named else every(inner.guards)
    source = place.value.text
    if kept != TRUE:
        around.scope.desk.note(_ORDER)
        source = f"{source}.filter({name}, {one_line(kept)})"
    patched = struct(place.name, [f"name: {name}.name", *fields])
    text = f"{source}.map({name}, {patched})"
    if len(text) > WIDTH:
        text = f"{source}.map({name},\n{indented(patched)}\n)"
    return text, place.value.is_there()
