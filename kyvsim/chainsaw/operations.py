"""The operations of steps; `OPERATIONS` lists them."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.chainsaw import unsupported
from kyvsim.chainsaw.environment import STDERR, STDOUT, Result, ShellEnvironment
from kyvsim.chainsaw.errors import FailedError, HardError, UnsupportedError, Usage
from kyvsim.chainsaw.expressions import Bindings, TreeMismatch, parse_expression
from kyvsim.chainsaw.kubectl.read import condition_of
from kyvsim.chainsaw.session import (
    POLL,
    REQUEST,
    AssertedObjects,
    Situation,
    failure_of,
    outputs,
    seconds_of,
    timeout_of,
)
from kyvsim.chainsaw.shell.interpreter import KilledError, Shell, parsed
from kyvsim.chainsaw.shell.parser import AndOr, LiteralPart, Pipeline, Script, Simple
from kyvsim.kubernetes.objects import (
    KubernetesObject,
    ObjectKey,
    contains_text,
    labels,
    metadata,
    object_key,
    replaced,
    text_field,
    value_at,
)
from kyvsim.model.chainsaw import ChainsawOperation, UnreachableError
from kyvsim.model.request import Operation as Verb
from kyvsim.model.simulation import FailureCause
from kyvsim.simulator.api_server import ApiRequest, ApiResponse, Client
from kyvsim.simulator.reports import EPHEMERAL


class Sent(NamedTuple):
    """The result of an attempt."""

    error: str | None
    object: KubernetesObject | None
    unexpected: bool = False
    """Whether it is an error independently of `expect`: nothing was sent."""
    invalid: bool = False
    """Whether the object is invalid for its kind."""


Send = Callable[[Situation, KubernetesObject, bool], Sent]
"""Sends an object once; the last argument is True for a dry run."""


def answered(response: ApiResponse, obj: KubernetesObject) -> Sent:
    """Return the result of an attempt from the server's response."""
    if response.error is None:
        return Sent(None, response.object)
    invalid = response.error.why is FailureCause.INVALID
    return Sent(response.error.message, obj, invalid=invalid)


def send_all(send: Send, situation: Situation, operation: ChainsawOperation) -> Bindings:
    """Send the objects of an operation one by one; return its outputs, or raise FailedError."""
    bindings: dict[str, object] = {}
    for written in written_objects(situation, operation):
        obj = require_usable(situation.templated(operation, written))
        placed, seconds = in_namespace(situation, obj), situation.session.test.grace_period
        ending = with_grace_period(placed, seconds)
        bindings.update(_send_one(situation, operation, ending, send, filled=obj != written))
    return bindings


def _send_one(
    situation: Situation,
    operation: ChainsawOperation,
    obj: KubernetesObject,
    send: Send,
    *,
    filled: bool,
) -> Bindings:
    dry_run = operation.spec.get("dryRun") is True
    problem: str | None = None
    sent = Sent(None, obj)

    def attempt() -> bool:
        nonlocal problem, sent
        sent = send(situation, obj, dry_run)
        problem = sent.error
        if not sent.unexpected:
            problem = failure_of(situation, operation, sent.object, sent.error)
        return problem is None

    situation.session.retry(attempt, timeout_of(situation, operation, situation.timeouts.apply))
    if problem is not None:
        if filled and sent.invalid:
            situation.require_explicit(operation)
        raise FailedError(problem)
    return outputs(situation.bind("error", sent.error), operation, sent.object)


def create(situation: Situation, obj: KubernetesObject, dry_run: bool) -> ApiResponse:
    """Create an object, and record it for the clean-up."""
    session = situation.session
    response = session.client.create(obj, dry_run=dry_run)
    if response.ok and not dry_run:
        session.created.append(object_key(obj if response.object is None else response.object))
    return response


def _create(situation: Situation, obj: KubernetesObject, dry_run: bool) -> Sent:
    key = object_key(obj)
    if key.name and situation.session.client.get(*key) is not None:
        return Sent("the resource already exists in the cluster", obj, unexpected=True)
    return answered(create(situation, obj, dry_run), obj)


def _apply(situation: Situation, obj: KubernetesObject, dry_run: bool) -> Sent:
    key = object_key(obj)
    if not key.name or situation.session.client.get(*key) is None:
        return answered(create(situation, obj, dry_run), obj)
    return _patch(situation, obj, dry_run)


def _patch(situation: Situation, obj: KubernetesObject, dry_run: bool) -> Sent:
    client = situation.session.client
    patch = _with_version(client, obj)
    return answered(client.merge(object_key(obj), patch, dry_run=dry_run), obj)


def _update(situation: Situation, obj: KubernetesObject, dry_run: bool) -> Sent:
    client = situation.session.client
    key = object_key(obj)
    request = ApiRequest(Verb.UPDATE, key, client.user, _with_version(client, obj), dry_run=dry_run)
    return answered(client.send(request), obj)


def _with_version(client: Client, obj: KubernetesObject) -> KubernetesObject:
    now = client.get(*object_key(obj))
    if now is None:
        return obj
    version = {"resourceVersion": metadata(now)["resourceVersion"]}
    return {**obj, "metadata": {**metadata(obj), **version}}


def run_delete(situation: Situation, operation: ChainsawOperation) -> Bindings:
    """Delete the selected objects; a missing object is not an error."""
    propagation = str(operation.spec.get("deletionPropagationPolicy") or situation.propagation)
    limit = timeout_of(situation, operation, situation.timeouts.delete)
    for key in referred(situation, operation):
        before = situation.session.client.get(*key)
        error = delete_one(situation, key, propagation, limit)
        problem = failure_of(situation, operation, before, error)
        if problem is not None:
            raise FailedError(problem)
    return {}


def delete_one(situation: Situation, key: ObjectKey, propagation: str, limit: float) -> str | None:
    """Delete an object and wait until it is deleted; return why that failed, or None."""
    session = situation.session
    before = session.client.get(*key)
    if before is None:
        return None
    response = session.client.delete(key, propagation)
    session.wait(REQUEST)
    if response.error is not None:
        return None if response.error.reason == "NotFound" else response.error.message
    if session.wait_until_gone(session.client, key, before, limit):
        return None
    return f"{key.kind} `{key.name}` still exists after {limit:g} s"


def run_sleep(situation: Situation, operation: ChainsawOperation) -> Bindings:
    """Advance virtual time."""
    situation.session.wait(seconds_of(situation.filled(operation.spec.get("duration"))))
    return {}


def run_wait(situation: Situation, operation: ChainsawOperation) -> Bindings:
    """Wait for all named objects; raise FailedError on timeout."""
    given = situation.filled(dict(operation.spec))
    met = condition_of(_condition(given.get("for") or {}))
    if given.get("selector"):
        raise UnsupportedError("`selector`")
    named = in_namespace(situation, _referenced(given, "name", "namespace"))
    limit = timeout_of(situation, operation, situation.timeouts.exec)
    if "deletion" not in (given.get("for") or {}) and not candidates(situation, named):
        raise FailedError("no matching resources found")

    def done() -> bool:
        objects = candidates(situation, named)
        return met(None) if not objects else all(met(one) for one in objects)

    if not situation.session.wait_until(done, limit):
        raise FailedError(f"timed out after {limit:g} s waiting for the condition")
    return {}


def _condition(condition: Mapping[str, Mapping[str, object]]) -> str:
    if "deletion" in condition:
        return "delete"
    if "condition" in condition:
        one = condition["condition"]
        return f"condition={one.get('name')}={one.get('value') or 'True'}"
    if "jsonPath" in condition:
        one = condition["jsonPath"]
        return f"jsonpath={one.get('path')}={one.get('value')}"
    raise UnsupportedError("a condition of another kind")


# Operations that only print something: `describe`, `events`, `get`, `podLogs`.
#
# Chainsaw calls kubectl for them, which fails for a named object that does not exist.

_POD = MappingProxyType({"apiVersion": "v1", "kind": "Pod"})


def show_object(situation: Situation, operation: ChainsawOperation) -> Bindings:
    """Print nothing; raise FailedError if the named object cannot exist even in a real cluster."""
    if not operation.spec.get("name"):
        return {}
    given = situation.filled(dict(operation.spec))
    named = in_namespace(situation, _referenced(given, "name", "namespace"))
    if candidates(situation, named) or unsupported.is_elsewhere(object_key(named)):
        return {}
    raise FailedError(f"{given['kind']} `{given['name']}` does not exist")


_IDENTITY = ("apiVersion", "kind")
_REFERENCE = ("name", "namespace", "labels")


def run_assert(situation: Situation, operation: ChainsawOperation) -> Bindings:
    """Wait until some object matches each tree; raise FailedError on timeout."""
    limit = timeout_of(situation, operation, situation.timeouts.check)
    until = situation.session.sim.clock.elapsed + limit
    for tree in _trees(situation, operation):
        _require_served(situation, tree)
        unmet = partial(_unmet, situation, tree)
        try:
            _wait(situation, limit, unmet)
        except HardError:
            raise
        except FailedError:
            _require_in_reach(situation, tree)
            raise
        some = [one for one in _candidates(situation, tree) if not situation.check(tree, one)]
        named = [(object_key(one), metadata(one).get("uid")) for one in some if one is not None]
        # Kyverno deletes an EphemeralReport soon; that it was created proves what a test asserts.
        if named and named[0][0][:2] not in EPHEMERAL:
            asserted = AssertedObjects(_name(tree), tuple(named), until, unmet)
            situation.session.asserted.append(asserted)
    return {}


def run_error(situation: Situation, operation: ChainsawOperation) -> Bindings:
    """Wait until no object matches a tree; raise FailedError if one does afterwards.

    Chainsaw polls a real cluster until no object matches, even if the object is not created yet.
    Here pending steps are run first, within the time limit, so that a test that passes here also
    passes there. An object that matches in between is a failure, even if it changes again.
    """
    limit = timeout_of(situation, operation, situation.timeouts.error)
    clock = situation.session.sim.clock
    for tree in _trees(situation, operation):
        fields = [key for key in tree if not parse_expression(str(key)).engine]
        if fields and not tree.get("kind"):
            text = f"`{fields[0]}` without an object: an object that must not exist needs `kind`"
            raise HardError(f"{text} and `apiVersion`")
        _require_served(situation, tree)
        end = clock.elapsed + limit
        came = _settle(situation, limit, partial(_met, situation, tree))
        _wait(situation, end - clock.elapsed, partial(_met, situation, tree))
        if came:
            raise FailedError(came)
        _require_in_reach(situation, tree)
    return {}


def _settle(situation: Situation, limit: float, why_not: Callable[[], str]) -> str:
    """Run pending steps; return which object matched only after them, "" if none did.

    States between the steps of a controller are ignored: chainsaw would not notice them.
    """
    sim = situation.session.sim
    came, known, revision = "", why_not(), sim.store.revision

    def check() -> None:
        nonlocal came, known, revision
        situation.session.require_bounded()
        if sim.store.revision != revision:
            now, revision = why_not(), sim.store.revision
            came = came or (now if not known else "")
            known = now

    sim.scheduler.settle(limit, follow_ups=True, after_step=check)
    return came


def _require_served(situation: Situation, tree: KubernetesObject) -> None:
    """Raise HardError for a kind that the cluster does not serve: chainsaw cannot request it."""
    key = object_key(tree)
    store = situation.session.sim.store
    if key.kind and not unsupported.is_served(key, store):
        unsupported.require_release(key, store)
        unsupported.require_written(key, store)
        raise HardError(f'no matches for kind "{key.kind}" in version "{key.api_version}"')


def _require_in_reach(situation: Situation, tree: KubernetesObject) -> None:
    """Raise UnsupportedError if the result would be different in a real cluster."""
    if tree.get("kind"):
        unsupported.require_written(object_key(tree), situation.session.sim.store)
    for one in _candidates(situation, tree):
        if one is not None:
            problems = situation.check(tree, one)
            unsupported.require_filled_in(one, problems)
            unsupported.require_installed_so(tree, one, problems)


def _trees(situation: Situation, operation: ChainsawOperation) -> list[KubernetesObject]:
    """Return the trees, with the expressions in their identity evaluated.

    upstream: chainsaw pkg/engine/templating/resource_ref.go, which evaluates those in apiVersion,
    kind, name, namespace and labels before it selects objects.
    """

    def filled(data: KubernetesObject, names: tuple[str, ...]) -> dict[str, object]:
        return {
            name: situation.templated(operation, value) if name in names else value
            for name, value in data.items()
        }

    found: list[KubernetesObject] = []
    for tree in written_objects(situation, operation):
        about = metadata(tree)
        if not about and not tree.get("kind"):
            found.append(tree)
            continue
        whole = filled(tree, _IDENTITY)
        if about:
            whole["metadata"] = filled(about, _REFERENCE)
        found.append(in_namespace(situation, require_usable(whole)))
    return found


def _wait(situation: Situation, limit: float, why_not: Callable[[], str]) -> None:
    """Wait until `why_not` returns ""; raise FailedError with its last reason."""
    reason = ""

    def done() -> bool:
        nonlocal reason
        reason = why_not()
        return not reason

    situation.session.wait(POLL)
    if not situation.session.wait_until(done, max(limit - POLL, 0.0)):
        raise FailedError(reason)


def _unmet(situation: Situation, tree: KubernetesObject) -> str:
    """Return why no object matches a tree, "" if one does."""
    some = _candidates(situation, tree)
    if not some:
        return f"{_name(tree)}: actual resource not found"
    problems: tuple[TreeMismatch, ...] = ()
    for one in some:
        mismatches = situation.check(tree, one)
        if not mismatches:
            return ""
        problems = problems or mismatches
    others = f" (and {len(some) - 1} others)" if len(some) > 1 else ""
    return f"{_name(tree)}{others}: {'; '.join(map(str, problems))}"


def _met(situation: Situation, tree: KubernetesObject) -> str:
    """Return the message that an object matches a tree, "" if none does."""
    for one in _candidates(situation, tree):
        if not situation.check(tree, one):
            return f"{_name(one or tree)}: the resource matches, but should not"
    return ""


def _candidates(situation: Situation, tree: KubernetesObject) -> list[KubernetesObject | None]:
    return [*candidates(situation, tree)] if tree.get("kind") else [None]


def _name(obj: KubernetesObject) -> str:
    api_version, kind, namespace, name = object_key(obj)
    return "/".join(filter(None, (api_version, kind, namespace, name or "*")))


_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")


def run_script(situation: Situation, operation: ChainsawOperation) -> Bindings:
    """Run a shell script; raise UnsupportedError if it needs an unsupported feature."""
    if operation.spec.get("shell") or operation.spec.get("shellArgs"):
        raise UnsupportedError("a shell other than sh")
    return _executed(situation, operation, parsed(text_field(operation.spec, "content")))


def run_command(situation: Situation, operation: ChainsawOperation) -> Bindings:
    """Run a program with arguments, after expanding variables."""
    variables = _variables(situation, operation)
    words = [text_field(operation.spec, "entrypoint"), *(operation.spec.get("args") or ())]
    usage = situation.session.usage
    filled = [_filled(str(situation.filled(word)), variables, usage) for word in words]
    command = Simple((), tuple((LiteralPart(word, quoted=True),) for word in filled), ())
    script = (AndOr(Pipeline((command,), negated=False), ()),)
    return _executed(situation, operation, script)


def _executed(situation: Situation, operation: ChainsawOperation, script: Script) -> Bindings:
    """Run a script; return its outputs, or raise FailedError by `check` or the exit status.

    A script that exceeds its timeout is killed, and fails.
    """
    clock = situation.session.sim.clock
    end = clock.elapsed + timeout_of(situation, operation, situation.timeouts.exec)
    if operation.spec.get("workDir"):
        raise UnsupportedError("`workDir`")
    shell = Shell(ShellEnvironment(situation.session), _variables(situation, operation), end)
    try:
        result = shell.run(script)
        error = f"exit status {result.status}" if result.status else None
    except KilledError:
        result, error = Result(printed=tuple(shell.printed)), "signal: killed"
    bound = situation.bind("error", error)
    readers = [operation.spec.get("check"), operation.spec.get("outputs")]
    for name, stream in (("stdout", STDOUT), ("stderr", STDERR)):
        read = contains_text(readers, f"${name}")
        bound = bound.bind(name, result.text(stream) if read else result.known_text(stream))
    if operation.spec.get("check") is not None:
        problems = bound.check(operation.spec["check"], None)
        if problems:
            raise FailedError("; ".join(map(str, problems)))
    elif error is not None:
        output = result.known_text(STDERR).strip() or result.known_text(STDOUT).strip()
        raise FailedError(f"{error}: {output}" if output else error)
    return outputs(bound, operation, None)


def _variables(situation: Situation, operation: ChainsawOperation) -> dict[str, str]:
    variables = {"NAMESPACE": situation.session.namespace}
    for one in operation.spec.get("env") or ():
        variables[str(one.get("name"))] = str(situation.filled(one.get("value")))
    return variables


def _filled(text: str, variables: Mapping[str, str], usage: Usage) -> str:
    def value(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        if name not in variables:
            raise UnsupportedError(f"the variable `${name}`, which the test does not set")
        usage.text(len(variables[name]))
        return variables[name]

    return _VARIABLE.sub(value, text)


# `forceTerminationGracePeriod`: the terminationGracePeriodSeconds of the Pods of a test.
#
# Source of the kinds: chainsaw's documentation, "Termination grace period".

_TEMPLATE = ("spec", "template", "spec")
_PLACES: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("v1", "Pod"): ("spec",),
    **{("apps/v1", one): _TEMPLATE for one in ("Deployment", "StatefulSet", "DaemonSet")},
    ("batch/v1", "Job"): _TEMPLATE,
    ("batch/v1", "CronJob"): ("spec", "jobTemplate", *_TEMPLATE),
}
"""The path of the Pod specification, by apiVersion and kind."""


def with_grace_period(obj: KubernetesObject, seconds: float | None) -> KubernetesObject:
    """Return an object with a grace period for its Pods; None and 0 do not change it."""
    key = object_key(obj)
    path = _PLACES.get((key.api_version, key.kind))
    if path is None or not seconds:
        return obj
    spec = value_at(obj, path)
    if isinstance(spec, dict):
        obj = replaced(obj, path, {**spec, "terminationGracePeriodSeconds": int(seconds)})
    return obj


_REACH = "run `kyvsim chainsaw` on a folder that contains the test and its files"


def require_usable(obj: KubernetesObject) -> KubernetesObject:
    """Return an evaluated object, after checking the types of its identity.

    Raises HardError for a wrong type, and UnsupportedError for a kind that is not simulated.
    """
    about = obj.get("metadata")
    if about is not None and about.__class__ is not dict:
        raise HardError("`metadata` must be a mapping")
    holders = ((obj, ("apiVersion", "kind")), (about or {}, ("name", "generateName", "namespace")))
    for holder, names in holders:
        for name in names:
            value = holder.get(name)
            if value is not None and value.__class__ is not str:
                raise HardError(f"`{name}` must be a string, not `{json.dumps(value)}`")
    marks = (about or {}).get("labels")
    if marks is not None and marks.__class__ is not dict:
        raise HardError("`labels` must be a mapping")
    unsupported.require_simulated(object_key(obj))
    return obj


def written_objects(
    situation: Situation, operation: ChainsawOperation
) -> Sequence[KubernetesObject]:
    """Return the objects of `resource` or `file` without evaluating expressions."""
    found: list[object] = []
    if operation.spec.get("resource") is not None:
        found.append(operation.spec["resource"])
    else:
        name = str(situation.filled(text_field(operation.spec, "file")))
        try:
            documents, why = situation.session.files.of_operation(name)
        except UnreachableError as error:
            raise HardError(f"`{name}`: {error}; {_REACH}") from None
        if why:
            raise HardError(why)
        for document in documents:
            # Every document with a list `items` is a list, whatever its kind.
            items = document.get("items") if isinstance(document, dict) else None
            found += items if isinstance(items, list) else [document]
        if not found:
            raise HardError(f"`{name}` contains no object")
    objects = [one for one in found if isinstance(one, dict)]
    if len(objects) < len(found):
        raise HardError("an object must be a mapping")
    return objects


def in_namespace(situation: Situation, obj: KubernetesObject) -> KubernetesObject:
    """Return an object of a namespaced kind in the test's namespace, unless it has another."""
    return situation.session.placed(obj, situation.session.namespace)


def candidates(situation: Situation, obj: KubernetesObject) -> list[KubernetesObject]:
    """Return the stored objects that a name, or a namespace and labels, select."""
    key = object_key(obj)
    client = situation.session.client
    if key.name:
        live = client.get(*key)
        return [] if live is None else [live]
    required = labels(obj).items()
    objects = client.list(key.api_version, key.kind, key.namespace)
    return [one for one in objects if required <= labels(one).items()]


def _referenced(given: KubernetesObject, *fields: str) -> KubernetesObject:
    """Return an object with the apiVersion, kind and some fields of `metadata` of a reference."""
    meta = {name: given[name] for name in fields if given.get(name)}
    return {"apiVersion": given.get("apiVersion"), "kind": given.get("kind"), "metadata": meta}


def referred(situation: Situation, operation: ChainsawOperation) -> list[ObjectKey]:
    """Return the keys of the stored objects that `ref` or `file` selects."""
    if operation.spec.get("ref") is None:
        named = [
            require_usable(in_namespace(situation, situation.templated(operation, obj)))
            for obj in written_objects(situation, operation)
        ]
    else:
        ref = situation.filled(operation.spec["ref"])
        if any(one.__class__ is not str for one in (ref.get("labels") or {}).values()):
            raise HardError("`labels` must be strings")
        named = [in_namespace(situation, require_usable(_referenced(ref, *_REFERENCE)))]
    for obj in named:
        unsupported.require_written(object_key(obj), situation.session.sim.store)
        _require_served(situation, obj)
    return [object_key(one) for obj in named for one in candidates(situation, obj)]


TestOperation = Callable[[Situation, ChainsawOperation], Bindings]
"""Runs an operation and returns its bindings; raises FailedError or UnsupportedError."""

OPERATIONS: Mapping[str, TestOperation] = {
    "apply": partial(send_all, _apply),
    "create": partial(send_all, _create),
    "update": partial(send_all, _update),
    "patch": partial(send_all, _patch),
    "delete": run_delete,
    "assert": run_assert,
    "error": run_error,
    "sleep": run_sleep,
    "wait": run_wait,
    "script": run_script,
    "command": run_command,
    "describe": show_object,
    "get": show_object,
    "podLogs": lambda situation, operation: show_object(
        situation, operation._replace(spec={**operation.spec, **_POD})
    ),
    # Printed output has no effect on the result of a test.
    "events": lambda _situation, _spec: {},
}
