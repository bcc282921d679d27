"""What ValidatingAdmissionPolicies say of objects that are there.

Of several bindings that match the last one counts; parameters that a selector takes are one list.

Source of the rules: upstream pkg/admissionpolicy (validate.go, utils.go `CollectParams`).
"""

from collections.abc import Iterator, Sequence

from kyvsim.compile import Turn
from kyvsim.context.access_review import allows
from kyvsim.engine import World, open_request, run_turn
from kyvsim.kube.discovery import plural
from kyvsim.kube.gvk import split_api_version
from kyvsim.kube.objects import Json, ObjectKey, object_key, text_field
from kyvsim.languages.constraints import compile_constraints
from kyvsim.languages.native import LANGUAGE
from kyvsim.match import match_facts
from kyvsim.model.policy import Policy
from kyvsim.model.request import AdmissionRequest
from kyvsim.model.result import PolicyResponse, Stage
from kyvsim.model.source import Document, Location
from kyvsim.sim.admission_policies.bound import (
    Asked,
    ParameterError,
    matches_request,
    parameters_of,
    unknown_kind,
)
from kyvsim.sim.kyverno.native_reports import bindings_of, reported_policies
from kyvsim.sim.kyverno.users import REPORTS
from kyvsim.sim.parts import Parts
from kyvsim.sim.server import Store


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
        bindings = tuple(bindings_of(object_key(stored).name, parts))
        if bindings:
            yield from _bound(policy, stored, bindings, asked)
        else:
            yield from _unbound(policy, stored, asked)


def _unbound(policy: Policy, stored: Json, asked: Asked) -> Iterator[PolicyResponse]:
    """Yield what a policy without bindings says, which knows nothing of Namespaces."""
    facts = match_facts(asked.request, asked.request.subject, {})
    constraints = compile_constraints(_constraints(stored), "", asked.store.defined)
    if facts is not None and constraints.matches(facts):
        params: tuple[Json, ...] = (None,) if stored["spec"].get("paramKind") else ()
        yield from _evaluated(policy, asked, World(Store()), params=params)


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
    for binding, params in found[-1:]:
        world = World(asked.store, account=REPORTS)
        name = object_key(binding).name
        yield from _evaluated(policy, asked, world, params=params, binding=name)


def _evaluated(
    policy: Policy, asked: Asked, world: World, *, params: Sequence[Json], binding: str = ""
) -> Iterator[PolicyResponse]:
    from kyvsim.languages.native.compile import (  # noqa: PLC0415 — slow, for these policies only
        compile_invocation,
    )

    compiled = compile_invocation(policy, asked.store.defined, params, binding)
    given = open_request(asked.request, world, policy.name)
    if given is not None:
        phase = Stage.NATIVE_VALIDATE.phase
        yield run_turn(Turn(compiled, compiled.rules), phase, given, world)


def _parameters(stored: Json, binding: Json, asked: Asked) -> tuple[Json, ...]:
    """Return the value of `params`, or nothing where there is no such variable.

    Raises ScanError where a binding refers to what is not there, or may not be read.
    """
    kind, reference = stored["spec"].get("paramKind"), binding["spec"].get("paramRef")
    if not reference:
        return (None,) if kind else ()
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
