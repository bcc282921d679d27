"""`mutate` rules: the object of the request is patched, or existing objects."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from kyvsim.kubernetes.discovery import (
    is_namespaced,
    kind_of_plural,
    plural,
    preferred_version,
    split_api_version,
)
from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.wildcard import has_wildcard
from kyvsim.migrate.conditions import conditions_test
from kyvsim.migrate.context import Scope, list_of, located, within
from kyvsim.migrate.context_entries import LOOK_UP, with_entries
from kyvsim.migrate.expressions import (
    OR,
    TRUE,
    Relation,
    Test,
    enclosed,
    every,
    laid_out,
    one_line,
    opposite,
    quoted,
)
from kyvsim.migrate.matching import Matching, selector_test
from kyvsim.migrate.patches.json_patch import (
    Atomic,
    PatchContext,
    PatchExpression,
    PatchLoop,
    PatchTarget,
    counter,
    json_patch,
    listed,
    looped,
    no_twin,
    operation,
    operations_of,
    removed_element,
)
from kyvsim.migrate.patches.strategic_merge import merged_fields, merged_object
from kyvsim.migrate.queries import query_value, text_value
from kyvsim.migrate.rules.results import ConversionInput, MutationEntry, Root
from kyvsim.migrate.scalars import like
from kyvsim.migrate.settings import named_expressions
from kyvsim.migrate.values import TEXT, Expr, element_of, is_list, types_of
from kyvsim.model.migration import ConversionCondition
from kyvsim.patch.keyed_lists import find_type

# `mutate.patchStrategicMerge` and `mutate.patchesJson6902`: the object is patched.


def strategic_merge(given: ConversionInput) -> list[MutationEntry]:
    """Return the mutation of a strategic merge."""
    return [merge(given.body, given.root, PatchContext(given.scope, merges=given.root.merges))]


def by_json_patch(given: ConversionInput) -> list[MutationEntry]:
    """Return the mutation of a JSON patch."""
    return [patch(given.body, given.root, PatchContext(given.scope))]


def patch(text: Json, root: Root, around: PatchContext) -> MutationEntry:
    """Return a JSON patch as JSON patches of a MutatingPolicy."""
    operations = operations_of(text, around.scope)
    return MutationEntry("JSONPatch", listed(json_patch(operations, root.value, around)))


def merge(patch: Mapping[str, Json], root: Root, around: PatchContext) -> MutationEntry:
    """Return a patch as an apply configuration, or as JSON patches if types do not allow it."""
    if not isinstance(patch, Mapping):
        raise no_twin("a merge that is not a map")
    try:
        form, patched = "ApplyConfiguration", merged_object(patch, root.value, around)
    except Atomic:
        form, patched = "JSONPatch", merged_fields(patch, root.value, around)
    return MutationEntry(form, patched.text, patched.guards)


# `mutate.foreach`: the object is patched for each element of a list.

_JOINED: Final = ConversionCondition(
    "places in joined lists",
    (
        "elements of the later lists are not patched: their positions do not exist in the list "
        "that is patched"
    ),
)


def foreach_mutation(given: ConversionInput) -> list[MutationEntry]:
    """Return the mutation of each loop: the next one sees what it made."""
    return loops(given.body, given.root, PatchContext(given.scope, merges=given.root.merges))


def loops(blocks: Json, root: Root, around: PatchContext) -> list[MutationEntry]:
    """Return the mutation of each of several loops."""
    found = [within((n,), _loop_mutation, one, root, around) for n, one in enumerate(blocks)]
    return found if len(found) == 1 else [_on_its_own(one) for one in found]


def _on_its_own(one: MutationEntry) -> MutationEntry:
    """Return one of several mutations, which tests its conditions itself."""
    if not one.guards:
        return one
    nothing = "Object{}" if one.form == "ApplyConfiguration" else "[]"
    text = f"{enclosed(every(one.guards), OR)}\n? {one.text}\n: {nothing}"
    return one._replace(text=text, guards=())


def _loop_mutation(block: Json, root: Root, around: PatchContext) -> MutationEntry:
    if block.get("patchStrategicMerge") is None:
        return MutationEntry("JSONPatch", listed(_operations(block, root.value, around)))
    patch = block["patchStrategicMerge"]
    return within(("patchStrategicMerge",), merge, patch, root, _inside(block, around))


def _operations(block: Json, root: Expr, around: PatchContext) -> list[PatchExpression]:
    """Return the operations of a loop with JSON patches, or with loops in it."""
    inside = _inside(block, around)
    (loop,) = inside.loops[-1:]
    if block.get("foreach"):
        blocks = block["foreach"]
        if len(blocks) > 1:
            raise no_twin("several loops in a loop", "use a loop for each").below("foreach")
        if blocks[0].get("patchStrategicMerge") is not None:
            raise no_twin("a merge in a nested loop", "use a JSON patch").below("foreach", 0)
        return looped(loop, within(("foreach", 0), _operations, blocks[0], root, inside))
    with located("patchesJson6902"):
        patch = operations_of(block.get("patchesJson6902"), inside.scope)
        taken_from = removed_element(patch, root, inside)
        if taken_from is not None:
            return [_without(taken_from, loop)]
        return looped(loop, json_patch(patch, root, inside))


def _without(place: PatchTarget, loop: PatchLoop) -> PatchExpression:
    """Return what takes the elements out of a list that a loop goes over."""
    if not loop.backwards:
        raise no_twin(
            "elements that are removed from the front: each moves those after it",
            "use `order: Descending`",
        )
    kept = opposite(loop.condition)
    rest = f"{place.value.tight()}.filter({loop.element.text}, {one_line(kept)})"
    there = TRUE if not loop.listed.fallback else place.value.is_there()
    return PatchExpression(operation("replace", place, rest), there)


def _inside(block: Json, around: PatchContext) -> PatchContext:
    """Return what a patch in a loop knows: its element, and the place of that."""
    elements = within(("list",), query_value, list_of(block).strip(), around.scope)
    if elements.types and not is_list(elements.types):
        raise no_twin("a loop over a value that is not a list").below("list")
    name = around.scope.element(elements.noun)
    taken = around.scope.taken | {name}
    depth = len(around.loops)
    index = counter("index" if not depth else f"index{depth + 1}")
    element = Expr(name, element_of(elements.types), noun=elements.noun)
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
        around.scope.context.note(_JOINED)
    loop = PatchLoop(elements, element, index, kept, backwards=block.get("order") == "Descending")
    return around._replace(scope=scope, loops=(*around.loops, loop))


# `mutate.targets`: objects that are there are patched for another one, the trigger.
#
# An expression names them for each trigger. To the patches they are `object`; of the trigger they
# know what its request contains, or look it up.
#
# Source of the rule: upstream pkg/background/mpol/processor.go

_EVENTS: Final = ConversionCondition(
    "existing objects",
    "they are also patched when the policy changes, and every hour, for existing triggers",
)


class _Named(NamedTuple):
    """The objects that a target names."""

    text: str
    """The expression that finds them; a list is one as the API server gives it."""
    chosen: Test
    """Which of them count."""
    api_version: str
    kind: str


def existing(given: ConversionInput) -> list[MutationEntry]:
    """Return the mutations of the target of a rule; each names the objects."""
    scope, targets = given.scope, given.body["targets"]
    if len(targets) > 1:
        raise no_twin("a rule with several targets", "use a rule for each").below("targets", 1)
    (target,) = targets
    scope.context.note(LOOK_UP)
    if given.body.get("mutateExistingOnPolicyUpdate") is not True:
        scope.context.note(_EVENTS)
    named = within(("targets", 0), _named, target, scope)
    merges = find_type(named.api_version, named.kind)
    value = Expr("object", types_of([(named.api_version, named.kind)]), rewritten=True)
    root = Root(value, (merges,) if merges else ())
    inner, applies = within(("targets", 0), _on_target, target, _elsewhere(given, value))
    fields: dict[str, Json] = {
        "evaluation": {"mutateExisting": {"enabled": True}},
        "targetMatchConstraints": {"expression": named.text},
    }
    checks = [("named", named.chosen), ("precondition", applies)]
    conditions = [(name, laid_out(test)) for name, test in checks if test != TRUE]
    if conditions:
        fields["targetMatchConditions"] = named_expressions(conditions)
    found = _patches(given.body, root, PatchContext(inner, merges=root.merges))
    return [one._replace(fields=fields) for one in found]


def _patches(body: Json, root: Root, around: PatchContext) -> Sequence[MutationEntry]:
    field = next((one for one in _PATCHES if body.get(one) is not None), "patchesJson6902")
    found = within((field,), _PATCHES[field], body.get(field), root, around)
    if any(one.guards for one in found):
        advice = "use the preconditions of the target"
        raise no_twin("conditions in a patch of existing objects", advice).below(field)
    return found


_PATCHES: Final[Mapping[str, Callable[[Json, Root, PatchContext], Sequence[MutationEntry]]]] = (
    MappingProxyType(
        {
            "foreach": loops,
            "patchStrategicMerge": lambda *given: [merge(*given)],
            "patchesJson6902": lambda *given: [patch(*given)],
        }
    )
)


def _on_target(target: Json, scope: Scope) -> tuple[Scope, Test]:
    """Return the scope of a patch of a target, and the test of its preconditions."""
    inner = within(("context",), with_entries, target.get("context"), scope, inline=True)
    checks = target.get("preconditions")
    return inner, within(("preconditions",), conditions_test, checks, inner)


def _elsewhere(given: ConversionInput, target: Expr) -> Scope:
    """Return what patches of targets see: those are the object, and the trigger is elsewhere."""
    # What entries hold is read anew: in patches of others they would be entries on those.
    given.scope.context.optional_names.update(given.scope.context.variables)
    scope = given.scope._replace(object=_trigger(given.scope, given.matching), names={})
    scope = with_entries(given.rule.get("context"), scope)
    return scope._replace(names={**scope.names, "target": target})


def _trigger(scope: Scope, matching: Matching) -> Expr:
    """Return what a patch of another object knows of the trigger."""
    text = scope.context.optional_variable("trigger", _looked_up(matching))
    names = {key: Expr(f"request.{key}", TEXT, noun=key) for key in ("name", "namespace")}
    metadata = Expr(f"{text}.metadata", noun="metadata", fields=MappingProxyType(names))
    fields = {"metadata": metadata, "kind": Expr("request.kind.kind", TEXT, noun="kind")}
    return Expr(text, matching.types, fields=MappingProxyType(fields))


def _looked_up(matching: Matching) -> str:
    rules = matching.constraints["resourceRules"]
    if len(rules) == 1 and len(rules[0]["resources"]) == 1:
        (group,), (version,) = rules[0]["apiGroups"], rules[0]["apiVersions"]
        resource = rules[0]["resources"][0]
        kind = kind_of_plural(group, resource)
        if kind:
            version = preferred_version(group, kind) if version == "*" else version
            api_version = quoted(f"{group}/{version}".lstrip("/"))
            where = "request.namespace" if is_namespaced(group, kind) else "''"
            return f"dyn(resource.Get({api_version}, {quoted(resource)}, {where}, request.name))"
    version = "(request.kind.group == '' ? '' : request.kind.group + '/') + request.kind.version"
    where = "request.?namespace.orValue('')"
    return f"dyn(resource.Get({version}, request.resource.resource, {where}, request.name))"


# ---------------------------------------------------------------------------- which objects


def _named(target: Json, scope: Scope) -> _Named:
    api_version, kind = target.get("apiVersion") or "", target.get("kind") or ""
    if has_wildcard(f"{api_version}{kind}") or "{{" in f"{api_version}{kind}" or "/" in kind:
        raise no_twin(f"the target kind `{api_version}/{kind}`", "name one kind").below("kind")
    group = split_api_version(api_version)[0]
    namespaced = is_namespaced(group, kind)
    name = within(("name",), text_value, target.get("name") or "", scope)
    place = scope.namespace or target.get("namespace") or ""
    namespace = within(("namespace",), text_value, place if namespaced else "", scope)
    about = f"{quoted(api_version)}, {quoted(plural(group, kind))}"
    if _is_one(name) and (_is_one(namespace) or not namespaced):
        text = f"resource.Get({about}, {namespace.text}, {name.text})"
        return _Named(text, TRUE, api_version, kind)
    where = namespace.text if _is_one(namespace) else "''"
    tests = [within(("name",), _fits, "object.metadata.name", name)]
    if where == "''":
        tests.append(_fits("object.metadata.namespace", namespace))
    if target.get("selector"):
        with located("selector"):
            if "{{" in str(target["selector"]):
                advice = "use the preconditions of the target"
                raise no_twin("a selector with variables", advice)
            tests.append(selector_test(target["selector"]))
    return _Named(f"resource.List({about}, {where})", every(tests), api_version, kind)


def _is_one(name: Expr) -> bool:
    """Return whether a name is given, and no wildcards in it."""
    return not name.constant or bool(name.constant[0] and not has_wildcard(str(name.constant[0])))


def _fits(text: str, name: Expr) -> Test:
    if name.constant:
        return like(text, name.constant[0]) if name.constant[0] else TRUE
    if not name.text.startswith("request."):
        raise no_twin("a name from the trigger without a namespace", "set the namespace too")
    return Relation(text, "==", name.text)
