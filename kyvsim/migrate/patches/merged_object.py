"""Strategic merges → `Object{...}`, which is merged by the types of the fields."""

from collections.abc import Mapping
from typing import NamedTuple

from kyvsim.engine.pattern.anchors import ADDITION
from kyvsim.kubernetes.objects import Json
from kyvsim.migrate.expressions import (
    OR,
    TRUE,
    Each,
    Plain,
    Test,
    enclosed,
    every,
    is_name,
    one_line,
    quoted,
)
from kyvsim.migrate.known_types import Types, element_of, is_list, is_map
from kyvsim.migrate.patches.draft import (
    FIRST,
    ORDER,
    WIDTH,
    Around,
    Atomic,
    Loop,
    Patched,
    indented,
    no_twin,
    optional_text,
    reads,
    struct,
    value_text,
)
from kyvsim.migrate.patches.json_patch import any_kept, below, counter
from kyvsim.migrate.patches.merged_fields import Element, adds, asked_of, element_patch, key_of
from kyvsim.migrate.queries import text_value
from kyvsim.migrate.refusal import NotConvertible
from kyvsim.migrate.values import Value
from kyvsim.patch.keyed_lists import NOTHING_MERGES, Field
from kyvsim.patch.strategic_merge import DIRECTIVE


class _Place(NamedTuple):
    """The object that a part of a patch is for."""

    value: Value
    name: str
    """The name of its type: `Object.spec.containers`."""
    around: Around
    guards: list[Test]
    """What conditions ask, gathered on the way."""
    loose: list[str]
    """What is set whatever the elements of a loop are."""
    merges: tuple[Field, ...] = ()
    """How a ClusterPolicy merges it, by kind."""

    def below(self, key: str) -> "_Place":
        step = text_value(key, self.around.scope) if "{{" in key else key
        merges = tuple(one.fields.get(key, NOTHING_MERGES) for one in self.merges)
        return self._replace(
            value=below(self.value, step), name=f"{self.name}.{key}", merges=merges
        )


def merged_object(patch: Mapping[str, Json], root: Value, around: Around) -> Patched:
    """Return a patch as an object to be applied.

    Raises Atomic where the types of the fields do not merge so, NotConvertible for what has no
    twin.
    """
    if not root.types:
        raise Atomic
    place = _Place(
        value=root, name="Object", around=around, guards=[], loose=[], merges=around.merges
    )
    text = struct("Object", _fields(patch, place))
    loop = around.loop
    if loop is not None and place.loose:
        if any(reads(loop, one) for one in place.loose):
            raise no_twin("a field that each element of a loop sets anew")
        kept = any_kept(loop)
        text = text if kept == TRUE else f"{enclosed(kept, OR)} ? {text} : Object{{}}"
    return Patched(text, tuple(place.guards))


def _fields(patch: Mapping[str, Json], place: _Place) -> list[str]:
    found: list[str] = []
    for text, data in patch.items():
        try:
            found += _field(text, data, place)
        except NotConvertible as refusal:
            raise refusal.below(text) from None
    return found


def _field(text: str, data: Json, place: _Place) -> list[str]:
    if text == DIRECTIVE or data is None:
        raise Atomic
    key = key_of(text)
    inner = place.below(key.name)
    if key.asks:
        place.guards.append(asked_of(data, inner.value, place.around))
        if not adds(data):
            return []
    shown = _shown(key.name, place)
    optional = optional_text(data, place.around)
    if key.sign == ADDITION:
        given = optional or f"optional.of({_whole(data, inner)})"
        there = one_line(inner.value.is_there())
        return [f"?{shown}: {there} ? optional.none() : {given}"]
    if isinstance(data, list):
        return _list(shown, data, inner)
    return [f"?{shown}: {optional}" if optional else f"{shown}: {_whole(data, inner)}"]


def _shown(key: str, place: _Place) -> str:
    if "{{" in key:
        if not _is_open(place.value.types):
            raise no_twin("a variable as the name of a field", "write a JSON patch")
        return text_value(key, place.around.scope).text
    return key if is_name(key) and not _is_open(place.value.types) else quoted(key)


def _is_open(types: Types) -> bool:
    """Return whether a map has no fields of its own, as labels."""
    return is_map(types) and not any(one.mapping and one.mapping.fields for one in types)


def _whole(data: Json, place: _Place) -> str:
    """Return a value of a patch; lists with all that is in them."""
    types = place.value.types
    if isinstance(data, list):
        return _whole_list(data, place)
    if not isinstance(data, dict):
        text = value_text(data, place.around)
        place.loose.append(text)
        return text
    if not is_map(types) or any(one.mapping and one.mapping.atomic for one in types):
        raise Atomic
    if not _is_open(types):
        return struct(place.name, _fields(data, place))
    if place.around.loop is not None and any("{{" in key for key in data):
        return _entries(data, place, place.around.loop)
    if any(_is_special(key, one, place.around) for key, one in data.items()):
        return struct("", _fields(data, place))
    text = value_text(data, place.around)
    place.loose.append(text)
    return text


def _is_special(key: str, data: Json, around: Around) -> bool:
    """Return whether an entry of a map is more than a key and a scalar that is there."""
    if key == DIRECTIVE or data is None or isinstance(data, dict | list):
        return True
    return key_of(key).sign is not None or bool(optional_text(data, around))


def _entries(data: Mapping[str, Json], place: _Place, loop: Loop) -> str:
    """Return a map with entries for each element of a loop."""
    found = place._replace(loose=[])
    body = struct("", _fields(data, found))
    if not all(reads(loop, one.split(": ")[0]) for one in _fields(data, found)):
        raise no_twin("keys of which some change in a loop", "write two rules")
    kept = "" if loop.condition == TRUE else f" {one_line(loop.condition)},"
    names = f"{loop.counter.text}, {loop.element.text}"
    return f"{loop.source}.transformMapEntry({names},{kept}\n{indented(body)}\n)"


# ---------------------------------------------------------------------------- lists


def _keys_of(place: _Place) -> tuple[str, ...]:
    """Return what names the elements of a list; raises Atomic where it is replaced as a whole."""
    types = place.value.types
    keys = {one.sequence.keys for one in types if one.sequence}
    if not is_list(types) or len(keys) != 1 or None in keys:
        raise Atomic
    if any(one.keys is None for one in place.merges):
        raise Atomic
    (found,) = keys
    return found or ()


def _whole_list(patch: list[Json], place: _Place) -> str:
    """Return a list that is added as it is."""
    keys = _keys_of(place)
    if not keys:
        return _scalars(patch, place)
    texts = [_literal_element(element_patch(one, keys), place) for one in patch]
    return struct("", texts, opening="[", closing="]")


def _scalars(patch: list[Json], place: _Place) -> str:
    text = value_text(patch, place.around)
    place.loose.append(text)
    return text


def _list(shown: str, patch: list[Json], place: _Place) -> list[str]:
    keys = _keys_of(place)
    if not keys:
        return [f"{shown}: {_scalars(patch, place)}"]
    if any(isinstance(one, dict) and DIRECTIVE in one for one in patch):
        raise Atomic
    parts: list[str] = []
    present: Test = TRUE
    for index, one in enumerate(patch):
        try:
            text, needs = _element(element_patch(one, keys), place)
        except NotConvertible as refusal:
            raise refusal.below(index) from None
        if text:
            parts.append(text)
        present = every([present, needs])
    joined = " + ".join(parts)
    if not parts:
        return []
    if present == TRUE:
        return [f"{shown}: {joined}"]
    return [f"?{shown}: {one_line(present)} ? optional.of({joined}) : optional.none()"]


def _element(patch: Element, place: _Place) -> tuple[str, Test]:
    """Return a list with what becomes of elements, and what has to be there for it."""
    loop = place.around.loop
    if patch.is_loops and loop is not None:
        if patch.must_be and not loop.goes_over(place.value):
            kept = every([_has_namesake(loop.element, place.value), loop.condition])
            return _mapped(patch, place, loop._replace(condition=kept)), TRUE
        return _mapped(patch, place, loop), TRUE
    if not patch.is_template:
        place.around.scope.desk.note(ORDER)
        return f"[{_literal_element(patch, place)}]", TRUE
    name = place.around.scope.element(place.value.noun)
    element = Value(name, element_of(place.value.types), noun=place.value.noun)
    if patch.everywhere:
        place.guards.extend(
            _one_fits(place.value, element, asked_of(data, element.child(key), place.around))
            for key, data in patch.everywhere.items()
        )
        return "", TRUE
    text = _mapped(patch, place, Loop(place.value.given(), element, counter("index")))
    return text, place.value.is_there()


def _has_namesake(element: Value, listed: Value) -> Test:
    """Return the test that a list has an element of the same name as another one."""
    item = f"{listed.or_else([])}.exists(item, item.name == {element.text}.name)"
    return Plain(item)


def _one_fits(listed: Value, element: Value, test: Test) -> Test:
    """Return the test that an element fits; a list that is there and empty is not asked."""
    found = Each(listed.text, element.text, test, "exists")
    return every([listed.is_there(), found])


def _of_elements(place: _Place) -> tuple[Field, ...]:
    return tuple(one.element or NOTHING_MERGES for one in place.merges)


def _literal_element(patch: Element, place: _Place) -> str:
    element = place._replace(
        value=Value("", element_of(place.value.types)), merges=_of_elements(place)
    )
    if any(one.mapping is not None and one.mapping.atomic for one in element.value.types):
        raise Atomic
    if any(key_of(key).sign is not None for key in patch.data):
        raise no_twin("an anchor in an element that is named", "name the element in a condition")
    return struct(place.name, _fields(patch.data, element))


def _mapped(patch: Element, place: _Place, loop: Loop) -> str:
    """Return the elements that conditions choose, or that a loop goes over, each patched."""
    source, name = loop.source, loop.element.text
    taken = place.around.scope.taken | {name}
    around = place.around._replace(scope=place.around.scope._replace(taken=taken))
    inner = place._replace(
        value=loop.element, around=around, guards=[], loose=[], merges=_of_elements(place)
    )
    if patch.adds:
        place.around.scope.desk.note(FIRST)
    fields = _fields(patch.rest, inner)
    kept = every([*inner.guards, loop.condition])
    if kept != TRUE:
        around.scope.desk.note(ORDER)
        source = f"{source}.filter({name}, {one_line(kept)})"
    patched = struct(place.name, [f"name: {name}.name", *fields])
    text = f"{source}.map({name}, {patched})"
    if len(text) > WIDTH:
        text = f"{source}.map({name},\n{indented(patched)}\n)"
    return text
