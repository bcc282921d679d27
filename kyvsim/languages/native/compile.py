"""Compiles an admission policy of Kubernetes, with bindings, parameters and constraints.

If a policy has bindings, upstream's command line evaluates only their constraints, not those of
the policy; of several matching bindings the last one applies.

Codes: KV156 an expression that cannot be compiled, KV157 missing parameters, KV161 an
invalid selector: the constraints match nothing, as in upstream.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from kyvsim.engine.compile import CompiledPolicy, CompileOptions
from kyvsim.engine.compile.compiled import CompiledBody, CompiledRule, Evaluation, Outcome
from kyvsim.engine.compile.tracing import counted_rule, traced_rule
from kyvsim.engine.context import MISSING_INPUT
from kyvsim.engine.match import MatchFacts, match_facts
from kyvsim.engine.missing_input import error_text
from kyvsim.kubernetes.discovery import KindTable
from kyvsim.kubernetes.labels import SelectorError, compile_selector
from kyvsim.kubernetes.objects import Json, labels, object_key
from kyvsim.languages import Diagnostics
from kyvsim.languages.cel_remedies import expression_error, remedies
from kyvsim.languages.constraints import (
    Constraints,
    compile_constraints,
    selector_errors,
    selector_problems,
)
from kyvsim.languages.native.admission_policies import (
    MUTATING,
    VALIDATING,
    NativeContext,
    NativeKind,
)
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.policy import Binding, Policy
from kyvsim.model.request import Operation
from kyvsim.model.tracing import NO_TRACE, PolicyPlace, TraceContext
from kyvsim.policy.cel_policy import ParamRef

KINDS: tuple[NativeKind, ...] = (VALIDATING, MUTATING)
_CREATE = Operation.CREATE.value
_BY_NAME: Mapping[str, NativeKind] = MappingProxyType({kind.name: kind for kind in KINDS})

_Bound: TypeAlias = tuple[Constraints, CompiledBody]
"""A policy with one binding: the constraints, and the body."""


def compile_native_policy(
    policy: Policy, options: CompileOptions
) -> tuple[CompiledPolicy | None, Diagnostics]:
    """Return a compiled policy, or None, and its diagnostics."""
    kind = _BY_NAME[policy.kind]
    bindings = [one for one in options.bindings if one.binds(policy.kind, policy.name)]
    problems = selector_problems(policy.cel.match_constraints)
    faults = dict.fromkeys(selector_errors(policy.document, problems))
    for binding in bindings:
        problems = selector_problems(binding.tree.match_resources, binding.tree.param_ref)
        faults.update(dict.fromkeys(selector_errors(binding.document, problems)))
    bound: list[_Bound] = []
    for one in bindings or (None,):
        constraints, body, errors = _bind(kind, policy, one, options)
        faults.update(dict.fromkeys(errors))
        if one and _lacks_parameters(one, options):
            note = f"{MISSING_INPUT}the parameters of the binding `{one.name}`: {_GIVING}"
            body = _noting(note, body)
        bound.append((constraints, body))
    reported = list(faults)
    for binding in bindings:
        if _lacks_parameters(binding, options):
            text = (
                f"the binding `{binding.name}` refers to parameters that were not found: {_GIVING}"
            )
            place = binding.document.locate(("spec", "paramRef"))
            reported.append(Diagnostic("KV157", Severity.ERROR, text, place))
    if faults and not kind.tells_faults:
        return None, tuple(reported)

    def last_of_fitting(evaluation: Evaluation) -> Outcome | None:
        fitting = [body for constraints, body in bound if _fits(constraints, evaluation)]
        return fitting[-1](evaluation) if fitting else None

    kinds = [constraints.kinds for constraints, _ in bound]
    constraints = Constraints(
        lambda facts: any(constraints.matches(facts) for constraints, _ in bound),
        None if None in kinds else frozenset[str]().union(*filter(None, kinds)),
    )
    body = bound[0][1] if len(bound) == 1 else last_of_fitting
    rule = _compiled_rule(kind, policy, constraints, body)._replace(meter=options.system.meter)
    if options.tracer is not None:
        trace = options.trace_of(policy, policy.rules[0])
        rule = traced_rule(counted_rule(rule, kind.ends(policy.cel), trace), policy, trace)
    return CompiledPolicy(policy, (rule,)), tuple(reported)


_GIVING = "pass them with --parameter-resource, in tests as `paramResources`"


def _lacks_parameters(binding: Binding, options: CompileOptions) -> bool:
    reference = binding.tree.param_ref
    return reference is not None and chosen_parameters(reference, options.parameters) is None


def compile_invocation(
    policy: Policy, kinds: KindTable, params: Sequence[object], binding: str
) -> CompiledPolicy:
    """Return a policy that evaluates all objects, with this binding.

    `params` contains the value of that variable, or nothing; `binding` is "" for none.
    """
    kind = _BY_NAME[policy.kind]
    body, _ = kind.compile(policy.cel, NativeContext(kinds, params))
    if binding:
        body = _naming({kind.binding_property: binding}, body)
    rule = _compiled_rule(kind, policy, Constraints(lambda _: True, None), body)
    return CompiledPolicy(policy, (rule,))


def _compiled_rule(
    kind: NativeKind, policy: Policy, constraints: Constraints, body: CompiledBody
) -> CompiledRule:
    return CompiledRule(
        rule=policy.rules[0],
        stage=kind.stage,
        matches=constraints.matches,
        kinds=constraints.kinds,
        body=body,
        answers_always=kind.answers_always,
    )


def _bind(
    kind: NativeKind, policy: Policy, binding: Binding | None, options: CompileOptions
) -> tuple[Constraints, CompiledBody, Diagnostics]:
    spec, bound = policy.cel, binding.tree if binding else None
    reference = bound.param_ref if bound else None
    params: tuple[object, ...] = (None,) if spec.param_kind else ()
    trace = options.trace_of(policy, policy.rules[0])
    found = chosen_parameters(reference, options.parameters) if reference else None
    if reference:
        params = (found,)
    around = NativeContext(options.kinds, params, found is not None, trace, options.system.meter)
    body, problems = kind.compile(spec, around)
    own = spec.match_constraints
    where = trace.at("matchConstraints")
    if binding is not None:
        place = PolicyPlace(binding.document, binding.name, "", ("spec", "matchResources"))
        where = NO_TRACE
        if options.tracer is not None:
            where = TraceContext(place, options.tracer, counts=False)
    constraints = compile_constraints(
        bound.match_resources if bound else own, "", options.kinds, everything=True, trace=where
    )
    constraints = _of_creations(constraints)
    if constraints.fault:
        constraints = Constraints(lambda _: False, frozenset())
    if binding:
        judge = _naming({kind.binding_property: binding.name}, body)
        of_policy = _of_creations(compile_constraints(own, "", options.kinds, everything=True))

        def noted(evaluation: Evaluation) -> Outcome | None:
            """Note if a binding matches an object that its policy does not match."""
            outcome = judge(evaluation)
            if outcome is None or of_policy.fault or _fits(of_policy, evaluation):
                return outcome
            why = "a cluster does not evaluate the policy: its own `matchConstraints` do not match"
            return outcome._replace(note="; ".join(filter(None, (outcome.note, why))))

        body = noted
    about, locate = f"`{policy.key}`", policy.document.locate
    names = remedies(policy.cel.variables)
    errors = (
        expression_error("KV156", about, one.detail, locate(one.path), names) for one in problems
    )
    return constraints, body, tuple(errors)


def _of_creations(constraints: Constraints) -> Constraints:
    """Return constraints that match each request as a CREATE request, like upstream."""
    matches = constraints.matches

    def creation_matches(facts: MatchFacts) -> bool:
        if facts.operation != _CREATE:
            facts = facts._replace(operation=_CREATE, old_labels=None)
        return matches(facts)

    return constraints._replace(matches=creation_matches)


def _naming(properties: Mapping[str, str], body: CompiledBody) -> CompiledBody:
    def run(evaluation: Evaluation) -> Outcome | None:
        outcome = body(evaluation)
        return outcome._replace(properties=properties) if outcome else None

    return run


def _noting(note: str, body: CompiledBody) -> CompiledBody:
    """Return a body with a note on its errors."""

    def run(evaluation: Evaluation) -> Outcome | None:
        outcome = body(evaluation)
        is_error = outcome is not None and bool(error_text(outcome))
        return outcome._replace(hints=(note,)) if outcome and is_error else outcome

    return run


def _fits(constraints: Constraints, evaluation: Evaluation) -> bool:
    labels = evaluation.scope.external.labels_of(evaluation.request.namespace)
    facts = match_facts(evaluation.request, evaluation.object, labels)
    return facts is None or constraints.matches(facts)


# The parameters of Kubernetes' admission policies, from the objects given as parameters.
#
# A selector returns all that match, as one list; without a selector, the first object with the
# name is used, or, if no name is written, the first in the namespace.
#
# Source of the rules: upstream pkg/admissionpolicy/mutate.go, validate.go (matchesSelector).


def chosen_parameters(reference: ParamRef, given: Iterable[object]) -> Json:
    """Return the value of `params` that a binding refers to, or None."""
    if reference.selector is None:
        for one in given:
            key = object_key(one)
            is_there = bool(reference.namespace) and key.namespace == reference.namespace
            if key.name == reference.name if reference.name else is_there:
                return one
        return None
    try:
        fits = compile_selector(reference.selector)
    except SelectorError:
        return None
    items = [one for one in given if fits(labels(one))]
    return {"items": items} if items else None
