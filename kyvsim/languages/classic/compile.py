"""ClusterPolicies and Policies: from documents to policies, from rules to closures.

Codes: KV023 a policy without rules.
"""

from collections.abc import Callable, Iterable
from functools import cache
from typing import Protocol, TypeAlias, TypeVar

from kyvsim.engine.compile.compiled import (
    CompiledBody,
    CompiledConditions,
    CompiledException,
    CompiledPolicy,
    CompiledRule,
    CompileOptions,
    Derivation,
    DerivedForms,
    Model,
    Proofs,
    Properties,
    index_exceptions,
    skipped,
    uncompiled,
)
from kyvsim.engine.compile.tracing import (
    compile_counter,
    traced_exception,
    traced_rule,
    with_coverage,
)
from kyvsim.engine.conditions import (
    ConditionsResult,
    compile_conditions,
    compile_exception_conditions,
)
from kyvsim.engine.conditions.shape import confirming_shape, reads_only
from kyvsim.engine.context import JSONContext
from kyvsim.engine.context.loaders import compile_entries
from kyvsim.engine.match import compile_exception_match, compile_rule_match, matches_by_kind
from kyvsim.engine.prefilter import together
from kyvsim.jmespath import QuerySyntaxError, compile_template
from kyvsim.kubernetes.objects import Json, annotations, metadata, text_field
from kyvsim.kubernetes.wildcard import matches
from kyvsim.languages.classic.autogen import CRON_JOB, POD_CONTROLLERS, ComputedRules, compute_rules
from kyvsim.languages.classic.facts import policy_facts, rule_facts
from kyvsim.languages.classic.rule_type import RuleContext, RuleType
from kyvsim.languages.classic.rules import rule_types_of
from kyvsim.languages.classic.validation.rule_parts import rules_under_check, validation_error
from kyvsim.languages.classic.validation.variables import invalid_variables, user_dependencies
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.policy import Policy, PolicyException, Rule
from kyvsim.model.ports import BudgetError
from kyvsim.model.result import Phase, Stage
from kyvsim.model.source import Document, Path
from kyvsim.model.tracing import PointKind, PolicyPlace, TraceContext

# Policy exceptions, attached to the rules that they name.
#
# Source of the rules: upstream pkg/exceptions/selector.go, pkg/engine/utils/exceptions.go.


def _attach_exceptions(
    context: RuleContext, rule_type: RuleType, options: CompileOptions
) -> tuple[CompiledException, ...]:
    """Return the compiled exceptions that name the rule, in the order in which they were given."""
    policy, rule = context.policy, context.rule
    return tuple(
        _compile_exception(exception, entries, rule, options)._replace(
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
            place = _exception_place(
                exception, ("exceptions", index), one.policy, ", ".join(one.rules)
            )
            TraceContext(place, options.coverage_sink).point(PointKind.EXCEPTION, "applied")


def _exception_place(
    exception: PolicyException, inside: Path, policy: str, rule: str
) -> PolicyPlace:
    return PolicyPlace(exception.document, policy, rule, ("spec", *inside))


def _compile_exception(
    exception: PolicyException, entries: tuple[int, ...], rule: Rule, options: CompileOptions
) -> CompiledException:
    whole = TraceContext(
        _exception_place(exception, (), exception.name, rule.name), None, options.tracer
    )
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
        place = _exception_place(exception, ("exceptions", index), named, rule.name)
        trace = TraceContext(place, options.coverage_sink)
        # It applies where it matches and then its conditions hold.
        if conditions is None:
            covers = trace.branch(PointKind.EXCEPTION, "applied", covers)
        else:
            conditions = _with_exception_coverage(conditions, trace)
    return CompiledException(
        key=exception.key,
        matches=covers,
        conditions=conditions,
        controls=(),
        written=exception.match,
    )


def _with_exception_coverage(
    conditions: CompiledConditions, trace: TraceContext
) -> CompiledConditions:
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


# What shows how a rule ends without evaluating it: the proofs of its body, and when they count.


_OBJECT = ("request", "object")
_OPERATION = ("request", "operation")
_MORE = ("exclude", "context", "celPreconditions", "reportProperties")
"""Fields of a rule that may make a difference that no shape shows."""


def _compile_proofs(
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


class _When(Protocol):
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


def compile_phases_lazily(
    policy: Policy, rule: Rule, options: CompileOptions
) -> tuple[CompiledRule, ...]:
    """Return a rule that autogen derived as closures, which are compiled when first called.

    Most runs meet objects of one or two controllers, and many of none. What the rule was derived
    from is compiled at once, so a text that cannot be read is found there.
    """
    return _compile_phases(policy, rule, options, _on_first_call)


def compile_phases(policy: Policy, rule: Rule, options: CompileOptions) -> tuple[CompiledRule, ...]:
    """Return the rule as closures, once for each phase; () where no rule type takes its body.

    Raises `QuerySyntaxError` if an expression of the rule is not JMESPath, and `ValueError` where
    another text of it cannot be read.
    """
    return _compile_phases(policy, rule, options, _at_once)


def _compile_phases(
    policy: Policy, rule: Rule, options: CompileOptions, compiled: _When
) -> tuple[CompiledRule, ...]:
    rule_type = next(rule_types_of(rule.data), None)
    context = RuleContext(policy, rule, options.system, options.trace_of(policy, rule))
    found: list[CompiledRule] = []
    while rule_type is not None:
        found.append(_compile_phase(rule_type, context, options, compiled))
        rule_type = rule_type.then
    return tuple(found)


def _compile_phase(
    rule_type: RuleType, context: RuleContext, options: CompileOptions, compiled: _When
) -> CompiledRule:
    policy, rule, system, trace = context
    data = rule.data
    settled = options.settled
    preconditions = None if settled else data.get("preconditions")
    properties = data.get("reportProperties")
    # A rule that is known to apply was excepted by none, but for those its body weighs itself.
    excepted = not settled or rule_type.exclusions is not None
    exceptions = _attach_exceptions(context, rule_type, options) if excepted else ()
    compiled_rule = CompiledRule(
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
        proofs=_compile_proofs(rule_type, context, options),
    )
    if trace.tracer is None:
        return compiled_rule

    return traced_rule(compiled_rule, policy, trace, *rule_type.field)


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


# Rules that report their outcomes for coverage: as a whole, and in each form of autogen.


_CompiledRules: TypeAlias = dict[Rule, tuple[CompiledRule, ...]]
"""Compiled rules, one for each phase, by the rule that they were made from."""


def _rules_with_coverage(
    policy: Policy, computed: ComputedRules, compiled_rules: _CompiledRules, options: CompileOptions
) -> _CompiledRules:
    """Return compiled rules that report for coverage when they apply.

    A written rule and those derived from it are one point; which of these forms applied is another.
    """
    found: _CompiledRules = {}
    for written in computed.written:
        forms = {"as written": written, **_derived_from(written, computed)}
        for number, rule in enumerate(forms.values()):
            compiled = compiled_rules[rule]
            if compiled:
                ends = next(rule_types_of(rule.data)).ends_of(rule.data)
                tell = compile_counter(ends, options.trace_of(policy, rule), number, tuple(forms))
                compiled = tuple(with_coverage(one, tell) for one in compiled)
            found[rule] = compiled
    return found


def _derived_from(written: Rule, computed: ComputedRules) -> dict[str, Rule]:
    return {
        "autogen-cronjob" if one.for_cron_jobs else "autogen": one.rule
        for one in computed.derived
        if one.written is written
    }


# One policy → CompiledPolicy.


def compile_classic_policy(
    policy: Policy, options: CompileOptions
) -> tuple[CompiledPolicy | None, tuple[Diagnostic, ...]]:
    """Return a policy compiled, or None and why it cannot be.

    KV190: an expression or another text of the policy cannot be read.
    """
    try:
        return compile_policy(policy, options), ()
    except (QuerySyntaxError, ValueError) as error:
        return None, (uncompiled(policy, error),)
    except RuleBudgetError as error:
        return None, (exhausted(policy, error.rule, str(error)),)


class RuleBudgetError(BudgetError):
    """Evaluating what is constant in a rule takes more than a rule may."""

    def __init__(self, rule: Rule, error: BudgetError) -> None:
        super().__init__(str(error))
        self.rule = rule
        self.cause = error.cause


def exhausted(policy: Policy, rule: Rule, why: str) -> Diagnostic:
    """Return that a rule cannot be compiled within the budget, at the rule.

    KV190: an expression or another text of the policy cannot be read.
    """
    message = f"rule `{rule.name}` cannot be compiled: {why}"
    return validation_error(policy, "KV190", message, rule.path)


def compile_rule(policy: Policy, rule: Rule, options: CompileOptions) -> tuple[CompiledRule, ...]:
    """Return a rule as closures, of which constants are evaluated on a budget of its own.

    Raises what `compile_phases` raises, and RuleBudgetError.
    """
    options.system.meter.begin_rule()
    try:
        return compile_phases(policy, rule, options)
    except BudgetError as error:
        raise RuleBudgetError(rule, error) from error


def compile_policy(policy: Policy, options: CompileOptions) -> CompiledPolicy:
    """Return the policy as closures; its autogen rules are derived and compiled when one is needed.

    Raises what `compile_rule` raises.
    """
    only = options.only
    computed = compute_rules(policy) if only is None else ComputedRules((only,))
    compiled_rules = {rule: compile_rule(policy, rule, options) for rule in computed.written}

    def every() -> _CompiledRules:
        others = (one for some in computed.of_other_kinds.values() for one in some)
        derived = (one.rule for one in (*computed.derived, *others))
        return compiled_rules | {
            one: compile_phases_lazily(policy, one, options) for one in derived
        }

    if options.coverage_sink:  # coverage counts all of them
        uncounted = every()
        compiled_rules = uncounted | _rules_with_coverage(policy, computed, uncounted, options)
    forms = cache(
        lambda: _derived_forms(computed, compiled_rules if options.coverage_sink else every())
    )
    return CompiledPolicy(
        policy, _plain_rules(computed, compiled_rules), _derivation(computed, compiled_rules, forms)
    )


def _plain_rules(
    computed: ComputedRules, compiled_rules: _CompiledRules
) -> tuple[CompiledRule, ...]:
    """Return the rules for kinds of which none are derived."""
    written = _compiled_rules(computed.written, compiled_rules)
    if not computed.derived:
        return written
    return (
        *(
            one
            for one in _compiled_rules(computed.retained, compiled_rules)
            if one.stage is not Stage.VALIDATE
        ),
        *(one for one in written if one.stage is Stage.VALIDATE),
    )


def _compiled_rules(
    rules: Iterable[Rule], compiled_rules: _CompiledRules
) -> tuple[CompiledRule, ...]:
    """Return rules as they are compiled, in all phases of each."""
    return tuple(one for rule in rules for one in compiled_rules[rule])


def _derivation(
    computed: ComputedRules, compiled_rules: _CompiledRules, forms: Callable[[], DerivedForms]
) -> Derivation | None:
    if not computed.derived:
        return None
    kinds, is_open = POD_CONTROLLERS, False
    if not computed.controllers <= POD_CONTROLLERS:  # an annotation may name anything
        named = [one.kinds for one in forms().rules]
        kinds, is_open = computed.controllers.union(*filter(None, named)), None in named
    retained = _compiled_rules(computed.retained, compiled_rules)
    return Derivation(kinds, is_open, retained, len(computed.derived), forms)


def _derived_forms(computed: ComputedRules, compiled_rules: _CompiledRules) -> DerivedForms:
    def validating(rules: tuple[Rule, ...]) -> tuple[CompiledRule, ...]:
        return tuple(
            rule for rule in _compiled_rules(rules, compiled_rules) if rule.phase is Phase.VALIDATE
        )

    # All controllers but one have the same rules.
    alike = {_form_of(kind): kind for kind in computed.controllers}
    of_kind = {form: validating(computed.for_kind(kind)) for form, kind in alike.items()}
    return DerivedForms(
        _compiled_rules(computed.every, compiled_rules),
        {kind: of_kind[_form_of(kind)] for kind in computed.controllers},
    )


def _form_of(kind: str) -> str:
    """Return the kind itself where its objects have derived rules of their own, else ""."""
    return kind if kind == CRON_JOB or kind not in POD_CONTROLLERS else ""


# Documents → ClusterPolicies and Policies.


def read(data: Json, document: Document) -> tuple[Policy, tuple[Diagnostic, ...]]:
    """Return a policy whose shape is right, with a warning if it has no rules."""
    spec = data["spec"]
    rules = tuple(
        Rule(rule["name"], rule, ("spec", "rules", index), rule_facts(rule, spec))
        for index, rule in enumerate(spec.get("rules", ()))
    )
    policy = Policy(
        kind=data["kind"],
        name=metadata(data)["name"],
        namespace=text_field(metadata(data), "namespace"),
        annotations=annotations(data),
        spec=spec,
        rules=rules,
        document=document,
        facts=policy_facts(spec, tuple(rule.facts for rule in rules)),
    )
    if rules:
        return policy, ()
    place = document.locate(("spec",))
    return policy, (Diagnostic("KV023", Severity.WARNING, "the policy has no rules", place),)


# Policies that need a request: its user, or variables of its own.


def needs_request(policy: Policy) -> bool:
    """Return whether a policy cannot be looked at in the background."""
    if any(True for _ in user_dependencies(policy)):
        return True
    subjects = rules_under_check(policy)
    return any(True for one in subjects for _ in invalid_variables(one, background=True))
