"""Check and evaluation of CEL expressions with the functions of Kyverno's policy kinds.

Codes: KV077 a file with several objects, KV078 a name of no object or of several.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from kyvsim.api.inputs import objects_of, payloads_of
from kyvsim.api.system import own_system
from kyvsim.cel import CelBudgetError, CelError, Program, compile_expression
from kyvsim.cel.environment import Environment, signature
from kyvsim.cel.kubernetes import kubernetes_environment
from kyvsim.cel.kyverno.authorization import MODES, authorization_environment
from kyvsim.cel.kyverno.encodings import readable_json
from kyvsim.cel.kyverno.environments import KINDS, kyverno_environment, ordered
from kyvsim.cel.values import type_name
from kyvsim.engine.context.cel_access import (
    constants,
    global_access,
    http_access,
    image_access,
    resource_access,
)
from kyvsim.engine.world import GivenObjects
from kyvsim.kubernetes.objects import object_key
from kyvsim.languages import cel_request
from kyvsim.languages.cel.kind import request_value
from kyvsim.load.files import Source
from kyvsim.load.resources import load_resources
from kyvsim.load.values import read_context_file
from kyvsim.model import ports
from kyvsim.model.diagnostic import Diagnostic, Severity, listed
from kyvsim.model.ports import ExternalData, System
from kyvsim.model.request import AdmissionRequest, Operation, PayloadMode
from kyvsim.model.source import Document, Location

_MUTATES = "MutatingAdmissionPolicy"
_NATIVE = ("ValidatingAdmissionPolicy", _MUTATES)
"""Kubernetes' own kinds, without Kyverno's libraries."""
REQUEST_KINDS = (PayloadMode.HTTP, PayloadMode.ENVOY)
"""The modes of ValidatingPolicies for requests, which have separate environments."""
EXPRESSION_KINDS = (
    *(name for kind in KINDS for name in (kind, f"Namespaced{kind}")),
    *_NATIVE,
    *(mode.value for mode in REQUEST_KINDS),
)


class CelInputs(NamedTuple):
    """The input of an expression; paths are as for `apply`."""

    kind: str = "ValidatingPolicy"
    resource: str = ""
    name: str = ""
    """The name of `object`, optionally with kind or namespace; "" for the first object."""
    context_file: str = ""
    namespace: str = "default"
    now: datetime | None = None


class CelSession(NamedTuple):
    """An environment and the values of its variables."""

    environment: Environment
    values: tuple[Any, ...]
    diagnostics: tuple[Diagnostic, ...]


class CelValue(NamedTuple):
    """The value of an expression."""

    type: str
    text: str


def open_cel(inputs: CelInputs, stdin: bytes | None = None) -> CelSession:
    """Return the environment of a policy kind with the input values."""
    system = own_system(inputs.now)
    env = _environment(inputs.kind, system)
    if inputs.kind in REQUEST_KINDS:
        mode = PayloadMode(inputs.kind)
        path: str | Source = inputs.resource
        if stdin is not None:
            path = Source("-.json", stdin.decode("utf-8", "replace"))
        given, remarks = payloads_of([(mode, path)] if path else ())
        context, further = read_context_file(inputs.context_file)
        cluster = GivenObjects(context.resources)
        values = {
            **MODES[mode].values,
            "object": MODES[mode].read(given[0].data if given else {}),
            "variables": {},
            "resource": resource_access((cluster,), "", []),
            "http": http_access(ExternalData(cluster), "", system.release),
        }
        return CelSession(env, tuple(ordered(env, values)), (*remarks, *further))
    documents, remarks = load_resources((inputs.resource,) if inputs.resource else (), stdin)
    chosen, choice = _chosen(documents, inputs.name)
    context, further = read_context_file(inputs.context_file)
    obj = chosen.data if chosen else None
    namespace = inputs.namespace if inputs.kind.startswith("Namespaced") else ""
    cluster = GivenObjects((*objects_of(documents), *context.resources))
    request = None if obj is None else AdmissionRequest(Operation.CREATE, obj)
    own = object_key(obj).namespace if obj is not None else ""
    namespace_object = cluster.get("v1", "Namespace", "", own) if own else None
    values = {
        **constants(),
        "object": obj,
        "oldObject": {},
        "namespaceObject": (
            None if namespace_object is None else {"spec": {}, "status": {}, **namespace_object}
        ),
        "request": request_value(request) if request else None,
        "variables": {},
        "exceptions": {"allowedImages": [], "allowedValues": []},
        "images": {},
        "attestors": {},
        "attestations": {},
        "resource": resource_access((cluster,), namespace, []),
        "image": image_access(context.images, []),
        "http": http_access(ExternalData(cluster), namespace, system.release),
        "globalContext": global_access(ExternalData(cluster), system, [], namespace),
    }
    if inputs.kind in _NATIVE:  # variables of the API server have other values than Kyverno's
        values["oldObject"] = None
        if request is not None:
            values["request"] = cel_request.request_value(request)
            values["namespaceObject"] = cel_request.namespace_object(request, ExternalData(cluster))
    return CelSession(env, tuple(ordered(env, values)), (*remarks, *choice, *further))


def _environment(kind: str, system: System) -> Environment:
    if kind in REQUEST_KINDS:
        return authorization_environment(MODES[PayloadMode(kind)], system.clock)
    if kind in _NATIVE:
        return kubernetes_environment(params=True, mutates=kind == _MUTATES)
    return kyverno_environment(kind, system.clock, system.entropy)


def _chosen(
    documents: tuple[Document, ...], name: str
) -> tuple[Document | None, tuple[Diagnostic, ...]]:
    """Return the value of `object`, and diagnostics about the choice."""
    matching = [document for document in documents if not name or name in _names(document.data)]
    first = matching[0] if matching else None
    if first and len(matching) == 1:
        return first, ()
    if first and not name:
        text = (
            f"`object` is {_names(first.data)[-1]}, the first of {len(documents)} objects: choose "
            f"another with --name ({listed(_names(document.data)[-1] for document in documents)})"
        )
        return first, (Diagnostic("KV077", Severity.WARNING, text, first.locate(())),)
    if not documents:
        return None, ()
    candidates = matching or documents
    number = "several objects are" if matching else "no object is"
    present = listed(_names(document.data)[-1] for document in candidates)
    text = f"{number} named `{name}`: there is {present}"
    return None, (Diagnostic("KV078", Severity.ERROR, text, Location(documents[0].file)),)


def _names(data: object) -> tuple[str, ...]:
    """Return the names that select an object; the full name is last."""
    key = object_key(data)
    short = (key.name, f"{key.kind}/{key.name}")
    if not key.namespace:
        return short
    place = f"{key.namespace}/{key.name}"
    return (*short, place, f"{key.kind}/{place}")


def compile_cel(text: str, session: CelSession) -> Program:
    """Return the program of an expression; raises CompileError."""
    return compile_expression(text, session.environment)


def evaluate_cel(program: Program, session: CelSession) -> CelValue:
    """Return the value of an expression; raises CelError with the reason if there is none."""
    try:
        value = program.evaluate(session.values)
    except (CelBudgetError, ports.BudgetError) as error:
        raise CelError(str(error)) from None
    return CelValue(type_name(value), readable_json(value))


def signatures(kind: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield every function of a policy kind with its signatures, by name."""
    functions = _environment(kind, own_system()).functions
    for name in sorted(functions, key=str.lower):
        if name[0].isalpha() and "@" not in name and not name.startswith("__"):
            spelled = dict.fromkeys(signature(name, one) for one in functions[name].overloads)
            yield name, tuple(spelled)


def variables(kind: str) -> Mapping[str, str]:
    """Return the variables of a policy kind, with their types."""
    env = _environment(kind, own_system())
    return {name: str(found) for name, found in env.variables}
