"""`apiCall`: objects of the cluster, read by the path of a request."""

import re
from types import MappingProxyType
from typing import Final
from urllib.parse import unquote

from kyvsim.kube.discovery import kind_of_plural
from kyvsim.kube.objects import Json
from kyvsim.migrate.entries.config_map import LOOK_UP
from kyvsim.migrate.entries.places import within_place
from kyvsim.migrate.expressions import quoted
from kyvsim.migrate.known_types import is_list, list_of, types_of
from kyvsim.migrate.queries.read import query_within
from kyvsim.migrate.queries.scope import Scope, no_twin
from kyvsim.migrate.queries.texts import text_value
from kyvsim.migrate.values import Value

_VARIABLE: Final = re.compile(r"\{\{.*?\}\}")


def api_call(entry: Json, scope: Scope) -> Value:
    """Return what the API server or a service answers, or what a query finds in it."""
    if entry.get("service"):
        raise no_twin("the call of a service", "write it with `http.Get` or `http.Post`")
    if entry.get("method", "GET") != "GET":
        raise no_twin("a call that sends data", "write it with `resource.Post`")
    scope.desk.note(LOOK_UP)
    value = _answer(entry.get("urlPath") or "", scope)
    query = entry.get("jmesPath")
    if not query:
        return value
    found = query_within(query, scope, value)
    return found._replace(is_looked_up=True) if is_list(found.types) else found


def _answer(path: str, scope: Scope) -> Value:
    path, _, asked_for = path.partition("?")
    labels = _labels(asked_for, scope) if asked_for else []
    parts = [_restored(one, path) for one in _hidden(path).strip("/").split("/")]
    if parts[:1] == ["api"] and len(parts) > 2:
        version, rest = parts[1], parts[2:]
    elif parts[:1] == ["apis"] and len(parts) > 3:
        version, rest = f"{parts[1]}/{parts[2]}", parts[3:]
    else:
        raise no_twin(f"a call of `{path}`", "read objects by their resource names")
    namespace = ""
    if len(rest) > 2 and rest[0] == "namespaces":
        namespace, rest = rest[1], rest[2:]
    if len(rest) not in {1, 2} or "{{" in version or "{{" in rest[0]:
        raise no_twin(f"a call of `{path}`", "read objects by their resource names")
    group = version.rpartition("/")[0]
    types = types_of([(version, kind_of_plural(group, rest[0]))])
    asked = [f"'{version}'", f"'{rest[0]}'", *within_place(namespace, scope)]
    if labels and len(rest) != 1:
        raise no_twin("a call of one object with a selector", "leave the selector out")
    asked += labels
    if len(rest) == 2:
        asked.append(text_value(rest[1], scope).text)
        return Value(f"dyn(resource.Get({', '.join(asked)}))", types, is_looked_up=True)
    text = f"dyn(resource.List({', '.join(asked)}))"
    items = Value(f"{text}.items", list_of(types), noun=rest[0])
    return Value(text, noun=rest[0], fields=MappingProxyType({"items": items}))


def _labels(query: str, scope: Scope) -> list[str]:
    """Return the argument for the labels that a list is asked for."""
    name, _, selector = query.partition("=")
    pairs = [one.partition("=") for one in unquote(selector).split(",")]
    if name != "labelSelector" or not all(key and sign for key, sign, _ in pairs):
        raise no_twin("a call with such a query", "filter the list of objects instead")
    if any(key.endswith("!") or value.startswith("=") for key, _, value in pairs):
        raise no_twin("a selector that is more than labels", "filter the list of objects instead")
    entries = (f"{quoted(key)}: {text_value(value, scope).text}" for key, _, value in pairs)
    return [f"{{{', '.join(entries)}}}"]


def _hidden(path: str) -> str:
    return _VARIABLE.sub(lambda found: found[0].replace("/", "\0"), path)


def _restored(part: str, _: str) -> str:
    return part.replace("\0", "/")
