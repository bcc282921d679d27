"""`mutate` rules: the object of the request is patched, or existing objects."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

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
from kyvsim.migrate.json_patch import (
    Atomic,
    PatchContext,
    PatchExpression,
    PatchLoop,
    counter,
    json_patch,
    listed,
    looped,
    no_twin,
    operation,
    operations_of,
    removed_element,
)
from kyvsim.migrate.matching import Matching, selector_test
from kyvsim.migrate.queries import query_value, text_value
from kyvsim.migrate.rules.results import ConversionInput, MutationEntry
from kyvsim.migrate.scalars import like
from kyvsim.migrate.settings import named_expressions
from kyvsim.migrate.strategic_merge import merged_fields, merged_object
from kyvsim.migrate.values import TEXT, Expr, is_list, types_of
from kyvsim.model.migration import ConversionCondition
from kyvsim.patch.keyed_lists import find_type

# `mutate.patchStrategicMerge` and `mutate.patchesJson6902`: the object is patched.


def mutation(field: str, given: ConversionInput) -> Sequence[MutationEntry]:
    """Return the mutations of the object of the request, by the field of the patch."""
    around = PatchContext(given.scope, merges=given.matching.merges)
    return _PATCHES[field](given.body, given.scope.object, around)


def _json_patch(text: Json, root: Expr, around: PatchContext) -> MutationEntry:
    operations = operations_of(text, around.scope)
    return MutationEntry("JSONPatch", listed(json_patch(operations, root, around)))


def _merge(patch: Mapping[str, Json], root: Expr, around: PatchContext) -> MutationEntry:
    """Return a patch as an apply configuration, or as JSON patches if types do not allow it."""
    if not isinstance(patch, Mapping):
        raise no_twin("a merge that is not a map")
    try:
        return MutationEntry("ApplyConfiguration", *merged_object(patch, root, around))
    except Atomic:
        return MutationEntry("JSONPatch", *merged_fields(patch, root, around))


# `mutate.foreach`: the object is patched for each element of a list.

_JOINED: Final = ConversionCondition(
    "places in joined lists",
    (
        "elements of the later lists are not patched: their positions do not exist in the list "
        "that is patched"
    ),
)


def _loops(blocks: Json, root: Expr, around: PatchContext) -> list[MutationEntry]:
    """Return the mutation of each of several loops: the next one sees what it made."""
    found = []
    for index, block in enumerate(blocks):
        with located(index):
            if block.get("patchStrategicMerge") is None:
                text = listed(_operations(block, root, around))
                one = MutationEntry("JSONPatch", text)
            else:
                inside = _inside(block, around)
                patch = block["patchStrategicMerge"]
                one = within(("patchStrategicMerge",), _merge, patch, root, inside)
        if len(blocks) > 1 and one.guards:  # it tests its conditions itself
            nothing = "Object{}" if one.form == "ApplyConfiguration" else "[]"
            text = f"{enclosed(every(one.guards), OR)}\n? {one.text}\n: {nothing}"
            one = one._replace(text=text, guards=())
        found.append(one)
    return found


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
        place = removed_element(patch, root, inside)
        if place is None:
            return looped(loop, json_patch(patch, root, inside))
        # The elements that the loop goes over are taken out of the list.
        if not loop.backwards:
            raise no_twin(
                "elements that are removed from the front: each moves those after it",
                "use `order: Descending`",
            )
    kept = one_line(opposite(loop.condition))
    rest = f"{place.value.tight()}.filter({loop.element.text}, {kept})"
    there = TRUE if not loop.listed.fallback else place.value.is_there()
    return [PatchExpression(operation("replace", place, rest), there)]


def _inside(block: Json, around: PatchContext) -> PatchContext:
    """Return what a patch in a loop knows: its element, and the place of that."""
    elements = within(("list",), query_value, list_of(block).strip(), around.scope)
    if elements.types and not is_list(elements.types):
        raise no_twin("a loop over a value that is not a list").below("list")
    element = around.scope.element(elements)
    depth = len(around.loops)
    index = counter("index" if not depth else f"index{depth + 1}")
    names = {
        **around.scope.names,
        "element": element,
        f"element{depth}": element,
        "elementIndex": index,
        f"elementIndex{depth}": index,
    }
    scope = around.scope._replace(
        names=names, taken=around.scope.taken | {element.text, index.text}
    )
    scope = within(("context",), with_entries, block.get("context"), scope, inline=True)
    kept = within(("preconditions",), conditions_test, block.get("preconditions") or {}, scope)
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


def existing(given: ConversionInput) -> list[MutationEntry]:
    """Return the mutations of the target of a rule; each names the objects."""
    scope, targets = given.scope, given.body["targets"]
    if len(targets) > 1:
        raise no_twin("a rule with several targets", "use a rule for each").below("targets", 1)
    (target,) = targets
    scope.context.note(LOOK_UP)
    if given.body.get("mutateExistingOnPolicyUpdate") is not True:
        scope.context.note(_EVENTS)
    text, chosen = within(("targets", 0), _named, target, scope)
    kind = (target.get("apiVersion") or "", target.get("kind") or "")
    merges = find_type(*kind)
    value = Expr("object", types_of([kind]), rewritten=True)
    # What entries hold is read anew: in patches of others they would be entries on those.
    scope.context.optional_names.update(scope.context.variables)
    outer = scope._replace(object=_trigger(scope, given.matching), names={})
    outer = with_entries(given.rule.get("context"), outer)
    outer = outer._replace(names={**outer.names, "target": value})
    with located("targets", 0):
        inner = within(("context",), with_entries, target.get("context"), outer, inline=True)
        checks = target.get("preconditions")
        applies = within(("preconditions",), conditions_test, checks, inner)
    fields: dict[str, Json] = {
        "evaluation": {"mutateExisting": {"enabled": True}},
        "targetMatchConstraints": {"expression": text},
    }
    tests = [("named", chosen), ("precondition", applies)]
    conditions = [(name, laid_out(test)) for name, test in tests if test != TRUE]
    if conditions:
        fields["targetMatchConditions"] = named_expressions(conditions)
    body, around = given.body, PatchContext(inner, merges=(merges,) if merges else ())
    field = next((one for one in _PATCHES if body.get(one) is not None), "patchesJson6902")
    found = within((field,), _PATCHES[field], body.get(field), value, around)
    if any(one.guards for one in found):
        advice = "use the preconditions of the target"
        raise no_twin("conditions in a patch of existing objects", advice).below(field)
    return [one._replace(fields=fields) for one in found]


_PATCHES: Final[Mapping[str, Callable[[Json, Expr, PatchContext], Sequence[MutationEntry]]]] = (
    MappingProxyType(
        {
            "foreach": _loops,
            "patchStrategicMerge": lambda *given: [_merge(*given)],
            "patchesJson6902": lambda *given: [_json_patch(*given)],
        }
    )
)


def _trigger(scope: Scope, matching: Matching) -> Expr:
    """Return what a patch of another object knows of the trigger."""
    version = "(request.kind.group == '' ? '' : request.kind.group + '/') + request.kind.version"
    resource, where = "request.resource.resource", "request.?namespace.orValue('')"
    rules = matching.constraints["resourceRules"]
    if len(rules) == 1 and len(rules[0]["resources"]) == 1:
        fields = ("apiGroups", "apiVersions", "resources")
        (group,), (known,), (plural_name,) = (rules[0][one] for one in fields)
        kind = kind_of_plural(group, plural_name)
        if kind:
            known = preferred_version(group, kind) if known == "*" else known
            version, resource = quoted(f"{group}/{known}".lstrip("/")), quoted(plural_name)
            where = "request.namespace" if is_namespaced(group, kind) else "''"
    text = scope.context.optional_variable(
        "trigger", f"dyn(resource.Get({version}, {resource}, {where}, request.name))"
    )
    names = {key: Expr(f"request.{key}", TEXT, noun=key) for key in ("name", "namespace")}
    metadata = Expr(f"{text}.metadata", noun="metadata", fields=MappingProxyType(names))
    known_fields = {"metadata": metadata, "kind": Expr("request.kind.kind", TEXT, noun="kind")}
    return Expr(text, matching.types, fields=MappingProxyType(known_fields))


# ---------------------------------------------------------------------------- which objects


def _named(target: Json, scope: Scope) -> tuple[str, Test]:
    """Return the expression of the objects that a target names, and which of them count."""
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
        return text, TRUE
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
    return f"resource.List({about}, {where})", every(tests)


def _is_one(name: Expr) -> bool:
    """Return whether a name is given, and no wildcards in it."""
    return not name.constant or bool(name.constant[0] and not has_wildcard(str(name.constant[0])))


def _fits(text: str, name: Expr) -> Test:
    if name.constant:
        return like(text, name.constant[0]) if name.constant[0] else TRUE
    if not name.text.startswith("request."):
        raise no_twin("a name from the trigger without a namespace", "set the namespace too")
    return Relation(text, "==", name.text)
