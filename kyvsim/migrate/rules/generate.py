"""Convert generate rules to a GeneratingPolicy."""

from typing import Final

from kyvsim.kubernetes.discovery import (
    is_namespaced,
    parse_kind_selector,
    plural,
    split_api_version,
)
from kyvsim.kubernetes.objects import Json, Path, metadata
from kyvsim.migrate.conditions import conditions_test
from kyvsim.migrate.context import NotConvertible, Scope, located, within
from kyvsim.migrate.context_entries import LOOK_UP, with_entries, within_place
from kyvsim.migrate.expressions import FALSE, TRUE, Relation, Test, every, literal, one_line, quoted
from kyvsim.migrate.json_patch import call, list_text, struct
from kyvsim.migrate.matching import selector_test
from kyvsim.migrate.queries import loop_list, text_pieces, text_value
from kyvsim.migrate.rules.results import ConversionInput, GenerationEntry
from kyvsim.migrate.values import NUMBER, Expr, field_names, types_of
from kyvsim.model.migration import ConversionCondition
from kyvsim.model.policy import PolicyFacts, RuleFacts
from kyvsim.policy.rule import Clone, CloneList, ForEachGeneration, Generate, GenerateTarget

# Convert objects with variables to CEL literals. Members of maps and lists can differ in type.


def object_text(data: object, path: Path, scope: Scope) -> str:
    """Return the expression for a value with variables, on several lines if it is long."""
    with located(path):
        if isinstance(data, dict):
            fields = [
                f"{text_value(key, scope).text}: {object_text(one, (*path, key), scope)}"
                for key, one in data.items()
            ]
            return struct("", fields)
        if isinstance(data, list):
            items = [object_text(one, (*path, index), scope) for index, one in enumerate(data)]
            return list_text(items)
        return text_value(data, scope).text if isinstance(data, str) else literal(data)


# Convert objects with variables to templates, with expressions in `((` and `))`.


def _part(data: object, path: Path, scope: Scope, expressions: list[str]) -> Json:
    if isinstance(data, dict):
        if any("{{" in key or "((" in key for key in data):
            # Keys of templates are constant: an expression creates the map.
            return _placed(object_text(data, path, scope).replace("\n", " "), expressions)
        return {key: _part(one, (*path, key), scope, expressions) for key, one in data.items()}
    if isinstance(data, list):
        return [_part(one, (*path, n), scope, expressions) for n, one in enumerate(data)]
    if not isinstance(data, str):
        return data
    text = ""
    pieces = within(path, text_pieces, data, scope)
    for one in pieces:
        if isinstance(one, str):
            text += one.replace("((", "\\((")
        elif len(pieces) > 1 and (one.is_list or one.is_map):
            text += _placed(f"json.marshal({one.or_else(one.empty)})", expressions)
        else:  # scalars in a string need no conversion
            text += _placed(one.text, expressions)
    return text


def _placed(expression: str, expressions: list[str]) -> str:
    expressions.append(expression)
    return f"(( {expression} ))"


# The target of a generate rule, and how a policy creates it.


def _query(api_version: str, kind: str, namespace: str, scope: Scope) -> list[str]:
    """Return the arguments of a lookup: apiVersion, resource, namespace."""
    resource = plural(split_api_version(api_version)[0], kind)
    return [quoted(api_version), quoted(resource), *within_place(namespace, scope)]


def _described(target: GenerateTarget) -> dict[str, object]:
    """Return the object in `data` of a target, with variables, and the name of the target."""
    data = target.data
    if data is not None and not isinstance(data, dict):
        path = (*target.path, "data")
        raise unsupported("data that is not a map", "write the fields of the object", path)
    group = split_api_version(target.api_version)[0]
    if "{{" not in target.api_version + target.kind and not target.name:
        raise unsupported("an object without a name", "set its name", (*target.path, "name"))
    if target.namespace and not is_namespaced(group, target.kind, {}):
        raise unsupported(
            f"a {target.kind} in a namespace",
            "remove `namespace`: the kind is cluster-scoped",
            (*target.path, "namespace"),
        )
    data = data or {}
    named = {
        key: value for key, value in metadata(data).items() if key not in {"name", "namespace"}
    }
    place = {"namespace": target.namespace} if target.namespace else {}
    return {
        "apiVersion": target.api_version,
        "kind": str(data.get("kind") or target.kind),
        "metadata": {"name": target.name, **place, **named},
        **{key: one for key, one in data.items() if key not in {"apiVersion", "kind", "metadata"}},
    }


def _applied(objects: str, target: GenerateTarget, scope: Scope) -> str:
    """Return the call that creates a list of objects in the namespace of a target.

    A namespaced policy creates them in its namespace.
    """
    if scope.namespace:
        if target.namespace != scope.namespace:
            what, path = "an object outside the policy's namespace", (*target.path, "namespace")
            raise unsupported(what, "use a ClusterPolicy", path)
        return f"generator.Apply({objects})"
    where = text_value(target.namespace, scope).text if target.namespace else quoted("")
    return struct("generator.Apply", [where, objects], opening="(", closing=")")


def unsupported(what: str, advice: str, path: Path = ()) -> NotConvertible:
    """Return the error that a part of a generate rule cannot be converted."""
    return NotConvertible(f"{what} cannot be converted to a GeneratingPolicy", advice, path)


# Convert `clone` and `cloneList` to copies of objects in the cluster.

_RENAMED: Final = ConversionCondition(
    "renamed copies",
    "a copy with another name is built from the fields of the source: Kyverno does not update "
    "it when the source changes",
)
_WRITTEN: Final = frozenset({"apiVersion", "kind", "metadata", "status"})


def _copies(target: GenerateTarget, scope: Scope) -> list[str] | None:
    """Return the expressions that copy the sources of a target, None if it has data."""
    if target.clone_list is not None:
        return _copied_by_label(target, target.clone_list, scope)
    return None if target.clone is None else [_copied(target, target.clone, scope)]


def _copied(target: GenerateTarget, clone: Clone, scope: Scope) -> str:
    kind = target.kind
    if "{{" in target.api_version + kind:
        raise unsupported("a copy whose kind is computed at evaluation", "use a rule for each kind")
    if not clone.name:
        raise unsupported("a copy of an object without a name", "set its name", clone.path)
    scope.context.note(LOOK_UP)
    name = text_value(clone.name, scope).text
    query = _query(target.api_version, kind, clone.namespace, scope)
    held = f"resource.Get({', '.join([*query, name])})"
    if not scope.taken or "{{" not in clone.namespace + clone.name:
        held = scope.context.variable(kind[0].lower() + kind[1:], held)
    one = held if clone.name == target.name else _renamed(held, target, scope)
    call = _applied(f"[{one}]", target, scope)
    pairs = ((clone.name, target.name), (clone.namespace, target.namespace))
    return _unless(every(_same(*pair, scope) for pair in pairs), call)


def _copied_by_label(target: GenerateTarget, clones: CloneList, scope: Scope) -> list[str]:
    """Return the expressions that copy the objects of `cloneList`, one for each kind."""
    selector = dict(clones.selector or {})
    labels = selector.pop("matchLabels", None)
    scope.context.note(LOOK_UP)
    found = []
    for text in clones.kinds or ():
        kind = parse_kind_selector(text)
        group = "" if kind.group == "*" else kind.group
        if "*" in kind.version or kind.subresource:
            raise unsupported(f"copies of `{text}`", "set version and kind", clones.path)
        version = f"{group}/{kind.version}".lstrip("/")
        arguments = _query(version, kind.kind, clones.namespace, scope)
        if labels:
            arguments.append(object_text(labels, (), scope).replace("\n", " "))
        listed = f"resource.List({', '.join(arguments)})"
        if not any(selector.values()):
            listed += ".items"
        elif "{{" in str(selector):
            raise unsupported("a selector with variables", "use `matchLabels`")
        else:
            test = one_line(selector_test(selector, "source"))
            listed = f"dyn({listed}).items.filter(source, {test})"
        call = _applied(listed, target, scope)
        found.append(_unless(_same(clones.namespace, target.namespace, scope), call))
    return found


def _renamed(held: str, target: GenerateTarget, scope: Scope) -> str:
    """Return a copy with another name: it has the source's fields for its kind."""
    fields = field_names(types_of([(target.api_version, target.kind)]))
    if not fields:
        raise unsupported(
            "a copy with a different name of an object whose fields are not known",
            "give the copy the name of its source, or write its fields as `data`",
            (*target.path, "name"),
        )
    scope.context.note(_RENAMED)
    place = [f"'namespace': {text_value(target.namespace, scope).text}"] if target.namespace else []
    name = f"'name': {text_value(target.name, scope).text}"
    kept = [f"?{quoted(one)}: {held}.metadata.?{one}" for one in ("labels", "annotations")]
    return struct(
        "",
        [
            f"'apiVersion': {quoted(target.api_version)}",
            f"'kind': {quoted(target.kind)}",
            f"'metadata': {struct('', [name, *place, *kept])}",
            *(f"?{quoted(one)}: {held}.?{one}" for one in fields if one not in _WRITTEN),
        ],
    )


def _same(one: str, other: str, scope: Scope) -> Test:
    if one == other:
        return TRUE
    if "{{" not in one + other:
        return FALSE
    return Relation(text_value(other, scope).text, "==", text_value(one, scope).text)


def _unless(test: Test, call: str) -> str:
    """Return a call that is skipped if a test is true."""
    if test == TRUE:
        raise unsupported("a copy of an object onto itself", "remove the rule")
    return call if test == FALSE else f"{one_line(test)} || {call}"


# Convert `generate`: objects created for a trigger, from data or as copies.


def generate(body: Generate, given: ConversionInput) -> list[GenerationEntry]:
    """Return the entries that create the objects of a rule."""
    target, scope = body.target, given.scope
    if body.foreach:
        return [within(one.path, _loop, one, scope) for one in body.foreach]
    copies = _copies(target, scope)
    if copies is not None:
        return [GenerationEntry(None, (one,)) for one in copies]
    if scope.namespace and target.namespace != scope.namespace:
        raise unsupported("an object outside the policy's namespace", "use a ClusterPolicy")
    expressions: list[str] = []
    template = _part(_described(target), target.path, scope, expressions)
    return [GenerationEntry(template, tuple(expressions))]


def evaluation_of(rule: RuleFacts, policy: PolicyFacts, _: Scope) -> dict[str, object]:
    """Return the fields `evaluation` and `useServerSideApply`."""
    generation = rule.generation
    switches = {
        "generateExisting": generation is not None and generation.looks_back,
        "synchronize": generation is not None and generation.synchronizes,
        "orphanDownstreamOnPolicyDelete": generation is not None and generation.orphans,
    }
    evaluation: dict[str, object] = {key: {"enabled": True} for key, on in switches.items() if on}
    if rule.sees_background:
        evaluation["skipBackgroundRequests"] = False
    found: dict[str, object] = {"evaluation": evaluation} if evaluation else {}
    if policy.applies_server_side:
        found["useServerSideApply"] = True
    return found


def _loop(block: ForEachGeneration, scope: Scope) -> GenerationEntry:
    listed = loop_list(block, scope)
    source, name, names = _elements(listed, scope, by_place="elementIndex" in str(block))
    scope = scope._replace(names={**scope.names, **names}, taken=scope.taken | {name})
    scope = with_entries(block.context, scope, inline=True)
    kept = conditions_test(block.preconditions, scope).test
    if kept != TRUE:
        source = f"{source}.filter({name}, {one_line(kept)})"
    calls = _copies(block.target, scope)
    if calls is None:
        data = object_text(_described(block.target), block.path, scope)
        calls = [_applied(f"[{data}]", block.target, scope)]
    made = " &&\n".join(calls)
    return GenerationEntry(None, (call(f"{source}.all({name}", made),))


def _elements(listed: Expr, scope: Scope, *, by_place: bool) -> tuple[str, str, dict[str, Expr]]:
    """Return the list of a loop, the variable for its elements, and names for them.

    Loops have a single variable: if indexes are read, the list is that of the indexes.
    """
    if by_place:
        held = scope.context.variable(listed.noun or "elements", listed.text)
        element = Expr(f"{held}[index]", listed.element_types, noun=listed.noun)
        place = Expr("index", NUMBER)
        names = {"element": element, "elementIndex": place, "elementIndex0": place}
        return f"lists.range({held}.size())", "index", {**names, "element0": element}
    element = scope.element(listed)
    return listed.tight(), element.text, {"element": element, "element0": element}
