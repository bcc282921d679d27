"""`kubectl apply` and `kubectl replace`: files as they should be in the cluster.

Source of the rules: kubectl pkg/cmd/apply (apply.go, patcher.go).
"""

import json

from kyvsim.chainsaw.ending import UnsupportedError
from kyvsim.chainsaw.kubectl.call import Call, answer, together
from kyvsim.chainsaw.kubectl.files import from_files
from kyvsim.chainsaw.kubectl.kinds import shown_kind
from kyvsim.chainsaw.streams import STDOUT, Printed, Result
from kyvsim.kubernetes.discovery import plural, split_api_version
from kyvsim.kubernetes.objects import Json, annotations, metadata, object_key
from kyvsim.model.request import Operation
from kyvsim.patch.json_patch import merge_patch
from kyvsim.simulator.api_server import ApiRequest

_LAST = "kubectl.kubernetes.io/last-applied-configuration"


def run(call: Call) -> Result:
    """Create each object, or change it by what differs from when it was last applied."""
    return together([_apply(call, name, obj) for name, obj in from_files(call)])


def replace(call: Call) -> Result:
    """Put each object in the place of the one that is there."""
    results = []
    for name, obj in from_files(call):
        about = f'error when replacing "{name}"'
        results.append(answer(call.client.update(obj), f"{_shown(obj)} replaced", about))
    return together(results)


def _apply(call: Call, name: str, obj: Json) -> Result:
    key = object_key(obj)
    dry_run = _dry_run(call)
    if not key.name:
        return answer(call.client.create(obj), f"{_shown(obj)} created")
    wanted = _with_last(obj)
    now = call.client.get(*key)
    if now is None:
        about = f'error when creating "{name}"'
        response = call.client.create(wanted, dry_run=dry_run)
        return answer(response, f"{_shown(obj)} created", about)
    patch = _patch(now, wanted)
    if not patch:
        return Result(0, (Printed(STDOUT, f"{_shown(obj)} unchanged\n"),))
    request = ApiRequest(
        operation=Operation.UPDATE,
        key=key,
        user=call.user,
        object=merge_patch(now, patch),
        subresource="",
        dry_run=dry_run,
        patch="strategic",
    )
    response = call.client.send(request)
    return answer(response, f"{_shown(obj)} configured", _about_patch(name, obj, patch))


def _dry_run(call: Call) -> bool:
    mode = call.invocation.value("dry-run", "none")
    if mode not in {"none", "server"}:
        raise UnsupportedError(f"`kubectl apply --dry-run={mode}`")
    if call.invocation.holds("server-side"):
        raise UnsupportedError("`kubectl apply --server-side`")
    return mode == "server"


def _about_patch(name: str, obj: Json, patch: Json) -> str:
    key = object_key(obj)
    group = split_api_version(key.api_version)[0]
    text = json.dumps(patch, separators=(",", ":"), ensure_ascii=False, sort_keys=True)
    resource = f"{key.api_version}, Resource={plural(group, key.kind)}"
    return (
        f"error when applying patch:\n{text}\nto:\n"
        f'Resource: "{resource}", GroupVersionKind: "{key.api_version}, Kind={key.kind}"\n'
        f'Name: "{key.name}", Namespace: "{key.namespace}"\nfor: "{name}": '
        f'error when patching "{name}"'
    )


def _with_last(obj: Json) -> Json:
    """Return an object with what is applied now noted in it."""
    noted = {**obj, "metadata": {"annotations": {}, **metadata(obj)}}
    text = json.dumps(noted, separators=(",", ":"), ensure_ascii=False, sort_keys=True)
    marks = {**annotations(obj), _LAST: f"{text}\n"}
    return {**obj, "metadata": {**metadata(obj), "annotations": marks}}


def _patch(now: Json, wanted: Json) -> Json:
    """Return the merge patch from what is there to what is wanted.

    What was applied last and is not wanted any more goes; what others added stays.
    """
    noted = annotations(now).get(_LAST)
    before = json.loads(noted) if noted else {}
    return _difference(now, wanted, before)


def _difference(now: Json, wanted: Json, before: Json) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for name, value in wanted.items():
        there = now.get(name)
        if value.__class__ is dict and there.__class__ is dict:
            earlier = before.get(name) if before.__class__ is dict else None
            inner = _difference(there, value, earlier if earlier.__class__ is dict else {})
            if inner:
                found[name] = inner
        elif name not in now or there != value:
            found[name] = value
    for name in before:
        if name not in wanted and name in now:
            found[name] = None
    return found


def _shown(obj: Json) -> str:
    key = object_key(obj)
    return f"{shown_kind(key.api_version, key.kind)}/{key.name}"
