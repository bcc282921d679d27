"""`mutate.foreach`: the object is patched for each element of a list."""

from typing import Final

from kyvsim.kube.objects import Json
from kyvsim.migrate.conditions import conditions_test
from kyvsim.migrate.entries import with_entries
from kyvsim.migrate.expressions import OR, TRUE, Test, enclosed, every, one_line, opposite
from kyvsim.migrate.known_types import element_of, is_list
from kyvsim.migrate.patches import (
    Around,
    Loop,
    Operation,
    Place,
    counter,
    json_patch,
    listed,
    looped,
    operation,
    operations_of,
    removed_element,
)
from kyvsim.migrate.patches.draft import no_twin
from kyvsim.migrate.queries import Scope, query_value
from kyvsim.migrate.refusal import NotConvertible, list_of, within
from kyvsim.migrate.rules.draft import Given, Mutation, Root
from kyvsim.migrate.rules.mutate_resource import merge
from kyvsim.migrate.values import Value
from kyvsim.model.migration import Condition

_JOINED: Final = Condition(
    "places in joined lists",
    "no element of the later lists is patched: its place is none of the list that is patched",
)


def foreach(given: Given) -> list[Mutation]:
    """Return the mutation of each loop: the next one sees what it made."""
    return loops(given.body, given.root, Around(given.scope, merges=given.root.merges))


def loops(blocks: Json, root: Root, around: Around) -> list[Mutation]:
    """Return the mutation of each of several loops."""
    found = [within((n,), _mutation, one, root, around) for n, one in enumerate(blocks)]
    return found if len(found) == 1 else [_on_its_own(one) for one in found]


def _on_its_own(one: Mutation) -> Mutation:
    """Return one of several mutations, which asks its conditions itself."""
    if not one.guards:
        return one
    nothing = "Object{}" if one.form == "ApplyConfiguration" else "[]"
    text = f"{enclosed(every(one.guards), OR)}\n? {one.text}\n: {nothing}"
    return one._replace(text=text, guards=())


def _mutation(block: Json, root: Root, around: Around) -> Mutation:
    if block.get("patchStrategicMerge") is None:
        return Mutation("JSONPatch", listed(_operations(block, root.value, around)))
    patch = block["patchStrategicMerge"]
    return within(("patchStrategicMerge",), merge, patch, root, _inside(block, around))


def _operations(block: Json, root: Value, around: Around) -> list[Operation]:
    """Return the operations of a loop with JSON patches, or with loops in it."""
    inside = _inside(block, around)
    (loop,) = inside.loops[-1:]
    if block.get("foreach"):
        blocks = block["foreach"]
        if len(blocks) > 1:
            raise no_twin("several loops in a loop", "write a loop for each").below("foreach")
        if blocks[0].get("patchStrategicMerge") is not None:
            raise no_twin("a merge in a nested loop", "write a JSON patch").below("foreach", 0)
        return looped(loop, within(("foreach", 0), _operations, blocks[0], root, inside))
    try:
        patch = operations_of(block.get("patchesJson6902"), inside.scope)
        taken_from = removed_element(patch, root, inside)
        if taken_from is not None:
            return [_without(taken_from, loop)]
        return looped(loop, json_patch(patch, root, inside))
    except NotConvertible as refusal:
        raise refusal.below("patchesJson6902") from None


def _without(place: Place, loop: Loop) -> Operation:
    """Return what takes the elements out of a list that a loop goes over."""
    if not loop.backwards:
        raise no_twin(
            "elements that are taken out from the front: each moves those behind it",
            "write `order: Descending`",
        )
    kept = opposite(loop.condition)
    rest = f"{place.value.tight()}.filter({loop.element.text}, {one_line(kept)})"
    there = TRUE if not loop.listed.fallback else place.value.is_there()
    return Operation(operation("replace", place, rest), there)


def _inside(block: Json, around: Around) -> Around:
    """Return what a patch in a loop knows: its element, and the place of that."""
    elements = _list(block, around.scope)
    name = around.scope.element(elements.noun)
    taken = around.scope.taken | {name}
    depth = len(around.loops)
    index = counter("index" if not depth else f"index{depth + 1}")
    element = Value(name, element_of(elements.types), noun=elements.noun)
    names = {
        **around.scope.names,
        "element": element,
        f"element{depth}": element,
        "elementIndex": index,
        f"elementIndex{depth}": index,
    }
    scope = around.scope._replace(names=names, taken=taken | {index.text})
    scope = within(("context",), with_entries, block.get("context"), scope, inline=True)
    kept: Test = TRUE
    if block.get("preconditions"):
        kept = within(("preconditions",), conditions_test, block["preconditions"], scope)
    if " + " in elements.text and "elementIndex" in str(block.get("patchesJson6902")):
        around.scope.desk.note(_JOINED)
    loop = Loop(elements, element, index, kept, backwards=block.get("order") == "Descending")
    return around._replace(scope=scope, loops=(*around.loops, loop))


def _list(block: Json, scope: Scope) -> Value:
    found = within(("list",), query_value, list_of(block).strip(), scope)
    if found.types and not is_list(found.types):
        raise no_twin("a loop over what is no list").below("list")
    return found
