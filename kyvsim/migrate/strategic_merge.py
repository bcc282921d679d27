"""Convert strategic merge patches to apply configurations and JSON patches in CEL."""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.wildcard import has_wildcard, split_operator
from kyvsim.migrate.conditions import READ_TEXTS
from kyvsim.migrate.context import located
from kyvsim.migrate.expressions import (
    FALSE,
    OR,
    TRUE,
    Plain,
    Quantified,
    Relation,
    Test,
    enclosed,
    every,
    is_name,
    one_line,
    opposite,
    quoted,
)
from kyvsim.migrate.json_patch import (
    END,
    FIRST,
    ORDER,
    Atomic,
    PatchContext,
    PatchExpression,
    PatchLoop,
    PatchTarget,
    any_kept,
    below,
    call,
    counter,
    indented,
    list_text,
    listed,
    looped,
    operation,
    optional_text,
    reads,
    struct,
    unsupported,
    value_text,
)
from kyvsim.migrate.patterns import pattern_tests
from kyvsim.migrate.queries import text_value
from kyvsim.migrate.scalars import scalar_test
from kyvsim.migrate.values import TEXT, Expr
from kyvsim.patch.keyed_lists import NOTHING_MERGES, MergeField
from kyvsim.patch.strategic_merge import DIRECTIVE
from kyvsim.policy.anchors import ADDITION, CONDITION, GLOBAL
from kyvsim.policy.tree import PatternEntry, PatternLeaf, PatternList, PatternMap, PatternNode

CONDITIONS: Final = frozenset({CONDITION, GLOBAL})


def anchor_of(entry: PatternEntry) -> str | None:
    """Return the anchor of a key; raises NotConvertible for one without effect in merges."""
    if entry.anchor not in {None, ADDITION} | CONDITIONS:
        raise unsupported(f"the anchor `{entry.text}`", "use a precondition")
    return entry.anchor


def adds(patch: PatternNode, *, deep: bool = False) -> bool:
    """Return whether a map has an addition anchor; with `deep`, also in nested maps."""
    return isinstance(patch, PatternMap) and any(
        one.anchor == ADDITION or (deep and adds(one.value, deep=True)) for one in patch.entries
    )


def condition_test(data: PatternNode, value: Expr, around: PatchContext) -> Test:
    """Return the test that a value exists and matches a condition."""
    if isinstance(data, PatternLeaf):
        if not isinstance(data.data, str) or "{{" not in data.data:
            return scalar_test(data.data, value, if_missing=False)
        around.scope.context.note(READ_TEXTS)
        expected = text_value(data.data, around.scope)
        return every([value.is_there(), Relation(value.text, "==", expected.tight(5))])
    if isinstance(data, PatternList):
        raise unsupported("a condition on a list", "use a precondition")
    if adds(data) or not data.entries:
        return value.is_there()
    if not all(one.anchor is None and _is_fixed(one.value) for one in data.entries):
        # The map of the condition is merged, too, with its wildcards.
        raise unsupported("a condition on a map with anchors or wildcards", "use a precondition")
    return every(pattern_tests(data, value, around.scope))


def _is_fixed(data: PatternNode) -> bool:
    if not isinstance(data, PatternLeaf):
        return False
    text = data.data if isinstance(data.data, str) else ""
    return not (split_operator(text)[0] or has_wildcard(text) or "{{" in text)


_NAME: Final = "name"
_OF_LOOP: Final = "{{element.name}}"


class ListElement(NamedTuple):
    """An element of a merged list."""

    data: PatternMap
    names: Mapping[str, PatternNode]
    """The keys that identify it."""
    rest: PatternMap
    """The merged fields, with the conditions of the element."""
    everywhere: tuple[PatternEntry, ...]
    """The global conditions, which one element must meet for anything to be merged."""
    is_template: bool
    """Whether it applies to each element that has a name and meets its conditions."""
    is_loop_element: bool
    """Whether it applies to the current element of a loop."""
    must_exist: bool
    """Whether it only changes existing elements: its name is a condition."""

    @property
    def adds(self) -> bool:
        """Whether it adds missing fields, and not only to a single element."""
        return adds(self.rest, deep=not (self.is_loop_element and self.must_exist))


def element_patch(patch: PatternNode, keys: tuple[str, ...]) -> ListElement:
    """Return an element of a list that is merged by keys."""
    if not isinstance(patch, PatternMap):
        raise unsupported("an element without a name in a list that is merged by name")
    anchors = [anchor_of(one) for one in patch.entries]
    has_anchors = anchors != [None] * len(anchors)
    names = {one.key: one.value for one in patch.entries if one.key in keys}
    name = str(names[_NAME].data) if _NAME in names else ""
    is_loop_element = keys == (_NAME,) and name.replace(" ", "") == _OF_LOOP
    if has_anchors and not is_loop_element and keys != (_NAME,):
        raise unsupported("anchors in an element without a name", "name the element")
    everywhere = tuple(one for one in patch.entries if one.anchor == GLOBAL)
    if everywhere and len(everywhere) < len(patch.entries):
        # Kyverno does not merge such elements.
        raise unsupported("an element with a global condition and more", "use a precondition")
    rest = tuple(
        one
        for one in patch.entries
        if one.text not in {*keys, DIRECTIVE}
        and one.anchor != GLOBAL
        and not (is_loop_element and one.key == _NAME)
        and not (one.anchor == CONDITION and one.key == _NAME and name == "*")
    )
    if not has_anchors and not is_loop_element and not names:
        raise unsupported("an element without a name in a list that is merged by name")
    return ListElement(
        patch,
        names,
        patch._replace(entries=rest),
        everywhere,
        is_template=has_anchors and not is_loop_element,
        is_loop_element=is_loop_element,
        must_exist=all(one.text != _NAME for one in patch.entries),
    )


def _directive(patch: PatternNode) -> str:
    """Return the value of `$patch`, "" if it is missing."""
    entries = patch.entries if isinstance(patch, PatternMap) else ()
    return next((str(one.value.data) for one in entries if one.text == DIRECTIVE), "")


# Convert strategic merges to JSON patches.
#
# They are needed for fields that are replaced as a whole, for removals, and for unknown kinds.


class _FieldPatch(NamedTuple):
    place: PatchTarget
    merges: tuple[MergeField, ...]
    around: PatchContext
    guards: list[Test]
    """The tests of conditions found so far."""

    def below(self, key: str) -> "_FieldPatch":
        place = self.place.below(key)
        if "{{" in key:
            name = text_value(key, self.around.scope)
            escaped = Expr(f"jsonpatch.escapeKey({name.text})", TEXT)
            place = PatchTarget(below(self.place.value, name), (*self.place.way, escaped))
        merges = tuple(one.fields.get(key, NOTHING_MERGES) for one in self.merges)
        return self._replace(place=place, merges=merges)


def merged_fields(
    patch: PatternMap, root: Expr, around: PatchContext
) -> tuple[str, tuple[Test, ...]]:
    """Return a patch as a list of JSON patches, and its conditions."""
    guards: list[Test] = []
    found = _field_patches(patch, _FieldPatch(PatchTarget(root), around.merges, around, guards))
    if around.loop is not None:
        found = looped(around.loop, found)
    return listed(found), tuple(guards)


def _field_patches(patch: PatternMap, part: _FieldPatch) -> list[PatchExpression]:
    found: list[PatchExpression] = []
    for one in patch.entries:
        if one.text == DIRECTIVE:
            continue
        with located(one.path):
            has_to_fit = anchor_of(one) in CONDITIONS
            below = part.below(one.key)
            if has_to_fit:
                part.guards.append(condition_test(one.value, below.place.value, part.around))
            if not has_to_fit or adds(one.value):
                found += _change(one.value, below, only_new=one.anchor == ADDITION)
    return found


def _change(data: PatternNode, part: _FieldPatch, *, only_new: bool) -> list[PatchExpression]:
    place = part.place
    missing = opposite(place.value.is_there())
    directive = _directive(data)
    if directive == "delete" or _is_null(data):
        return [] if only_new else _operations("remove", part, "", place.value.is_there())
    if isinstance(data, PatternList):
        return _list_patches(data, part, missing, only_new=only_new)
    if not isinstance(data, PatternMap) or only_new or directive not in {"", "merge"}:
        text = value_text(_bare(data), part.around)
        return _operations("add", part, text, missing if only_new else TRUE)
    value = part.place.value
    given = part.place._replace(value=value.given())
    guards: list[Test] = []
    found = _field_patches(data, part._replace(place=given, guards=guards))
    if guards:  # repeated for a value that may be missing
        _field_patches(data, part)
    if not value.may_miss or guards:
        return found
    whole = _bare(data)
    added = []
    if whole:
        added = _operations("add", part, value_text(whole, part.around), missing)
    there = value.is_there()
    return added + [one._replace(test=every([there, one.test])) for one in found]


def _operations(name: str, part: _FieldPatch, value: str, test: Test) -> list[PatchExpression]:
    """Return an operation at a place; for a fixed place it is applied once for all elements."""
    if test == FALSE:
        return []
    place, loop = part.place, part.around.loop
    once = loop is not None and place.is_fixed
    if loop is not None and once and reads(loop, f"{value} {one_line(test)}"):
        if place.way[-1] != END:
            raise unsupported("a field that each iteration of a loop overwrites")
        once = False
    return [PatchExpression(operation(name, place, value), test, once=once)]


def _bare(data: PatternNode) -> Json:
    """Return the value to add if the field is missing: the patch without anchors."""
    if isinstance(data, PatternList):
        # Elements that only patch existing elements are omitted.
        return [
            _bare(one)
            for one in data.items
            if not isinstance(one, PatternMap)
            or not (_directive(one) or any(anchor_of(key) in CONDITIONS for key in one.entries))
        ]
    if not isinstance(data, PatternMap):
        return data.data
    found = {}
    for one in data.entries:
        if anchor_of(one) in CONDITIONS:
            raise unsupported(f"the anchor `{one.text}` below a field that may be missing")
        before = one.value.data
        value = None if before is None or one.text == DIRECTIVE else _bare(one.value)
        if value is not None and (value or not before):
            found[one.key] = value
    return found


def _list_patches(
    data: PatternList, part: _FieldPatch, missing: Test, *, only_new: bool
) -> list[PatchExpression]:
    keys = {one.keys for one in part.merges}
    if len(keys) > 1:
        raise unsupported("a list that is merged in several ways", "use a rule for each kind")
    (named,) = keys or {None}
    whole = list(data.data)
    if only_new or named is None or whole[:1] == [{DIRECTIVE: "replace"}]:
        maps = (one for one in data.items if isinstance(one, PatternMap))
        if any(anchor_of(one) is not None for each in maps for one in each.entries):
            raise unsupported("conditions on the elements of a list that is replaced")
        text = value_text(_bare(data), part.around)
        return _operations("add", part, text, missing if only_new else TRUE)
    if whole[:1] == [{DIRECTIVE: "delete"}]:
        return _operations("remove", part, "", opposite(missing))
    if named != ():
        return _keyed(data, part, missing, named)
    texts = value_text(whole, part.around)
    others = f"{part.place.value.text}.filter(item, !(item in {texts}))"
    added = _operations("add", part, texts, missing)
    return added + _operations("replace", part, f"{texts} + {others}", opposite(missing))


def _keyed(
    data: PatternList, part: _FieldPatch, missing: Test, named: tuple[str, ...]
) -> list[PatchExpression]:
    elements = [element_patch(one, named) for one in data.items]
    gone = [one for one in elements if _directive(one.data) == "delete"]
    if gone and len(gone) < len(elements):
        raise unsupported("elements that are removed while others are added", "use two rules")
    there = opposite(missing)
    given = part._replace(place=part.place._replace(value=part.place.value.given()))
    if gone:
        value = given.place.value
        element = given.around.scope.element(value)
        kept = every(opposite(_is_named(one, element, given.around)) for one in gone)
        rest = f"{value.tight()}.filter({element.text}, {one_line(kept)})"
        return _operations("replace", given, rest, there)
    found: list[PatchExpression] = []
    for one in elements:
        with located(one.data.path):
            found += _element_patches(one, given)
    found = [one._replace(test=every([there, one.test])) for one in found]
    whole = _bare(data)
    if missing == FALSE or not whole:
        return found
    return _operations("add", part, value_text(whole, part.around), missing) + found


def _is_named(patch: ListElement, element: Expr, around: PatchContext) -> Test:
    return every(
        Relation(element.child(key).or_else(""), "==", value_text(expected.data, around))
        for key, expected in patch.names.items()
    )


def _element_patches(patch: ListElement, part: _FieldPatch) -> list[PatchExpression]:
    """Return the operations for the elements of a list to which a part of a patch applies."""
    value, outer = part.place.value, part.around.loop
    if patch.is_loop_element and outer is not None and outer.goes_over(value):
        mine = _inner(part, outer.counter, outer.element)
        found = _field_patches(patch.rest, mine)
        return [one._replace(test=every([*mine.guards, one.test])) for one in found]
    element = part.around.scope.element(value)
    name = element.text
    index = counter("index" if not part.around.loops else "place")
    scope = part.around.scope._replace(taken=part.around.scope.taken | {name})
    inner = _inner(part, index, element)._replace(around=part.around._replace(scope=scope))
    operations = _field_patches(patch.rest, inner)
    if patch.is_template:
        if patch.adds:
            part.around.scope.context.note(FIRST)
        for one in patch.everywhere:
            test = condition_test(one.value, element.child(one.key), part.around)
            part.guards.append(Quantified(value.text, name, test, "exists"))
        kept = every(inner.guards)
        return looped(PatchLoop(value, element, index, kept), operations)
    kept = _is_named(patch, element, part.around)
    changed = looped(PatchLoop(value, element, index, kept), operations)
    part.around.scope.context.note(ORDER)
    new = part._replace(place=part.place.below(END))
    none = opposite(Quantified(value.text, name, kept, "exists"))
    return changed + _operations("add", new, value_text(_bare(patch.data), part.around), none)


def _inner(part: _FieldPatch, index: Expr, element: Expr) -> _FieldPatch:
    place = part.place.element(index, element)
    return part._replace(place=place, merges=_of_elements(part.merges), guards=[])


def _of_elements(merges: Iterable[MergeField]) -> tuple[MergeField, ...]:
    return tuple(one.element or NOTHING_MERGES for one in merges)


# Convert strategic merges to `Object{...}`, which is merged by the types of the fields.


class _MergeTarget(NamedTuple):
    value: Expr
    name: str
    """The name of its type: `Object.spec.containers`."""
    around: PatchContext
    guards: list[Test]
    """The tests of conditions found so far."""
    loose: list[str]
    """Values that do not depend on the elements of a loop."""
    merges: tuple[MergeField, ...] = ()
    """How a ClusterPolicy merges it, by kind."""

    def below(self, key: str) -> "_MergeTarget":
        step = text_value(key, self.around.scope) if "{{" in key else key
        merges = tuple(one.fields.get(key, NOTHING_MERGES) for one in self.merges)
        return self._replace(
            value=below(self.value, step), name=f"{self.name}.{key}", merges=merges
        )


def merged_object(
    patch: PatternMap, root: Expr, around: PatchContext
) -> tuple[str, tuple[Test, ...]]:
    """Return a patch as an object to apply, and its conditions.

    Raises Atomic if the types of the fields are not merged in this way.
    """
    if not root.types:
        raise Atomic
    place = _MergeTarget(
        value=root, name="Object", around=around, guards=[], loose=[], merges=around.merges
    )
    text = struct("Object", _object_fields(patch, place))
    loop = around.loop
    if loop is not None and place.loose:
        if any(reads(loop, one) for one in place.loose):
            raise unsupported("a field that each iteration of a loop overwrites")
        kept = any_kept(loop)
        text = text if kept == TRUE else f"{enclosed(kept, OR)} ? {text} : Object{{}}"
    return text, tuple(place.guards)


def _object_fields(patch: PatternMap, place: _MergeTarget) -> list[str]:
    found: list[str] = []
    for one in patch.entries:
        with located(one.path):
            found += _field(one, place)
    return found


def _field(entry: PatternEntry, place: _MergeTarget) -> list[str]:
    key, data = entry.key, entry.value
    if entry.text == DIRECTIVE or _is_null(data):
        raise Atomic
    has_to_fit = anchor_of(entry) in CONDITIONS
    inner = place.below(key)
    if has_to_fit:
        place.guards.append(condition_test(data, inner.value, place.around))
        if not adds(data):
            return []
    if "{{" in key and not _is_open(place.value):
        raise unsupported("a variable as a field name", "use a JSON patch")
    if "{{" in key:
        shown = text_value(key, place.around.scope).text
    elif is_name(key) and not _is_open(place.value):
        shown = key
    else:
        shown = quoted(key)
    optional = optional_text(data, place.around)
    if entry.anchor == ADDITION:
        given = optional or f"optional.of({_whole(data, inner)})"
        there = one_line(inner.value.is_there())
        return [f"?{shown}: {there} ? optional.none() : {given}"]
    if isinstance(data, PatternList):
        return _object_list(shown, data, inner)
    return [f"?{shown}: {optional}" if optional else f"{shown}: {_whole(data, inner)}"]


def _is_null(data: PatternNode) -> bool:
    return isinstance(data, PatternLeaf) and data.data is None


def _is_open(value: Expr) -> bool:
    """Return whether a map has arbitrary keys, such as labels."""
    return value.is_map and not any(one.mapping and one.mapping.fields for one in value.types)


def _whole(data: PatternNode, place: _MergeTarget) -> str:
    """Return a value of a patch; lists completely."""
    types = place.value.types
    if isinstance(data, PatternList):
        keys = _keys_of(place)
        if not keys:
            return _loose_text(data, place)
        return list_text([_literal_element(element_patch(one, keys), place) for one in data.items])
    if isinstance(data, PatternLeaf):
        return _loose_text(data, place)
    if not place.value.is_map or any(one.mapping and one.mapping.atomic for one in types):
        raise Atomic
    if not _is_open(place.value):
        return struct(place.name, _object_fields(data, place))
    loop = place.around.loop
    if loop is not None and any("{{" in one.text for one in data.entries):
        # A map with an entry for each element of the loop.
        fields = _object_fields(data, place._replace(loose=[]))
        if not all(reads(loop, one.split(": ")[0]) for one in fields):
            raise unsupported("keys that partly change in a loop", "use two rules")
        kept = "" if loop.condition == TRUE else f" {one_line(loop.condition)},"
        names = f"{loop.counter.text}, {loop.element.text}"
        return f"{loop.source}.transformMapEntry({names},{kept}\n{indented(struct('', fields))}\n)"
    if any(_is_special(one, place.around) for one in data.entries):
        return struct("", _object_fields(data, place))
    return _loose_text(data, place)


def _is_special(entry: PatternEntry, around: PatchContext) -> bool:
    """Return whether an entry of a map is more than a key and an existing scalar."""
    data = entry.value
    if entry.text == DIRECTIVE or not isinstance(data, PatternLeaf) or data.data is None:
        return True
    return anchor_of(entry) is not None or bool(optional_text(data, around))


def _keys_of(place: _MergeTarget) -> tuple[str, ...]:
    """Return the keys of the elements of a list; raises Atomic if it is replaced as a whole."""
    types = place.value.types
    keys = {one.sequence.keys for one in types if one.sequence}
    if not place.value.is_list or len(keys) != 1 or None in keys:
        raise Atomic
    if any(one.keys is None for one in place.merges):
        raise Atomic
    (found,) = keys
    return found or ()


def _loose_text(data: PatternNode, place: _MergeTarget) -> str:
    text = value_text(data.data, place.around)
    place.loose.append(text)
    return text


def _object_list(shown: str, patch: PatternList, place: _MergeTarget) -> list[str]:
    keys = _keys_of(place)
    if not keys:
        return [f"{shown}: {_loose_text(patch, place)}"]
    if any(map(_directive, patch.items)):
        raise Atomic
    parts: list[str] = []
    present: Test = TRUE
    for one in patch.items:
        with located(one.path):
            text, needs = _object_element(element_patch(one, keys), place)
        if text:
            parts.append(text)
        present = every([present, needs])
    joined = " + ".join(parts)
    if not parts:
        return []
    if present == TRUE:
        return [f"{shown}: {joined}"]
    return [f"?{shown}: {one_line(present)} ? optional.of({joined}) : optional.none()"]


def _object_element(patch: ListElement, place: _MergeTarget) -> tuple[str, Test]:
    """Return a list with the patched elements, and the condition for it."""
    loop = place.around.loop
    if patch.is_loop_element and loop is not None:
        if patch.must_exist and not loop.goes_over(place.value):
            listed = place.value.or_else([])
            same = Plain(f"{listed}.exists(item, item.name == {loop.element.text}.name)")
            kept = every([same, loop.condition])
            return _mapped(patch, place, loop._replace(condition=kept)), TRUE
        return _mapped(patch, place, loop), TRUE
    if not patch.is_template:
        place.around.scope.context.note(ORDER)
        return f"[{_literal_element(patch, place)}]", TRUE
    element = place.around.scope.element(place.value)
    if patch.everywhere:
        # An empty list is not tested.
        for one in patch.everywhere:
            test = condition_test(one.value, element.child(one.key), place.around)
            found = Quantified(place.value.text, element.text, test, "exists")
            place.guards.append(every([place.value.is_there(), found]))
        return "", TRUE
    text = _mapped(patch, place, PatchLoop(place.value.given(), element, counter("index")))
    return text, place.value.is_there()


def _literal_element(patch: ListElement, place: _MergeTarget) -> str:
    value, merges = Expr("", place.value.element_types), _of_elements(place.merges)
    element = place._replace(value=value, merges=merges)
    if any(one.mapping is not None and one.mapping.atomic for one in element.value.types):
        raise Atomic
    if any(anchor_of(one) is not None for one in patch.data.entries):
        raise unsupported("an anchor in a named element", "name the element in a condition")
    return struct(place.name, _object_fields(patch.data, element))


def _mapped(patch: ListElement, place: _MergeTarget, loop: PatchLoop) -> str:
    """Return the elements that conditions or a loop select, each patched."""
    source, name = loop.source, loop.element.text
    taken = place.around.scope.taken | {name}
    around = place.around._replace(scope=place.around.scope._replace(taken=taken))
    inner = place._replace(
        value=loop.element, around=around, guards=[], loose=[], merges=_of_elements(place.merges)
    )
    if patch.adds:
        place.around.scope.context.note(FIRST)
    fields = _object_fields(patch.rest, inner)
    kept = every([*inner.guards, loop.condition])
    if kept != TRUE:
        around.scope.context.note(ORDER)
        source = f"{source}.filter({name}, {one_line(kept)})"
    patched = struct(place.name, [f"name: {name}.name", *fields])
    return call(f"{source}.map({name}", patched)
