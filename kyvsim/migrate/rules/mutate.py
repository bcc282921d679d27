"""Convert mutate rules: they patch the object of the request, or existing objects."""

from collections.abc import Sequence
from types import MappingProxyType
from typing import Final

from kyvsim.kubernetes.discovery import (
    is_namespaced,
    kind_of_plural,
    plural,
    preferred_version,
    split_api_version,
)
from kyvsim.kubernetes.wildcard import has_wildcard
from kyvsim.migrate.conditions import conditions_test
from kyvsim.migrate.context import Scope, located, within
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
    operation,
    operations_of,
    removed_element,
    unsupported,
)
from kyvsim.migrate.matching import Matching, selector_test
from kyvsim.migrate.queries import loop_list, text_value
from kyvsim.migrate.rules.results import ConversionInput, MutationEntry
from kyvsim.migrate.scalars import like
from kyvsim.migrate.settings import named_expressions
from kyvsim.migrate.strategic_merge import merged_fields, merged_object
from kyvsim.migrate.values import TEXT, Expr, types_of
from kyvsim.model.migration import ConversionCondition
from kyvsim.patch.keyed_lists import find_type
from kyvsim.policy.rule import ForEachMutation, Mutate, MutateTarget
from kyvsim.policy.tree import Pattern, PatternMap


def patch_resource(body: Mutate, given: ConversionInput) -> Sequence[MutationEntry]:
    """Return the mutations of the object of the request."""
    around = PatchContext(given.scope, merges=given.matching.merges)
    return _patches(body, given.scope.object, around)


def _patches(body: Mutate, root: Expr, around: PatchContext) -> Sequence[MutationEntry]:
    if body.foreach is not None:
        return _loops(body.foreach, root, around)
    if body.patch_strategic_merge is not None:
        return [_merge(body.patch_strategic_merge, root, around)]
    with located((*body.path, "patchesJson6902")):
        operations = operations_of(body.patches_json6902, around.scope)
        return [MutationEntry("JSONPatch", listed(json_patch(operations, root, around)))]


def _merge(patch: Pattern, root: Expr, around: PatchContext) -> MutationEntry:
    """Return a patch as an apply configuration, or as JSON patches if the types require it."""
    with located(patch.path):
        if not isinstance(patch.root, PatternMap):
            raise unsupported("a merge that is not a map")
        try:
            return MutationEntry("ApplyConfiguration", *merged_object(patch.root, root, around))
        except Atomic:
            return MutationEntry("JSONPatch", *merged_fields(patch.root, root, around))


_JOINED: Final = ConversionCondition(
    "places in joined lists",
    "elements of the later lists are not patched: their positions do not exist in the list "
    "that is patched",
)


def _loops(
    blocks: Sequence[ForEachMutation], root: Expr, around: PatchContext
) -> list[MutationEntry]:
    """Return a mutation for each of several loops: each one gets the result of the previous one."""
    found = []
    for block in blocks:
        with located(block.path):
            if block.patch_strategic_merge is None:
                one = MutationEntry("JSONPatch", listed(_operations(block, root, around)))
            else:
                one = _merge(block.patch_strategic_merge, root, _inside(block, around))
        if len(blocks) > 1 and one.guards:  # the mutation contains its conditions
            nothing = "Object{}" if one.form == "ApplyConfiguration" else "[]"
            text = f"{enclosed(every(one.guards), OR)}\n? {one.text}\n: {nothing}"
            one = one._replace(text=text, guards=())
        found.append(one)
    return found


def _operations(block: ForEachMutation, root: Expr, around: PatchContext) -> list[PatchExpression]:
    """Return the operations of a loop with JSON patches, or with loops in it."""
    inside = _inside(block, around)
    (loop,) = inside.loops[-1:]
    if block.foreach:
        (first, *others), path = block.foreach, (*block.path, "foreach")
        if others:
            raise unsupported("several loops in a loop", "use a loop for each", path)
        if first.patch_strategic_merge is not None:
            raise unsupported("a merge in a nested loop", "use a JSON patch", first.path)
        return looped(loop, within(first.path, _operations, first, root, inside))
    with located((*block.path, "patchesJson6902")):
        patch = operations_of(block.patches_json6902, inside.scope)
        place = removed_element(patch, root, inside)
        if place is None:
            return looped(loop, json_patch(patch, root, inside))
        # The elements of the loop are removed from the list.
        if not loop.backwards:
            raise unsupported(
                "elements that are removed from the front: each moves those after it",
                "use `order: Descending`",
            )
    kept = one_line(opposite(loop.condition))
    rest = f"{place.value.tight()}.filter({loop.element.text}, {kept})"
    there = TRUE if not loop.listed.fallback else place.value.is_there()
    return [PatchExpression(operation("replace", place, rest), there)]


def _inside(block: ForEachMutation, around: PatchContext) -> PatchContext:
    """Return the context of a patch in a loop, with its element and index."""
    elements = loop_list(block, around.scope)
    if elements.types and not elements.is_list:
        raise unsupported("a loop over a value that is not a list", path=(*block.path, "list"))
    element = around.scope.element(elements)
    depth = len(around.loops)
    index = counter("index" if not depth else f"index{depth + 1}")
    names = {**around.scope.names, "element": element, f"element{depth}": element}
    names |= {"elementIndex": index, f"elementIndex{depth}": index}
    scope = around.scope._replace(
        names=names, taken=around.scope.taken | {element.text, index.text}
    )
    scope = with_entries(block.context, scope, inline=True)
    kept = conditions_test(block.preconditions, scope).test
    patch = block.patches_json6902
    if " + " in elements.text and patch is not None and "elementIndex" in patch.text:
        around.scope.context.note(_JOINED)
    loop = PatchLoop(elements, element, index, kept, backwards=block.order == "Descending")
    return around._replace(scope=scope, loops=(*around.loops, loop))


# `mutate.targets`: existing objects are patched for another one, the trigger.
#
# An expression returns them for each trigger. In the patches they are `object`; fields of the
# trigger come from its request, or from a lookup.
#
# Source of the rule: upstream pkg/background/mpol/processor.go

_EVENTS: Final = ConversionCondition(
    "existing objects",
    "they are also patched when the policy changes, and every hour, for existing triggers",
)


def patch_existing(
    body: Mutate, targets: Sequence[MutateTarget], given: ConversionInput
) -> list[MutationEntry]:
    """Return the mutations of the target of a rule; each contains an expression for the objects."""
    scope, (target, *others) = given.scope, targets
    if others:
        raise unsupported("a rule with several targets", "use a rule for each", others[0].path)
    scope.context.note(LOOK_UP)
    if body.mutate_existing_on_policy_update is not True:
        scope.context.note(_EVENTS)
    text, chosen = within(target.path, _named, target, scope)
    kind = (target.api_version, target.kind)
    merges = find_type(*kind)
    value = Expr("object", types_of([kind]), rewritten=True)
    # Variables of entries are evaluated again: in patches of other objects they would be wrong.
    scope.context.optional_names.update(scope.context.variables)
    outer = scope._replace(object=_trigger(scope, given.matching), names={})
    outer = with_entries(given.rule.context, outer)
    outer = outer._replace(names={**outer.names, "target": value})
    inner = with_entries(target.context, outer, inline=True)
    applies = conditions_test(target.preconditions, inner).test
    fields: dict[str, object] = {
        "evaluation": {"mutateExisting": {"enabled": True}},
        "targetMatchConstraints": {"expression": text},
    }
    tests = [("named", chosen), ("precondition", applies)]
    conditions = [(name, laid_out(test)) for name, test in tests if test != TRUE]
    if conditions:
        fields["targetMatchConditions"] = named_expressions(conditions)
    around = PatchContext(inner, merges=(merges,) if merges else ())
    found = _patches(body, value, around)
    if any(one.guards for one in found):
        what, advice = (
            "conditions in a patch of existing objects",
            "use the preconditions of the target",
        )
        field = "foreach" if body.foreach is not None else "patchStrategicMerge"
        raise unsupported(what, advice, (*body.path, field))
    return [one._replace(fields=fields) for one in found]


def _trigger(scope: Scope, matching: Matching) -> Expr:
    """Return the trigger in a patch of another object."""
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


def _named(target: MutateTarget, scope: Scope) -> tuple[str, Test]:
    """Return the expression for the objects of a target, and the test for them."""
    api_version, kind = target.api_version, target.kind
    if has_wildcard(f"{api_version}{kind}") or "{{" in f"{api_version}{kind}" or "/" in kind:
        path = (*target.path, "kind")
        raise unsupported(f"the target kind `{api_version}/{kind}`", "name one kind", path)
    namespaced = is_namespaced(split_api_version(api_version)[0], kind)
    name = within((*target.path, "name"), text_value, target.name, scope)
    place = scope.namespace or target.namespace if namespaced else ""
    namespace = within((*target.path, "namespace"), text_value, place, scope)
    about = f"{quoted(api_version)}, {quoted(plural(split_api_version(api_version)[0], kind))}"
    if _is_one(name) and (_is_one(namespace) or not namespaced):
        text = f"resource.Get({about}, {namespace.text}, {name.text})"
        return text, TRUE
    where = namespace.text if _is_one(namespace) else "''"
    tests = [within((*target.path, "name"), _fits, "object.metadata.name", name)]
    if where == "''":
        tests.append(_fits("object.metadata.namespace", namespace))
    if target.selector:
        with located((*target.path, "selector")):
            if "{{" in str(target.selector):
                advice = "use the preconditions of the target"
                raise unsupported("a selector with variables", advice)
            tests.append(selector_test(target.selector))
    return f"resource.List({about}, {where})", every(tests)


def _is_one(name: Expr) -> bool:
    """Return whether a name is set and has no wildcards."""
    return not name.constant or bool(name.constant[0] and not has_wildcard(str(name.constant[0])))


def _fits(text: str, name: Expr) -> Test:
    if name.constant:
        return like(text, name.constant[0]) if name.constant[0] else TRUE
    if not name.text.startswith("request."):
        raise unsupported("a name from the trigger without a namespace", "set the namespace too")
    return Relation(text, "==", name.text)
