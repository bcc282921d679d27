"""One rule → closures."""

from collections.abc import Callable
from typing import Protocol, TypeAlias, TypeVar

from kyvsim.engine.compile.compiled import (
    CompiledBody,
    CompiledConditions,
    CompiledException,
    CompiledRule,
    CompileOptions,
    Model,
    Proofs,
    Properties,
    index_exceptions,
    skipped,
)
from kyvsim.engine.compile.tracing import traced_exception, traced_rule
from kyvsim.engine.conditions import (
    ConditionsResult,
    compile_conditions,
    compile_exception_conditions,
)
from kyvsim.engine.conditions.shape import confirming_shape, reads_only
from kyvsim.engine.context import JSONContext
from kyvsim.engine.context.loaders import compile_entries
from kyvsim.engine.match import (
    compile_exception_match,
    compile_rule_match,
    matches_by_kind,
)
from kyvsim.engine.prefilter import together
from kyvsim.jmespath import compile_template
from kyvsim.kubernetes.wildcard import matches
from kyvsim.languages.classic.rule_type import RuleContext, RuleType
from kyvsim.languages.classic.rules import rule_types_of
from kyvsim.model.policy import Policy, PolicyException, Rule
from kyvsim.model.result import Phase, Stage
from kyvsim.model.source import Path
from kyvsim.model.tracing import PointKind, PolicyPlace, TraceContext

# Policy exceptions, attached to the rules that they name.
#
# Source of the rules: upstream pkg/exceptions/selector.go, pkg/engine/utils/exceptions.go.


def attach_exceptions(
    context: RuleContext, rule_type: RuleType, options: CompileOptions
) -> tuple[CompiledException, ...]:
    """Return the compiled exceptions that name the rule, in the order in which they were given."""
    policy, rule = context.policy, context.rule
    return tuple(
        _compile(exception, entries, rule, options)._replace(
            controls=(rule_type.exclusions(exception.pod_security) if rule_type.exclusions else ())
        )
        for exception in options.exceptions
        if (entries := _entries_for(exception, policy, rule))
    )


def declare_exceptions(options: CompileOptions) -> None:
    """Report every entry of the exceptions to the listener, also those that name no rule."""
    if options.coverage_sink is None:
        return
    for exception in options.exceptions:
        for index, one in enumerate(exception.exceptions):
            place = _place(exception, ("exceptions", index), one.policy, ", ".join(one.rules))
            TraceContext(place, options.coverage_sink).point(PointKind.EXCEPTION, "applied")


def _place(exception: PolicyException, inside: Path, policy: str, rule: str) -> PolicyPlace:
    return PolicyPlace(exception.document, policy, rule, ("spec", *inside))


def _compile(
    exception: PolicyException, entries: tuple[int, ...], rule: Rule, options: CompileOptions
) -> CompiledException:
    whole = TraceContext(_place(exception, (), exception.name, rule.name), None, options.tracer)
    covers = compile_exception_match(exception.match, whole.at("match"), options.system.meter)
    conditions: CompiledConditions | None = (
        compile_exception_conditions(exception.conditions, options.system, whole.at("conditions"))
        if exception.conditions
        else None
    )
    if options.tracer is not None:
        covers = traced_exception(covers, exception.key, whole)
    for index in entries:
        named = exception.exceptions[index].policy
        place = _place(exception, ("exceptions", index), named, rule.name)
        trace = TraceContext(place, options.coverage_sink)
        # It applies where it matches and then its conditions hold.
        if conditions is None:
            covers = trace.branch(PointKind.EXCEPTION, "applied", covers)
        else:
            conditions = _with_coverage(conditions, trace)
    return CompiledException(
        key=exception.key,
        matches=covers,
        conditions=conditions,
        controls=(),
        written=exception.match,
    )


def _with_coverage(conditions: CompiledConditions, trace: TraceContext) -> CompiledConditions:
    seen = trace.point(PointKind.EXCEPTION, "applied")
    if seen is None:
        return conditions

    def covered(scope: JSONContext) -> ConditionsResult:
        result = conditions(scope)
        if result.met:
            seen(0)
        return result

    return covered


def _entries_for(exception: PolicyException, policy: Policy, rule: Rule) -> tuple[int, ...]:
    """Return the numbers of the entries that name the rule."""
    return tuple(
        index
        for index in exception.entries.get(policy.key, ())
        if any(matches(pattern, rule.name) for pattern in exception.exceptions[index].rules)
    )


# One rule → closures.


# What shows how a rule ends without evaluating it: the proofs of its body, and when they count.


_OBJECT = ("request", "object")
_OPERATION = ("request", "operation")
_MORE = ("exclude", "context", "celPreconditions", "reportProperties")
"""Fields of a rule that may make a difference that no shape shows."""


def compile_proofs(
    rule_type: RuleType, context: RuleContext, options: CompileOptions
) -> Callable[[], Proofs] | None:
    """Return what compiles the proofs of a rule; None where none would count.

    With coverage or tracing nothing is proved: what is reached would not be recorded.
    """
    data = context.rule.data
    if rule_type.phase is not Phase.VALIDATE or context.policy.kind == "Policy":
        return None
    if options.is_observed or any(data.get(field) for field in _MORE):
        return None
    return (lambda: _proofs(rule_type, context)) if matches_by_kind(data.get("match")) else None


def _proofs(rule_type: RuleType, context: RuleContext) -> Proofs:
    preconditions = context.rule.data.get("preconditions")
    if preconditions is None or reads_only(preconditions, *_OPERATION):
        return Proofs(rule_type.proofs(context), after_preconditions=preconditions is not None)
    shape = confirming_shape(preconditions, _OBJECT)
    if shape is None:
        return Proofs((), after_preconditions=False)
    joined = (
        proof._replace(shape=together((shape, proof.shape))) for proof in rule_type.proofs(context)
    )
    return Proofs(tuple(joined), after_preconditions=False)


# One rule → closures.


_Given = TypeVar("_Given")
_Found = TypeVar("_Found")
_Closure: TypeAlias = Callable[[_Given], _Found]


class _Compile(Protocol):
    """What returns a closure that `make` compiles, now or later."""

    def __call__(self, make: Callable[[], _Closure[_Given, _Found]]) -> _Closure[_Given, _Found]:
        """Return a closure with the results of the one that `make` returns."""


def _at_once(make: Callable[[], _Closure[_Given, _Found]]) -> _Closure[_Given, _Found]:
    return make()


def _on_first_call(make: Callable[[], _Closure[_Given, _Found]]) -> _Closure[_Given, _Found]:
    made: _Closure[_Given, _Found] | None = None

    def closure(given: _Given) -> _Found:
        nonlocal made
        if made is None:
            made = make()
        return made(given)

    return closure


def lower_derived_rule(
    policy: Policy, rule: Rule, options: CompileOptions
) -> tuple[CompiledRule, ...]:
    """Return a rule that autogen derived as closures, which are compiled when first called.

    Most runs meet objects of one or two controllers, and many of none. What the rule was derived
    from is compiled at once, so a text that cannot be read is found there.
    """
    return _lower_phases(policy, rule, options, _on_first_call)


def lower_rule(policy: Policy, rule: Rule, options: CompileOptions) -> tuple[CompiledRule, ...]:
    """Return the rule as closures, once for each phase; () where no rule type takes its body.

    Raises `QuerySyntaxError` if an expression of the rule is not JMESPath, and `ValueError` where
    another text of it cannot be read.
    """
    return _lower_phases(policy, rule, options, _at_once)


def _lower_phases(
    policy: Policy, rule: Rule, options: CompileOptions, compiled: _Compile
) -> tuple[CompiledRule, ...]:
    rule_type = next(rule_types_of(rule.data), None)
    context = RuleContext(policy, rule, options.system, options.trace_of(policy, rule))
    found: list[CompiledRule] = []
    while rule_type is not None:
        found.append(_lower(rule_type, context, options, compiled))
        rule_type = rule_type.then
    return tuple(found)


def _lower(
    rule_type: RuleType, context: RuleContext, options: CompileOptions, compiled: _Compile
) -> CompiledRule:
    policy, rule, system, trace = context
    data = rule.data
    settled = options.settled
    preconditions = None if settled else data.get("preconditions")
    properties = data.get("reportProperties")
    # A rule that is known to apply was excepted by none, but for those its body weighs itself.
    excepted = not settled or rule_type.exclusions is not None
    exceptions = attach_exceptions(context, rule_type, options) if excepted else ()
    lowered = CompiledRule(
        rule=rule,
        stage=Stage[rule_type.phase.name],
        matches=(lambda _: True)
        if settled
        else compiled(
            lambda: compile_rule_match(
                data.get("match"), data.get("exclude"), _namespace_of(policy), trace, system.meter
            )
        ),
        kinds=rule.facts.kinds,
        entries=compile_entries(data.get("context") or (), system, trace.at("context")),
        preconditions=None
        if preconditions is None
        else compiled(lambda: compile_conditions(preconditions, system, trace.at("preconditions"))),
        exceptions=exceptions,
        # For coverage and tracing those that do not apply count, too.
        find_exceptions=index_exceptions(exceptions)
        if exceptions and not options.is_observed
        else None,
        weighs_exceptions=rule_type.exclusions is not None,
        concerns=rule_type.concerns(context) if rule_type.concerns else None,
        body=compiled(lambda: _compile_body(rule_type, context, options)),
        meter=system.meter,
        tolerates_violations=rule_type.tolerant and _tolerates_violations(policy, rule),
        properties=Properties(compile_template(properties, system), properties)
        if properties
        else None,
        included=(lambda: compile_rule_match(data.get("match"), None, _namespace_of(policy)))
        if data.get("exclude")
        else None,
        later=rule.generates or rule.mutates_existing,
        answers_always=rule_type.phase is not Phase.GENERATE,
        proofs=compile_proofs(rule_type, context, options),
    )
    if trace.tracer is None:
        return lowered

    return traced_rule(lowered, policy, trace, *rule_type.field)


def _namespace_of(policy: Policy) -> str:
    return (policy.namespace or "default") if policy.kind == "Policy" else ""


def _compile_body(
    rule_type: RuleType, context: RuleContext, options: CompileOptions
) -> CompiledBody:
    gated = options.model is Model.BACKGROUND_GATES_GENERATE and not context.policy.background
    if gated and rule_type.phase is Phase.GENERATE:
        reason = skipped(
            "generate rules do not run for new objects: the policy has background: false "
            f"(model {Model.BACKGROUND_GATES_GENERATE.value})"
        )
        return lambda _: reason
    return rule_type.compile(context)


def _tolerates_violations(policy: Policy, rule: Rule) -> bool:
    """Return whether failures that an UPDATE did not bring are skipped: Enforce rules by default.

    upstream: pkg/engine/handlers/validation/validate_resource.go
    """
    validate = rule.data.get("validate") or {}
    action = validate.get("failureAction") or policy.spec.get("validationFailureAction") or "Audit"
    return str(action).lower() == "enforce" and validate.get("allowExistingViolations") is not False
