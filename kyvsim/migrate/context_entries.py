"""Convert context entries of rules to variables of the new policy."""

import re
from collections.abc import Iterable
from types import MappingProxyType
from typing import Final
from urllib.parse import unquote

from kyvsim.kubernetes.discovery import kind_of_plural, parse_path, split_api_version
from kyvsim.migrate.conditions import value_of
from kyvsim.migrate.context import Scope, located, unsupported, within
from kyvsim.migrate.expressions import CHOICE, SUM, TIGHT, every, one_line, quoted
from kyvsim.migrate.queries import query_value, text_value, variable_name
from kyvsim.migrate.values import TEXT, Expr, constant, list_of, types_of
from kyvsim.model.migration import ConversionCondition
from kyvsim.policy.tree import (
    ApiCallEntry,
    ConfigMapEntry,
    ContextEntry,
    GlobalReferenceEntry,
    ImageRegistryEntry,
    VariableEntry,
)


def within_place(namespace: str, scope: Scope) -> list[str]:
    """Return the namespace argument of a lookup, "" for none or all.

    `namespace` can have variables. Raises NotConvertible for one other than the policy's.
    """
    if not scope.namespace:
        return [text_value(namespace, scope).text if namespace else quoted("")]
    if namespace not in {scope.namespace, "{{ request.namespace }}", "{{request.namespace}}"}:
        raise unsupported("a lookup outside the policy's namespace", "use a ClusterPolicy")
    return []


def _variable(entry: VariableEntry, scope: Scope) -> Expr:
    if entry.value is not None:
        value = _queried(value_of(entry.value, scope), entry.jmes_path, scope)
    elif entry.jmes_path:
        value = query_value(entry.jmes_path.strip(), scope)
    else:
        value = constant(entry.default)
    if entry.default is None or not (value.may_miss or value.needs or value.soft):
        return value
    # The default is used for any error of the query.
    default = value_of(entry.default, scope)
    if not default.constant:
        raise unsupported("a default with variables", "use `||` in the query")
    if value.needs and not (value.soft and default.constant == ([],)):
        value = value.if_needed_is_there()
    text = value.or_else(default.constant[0])
    return Expr(text, value.types or default.types, noun=value.noun)


LOOK_UP: Final = ConversionCondition(
    "cluster lookup", "Kyverno needs permission to read the objects, as for the ClusterPolicy"
)


def _config_map(entry: ConfigMapEntry, scope: Scope) -> Expr:
    scope.context.note(LOOK_UP)
    name = text_value(entry.config_map_name, scope)
    with located((*entry.path, "configMap", "namespace")):
        place = within_place(entry.config_map_namespace or "default", scope)
    arguments = ", ".join(["'v1'", "'configmaps'", *place, name.text])
    text = f"dyn(resource.Get({arguments}))"
    return Expr(text, types_of([("v1", "ConfigMap")]), noun="configMap", is_looked_up=True)


_VARIABLE: Final = re.compile(r"\{\{.*?\}\}")


def _api_call(entry: ApiCallEntry, scope: Scope) -> Expr:
    if entry.service:
        raise unsupported("a service call", "use `http.Get` or `http.Post`")
    if entry.call.get("method", "GET") != "GET":
        raise unsupported("a call that sends data", "use `resource.Post`")
    scope.context.note(LOOK_UP)
    found = _queried(_answer(entry.url_path, scope), entry.jmes_path, scope)
    is_found_list = bool(entry.jmes_path) and found.is_list
    return found._replace(is_looked_up=True) if is_found_list else found


def _answer(path: str, scope: Scope) -> Expr:
    path, _, asked_for = path.partition("?")
    labels = _labels(asked_for, scope) if asked_for else []
    hidden = _VARIABLE.sub(lambda found: found[0].replace("/", "\0"), path.strip("/"))
    wanted = parse_path(hidden)
    if wanted is None or wanted.part or "{{" in wanted.api_version or "{{" in wanted.resource:
        raise unsupported(f"a call of `{path}`", "read objects by their resource names")
    namespace, name = (one.replace("\0", "/") for one in (wanted.namespace, wanted.name))
    group = split_api_version(wanted.api_version)[0]
    types = types_of([(wanted.api_version, kind_of_plural(group, wanted.resource))])
    places = [f"'{wanted.api_version}'", f"'{wanted.resource}'", *within_place(namespace, scope)]
    if labels and name:
        raise unsupported("a call of one object with a selector", "remove the selector")
    arguments = ", ".join([*places, *labels, *([text_value(name, scope).text] if name else ())])
    if name:
        return Expr(f"dyn(resource.Get({arguments}))", types, is_looked_up=True)
    text = f"dyn(resource.List({arguments}))"
    items = Expr(f"{text}.items", list_of(types), noun=wanted.resource)
    return Expr(text, noun=wanted.resource, fields=MappingProxyType({"items": items}))


def _labels(query: str, scope: Scope) -> list[str]:
    name, _, selector = query.partition("=")
    pairs = [one.partition("=") for one in unquote(selector).split(",")]
    if name != "labelSelector" or not all(key and sign for key, sign, _ in pairs):
        raise unsupported("a call with such a query", "filter the list of objects instead")
    if any(key.endswith("!") or value.startswith("=") for key, _, value in pairs):
        raise unsupported(
            "a selector that is more than labels", "filter the list of objects instead"
        )
    entries = (f"{quoted(key)}: {text_value(value, scope).text}" for key, _, value in pairs)
    return [f"{{{', '.join(entries)}}}"]


def _global_reference(entry: GlobalReferenceEntry, scope: Scope) -> Expr:
    scope.context.note(LOOK_UP)
    text = f"globalContext.Get({quoted(entry.reference)})"
    return _queried(Expr(text, noun="items", is_looked_up=True), entry.jmes_path, scope)


_METADATA: Final = ConversionCondition(
    "image metadata", "the registry must return the same data for both"
)


def _image_registry(entry: ImageRegistryEntry, scope: Scope) -> Expr:
    scope.context.note(_METADATA)
    reference = text_value(entry.reference, scope)
    text = f"image.GetMetadata({reference.text})"
    config = Expr(f"{text}.config", optional=f"{text}.?config", noun="config")
    # In CEL, the field of this name includes the tag.
    resolved = " + ".join(
        (f"{text}.registry", "'/'", f"{text}.repository", "'@'", f"{text}.digest")
    )
    fields = {
        "configData": config,
        "manifestList": Expr(
            f"{text}.imageIndex", optional=f"{text}.?imageIndex", noun="manifestList"
        ),
        "resolvedImage": Expr(resolved, TEXT, SUM),
    }
    return _queried(Expr(text, fields=MappingProxyType(fields)), entry.jmes_path, scope)


def _queried(value: Expr, query: str, scope: Scope) -> Expr:
    """Return the result of a query on a value; the value itself if there is no query."""
    return query_value(query, scope, value) if query else value


def _value(entry: ContextEntry, scope: Scope) -> Expr:
    path = entry.path
    match entry:
        case VariableEntry():
            return within((*path, "variable"), _variable, entry, scope)
        case ConfigMapEntry():
            return within((*path, "configMap"), _config_map, entry, scope)
        case ApiCallEntry():
            return within((*path, "apiCall"), _api_call, entry, scope)
        case GlobalReferenceEntry():
            return within((*path, "globalReference"), _global_reference, entry, scope)
        case ImageRegistryEntry():
            return within((*path, "imageRegistry"), _image_registry, entry, scope)


def with_entries(entries: Iterable[ContextEntry], scope: Scope, *, inline: bool = False) -> Scope:
    """Return a scope with context entries; they become variables unless `inline`."""
    for entry in entries:
        name, value = entry.name, _value(entry, scope)
        if not inline and not value.constant:
            if scope.patching and value.soft:
                # Null if its source is missing: after patches this cannot be tested.
                text = f"{one_line(every(value.needs))} ? {value.text} : dyn(null)"
                optional = f"optional.of({text})"
                value = value._replace(text=text, level=CHOICE, optional=optional)
                value = value._replace(soft="", needs=(), nullable=True)
            text = f"{value.optional}.orValue(null)" if value.optional else value.text
            value = _held(value, scope.context.variable(variable_name(name), text))
        scope = scope._replace(names={**scope.names, name: value})
    return scope


def _held(value: Expr, held: str) -> Expr:
    """Return a value stored in a variable: null if it may be missing.

    It is not an optional: Kyverno loses the value of one in a variable.
    """
    fields = {}
    for key, one in value.fields.items():
        found = Expr(f"{held}[{quoted(key)}]", one.types, noun=one.noun, nullable=one.may_miss)
        fields[key] = _or_null(found) if one.may_miss else found
    value = value._replace(text=held, level=TIGHT, test=None, fields=MappingProxyType(fields))
    return _or_null(value) if value.optional else value


def _or_null(value: Expr) -> Expr:
    optional, has = f"optional.ofNonZeroValue({value.text})", f"{value.text} != null"
    return value._replace(optional=optional, has=has)
