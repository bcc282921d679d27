"""Generate rules → a GeneratingPolicy."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from kyvsim.kubernetes.discovery import (
    is_namespaced,
    parse_kind_selector,
    plural,
    split_api_version,
)
from kyvsim.kubernetes.objects import Json, metadata
from kyvsim.migrate.conditions import conditions_test
from kyvsim.migrate.context import NotConvertible, Scope, list_of, within
from kyvsim.migrate.context_entries import LOOK_UP, with_entries, within_place
from kyvsim.migrate.expressions import FALSE, TRUE, Relation, Test, every, literal, one_line, quoted
from kyvsim.migrate.json_patch import WIDTH, indented, list_text, struct
from kyvsim.migrate.matching import selector_test
from kyvsim.migrate.queries import query_value, text_pieces, text_value
from kyvsim.migrate.rules.results import ConversionInput, GenerationEntry
from kyvsim.migrate.values import (
    NUMBER,
    Expr,
    element_of,
    field_names,
    is_list,
    is_map,
    types_of,
)
from kyvsim.model.migration import ConversionCondition

# Objects with variables → literals in CEL. Parts of maps and lists may differ in type there.


def object_text(data: Json, scope: Scope) -> str:
    """Return the expression of a value with variables, on several lines where it is long."""
    if isinstance(data, dict):
        texts = [
            f"{text_value(key, scope).text}: {within((key,), object_text, one, scope)}"
            for key, one in data.items()
        ]
        return struct("", texts)
    if isinstance(data, list):
        return list_text([within((n,), object_text, one, scope) for n, one in enumerate(data)])
    return text_value(data, scope).text if isinstance(data, str) else literal(data)


# Objects with variables → templates: the same with expressions in `((` and `))`.


def _part(data: Json, scope: Scope, expressions: list[str]) -> Json:
    if isinstance(data, dict):
        if any("{{" in key or "((" in key for key in data):
            # Keys of templates are fixed: the map is made by an expression.
            return _placed(object_text(data, scope).replace("\n", " "), expressions)
        return {key: within((key,), _part, one, scope, expressions) for key, one in data.items()}
    if isinstance(data, list):
        return [within((n,), _part, one, scope, expressions) for n, one in enumerate(data)]
    if not isinstance(data, str):
        return data
    text = ""
    pieces = text_pieces(data, scope)
    for one in pieces:
        if isinstance(one, str):
            text += one.replace("((", "\\((")
        elif len(pieces) > 1 and (is_list(one.types) or is_map(one.types)):
            text += _placed(f"json.marshal({one.or_else(one.empty)})", expressions)
        else:  # scalars within a text need no conversion
            text += _placed(one.text, expressions)
    return text


def _placed(expression: str, expressions: list[str]) -> str:
    expressions.append(expression)
    return f"(( {expression} ))"


# What a generate rule calls its object, and how policies make objects of that name.


class GenerateTarget(NamedTuple):
    """The object that a pattern is for, as texts with variables."""

    api_version: str
    kind: str
    namespace: str
    name: str

    def query(self, scope: Scope) -> list[str]:
        """Return the arguments of a look-up: apiVersion, resource, namespace."""
        resource = plural(split_api_version(self.api_version)[0], self.kind)
        return [quoted(self.api_version), quoted(resource), *within_place(self.namespace, scope)]


def _target_of(pattern: Mapping[str, Json]) -> GenerateTarget:
    fields = ("apiVersion", "kind", "namespace", "name")
    return GenerateTarget(*(str(pattern.get(one) or "") for one in fields))


def _described(pattern: Mapping[str, Json]) -> dict[str, Json]:
    """Return the object that `data` of a pattern describes, with variables: named as its target."""
    data, target = pattern.get("data"), _target_of(pattern)
    if data is not None and not isinstance(data, dict):
        raise no_twin("data that is not a map", "write the fields of the object").below("data")
    group = split_api_version(target.api_version)[0]
    if "{{" not in target.api_version + target.kind and not target.name:
        raise no_twin("an object without a name", "set its name").below("name")
    if target.namespace and not is_namespaced(group, target.kind, {}):
        raise no_twin(
            f"a {target.kind} in a namespace", "remove `namespace`: the kind is cluster-scoped"
        ).below("namespace")
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


def applied(objects: str, namespace: str, scope: Scope) -> str:
    """Return the call that makes objects in a namespace: a policy in one makes them there.

    `objects` is the expression of a list, `namespace` a text with variables.
    """
    if scope.namespace:
        if namespace != scope.namespace:
            raise no_twin("an object outside the policy's namespace", "use a ClusterPolicy").below(
                "namespace"
            )
        return f"generator.Apply({objects})"
    where = text_value(namespace, scope).text if namespace else quoted("")
    return struct("generator.Apply", [where, objects], opening="(", closing=")")


def no_twin(what: str, advice: str) -> NotConvertible:
    """Return that a part of a generate rule cannot be converted."""
    return NotConvertible(f"{what} cannot be converted to a GeneratingPolicy", advice)


# `clone` and `cloneList` → objects of the cluster, made again elsewhere.

_RENAMED: Final = ConversionCondition(
    "renamed copies",
    "a copy with another name is built from the fields of the source: Kyverno does not update "
    "it when the source changes",
)
_WRITTEN: Final = frozenset({"apiVersion", "kind", "metadata", "status"})


def _copies(pattern: Mapping[str, Json], scope: Scope) -> list[str]:
    """Return the expressions that copy what a pattern names or selects."""
    return (
        _copied_by_label(pattern, scope) if pattern.get("cloneList") else [_copied(pattern, scope)]
    )


def _copied(pattern: Mapping[str, Json], scope: Scope) -> str:
    """Return the expression that copies the object which `clone` names."""
    target, clone = _target_of(pattern), pattern["clone"]
    source = GenerateTarget(
        target.api_version, target.kind, str(clone.get("namespace") or ""), str(clone["name"])
    )
    if "{{" in target.api_version + target.kind:
        raise no_twin("a copy whose kind is computed at evaluation", "use a rule for each kind")
    scope.context.note(LOOK_UP)
    name = text_value(source.name, scope).text
    held = f"resource.Get({', '.join([*source.query(scope), name])})"
    if not scope.taken or "{{" not in source.namespace + source.name:
        held = scope.context.variable(source.kind[0].lower() + source.kind[1:], held)
    one = held if source.name == target.name else _renamed(held, target, scope)
    call = applied(f"[{one}]", target.namespace, scope)
    pairs = ((source.name, target.name), (source.namespace, target.namespace))
    return _unless(every(_same(*pair, scope) for pair in pairs), call)


def _copied_by_label(pattern: Mapping[str, Json], scope: Scope) -> list[str]:
    """Return the expressions that copy what `cloneList` selects, one for each kind."""
    clones, namespace = pattern["cloneList"], str(pattern.get("namespace") or "")
    selector = dict(clones.get("selector") or {})
    labels = selector.pop("matchLabels", None)
    scope.context.note(LOOK_UP)
    found = []
    for text in clones["kinds"]:
        kind = parse_kind_selector(text)
        group = "" if kind.group == "*" else kind.group
        if "*" in kind.version or kind.subresource:
            raise no_twin(f"copies of `{text}`", "set version and kind").below("cloneList")
        version = f"{group}/{kind.version}".lstrip("/")
        place = str(clones.get("namespace") or "")
        arguments = GenerateTarget(version, kind.kind, place, "").query(scope)
        if labels:
            arguments.append(object_text(labels, scope).replace("\n", " "))
        listed = f"resource.List({', '.join(arguments)})"
        if not any(selector.values()):
            listed += ".items"
        elif "{{" in str(selector):
            raise no_twin("a selector with variables", "use `matchLabels`")
        else:
            test = one_line(selector_test(selector, "source"))
            listed = f"dyn({listed}).items.filter(source, {test})"
        call = applied(listed, namespace, scope)
        found.append(_unless(_same(place, namespace, scope), call))
    return found


def _renamed(held: str, target: GenerateTarget, scope: Scope) -> str:
    """Return a copy under another name: what the source has in each field of its kind."""
    fields = field_names(types_of([(target.api_version, target.kind)]))
    if not fields:
        raise no_twin(
            "a copy with a different name of an object whose fields are not known",
            "give the copy the name of its source, or write its fields as `data`",
        ).below("name")
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
    """Return a call that is not made where a test holds."""
    if test == TRUE:
        raise no_twin("a copy of an object onto itself", "remove the rule")
    return call if test == FALSE else f"{one_line(test)} || {call}"


# `generate`: objects that are made for a trigger, of data or as copies.

_SWITCHES: Final = ("synchronize", "orphanDownstreamOnPolicyDelete")


def generate(given: ConversionInput) -> list[GenerationEntry]:
    """Return what makes the objects of a rule."""
    body = given.body
    if body.get("foreach"):
        return [within(("foreach", n), _loop, one, given) for n, one in enumerate(body["foreach"])]
    if body.get("cloneList") or body.get("clone"):
        return [GenerationEntry(None, (one,)) for one in _copies(body, given.scope)]
    if given.scope.namespace and body.get("namespace") != given.scope.namespace:
        raise no_twin("an object outside the policy's namespace", "use a ClusterPolicy")
    expressions: list[str] = []
    template = _part(_described(body), given.scope, expressions)
    return [GenerationEntry(template, tuple(expressions))]


def evaluation_of(rule: Json, spec: Json, _: Scope) -> dict[str, Json]:
    """Return when objects are made and kept up, as `evaluation` and `useServerSideApply`."""
    body = rule["generate"]
    existing = body.get("generateExisting")
    looks_back = spec.get("generateExisting") if existing is None else existing
    switches: dict[str, Json] = {"generateExisting": {"enabled": True}} if looks_back else {}
    switches |= {name: {"enabled": True} for name in _SWITCHES if body.get(name)}
    if rule.get("skipBackgroundRequests") is False:
        switches["skipBackgroundRequests"] = False
    found: dict[str, Json] = {"evaluation": switches} if switches else {}
    if spec.get("useServerSideApply"):
        found["useServerSideApply"] = True
    return found


def _loop(block: Mapping[str, Json], given: ConversionInput) -> GenerationEntry:
    """Return the expression that makes objects for each element of a list."""
    listed = within(("list",), query_value, list_of(block), given.scope)
    source, name, names = _elements(listed, given.scope, by_place="elementIndex" in str(block))
    scope = given.scope._replace(
        names={**given.scope.names, **names}, taken=given.scope.taken | {name}
    )
    scope = within(("context",), with_entries, block.get("context"), scope, inline=True)
    kept = within(("preconditions",), conditions_test, block.get("preconditions"), scope)
    if kept != TRUE:
        source = f"{source}.filter({name}, {one_line(kept)})"
    if block.get("cloneList") or block.get("clone"):
        calls = _copies(block, scope)
    else:
        data = object_text(_described(block), scope)
        calls = [applied(f"[{data}]", str(block.get("namespace") or ""), scope)]
    made = " &&\n".join(calls)
    text = f"{source}.all({name}, {made})"
    if len(text) > WIDTH:
        text = f"{source}.all({name},\n{indented(made)}\n)"
    return GenerationEntry(None, (text,))


def _elements(listed: Expr, scope: Scope, *, by_place: bool) -> tuple[str, str, dict[str, Expr]]:
    """Return the list that is gone through, what its elements are called, and names for them.

    There are no loops over two names: where places are read, the list is that of the places.
    """
    if by_place:
        held = scope.context.variable(listed.noun or "elements", listed.text)
        element = Expr(f"{held}[index]", element_of(listed.types), noun=listed.noun)
        place = Expr("index", NUMBER)
        names = {"element": element, "elementIndex": place, "elementIndex0": place}
        return f"lists.range({held}.size())", "index", {**names, "element0": element}
    element = scope.element(listed)
    return listed.tight(), element.text, {"element": element, "element0": element}
