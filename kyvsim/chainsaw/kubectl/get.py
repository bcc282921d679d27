"""`kubectl get`: objects shown in several formats."""

import json

from kyvsim.chainsaw.ending import UnsupportedError
from kyvsim.chainsaw.kubectl.call import Call, failure, named_objects
from kyvsim.chainsaw.kubectl.jsonpath import JsonPathError, print_jsonpath
from kyvsim.chainsaw.kubectl.kinds import NamedKind, shown_kind
from kyvsim.chainsaw.kubectl.selecting import chosen
from kyvsim.chainsaw.kubectl.tables import print_table
from kyvsim.chainsaw.streams import STDERR, STDOUT, Printed, Result, complaint
from kyvsim.kubernetes.objects import Json, object_key
from kyvsim.simulator.api_server import errors
from kyvsim.yaml.text import folded_yaml


def run(call: Call) -> Result:
    """Show objects; what is missing is told on standard error."""
    given = call.invocation
    found: list[Json] = []
    printed: list[Printed] = []
    single = False
    for kind, name in named_objects(call, given.words):
        single = bool(name)
        key = call.key(kind, name)
        objects = [call.there(key)] if name else chosen(call, kind)
        there = [one for one in objects if one is not None]
        if name and not there and not given.holds("ignore-not-found"):
            printed.append(failure(errors.not_found(key, call.store.defined)))
        found += there
    status = 1 if printed else 0
    output = given.value("output")
    if not found and not printed and not single and not output:
        return Result(0, (Printed(STDERR, _nothing(call, named_objects(call, given.words)[0][0])),))
    if single and not found:
        return Result(status, tuple(printed))
    shown = found[0] if single and len(found) == 1 else _list(found)
    try:
        text = _shown(call, shown, found)
    except JsonPathError as error:
        return complaint(f"error: {error}\n")
    return Result(status, (*printed, Printed(STDOUT, text)))


def _nothing(call: Call, kind: NamedKind) -> str:
    namespace = call.key(kind, "").namespace
    if call.invocation.holds("all-namespaces") or not namespace:
        return "No resources found\n"
    return f"No resources found in {namespace} namespace.\n"


def _list(objects: list[Json]) -> Json:
    return {"apiVersion": "v1", "items": objects, "kind": "List", "metadata": {}}


def _shown(call: Call, shown: Json, found: list[Json]) -> str:
    output = call.invocation.value("output")
    form, _, template = output.partition("=")
    if form == "json":
        return json.dumps(shown, indent=4, sort_keys=True, ensure_ascii=False) + "\n"
    if form == "yaml":
        return folded_yaml(shown)
    if form == "name":
        return "".join(f"{_name(one)}\n" for one in found)
    if form == "jsonpath":
        return print_jsonpath(template, shown, call.surroundings.usage.text)
    if not form:
        return _table(call, found)
    raise UnsupportedError(f"`kubectl get --output {form}`")


def _name(obj: Json) -> str:
    key = object_key(obj)
    return f"{shown_kind(key.api_version, key.kind)}/{key.name}"


def _table(call: Call, found: list[Json]) -> str:
    """Return the table of the objects of one kind."""
    given = call.invocation
    if len({(object_key(one).api_version, object_key(one).kind) for one in found}) > 1:
        raise UnsupportedError("a table of several kinds of `kubectl get`")
    return print_table(
        found,
        call.store,
        call.surroundings.situation.session.parts.clock.now(),
        namespaces=given.holds("all-namespaces"),
        headings=not given.holds("no-headers"),
    )
