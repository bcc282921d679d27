"""What Kubernetes' admission policies say of objects that are there.

Of several bindings that match the last one counts; parameters that a selector takes are one list.
A policy that would change an object has not been applied to it.

Source of the rules: upstream pkg/admissionpolicy (validate.go, mutate.go, utils.go
`CollectParams`).
"""

from collections.abc import Iterator, Sequence

from kyvsim.engine.compile import Turn
from kyvsim.engine.context.cluster_api import allows
from kyvsim.engine.match import match_facts
from kyvsim.engine.policy import open_request, run_turn
from kyvsim.engine.world import World
from kyvsim.kubernetes.discovery import plural, split_api_version
from kyvsim.kubernetes.objects import Json, ObjectKey, object_key, text_field
from kyvsim.languages.constraints import compile_constraints
from kyvsim.languages.native import LANGUAGE
from kyvsim.languages.native.compile import compile_invocation
from kyvsim.model.policy import Policy
from kyvsim.model.request import AdmissionRequest
from kyvsim.model.result import PolicyResponse, RuleStatus
from kyvsim.model.source import Document, Location
from kyvsim.patch.nodes import same
from kyvsim.simulator.api_server import Store
from kyvsim.simulator.api_server.admission_policies import (
    Asked,
    ParameterError,
    matches_request,
    parameters_of,
    unknown_kind,
)
from kyvsim.simulator.kyverno.configuration import REPORTS
from kyvsim.simulator.kyverno.native_reports import bindings_of, reported_policies
from kyvsim.simulator.parts import Parts

_NOT_APPLIED = "mutation is not applied"


class ScanError(Exception):
    """A scan of an object that a policy keeps from being finished: no report is written on it."""

    def __init__(self, policy: str, why: str) -> None:
        super().__init__(why)
        self.policy = policy


def is_of_interest(key: ObjectKey, parts: Parts) -> bool:
    """Return whether some policy may tell of objects of a kind."""
    return any(
        kinds is None or key.kind in kinds
        for kinds in (
            compile_constraints(_constraints(one), "", parts.store.defined).kinds
            for one in reported_policies(parts)
        )
    )


def native_responses(request: AdmissionRequest, parts: Parts) -> Iterator[PolicyResponse]:
    """Yield what the policies say of an object; raises ScanError."""
    asked = Asked(request, World(parts.store, account=REPORTS).outside, parts.store)
    for stored in reported_policies(parts):
        policy, _ = LANGUAGE.read(stored, Document(stored, "", 0, lambda _: Location("")))
        bindings = tuple(bindings_of(stored, parts))
        if bindings:
            yield from _bound(policy, stored, bindings, asked)
        else:
            yield from _unbound(policy, stored, asked)


def _unbound(policy: Policy, stored: Json, asked: Asked) -> Iterator[PolicyResponse]:
    """Yield what a policy without bindings says, which knows nothing of Namespaces."""
    facts = match_facts(asked.request, asked.request.subject, {})
    constraints = compile_constraints(_constraints(stored), "", asked.store.defined)
    if facts is None or not constraints.matches(facts):
        return
    for response in _evaluated(policy, asked, World(Store()), params=_no_params(stored)):
        why = _unasked(response)
        if why:
            raise ScanError(policy.name, why)
        yield _compared(response, asked.request.subject)


def _bound(
    policy: Policy, stored: Json, bindings: Sequence[Json], asked: Asked
) -> Iterator[PolicyResponse]:
    if not matches_request(_constraints(stored), asked, everything=False):
        return
    fitting = [
        one
        for one in bindings
        if matches_request(one["spec"].get("matchResources"), asked, everything=True)
    ]
    found = [(one, _parameters(stored, one, asked)) for one in fitting]
    world, before = World(asked.store, account=REPORTS), asked.request.subject
    last: PolicyResponse | None = None
    for binding, params in found if _changes(stored) else found[-1:]:
        name = object_key(binding).name
        for response in _evaluated(policy, asked, world, params=params, binding=name):
            if not _unasked(response):
                # Each changes the object as it is stored, beside what the one before made of it.
                last = _compared(response, before)
                before = response.object if response.results else before
    if last is not None:
        yield last


def _changes(stored: Json) -> bool:
    return object_key(stored).kind == "MutatingAdmissionPolicy"


def _unasked(response: PolicyResponse) -> str:
    """Return why a policy could not be asked whether it has to do with an object, "" if it was."""
    silent = (one for one in response.silent if one.status is RuleStatus.ERROR)
    return "; ".join(text for one in silent for text in one.unchecked)


def _compared(response: PolicyResponse, before: Json) -> PolicyResponse:
    """Return what a scan says: a mutation that would change the object has not been done."""
    if not response.changed or same(response.object, before):
        return response
    results = tuple(
        one._replace(status=RuleStatus.FAIL, message=_NOT_APPLIED)
        if one.status is RuleStatus.PASS
        else one
        for one in response.results
    )
    return response._replace(results=results)


def _evaluated(
    policy: Policy, asked: Asked, world: World, *, params: Sequence[Json], binding: str = ""
) -> Iterator[PolicyResponse]:
    compiled = compile_invocation(policy, asked.store.defined, params, binding)
    given = open_request(asked.request, world, policy.name)
    if given is not None:
        phase = compiled.rules[0].stage.phase
        yield run_turn(Turn(compiled, compiled.rules), phase, given, world)


def _no_params(stored: Json) -> tuple[Json, ...]:
    """Return the value of `params` where nothing says which: policies that change have none."""
    return (None,) if stored["spec"].get("paramKind") and not _changes(stored) else ()


def _parameters(stored: Json, binding: Json, asked: Asked) -> tuple[Json, ...]:
    """Return the value of `params`, or nothing where there is no such variable.

    Raises ScanError where a binding refers to what is not there, or may not be read.
    """
    kind, reference = stored["spec"].get("paramKind"), binding["spec"].get("paramRef")
    if not reference:
        return _no_params(stored)
    problem = unknown_kind(kind, asked.store) or _forbidden(kind, reference, asked)
    name = object_key(stored).name
    try:
        found = [] if problem else parameters_of(kind, reference, asked)
    except ParameterError as error:
        raise ScanError(name, str(error)) from None
    if problem or not found:
        raise ScanError(name, problem or "no params found")
    return ({"items": found} if len(found) > 1 else found[0],)


def _forbidden(kind: Json, reference: Json, asked: Asked) -> str:
    api_version, name = text_field(kind, "apiVersion"), text_field(kind, "kind")
    group = split_api_version(api_version)[0]
    verb = "get" if reference.get("name") else "list"
    wanted = {
        "verb": verb,
        "group": group,
        "resource": plural(group, name, asked.store.defined),
        "namespace": text_field(reference, "namespace") or asked.request.namespace,
        "name": text_field(reference, "name"),
    }
    return "" if allows(wanted, REPORTS, asked.store) else f"Kyverno may not {verb} {name} objects"


def _constraints(stored: Json) -> Json:
    return stored["spec"].get("matchConstraints")
