"""Commands of kubectl that read objects: get and wait."""

import json
from collections.abc import Callable

from kyvsim.chainsaw.environment import STDERR, STDOUT, Printed, Result, error_output, out
from kyvsim.chainsaw.errors import UnsupportedError
from kyvsim.chainsaw.kubectl.call import (
    KubectlCall,
    KubectlError,
    chosen,
    failure,
    named_keys,
    named_objects,
    shown_name,
    timed_out,
    warnings_of,
)
from kyvsim.chainsaw.kubectl.output import JsonPathError, find, print_jsonpath, print_table
from kyvsim.chainsaw.kubectl.pods import awaited
from kyvsim.kubernetes.objects import KubernetesObject, ObjectKey, entries, object_key
from kyvsim.simulator.api_server import errors
from kyvsim.yaml.text import folded_yaml


def get(call: KubectlCall) -> Result:
    """Print objects; missing ones are reported on standard error."""
    given = call.invocation
    existing: list[KubernetesObject] = []
    printed: list[Printed] = []
    single = False
    named = named_objects(call, given.words)
    warned = warnings_of(call, (kind for kind, _ in named))
    for kind, name in named:
        single = bool(name)
        key = call.key(kind, name)
        objects = [call.get(key)] if name else chosen(call, kind)
        some = [one for one in objects if one is not None]
        if name and not some and not given.is_set("ignore-not-found"):
            printed.append(failure(errors.not_found(key, call.store.defined)))
        existing += some
    status = 1 if printed else 0
    output = given.value("output")
    if not existing and not printed and not single and not output:
        namespace = call.key(named[0][0], "").namespace
        if call.invocation.is_set("all-namespaces") or not namespace:
            nothing = "No resources found\n"
        else:
            nothing = f"No resources found in {namespace} namespace.\n"
        return Result(0, (*warned, Printed(STDERR, nothing)))
    if single and not existing:
        return Result(status, (*warned, *printed))
    whole = {"apiVersion": "v1", "items": existing, "kind": "List", "metadata": {}}
    shown = existing[0] if single and len(existing) == 1 else whole
    try:
        text = _shown(call, shown, existing)
    except JsonPathError as error:
        return error_output(f"error: {error}\n")
    return Result(status, (*warned, *printed, Printed(STDOUT, text)))


def _shown(call: KubectlCall, shown: KubernetesObject, objects: list[KubernetesObject]) -> str:
    given = call.invocation
    form, _, template = given.value("output").partition("=")
    if form == "json":
        return json.dumps(shown, indent=4, sort_keys=True, ensure_ascii=False) + "\n"
    if form == "yaml":
        return folded_yaml(shown)
    if form == "name":
        return "".join(f"{shown_name(object_key(one))}\n" for one in objects)
    if form == "jsonpath":
        return print_jsonpath(template, shown, call.environment.usage.text)
    if not form:
        if len({(object_key(one).api_version, object_key(one).kind) for one in objects}) > 1:
            raise UnsupportedError("`kubectl get` with a table of several kinds")
        return print_table(
            objects,
            call.store,
            call.environment.session.sim.clock.now(),
            namespaces=given.is_set("all-namespaces"),
            headings=not given.is_set("no-headers"),
        )
    raise UnsupportedError(f"`kubectl get --output {form}`")


_LONGEST_PATH = 1_000


def wait(call: KubectlCall) -> Result:
    """Wait for all named objects."""
    own = awaited(call)
    if own is not None:
        return own
    given = call.invocation
    keys, condition = named_keys(call, given.words), given.value("for")
    if not keys:
        deletes = condition == "delete"
        return Result() if deletes else error_output("error: no matching resources found\n")
    met = condition_of(condition)
    printed: list[Printed] = []
    for key in keys:
        result = _wait(call, key, condition, met)
        printed += result.printed
        if result.status:
            return Result(result.status, tuple(printed))
    return Result(0, tuple(printed))


def _wait(
    call: KubectlCall,
    key: ObjectKey,
    condition: str,
    met: Callable[[KubernetesObject | None], bool],
) -> Result:
    deletes = condition == "delete"
    if not deletes and call.get(key) is None:
        return call.not_found(key)
    limit, session = call.seconds("timeout", "30s"), call.environment.session
    try:
        done_in_time = session.wait_until(lambda: met(call.client.get(*key)), limit)
    except JsonPathError as error:
        raise KubectlError(f"error: {error}") from None
    if done_in_time:
        return out(f"{shown_name(key)} {'deleted' if deletes else 'condition met'}\n")
    return Result(1, (timed_out(key),))


def condition_of(text: str) -> Callable[[KubernetesObject | None], bool]:
    """Return the predicate for `--for`; raise UnsupportedError for other conditions."""
    kind, _, rest = text.partition("=")
    if text == "delete":
        return lambda obj: obj is None
    if text == "create":
        return lambda obj: obj is not None
    if kind == "condition":
        name, _, value = rest.lower().partition("=")
        wanted = (name, value or "true")
        return lambda obj: any(
            (str(one.get("type")).lower(), str(one.get("status")).lower()) == wanted
            for one in entries((obj or {}).get("status"), "conditions")
        )
    if kind == "jsonpath":
        path, assigned, expected = rest.rpartition("=")
        if not assigned or len(path) > _LONGEST_PATH:
            raise UnsupportedError(f"`kubectl wait --for={text}`")
        inner = path.strip("'\"").strip("{}")
        return lambda obj: obj is not None and [str(one) for one in find(inner, obj)] == [expected]
    raise UnsupportedError(f"`kubectl wait --for={text}`")
