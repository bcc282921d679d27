"""Strategic merges → JSON patches, with the conditions of the merge and elements of lists."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from kyvsim.engine.pattern.anchors import ADDITION, CONDITION, GLOBAL, parse_anchor
from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.wildcard import has_wildcard, split_operator
from kyvsim.migrate.conditions.operators import READ_TEXTS
from kyvsim.migrate.expressions import FALSE, TRUE, Each, Relation, Test, every, one_line, opposite
from kyvsim.migrate.known_types import element_of
from kyvsim.migrate.patches.draft import (
    FIRST,
    ORDER,
    Around,
    Loop,
    Patched,
    no_twin,
    reads,
    value_text,
)
from kyvsim.migrate.patches.json_patch import (
    END,
    Operation,
    Place,
    counter,
    listed,
    looped,
    operation,
)
from kyvsim.migrate.patterns import Surroundings, pattern_tests
from kyvsim.migrate.queries import text_value
from kyvsim.migrate.refusal import NotConvertible
from kyvsim.migrate.scalars import scalar_test
from kyvsim.migrate.values import Value
from kyvsim.patch.keyed_lists import NOTHING_MERGES, Field
from kyvsim.patch.strategic_merge import DIRECTIVE

# What the conditions of a merge ask: `(key)` and `<(key)`.

CONDITIONS: Final = frozenset({CONDITION, GLOBAL})


class Key(NamedTuple):
    """A key of a merge."""

    sign: str | None
    """The anchor's sign, None where it is no anchor."""
    name: str

    @property
    def asks(self) -> bool:
        """Whether it is a condition."""
        return self.sign in CONDITIONS


def key_of(text: str) -> Key:
    """Return what a key of a merge is; raises NotConvertible for anchors that do nothing there."""
    anchor = parse_anchor(text)
    if anchor is None:
        return Key(None, text)
    if anchor.sign not in CONDITIONS | {ADDITION}:
        raise no_twin(f"the anchor `{text}`", "ask in a precondition")
    return Key(anchor.sign, anchor.key)


def adds(patch: Json) -> bool:
    """Return whether a map adds something where it is missing."""
    return isinstance(patch, dict) and any(
        (anchor := parse_anchor(key)) is not None and anchor.sign == ADDITION for key in patch
    )


def asked_of(data: Json, value: Value, around: Around) -> Test:
    """Return the test that a value is there and fits what a condition asks for.

    Raises NotConvertible for what has no twin.
    """
    if isinstance(data, str) and "{{" in data:
        around.scope.desk.note(READ_TEXTS)
        wanted = text_value(data, around.scope)
        return every([value.is_there(), Relation(value.text, "==", wanted.tight(5))])
    if isinstance(data, list):
        raise no_twin("a condition on a list", "ask in a precondition")
    if not isinstance(data, dict):
        return scalar_test(data, value, if_missing=False)
    if adds(data) or not data:
        return value.is_there()
    if any(parse_anchor(key) for key in data) or not all(map(_is_fixed, data.values())):
        # What stands below the condition is merged, too, with its wildcards.
        raise no_twin("a condition on a map with anchors or wildcards", "ask in a precondition")
    surroundings = Surroundings(around.scope.desk, lambda *_: None, around.scope.taken)
    return every(pattern_tests(data, value, surroundings))


def _is_fixed(value: Json) -> bool:
    if not isinstance(value, str):
        return not isinstance(value, dict | list)
    return split_operator(value)[0] == "" and not has_wildcard(value) and "{{" not in value


# Elements of lists in merges: those that are named, and templates for all that fit.

_NAME: Final = "name"
_OF_LOOP: Final = "{{element.name}}"


class Element(NamedTuple):
    """An element of a list in a merge."""

    data: Mapping[str, Json]
    names: Mapping[str, Json]
    """What tells it from others, by key."""
    rest: Mapping[str, Json]
    """What is merged, with conditions on elements."""
    everywhere: Mapping[str, Json]
    """What one element has to fit for anything to be merged at all, by key."""
    is_template: bool
    """Whether it is for each element of the object that has a name and meets its conditions."""
    is_loops: bool
    """Whether it is for the element that a loop is at."""
    must_be: bool
    """Whether it changes what is there only: its name is a condition."""
    is_deleted: bool

    @property
    def adds(self) -> bool:
        """Whether something is added where it is missing, and not for one element alone."""
        return _adds(self.rest, alone=self.is_loops and self.must_be)


def _adds(patch: Json, *, alone: bool) -> bool:
    if not isinstance(patch, dict):
        return False
    found = (key_of(text).sign == ADDITION for text in patch)
    return any(found) or (not alone and any(_adds(one, alone=False) for one in patch.values()))


def _is_of_loop(name: Json) -> bool:
    return isinstance(name, str) and name.replace(" ", "") == _OF_LOOP


def element_patch(patch: Json, keys: tuple[str, ...]) -> Element:
    """Return an element of a list that merges by keys.

    Raises NotConvertible for what has no twin.
    """
    if not isinstance(patch, dict):
        raise no_twin("an element without a name in a list that merges by names")
    signs = {text: key_of(text) for text in patch}
    names = {one.name: patch[text] for text, one in signs.items() if one.name in keys}
    is_loops = keys == (_NAME,) and _is_of_loop(names.get(_NAME))
    asks = any(one.sign is not None for one in signs.values())
    if asks and not is_loops and keys != (_NAME,):
        raise no_twin("anchors in an element that has no name", "name what is meant")
    everywhere = {one.name: patch[text] for text, one in signs.items() if one.sign == GLOBAL}
    if everywhere and len(everywhere) < len(patch):
        # Kyverno merges nothing into such elements.
        raise no_twin("an element with a global condition and more", "ask in a precondition")
    rest = {
        text: data
        for text, data in patch.items()
        if text not in keys
        and text != DIRECTIVE
        and signs[text].sign != GLOBAL
        and not (is_loops and signs[text].name == _NAME)
        and not (signs[text].asks and data == "*" and signs[text].name == _NAME)
    }
    if not asks and not is_loops and not names:
        raise no_twin("an element without a name in a list that merges by names")
    return Element(
        patch,
        names,
        rest,
        everywhere,
        is_template=asks and not is_loops,
        is_loops=is_loops,
        must_be=_NAME not in patch,
        is_deleted=patch.get(DIRECTIVE) == "delete",
    )


# Strategic merges → JSON patches.
#
# For fields that are replaced as a whole, for what is taken away, and for unknown kinds.

_MERGE: Final = "merge"


class _Part(NamedTuple):
    """A part of a patch, and where it goes."""

    place: Place
    merges: tuple[Field, ...]
    around: Around
    guards: list[Test]
    """What conditions ask, gathered on the way."""

    def below(self, key: str) -> "_Part":
        place = self.place.below(key)
        if "{{" in key:
            place = self.place.below_key(text_value(key, self.around.scope))
        merges = tuple(one.fields.get(key, NOTHING_MERGES) for one in self.merges)
        return self._replace(place=place, merges=merges)


def merged_fields(patch: Mapping[str, Json], root: Value, around: Around) -> Patched:
    """Return a patch as a list of JSON patches.

    Raises NotConvertible for what has no twin.
    """
    guards: list[Test] = []
    found = _fields(patch, _Part(Place(root), around.merges, around, guards))
    if around.loop is not None:
        found = looped(around.loop, found)
    return Patched(listed(found), tuple(guards))


def _fields(patch: Mapping[str, Json], part: _Part) -> list[Operation]:
    found: list[Operation] = []
    for text, data in patch.items():
        if text == DIRECTIVE:
            continue
        try:
            key = key_of(text)
            below = part.below(key.name)
            if key.asks:
                part.guards.append(asked_of(data, below.place.value, part.around))
            if not key.asks or adds(data):
                found += _change(data, below, only_new=key.sign == ADDITION)
        except NotConvertible as refusal:
            raise refusal.below(text) from None
    return found


def _change(data: Json, part: _Part, *, only_new: bool) -> list[Operation]:
    place = part.place
    missing = opposite(place.value.is_there())
    directive = data.get(DIRECTIVE, _MERGE) if isinstance(data, dict) else _MERGE
    if data is None or directive == "delete":
        return [] if only_new else _operations("remove", part, "", place.value.is_there())
    if isinstance(data, list):
        return _list(data, part, missing, only_new=only_new)
    if isinstance(data, dict) and not only_new and directive == _MERGE:
        return _map(data, part, missing)
    text = value_text(_bare(data), part.around)
    return _operations("add", part, text, missing if only_new else TRUE)


def _map(data: Mapping[str, Json], part: _Part, missing: Test) -> list[Operation]:
    value = part.place.value
    given = part.place._replace(value=value.given())
    guards: list[Test] = []
    found = _fields(data, part._replace(place=given, guards=guards))
    if guards:  # they are asked of what may be missing
        _fields(data, part)
    if not value.may_miss or guards:
        return found
    whole = _bare(data)
    added = []
    if whole:
        added = _operations("add", part, value_text(whole, part.around), missing)
    there = value.is_there()
    return added + [one._replace(test=every([there, one.test])) for one in found]


def _operations(name: str, part: _Part, value: str, test: Test) -> list[Operation]:
    """Return an operation at a place, once for all elements where it is the same for them."""
    if test == FALSE:
        return []
    place, loop = part.place, part.around.loop
    once = loop is not None and place.is_fixed
    if loop is not None and once and reads(loop, f"{value} {one_line(test)}"):
        if place.way[-1] != END:
            raise no_twin("a field that each element of a loop sets anew")
        once = False
    return [Operation(operation(name, place, value), test, once=once)]


def _bare(data: Json) -> Json:
    """Return what is added where there was nothing: all of it, without anchors."""
    if isinstance(data, list):
        return [_bare(one) for one in data if not _is_for_others(one)]
    if not isinstance(data, dict):
        return data
    found = {}
    for text, one in data.items():
        key = key_of(text)
        if key.asks:
            raise no_twin(f"the anchor `{text}` below what may be missing")
        if one is not None and text != DIRECTIVE:
            found[key.name] = _bare(one)
            if one and not found[key.name]:
                del found[key.name]
    return found


def _is_for_others(element: Json) -> bool:
    """Return whether an element of a list is about elements that are there."""
    return isinstance(element, dict) and (
        DIRECTIVE in element or any(key_of(text).asks for text in element)
    )


# ---------------------------------------------------------------------------- lists


def _list(data: list[Json], part: _Part, missing: Test, *, only_new: bool) -> list[Operation]:
    keys = {one.keys for one in part.merges}
    if len(keys) > 1:
        raise no_twin("a list that merges in several ways", "write a rule for each kind")
    (named,) = keys or {None}
    if only_new or named is None or data[:1] == [{DIRECTIVE: "replace"}]:
        if any(isinstance(one, dict) and _asks(one) for one in data):
            raise no_twin("conditions on the elements of a list that is replaced")
        text = value_text(_bare(data), part.around)
        return _operations("add", part, text, missing if only_new else TRUE)
    if data[:1] == [{DIRECTIVE: "delete"}]:
        return _operations("remove", part, "", opposite(missing))
    if named == ():
        return _set(data, part, missing)
    return _keyed(data, part, missing, named)


def _asks(element: Mapping[str, Json]) -> bool:
    return any(key_of(text).sign is not None for text in element)


def _set(data: list[Json], part: _Part, missing: Test) -> list[Operation]:
    listed_texts = value_text(data, part.around)
    others = f"{part.place.value.text}.filter(item, !(item in {listed_texts}))"
    there = opposite(missing)
    added = _operations("add", part, listed_texts, missing)
    return added + _operations("replace", part, f"{listed_texts} + {others}", there)


def _keyed(data: list[Json], part: _Part, missing: Test, named: tuple[str, ...]) -> list[Operation]:
    elements = [element_patch(one, named) for one in data]
    gone = [one for one in elements if one.is_deleted]
    if gone and len(gone) < len(elements):
        raise no_twin("elements that go beside others that come", "write two rules")
    there = opposite(missing)
    given = part._replace(place=part.place._replace(value=part.place.value.given()))
    if gone:
        return _without(gone, given, there)
    found: list[Operation] = []
    for index, one in enumerate(elements):
        try:
            found += _element(one, given)
        except NotConvertible as refusal:
            raise refusal.below(index) from None
    found = [one._replace(test=every([there, one.test])) for one in found]
    whole = _bare([one.data for one in elements])
    if missing == FALSE or not whole:
        return found
    return _operations("add", part, value_text(whole, part.around), missing) + found


def _without(gone: list[Element], part: _Part, there: Test) -> list[Operation]:
    name = part.around.scope.element(part.place.value.noun)
    element = Value(name, element_of(part.place.value.types))
    kept = every(opposite(_is_named(one, element, part.around)) for one in gone)
    rest = f"{part.place.value.tight()}.filter({name}, {one_line(kept)})"
    return _operations("replace", part, rest, there)


def _is_named(patch: Element, element: Value, around: Around) -> Test:
    tests = []
    for key, wanted in patch.names.items():
        found = element.child(key)
        tests.append(Relation(found.or_else(""), "==", value_text(wanted, around)))
    return every(tests)


def _element(patch: Element, part: _Part) -> list[Operation]:
    """Return what becomes of the elements of a list that a part of a patch is for."""
    value, outer = part.place.value, part.around.loop
    if patch.is_loops and outer is not None and outer.goes_over(value):
        mine = _inner(part, outer.counter, outer.element)._replace(guards=[])
        found = _fields(patch.rest, mine)
        return [one._replace(test=every([*mine.guards, one.test])) for one in found]
    name = part.around.scope.element(value.noun)
    index = counter("index" if not part.around.loops else "place")
    element = Value(name, element_of(value.types), noun=value.noun)
    scope = part.around.scope._replace(taken=part.around.scope.taken | {name})
    inner = _inner(part, index, element)
    inner = inner._replace(around=part.around._replace(scope=scope), guards=[])
    operations = _fields(patch.rest, inner)
    if patch.is_template:
        if patch.adds:
            part.around.scope.desk.note(FIRST)
        part.guards.extend(
            Each(value.text, name, asked_of(data, element.child(key), part.around), "exists")
            for key, data in patch.everywhere.items()
        )
        kept = every(inner.guards)
        return _over(Loop(value, element, index, kept), operations)
    kept = _is_named(patch, element, part.around)
    changed = _over(Loop(value, element, index, kept), operations)
    part.around.scope.desk.note(ORDER)
    new = part._replace(place=part.place.below(END))
    none = opposite(Each(value.text, name, kept, "exists"))
    return changed + _operations("add", new, value_text(_bare(patch.data), part.around), none)


def _inner(part: _Part, index: Value, element: Value) -> _Part:
    merges = tuple(one.element or NOTHING_MERGES for one in part.merges)
    return part._replace(place=part.place.element(index, element), merges=merges)


def _over(loop: Loop, operations: list[Operation]) -> list[Operation]:
    return looped(loop, operations) if operations else []
