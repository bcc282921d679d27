"""Commands of kubectl that write objects, from `create` and `apply` to `label` and `scale`."""

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType

from kyvsim.chainsaw.environment import STDERR, STDOUT, Printed, Result, error_output, out
from kyvsim.chainsaw.errors import UnsupportedError
from kyvsim.chainsaw.kubectl.call import (
    KubectlCall,
    KubectlError,
    answer,
    chosen,
    from_files,
    named_keys,
    named_objects,
    shown_kind,
    shown_name,
    timed_out,
    together,
)
from kyvsim.chainsaw.kubectl.pods import restarted
from kyvsim.kubernetes.discovery import plural
from kyvsim.kubernetes.objects import (
    Json,
    KubernetesObject,
    ObjectKey,
    annotations,
    metadata,
    object_key,
)
from kyvsim.model.request import Operation
from kyvsim.patch.json_patch import apply_json_patch, merge_patch
from kyvsim.patch.nodes import PatchError
from kyvsim.patch.strategic_merge import apply_strategic_merge
from kyvsim.simulator.api_server import ApiRequest
from kyvsim.simulator.api_server.server import scale_request

# `kubectl apply` and `kubectl replace`: write the objects of files.
#
# Source of the rules: kubectl pkg/cmd/apply (apply.go, patcher.go).

_LAST = "kubectl.kubernetes.io/last-applied-configuration"


def apply(call: KubectlCall) -> Result:
    """Create each object, or patch it with the changes since it was last applied."""
    return together([_apply(call, name, obj) for name, obj in from_files(call)])


def replace(call: KubectlCall) -> Result:
    """Replace existing objects."""
    results = []
    for name, obj in from_files(call):
        done, about = f"{shown_name(object_key(obj))} replaced", f'error when replacing "{name}"'
        results.append(answer(call.client.update(obj), done, about))
    return together(results)


def _apply(call: KubectlCall, name: str, obj: KubernetesObject) -> Result:
    key = object_key(obj)
    mode = call.invocation.value("dry-run", "none")
    if mode not in {"none", "server"}:
        raise UnsupportedError(f"`kubectl apply --dry-run={mode}`")
    if call.invocation.is_set("server-side"):
        raise UnsupportedError("`kubectl apply --server-side`")
    dry_run, shown = mode == "server", shown_name(key)
    if not key.name:
        return answer(call.client.create(obj), f"{shown} created")
    noted = {**obj, "metadata": {"annotations": {}, **metadata(obj)}}
    text = json.dumps(noted, separators=(",", ":"), ensure_ascii=False, sort_keys=True)
    marks = {**annotations(obj), _LAST: f"{text}\n"}
    desired = {**obj, "metadata": {**metadata(obj), "annotations": marks}}
    now = call.client.get(*key)
    if now is None:
        response = call.client.create(desired, dry_run=dry_run)
        return answer(response, f"{shown} created", f'error when creating "{name}"')
    # Fields that were applied last and are no longer desired are removed; fields of others stay.
    last = annotations(now).get(_LAST)
    patch = _difference(now, desired, json.loads(last) if last else {})
    if not patch:
        return out(f"{shown} unchanged\n")
    changed = merge_patch(now, patch)
    request = ApiRequest(
        Operation.UPDATE, key, call.user, changed, dry_run=dry_run, patch="strategic"
    )
    text = json.dumps(patch, separators=(",", ":"), ensure_ascii=False, sort_keys=True)
    resource = plural(key.group, key.kind)
    about = (
        f'error when applying patch:\n{text}\nto:\nResource: "{key.api_version}, '
        f'Resource={resource}", GroupVersionKind: "{key.api_version}, Kind={key.kind}"\n'
        f'Name: "{key.name}", Namespace: "{key.namespace}"\nfor: "{name}": '
        f'error when patching "{name}"'
    )
    return answer(call.client.send(request), f"{shown} configured", about)


def _difference(
    now: Mapping[str, object], desired: Mapping[str, object], before: Mapping[str, object]
) -> dict[str, object]:
    changes: dict[str, object] = {}
    for name, value in desired.items():
        current = now.get(name)
        if value.__class__ is dict and current.__class__ is dict:
            earlier = before.get(name) if before.__class__ is dict else None
            inner = _difference(current, value, earlier if earlier.__class__ is dict else {})
            if inner:
                changes[name] = inner
        elif name not in now or current != value:
            changes[name] = value
    for name in before:
        if name not in desired and name in now:
            changes[name] = None
    return changes


_ALIASES = MappingProxyType(
    {"ns": "namespace", "cm": "configmap", "deploy": "deployment", "cj": "cronjob"}
    | {"sa": "serviceaccount"}
)
FLAGS = (
    *("clusterrole", "from-literal", "group", "image", "replicas"),
    *("restart", "role", "schedule", "serviceaccount", "user"),
)
_RBAC = "rbac.authorization.k8s.io"


def create(call: KubectlCall) -> Result:
    """Create the objects of files, or the object that arguments and flags describe."""
    if call.invocation.value("dry-run", "none") not in {"none", "server"}:
        raise UnsupportedError("`kubectl create --dry-run=client`")
    dry_run = call.invocation.value("dry-run") == "server"
    if "filename" in call.invocation.flags:
        results = [
            _send_new(call, obj, f'error when creating "{name}"', dry_run=dry_run)
            for name, obj in from_files(call)
        ]
        return together(results)
    words = call.invocation.words
    make = _MAKERS.get(_ALIASES.get(words[0], words[0])) if words else None
    if make is None or len(words) < 2:
        raise UnsupportedError(f"`kubectl create {' '.join(words)}`")
    obj = call.placed(make(call, words[-1]))
    about = f"failed to create {object_key(obj).kind.lower()}"
    return _send_new(call, obj, about, dry_run=dry_run)


def _send_new(call: KubectlCall, obj: KubernetesObject, about: str, *, dry_run: bool) -> Result:
    response = call.client.create(obj, dry_run=dry_run)
    done = f"{shown_name(object_key(response.object or obj))} created"
    if response.error is not None and response.error.reason == "AlreadyExists":
        about = about if about.startswith("error when") else ""
    return answer(response, done, about)


def _named(api_version: str, kind: str, name: str, **fields: object) -> KubernetesObject:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **fields}


def _config_map(call: KubectlCall, name: str) -> KubernetesObject:
    pairs = (one.partition("=") for one in call.invocation.flags.get("from-literal", ()))
    return _named("v1", "ConfigMap", name, data={key: value for key, _, value in pairs})


def _deployment(call: KubectlCall, name: str) -> KubernetesObject:
    labels = {"app": name}
    containers = [
        {"name": image.rpartition("/")[2].partition("@")[0].partition(":")[0], "image": image}
        for image in call.invocation.values("image")
    ]
    spec = {
        "replicas": call.whole_number("replicas", "1"),
        "selector": {"matchLabels": labels},
        "strategy": {},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
    }
    made = _named("apps/v1", "Deployment", name, spec=spec)
    return {**made, "metadata": {"name": name, "labels": labels}}


def _job_spec(call: KubectlCall, name: str, restart: str) -> dict[str, object]:
    container: dict[str, object] = {"name": name, "image": call.invocation.value("image")}
    if call.invocation.command:
        container["command"] = list(call.invocation.command)
    policy = call.invocation.value("restart", restart)
    return {"template": {"spec": {"containers": [container], "restartPolicy": policy}}}


def _cron_job(call: KubectlCall, name: str) -> KubernetesObject:
    schedule = call.invocation.value("schedule")
    if not schedule:
        raise KubectlError('error: required flag(s) "schedule" not set')
    template = {"metadata": {"name": name}, "spec": _job_spec(call, name, "OnFailure")}
    return _named("batch/v1", "CronJob", name, spec={"schedule": schedule, "jobTemplate": template})


def _binding(kind: str) -> Callable[[KubectlCall, str], KubernetesObject]:
    def make(call: KubectlCall, name: str) -> KubernetesObject:
        given = call.invocation
        role_kind = "ClusterRole" if given.value("clusterrole") else "Role"
        role = given.value("clusterrole") or given.value("role")
        subjects: list[dict[str, str]] = [
            {"kind": flag.capitalize(), "apiGroup": _RBAC, "name": one}
            for flag in ("user", "group")
            for one in given.values(flag)
        ]
        for one in given.values("serviceaccount"):
            namespace, _, account = one.partition(":")
            subjects.append({"kind": "ServiceAccount", "namespace": namespace, "name": account})
        reference = {"apiGroup": _RBAC, "kind": role_kind, "name": role}
        return _named(f"{_RBAC}/v1", kind, name, subjects=subjects, roleRef=reference)

    return make


_MAKERS: Mapping[str, Callable[[KubectlCall, str], KubernetesObject]] = {
    "clusterrolebinding": _binding("ClusterRoleBinding"),
    "configmap": _config_map,
    "cronjob": _cron_job,
    "deployment": _deployment,
    "job": lambda call, name: _named("batch/v1", "Job", name, spec=_job_spec(call, name, "Never")),
    "namespace": lambda _call, name: _named("v1", "Namespace", name),
    "rolebinding": _binding("RoleBinding"),
    "serviceaccount": lambda _call, name: _named("v1", "ServiceAccount", name),
}


def mark(call: KubectlCall, field: str, done: str) -> Result:
    """Set and remove labels or annotations."""
    words = call.invocation.words
    marks = [word for word in words if "=" in word or (word.endswith("-") and word != "-")]
    if not marks:
        raise KubectlError(f"error: at least one {field[:-1]} update is required")
    keys = named_keys(call, tuple(word for word in words if word not in marks))
    changes = {
        name if assigned else name[:-1]: value if assigned else None
        for name, assigned, value in (mark.partition("=") for mark in marks)
    }
    return together([_mark_one(call, key, field, done, changes) for key in keys])


def _mark_one(
    call: KubectlCall, key: ObjectKey, field: str, done: str, changes: Mapping[str, str | None]
) -> Result:
    now = call.get(key)
    if now is None:
        return call.not_found(key)
    before = metadata(now).get(field) or {}
    shown = shown_name(key)
    changed = {name: value for name, value in changes.items() if before.get(name) != value}
    taken = [name for name, value in changed.items() if value is not None and name in before]
    if taken and not call.invocation.is_set("overwrite"):
        name = taken[0]
        text = f"error: '{name}' already has a value ({before[name]}), and --overwrite is false\n"
        return error_output(text)
    if not changed:
        missing = [f'{field[:-1]} "{name}" not found.\n' for name in changes if name not in before]
        printed = [Printed(STDOUT, text) for text in missing]
        return Result(0, (*printed, Printed(STDOUT, f"{shown} not {done}\n")))
    response = call.client.merge(key, {"metadata": {field: changed}})
    removed = field == "labels" and all(value is None for value in changed.values())
    return answer(response, f"{shown} {'unlabeled' if removed else done}")


def run_patch(call: KubectlCall) -> Result:
    """Patch a single named object."""
    given = call.invocation
    named = named_objects(call, given.words)
    if len(named) != 1 or not named[0][1]:
        raise KubectlError("error: one resource name is required")
    key = call.key(*named[0])
    now = call.get(key)
    if now is None:
        return call.not_found(key)
    kind, text = given.value("type", "strategic"), given.value("patch")
    if "patch-file" in given.flags:
        text = call.environment.read(given.value("patch-file"), call.stdin) or ""
    objects, why = call.environment.session.files.parsed(text)
    if why or len(objects) != 1:
        raise KubectlError(f"error: unable to parse {text!r}: {why or 'no document'}")
    form, what = (list, "array") if kind == "json" else (dict, "object")
    if objects[0].__class__ is not form:
        raise KubectlError(f"error: unable to parse {text!r}: the patch must be an {what}")
    changed = patched(kind, now, objects[0])
    done = f"{shown_name(key)} patched"
    subresource = given.value("subresource")
    if changed == now and not subresource:
        return out(f"{done} (no change)\n")
    request = ApiRequest(Operation.UPDATE, key, call.user, changed, subresource, patch=kind)
    return answer(call.client.send(request), done)


def patched(kind: str, now: KubernetesObject, patch: Json) -> Json:
    """Return a patched object; raise KubectlError if the patch is invalid."""
    try:
        if kind == "json":
            return apply_json_patch(now, patch)
        if kind == "merge":
            return merge_patch(now, patch)
        if kind == "strategic":
            return apply_strategic_merge(patch, now, lambda _pattern: lambda _value: False)
    except PatchError as error:
        raise KubectlError(f"The request is invalid: {error.message}") from None
    raise UnsupportedError(f"`kubectl patch --type {kind}`")


def run_scale(call: KubectlCall) -> Result:
    """Scale the named objects."""
    replicas = call.whole_number("replicas", "-1")
    if replicas < 0:
        raise KubectlError("error: The --replicas=COUNT flag is required, and COUNT must be >= 0")
    named = named_objects(call, call.invocation.words)
    results = []
    for key in (call.key(*one) for one in named):
        now = call.get(key)
        if now is None:
            results.append(call.not_found(key))
            continue
        response = call.client.send(scale_request(now, replicas, call.user))
        results.append(answer(response, f"{shown_name(key)} scaled"))
    return together(results)


_PROPAGATION = MappingProxyType({"orphan": "Orphan", "foreground": "Foreground"})


_IMMEDIATE = (
    "Warning: Immediate deletion does not wait for confirmation that the running resource has been "
    "terminated. The resource may continue to run on the cluster indefinitely.\n"
)


def delete(call: KubectlCall) -> Result:
    """Delete the named objects, and wait for the deletion unless `--wait=false`."""
    own = restarted(call)
    if own is not None:
        return own
    given, grace_period = call.invocation, _grace_period(call)
    if "filename" in given.flags:
        keys = [object_key(obj) for _, obj in from_files(call)]
    else:
        keys = []
        for kind, name in named_objects(call, given.words):
            if name:
                keys.append(call.key(kind, name))
            elif given.is_set("all") or "selector" in given.flags:
                keys += [object_key(one) for one in chosen(call, kind)]
            else:
                return error_output("error: resource(s) were provided, but no name was specified\n")
    if not keys and "filename" not in given.flags:
        return out("No resources found\n")
    result = together([_delete(call, key, grace_period) for key in keys])
    warning = (Printed(STDERR, _IMMEDIATE),) if grace_period == 0 else ()
    return result._replace(printed=(*warning, *result.printed))


def _grace_period(call: KubectlCall) -> int | None:
    """Return the grace period that flags set; None if they set none.

    upstream: k8s.io/kubectl pkg/cmd/delete/delete.go
    """
    given = call.invocation
    force = given.is_set("force")
    seconds = call.whole_number("grace-period", "-1")
    if given.is_set("now"):
        if seconds != -1:
            raise KubectlError("error: --now and --grace-period cannot be specified together")
        seconds = 1
    if force and seconds > 0:
        text = "--force and --grace-period greater than 0 cannot be specified together"
        raise KubectlError(f"error: {text}")
    if force:
        return 0
    if seconds == 0:
        return 1  # as kubectl, to prevent losses without --force
    return seconds if seconds > 0 else None


def _delete(call: KubectlCall, key: ObjectKey, grace_period: int | None) -> Result:
    before = call.get(key)
    if before is None:
        if call.invocation.is_set("ignore-not-found"):
            return Result()
        return call.not_found(key)
    cascade = call.invocation.value("cascade", "background")
    propagation = _PROPAGATION.get(cascade, "Background")
    response = call.client.delete(key, propagation, grace_period)
    where = f" from {key.namespace} namespace" if key.namespace else ""
    deleted = "force deleted" if grace_period == 0 else "deleted"
    done = f'{shown_kind(key.api_version, key.kind)} "{key.name}" {deleted}{where}'
    result = answer(response, done)
    if response.error is not None or not call.invocation.is_set("wait", default=True):
        return result
    limit = call.seconds("timeout", "10m")
    if call.environment.session.wait_until_gone(call.client, key, before, limit):
        return result
    return Result(1, (*result.printed, timed_out(key)))
