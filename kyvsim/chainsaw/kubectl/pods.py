"""kubectl commands for Pods: `run`, `exec`, `debug`, `evict`, `rollout`; Kyverno's own Pods."""

from collections.abc import Callable
from dataclasses import replace

from kyvsim.chainsaw.environment import STDERR, STDOUT, Printed, Result, error_output, out
from kyvsim.chainsaw.errors import UnsupportedError
from kyvsim.chainsaw.kubectl.call import (
    KubectlCall,
    KubectlError,
    NamedKind,
    answer,
    named_keys,
    named_objects,
    shown_name,
    together,
)
from kyvsim.kubernetes.objects import ObjectKey, metadata
from kyvsim.model.request import Operation
from kyvsim.simulator.api_server import ApiRequest, ApiResponse
from kyvsim.simulator.api_server.server import eviction_request, exec_request
from kyvsim.simulator.cluster import RESTARTS
from kyvsim.simulator.configuration import NAMESPACE
from kyvsim.simulator.context import RESTART
from kyvsim.simulator.kyverno import Kyverno
from kyvsim.simulator.own_pods import COMPONENT

# Pods of Kyverno's controllers, for which only a restart is simulated.
#
# They are selected by a label of Kyverno's chart.


def restarted(call: KubectlCall) -> Result | None:
    """Restart the controller whose Pods are to be deleted; return None for other Pods."""
    restart = _meant(call)
    if restart is None:
        return None
    restart(call.environment.session.kyverno)
    return _answer(call, f" deleted from {NAMESPACE} namespace")


def awaited(call: KubectlCall) -> Result | None:
    """Wait until a controller's Pods are ready; return None for other Pods and conditions."""
    if _meant(call) is None or call.invocation.value("for").lower() != "condition=ready":
        return None
    call.environment.session.wait_until(lambda: False, RESTART)
    return _answer(call, " condition met")


def _meant(call: KubectlCall) -> Callable[[Kyverno], None] | None:
    """Return the function that restarts the controller whose Pods are selected, or None."""
    given = call.invocation
    selectors = given.values("selector")
    if call.namespace != NAMESPACE or len(selectors) != 1 or "filename" in given.flags:
        return None
    key, _, component = selectors[0].replace("==", "=").partition("=")
    named = named_objects(call, given.words)
    if key != COMPONENT or [(kind.kind, name) for kind, name in named] != [("Pod", "")]:
        return None
    return RESTARTS.get(component)


def _answer(call: KubectlCall, done: str) -> Result:
    component = call.invocation.values("selector")[0].rpartition("=")[2]
    return out(f'pod "kyverno-{component}"{done}\n')


def rollout(call: KubectlCall) -> Result:
    """Restart Deployments, or wait until they have been rolled out.

    Of Kyverno's own Deployments, only restarts of controllers are simulated.
    """
    action, *words = call.invocation.words or ("",)
    if action not in {"restart", "status"}:
        raise UnsupportedError(f"`kubectl rollout {action}`")
    restarts = action == "restart"
    return together([_rollout(call, key, restarts=restarts) for key in named_keys(call, (*words,))])


def _rollout(call: KubectlCall, key: ObjectKey, *, restarts: bool) -> Result:
    session = call.environment.session
    component = key.name.removeprefix("kyverno-")
    own = key.kind == "Deployment" and key.namespace == NAMESPACE and component in RESTARTS
    if key.kind != "Deployment":
        raise UnsupportedError(f"`kubectl rollout` of a {key.kind}")
    if not own and call.get(key) is None:
        return call.not_found(key)
    done = f'deployment "{key.name}" successfully rolled out'
    if restarts:
        done = f"{shown_name(key)} restarted"
        if own:
            RESTARTS[component](session.kyverno)
            return out(f"{done}\n")
        stamp = {_RESTARTED: session.sim.clock.stamp()}
        template = {"spec": {"template": {"metadata": {"annotations": stamp}}}}
        return answer(call.client.merge(key, template), done)
    if own:
        session.wait(RESTART)
        return out(f"{done}\n")
    if session.wait_until(lambda: _rolled_out(call, key), call.seconds("timeout", "24h")):
        return out(f"{done}\n")
    return error_output("error: timed out waiting for the condition\n")


def _rolled_out(call: KubectlCall, key: ObjectKey) -> bool:
    deployment = call.client.get(*key) or {}
    status, spec = deployment.get("status") or {}, deployment.get("spec") or {}
    numbers = {status.get(name, 0) for name in ("replicas", "updatedReplicas", "availableReplicas")}
    seen = status.get("observedGeneration") == metadata(deployment).get("generation")
    return seen and numbers == {spec.get("replicas", 1)}


_RESTARTED = "kubectl.kubernetes.io/restartedAt"
_TARGETED = (
    'Targeting container "{}". If you don\'t see processes from this container it may be because '
    "the container runtime doesn't support this feature."
)
_HARMLESS = frozenset((name,) for name in ("date", "env", "id", "ls", "pwd", "true", "whoami"))
"""Commands that succeed in every container that has these programs."""
_POD = NamedKind("v1", "Pod")


def run(call: KubectlCall) -> Result:
    """Create a Pod with one container."""
    given = call.invocation
    if len(given.words) != 1 or not given.value("image"):
        raise KubectlError('error: required flag(s) "image" not set')
    name = given.words[0]
    container: dict[str, object] = {"name": name, "image": given.value("image"), "resources": {}}
    words = list(given.command)
    if words:
        container["command" if given.is_set("command") else "args"] = words
    pairs = [one.partition("=") for one in given.values("labels") or [f"run={name}"]]
    meta = {"name": name, "labels": {key: value for key, _, value in pairs}}
    spec = {"containers": [container], "dnsPolicy": "ClusterFirst"}
    spec["restartPolicy"] = given.value("restart", "Always")
    obj = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
    mode = given.value("dry-run", "none")
    if mode not in {"none", "server"}:
        raise UnsupportedError(f"`kubectl run --dry-run={mode}`")
    response = call.client.create(call.placed(obj), dry_run=mode == "server")
    _require_detached(call, response)
    return answer(response, f"pod/{name} created")


def execute(call: KubectlCall) -> Result:
    """Send the request to run a command in a Pod.

    No container runs here, so the output of a command is unknown, and its exit status, too, unless
    it succeeds wherever the program exists. Otherwise raises UnsupportedError.
    """
    words = call.invocation.words
    if not words:
        raise KubectlError("error: pod, type/name or --filename must be specified")
    key = call.key(_POD, words[0].removeprefix("pod/").removeprefix("pods/"))
    command = call.invocation.command or words[1:]
    if not command:
        raise KubectlError("error: you must specify at least one command for the container")
    if call.get(key) is None:
        return call.not_found(key)
    container = call.invocation.value("container")
    response = call.client.send(exec_request(key, call.user, tuple(command), container))
    if response.error is not None:
        return answer(response, "")
    if tuple(command) not in _HARMLESS:
        shown = " ".join(command)
        raise UnsupportedError(f"`kubectl exec … -- {shown}`: containers are not simulated")
    unknown = f"`kubectl exec … -- {command[0]}`: containers are not simulated"
    return Result(0, (Printed(STDOUT, "", unknown), Printed(STDERR, "", unknown)))


def debug(call: KubectlCall) -> Result:
    """Add an ephemeral container to a Pod."""
    given = call.invocation
    if len(given.words) != 1 or not given.value("image"):
        raise UnsupportedError("`kubectl debug` of anything other than one Pod")
    key = call.key(_POD, given.words[0].removeprefix("pod/").removeprefix("pods/"))
    pod = call.get(key)
    if pod is None:
        return call.not_found(key)
    identities = call.environment.session.sim.identities
    name = given.value("container") or f"debugger-{identities.generated_name('')}"
    added = {
        "name": name,
        "image": given.value("image"),
        "imagePullPolicy": "IfNotPresent",
        "resources": {},
        "terminationMessagePolicy": "File",
    }
    notes = []
    target = given.value("target")
    if target:
        added["targetContainerName"] = target
        notes.append(_TARGETED.format(target))
    before = pod["spec"].get("ephemeralContainers") or []
    spec = {**pod["spec"], "ephemeralContainers": [*before, added]}
    request = ApiRequest(
        Operation.UPDATE, key, call.user, {**pod, "spec": spec}, "ephemeralcontainers"
    )
    response = call.client.send(replace(request, patch="strategic"))
    _require_detached(call, response)
    if not given.value("container"):
        notes.append(f"Defaulting debug container name to {name}.")
    return answer(response, "\n".join(notes))


def _require_detached(call: KubectlCall, response: ApiResponse) -> None:
    """Raise UnsupportedError if kubectl would attach to a container, which is not simulated."""
    given = call.invocation
    if response.error is None and (given.is_set("stdin") or given.is_set("tty")):
        raise UnsupportedError("attaching `kubectl` to a container: containers are not simulated")


def evict(call: KubectlCall) -> Result:
    """Evict a Pod, as the kubectl plugin `evict` does."""
    if len(call.invocation.words) != 1:
        raise KubectlError("error: a Pod is required")
    key = call.key(_POD, call.invocation.words[0].removeprefix("pod/"))
    if call.get(key) is None:
        return call.not_found(key)
    return answer(call.client.send(eviction_request(key, call.user)), f"pod/{key.name} evicted")
