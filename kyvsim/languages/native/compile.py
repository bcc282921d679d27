"""An admission policy of Kubernetes → CompiledPolicy: bindings, parameters, constraints.

Where a policy has bindings, upstream's command line evaluates what they match only, not the
policy's own constraints; of several bindings that match the last one counts.

Codes: KV156 an expression that cannot be compiled, KV157 parameters that are not given, KV161 a
selector that cannot be read: the constraints match nothing, as upstream has it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.engine.compile import CompiledPolicy, CompileOptions
from kyvsim.engine.compile.compiled import CompiledBody, CompiledRule, Evaluation, Outcome
from kyvsim.engine.compile.tracing import counted_rule, traced_rule
from kyvsim.engine.match import MatchFacts, match_facts
from kyvsim.kubernetes.discovery import KindTable
from kyvsim.kubernetes.labels import SelectorError, compile_selector
from kyvsim.kubernetes.objects import Json, labels, object_key
from kyvsim.languages.cel_expressions import expression_error
from kyvsim.languages.constraints import (
    Constraints,
    compile_constraints,
    selector_errors,
    selector_problems,
)
from kyvsim.languages.language import Diagnostics
from kyvsim.languages.native.admission_policies import (
    MUTATING,
    VALIDATING,
    NativeContext,
    NativeKind,
)
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.policy import Binding, Policy
from kyvsim.model.ports import Meter
from kyvsim.model.request import Operation
from kyvsim.model.tracing import NO_TRACE, PolicyPlace, TraceContext
from kyvsim.policy.cel import ParamRef
from kyvsim.policy.cel_policy import read_binding

KINDS: tuple[NativeKind, ...] = (VALIDATING, MUTATING)
_CREATE = Operation.CREATE.value
_BEYOND = "a cluster does not evaluate the policy: its own `matchConstraints` do not match"
_BY_NAME: Mapping[str, NativeKind] = MappingProxyType({kind.name: kind for kind in KINDS})


class _Bound(NamedTuple):
    constraints: Constraints
    body: CompiledBody


def compile_native_policy(
    policy: Policy, options: CompileOptions
) -> tuple[CompiledPolicy | None, Diagnostics]:
    """Return a policy compiled, or None with what is wrong with it."""
    kind = _BY_NAME[policy.kind]
    bindings = [one for one in options.bindings if one.binds(policy.kind, policy.name)]
    faults: dict[Diagnostic, None] = dict.fromkeys(_unread(policy, bindings))
    bound: list[_Bound] = []
    for binding in bindings or (None,):
        one, problems = _bind(kind, policy, binding, options)
        bound.append(one)
        faults.update(dict.fromkeys(problems))
    reported = (*faults, *_lost(bindings, options))
    if faults and not kind.tells_faults:
        return None, reported
    kinds = [one.constraints.kinds for one in bound]
    constraints = Constraints(
        lambda facts: any(one.constraints.matches(facts) for one in bound),
        None if None in kinds else frozenset[str]().union(*filter(None, kinds)),
    )
    body = bound[0].body if len(bound) == 1 else _last_of(bound)
    compiled = _compiled(kind, policy, _Bound(constraints, body), options.system.meter)
    if options.tracer is not None:
        trace = options.trace_of(policy, policy.rules[0])
        rules = (counted_rule(one, kind.ends, trace) for one in compiled.plain)
        compiled = compiled._replace(plain=tuple(traced_rule(one, policy, trace) for one in rules))
    return compiled, reported


def compile_invocation(
    policy: Policy, kinds: KindTable, params: Sequence[Json], binding: str
) -> CompiledPolicy:
    """Return a policy that judges whatever it is given, as a binding has it.

    `params` holds the value of that variable, or nothing; `binding` is "" for none.
    """
    kind = _BY_NAME[policy.kind]
    body, _ = kind.compile(policy.cel, NativeContext(kinds, params))
    if binding:
        body = _naming({kind.binding_property: binding}, body)
    return _compiled(kind, policy, _Bound(Constraints(lambda _: True, None), body))


def _compiled(
    kind: NativeKind, policy: Policy, bound: _Bound, meter: Meter | None = None
) -> CompiledPolicy:
    rule = CompiledRule(
        rule=policy.rules[0],
        stage=kind.stage,
        matches=bound.constraints.matches,
        kinds=bound.constraints.kinds,
        body=bound.body,
        answers_always=kind.answers_always,
        meter=meter,
    )
    return CompiledPolicy(policy, (rule,))


def _lost(bindings: list[Binding], options: CompileOptions) -> Iterator[Diagnostic]:
    for one in bindings:
        reference = read_binding(one.spec).param_ref
        if reference and chosen_parameters(reference, options.parameters) is None:
            text = f"the binding `{one.name}` refers to parameters that are not given"
            place = one.document.locate(("spec", "paramRef"))
            yield Diagnostic("KV157", Severity.ERROR, text, place)


def _unread(policy: Policy, bindings: Iterable[Binding]) -> Iterator[Diagnostic]:
    yield from selector_errors(policy.document, selector_problems(policy.cel.match_constraints))
    for one in bindings:
        node = read_binding(one.spec)
        problems = selector_problems(node.match_resources, node.param_ref)
        yield from selector_errors(one.document, problems)


def _bind(
    kind: NativeKind, policy: Policy, binding: Binding | None, options: CompileOptions
) -> tuple[_Bound, Diagnostics]:
    spec, bound = policy.cel, read_binding(binding.spec) if binding else None
    reference = bound.param_ref if bound else None
    params: tuple[Json, ...] = (None,) if spec.param_kind else ()
    trace = options.trace_of(policy, policy.rules[0])
    found = chosen_parameters(reference, options.parameters) if reference else None
    if reference:
        params = (found,)
    around = NativeContext(options.kinds, params, found is not None, trace, options.system.meter)
    body, problems = kind.compile(spec, around)
    own = spec.match_constraints
    constraints = compile_constraints(
        bound.match_resources if bound else own,
        "",
        options.kinds,
        everything=True,
        trace=trace.at("matchConstraints") if binding is None else _trace_of(binding, options),
    )
    constraints = _of_creations(constraints)
    if constraints.fault:
        constraints = Constraints(lambda _: False, frozenset())
    if binding:
        body = _naming({kind.binding_property: binding.name}, body)
        own_constraints = compile_constraints(own, "", options.kinds, everything=True)
        body = _with_scope_note(_of_creations(own_constraints), body)
    about, locate = f"`{policy.key}`", policy.document.locate
    return _Bound(constraints, body), tuple(
        expression_error("KV156", about, one.detail, locate(one.path)) for one in problems
    )


def _of_creations(constraints: Constraints) -> Constraints:
    """Return constraints that see each request as one that creates: upstream makes no others."""
    matches = constraints.matches

    def creation_matches(facts: MatchFacts) -> bool:
        if facts.operation != _CREATE:
            facts = facts._replace(operation=_CREATE, old_labels=None)
        return matches(facts)

    return constraints._replace(matches=creation_matches)


def _trace_of(binding: Binding, options: CompileOptions) -> TraceContext:
    if options.tracer is None:
        return NO_TRACE
    place = PolicyPlace(binding.document, binding.name, "", ("spec", "matchResources"))
    return TraceContext(place, options.tracer, counts=False)


def _naming(properties: Mapping[str, str], body: CompiledBody) -> CompiledBody:
    def run(evaluation: Evaluation) -> Outcome | None:
        outcome = body(evaluation)
        return outcome._replace(properties=properties) if outcome else None

    return run


def _with_scope_note(own: Constraints, body: CompiledBody) -> CompiledBody:
    """Return a body that notes where a binding takes what its policy does not match."""

    def run(evaluation: Evaluation) -> Outcome | None:
        outcome = body(evaluation)
        if outcome is None or own.fault or _fits(own, evaluation):
            return outcome
        return outcome._replace(note="; ".join(filter(None, (outcome.note, _BEYOND))))

    return run


def _fits(constraints: Constraints, evaluation: Evaluation) -> bool:
    labels = evaluation.scope.external.labels_of(evaluation.request.namespace)
    facts = match_facts(evaluation.request, evaluation.object, labels)
    return facts is None or constraints.matches(facts)


def _last_of(bound: list[_Bound]) -> CompiledBody:
    def run(evaluation: Evaluation) -> Outcome | None:
        fitting = [one for one in bound if _fits(one.constraints, evaluation)]
        return fitting[-1].body(evaluation) if fitting else None

    return run


# The parameters of Kubernetes' admission policies, among the objects given for it.
#
# A selector gives all that match, as one list; without one the first counts that has the name, or
# where no name is written, the namespace.
#
# Source of the rules: upstream pkg/admissionpolicy/mutate.go, validate.go (matchesSelector).


def chosen_parameters(reference: ParamRef, given: Iterable[Json]) -> Json:
    """Return the value of `params` that a binding refers to, None where there is nothing."""
    if reference.selector is None:
        return next((one for one in given if _is_meant(reference, one)), None)
    try:
        fits = compile_selector(reference.selector)
    except SelectorError:
        return None
    items = [one for one in given if fits(labels(one))]
    return {"items": items} if items else None


def _is_meant(reference: ParamRef, obj: Json) -> bool:
    key = object_key(obj)
    if reference.name:
        return key.name == reference.name
    return bool(reference.namespace) and key.namespace == reference.namespace
