"""`kubectl get`: objects shown in several formats."""

import json

from kyvsim.chainsaw.ending import UnsupportedError
from kyvsim.chainsaw.kubectl.call import Call, failure, named_objects
from kyvsim.chainsaw.kubectl.jsonpath import JsonPathError, print_jsonpath
from kyvsim.chainsaw.kubectl.kinds import NamedKind, shown_kind
from kyvsim.chainsaw.kubectl.selecting import chosen
from kyvsim.chainsaw.streams import STDERR, STDOUT, Printed, Result, complaint
from kyvsim.kube.objects import Json, object_key
from kyvsim.kube.yaml_block import folded_yaml
from kyvsim.sim.server import errors


def run(call: Call) -> Result:
    """Show objects; what is missing is told on standard error."""
    given = call.invocation
    found: list[Json] = []
    printed: list[Printed] = []
    single = False
    for kind, name in named_objects(call, given.words):
        single = bool(name)
        key = call.key(kind, name)
        objects = [call.client.get(*key)] if name else chosen(call, kind)
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
        return print_jsonpath(template, shown)
    if form in {"", "wide"}:
        return _table(call, found)
    raise UnsupportedError(f"`kubectl get --output {form}`")


def _name(obj: Json) -> str:
    key = object_key(obj)
    return f"{shown_kind(key.api_version, key.kind)}/{key.name}"


def _table(call: Call, found: list[Json]) -> str:
    """Return a line for each object; of its columns only the names are known here."""
    everywhere = call.invocation.holds("all-namespaces")
    rows = [
        [*([object_key(one).namespace] if everywhere else []), object_key(one).name]
        for one in found
    ]
    if not call.invocation.holds("no-headers"):
        rows.insert(0, [*(["NAMESPACE"] if everywhere else []), "NAME"])
    return "".join(f"{'   '.join(row)}\n" for row in rows)
