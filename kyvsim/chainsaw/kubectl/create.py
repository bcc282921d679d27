"""`kubectl create`: objects of files, or of a few kinds from flags."""

from collections.abc import Callable
from types import MappingProxyType

from kyvsim.chainsaw.ending import UnsupportedError
from kyvsim.chainsaw.kubectl.call import Call, KubectlError, answer, together
from kyvsim.chainsaw.kubectl.files import from_files
from kyvsim.chainsaw.kubectl.kinds import shown_kind
from kyvsim.chainsaw.streams import Result
from kyvsim.kubernetes.objects import Json, object_key

_ALIASES = MappingProxyType(
    {"ns": "namespace", "cm": "configmap", "deploy": "deployment", "cj": "cronjob"}
    | {"sa": "serviceaccount"}
)
FLAGS = (
    *("clusterrole", "from-literal", "group", "image", "replicas"),
    *("restart", "role", "schedule", "serviceaccount", "user"),
)
"""The flags that objects are made from."""
_RBAC = "rbac.authorization.k8s.io"


def run(call: Call) -> Result:
    """Create the objects of files, or the one that words and flags describe."""
    if call.invocation.value("dry-run", "none") not in {"none", "server"}:
        raise UnsupportedError("`kubectl create --dry-run=client`")
    dry_run = call.invocation.value("dry-run") == "server"
    if "filename" in call.invocation.flags:
        results = [
            _send(call, obj, f'error when creating "{name}"', dry_run=dry_run)
            for name, obj in from_files(call)
        ]
        return together(results)
    words = call.invocation.words
    make = _MAKERS.get(_ALIASES.get(words[0], words[0])) if words else None
    if make is None or len(words) < 2:
        raise UnsupportedError(f"`kubectl create {' '.join(words)}`")
    obj = call.placed(make(call, words[-1]))
    about = f"failed to create {object_key(obj).kind.lower()}"
    return _send(call, obj, about, dry_run=dry_run)


def _send(call: Call, obj: Json, about: str, *, dry_run: bool) -> Result:
    response = call.client.create(obj, dry_run=dry_run)
    key = object_key(response.object or obj)
    done = f"{shown_kind(key.api_version, key.kind)}/{key.name} created"
    if response.error is not None and response.error.reason == "AlreadyExists":
        about = about if about.startswith("error when") else ""
    return answer(response, done, about)


def _named(api_version: str, kind: str, name: str, **fields: Json) -> Json:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **fields}


def _namespace(call: Call, name: str) -> Json:
    del call
    return _named("v1", "Namespace", name)


def _service_account(call: Call, name: str) -> Json:
    del call
    return _named("v1", "ServiceAccount", name)


def _config_map(call: Call, name: str) -> Json:
    pairs = (one.partition("=") for one in call.invocation.flags.get("from-literal", ()))
    return _named("v1", "ConfigMap", name, data={key: value for key, _, value in pairs})


def _deployment(call: Call, name: str) -> Json:
    labels = {"app": name}
    images = call.invocation.values("image")
    containers = [{"name": _container(image), "image": image} for image in images]
    spec = {
        "replicas": call.whole_number("replicas", "1"),
        "selector": {"matchLabels": labels},
        "strategy": {},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
    }
    made = _named("apps/v1", "Deployment", name, spec=spec)
    return {**made, "metadata": {"name": name, "labels": labels}}


def _container(image: str) -> str:
    return image.rpartition("/")[2].partition("@")[0].partition(":")[0]


def _job_spec(call: Call, name: str) -> Json:
    container: dict[str, Json] = {"name": name, "image": call.invocation.value("image")}
    if call.invocation.command:
        container["command"] = list(call.invocation.command)
    restart = call.invocation.value("restart", "OnFailure")
    return {"template": {"spec": {"containers": [container], "restartPolicy": restart}}}


def _job(call: Call, name: str) -> Json:
    made = _job_spec(call, name)
    pod = {**made["template"]["spec"], "restartPolicy": call.invocation.value("restart", "Never")}
    return _named("batch/v1", "Job", name, spec={"template": {"spec": pod}})


def _cron_job(call: Call, name: str) -> Json:
    schedule = call.invocation.value("schedule")
    if not schedule:
        raise KubectlError('error: required flag(s) "schedule" not set')
    template = {"metadata": {"name": name}, "spec": _job_spec(call, name)}
    return _named("batch/v1", "CronJob", name, spec={"schedule": schedule, "jobTemplate": template})


def _binding(kind: str) -> Callable[[Call, str], Json]:
    def make(call: Call, name: str) -> Json:
        given = call.invocation
        role_kind = "ClusterRole" if given.value("clusterrole") else "Role"
        role = given.value("clusterrole") or given.value("role")
        subjects: list[Json] = [
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


_MAKERS = MappingProxyType(
    {
        "clusterrolebinding": _binding("ClusterRoleBinding"),
        "configmap": _config_map,
        "cronjob": _cron_job,
        "deployment": _deployment,
        "job": _job,
        "namespace": _namespace,
        "rolebinding": _binding("RoleBinding"),
        "serviceaccount": _service_account,
    }
)
"""What can be made from flags."""
