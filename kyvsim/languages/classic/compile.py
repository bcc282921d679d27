"""ClusterPolicies and Policies: compiles documents to policies, and rules to closures.

Codes: KV023 a policy without rules.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

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
    index_exceptions,
    skipped,
    uncompiled,
)
from kyvsim.engine.compile.tracing import counted_rule, traced_rule
from kyvsim.engine.conditions import (
    ConditionsResult,
    compile_conditions,
    compile_exception_conditions,
)
from kyvsim.engine.context import compile_entries
from kyvsim.engine.match import compile_exception_match, compile_rule_match, matches_by_kind
from kyvsim.jmespath import QuerySyntaxError, compile_template
from kyvsim.kubernetes.objects import Json, annotations, metadata, text_field
from kyvsim.kubernetes.wildcard import matches
from kyvsim.languages.classic.autogen import POD_CONTROLLERS, ComputedRules, compute_rules
from kyvsim.languages.classic.proofs import prove
from kyvsim.languages.classic.rule_type import (
    RuleContext,
    RuleType,
    policy_facts,
    rule_of,
    rule_types_of,
)
from kyvsim.languages.classic.validation.rule_parts import rules_under_check, validation_error
from kyvsim.languages.classic.validation.variables import invalid_variables, user_dependencies
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.explanation import Step, StepKind
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.ports import BudgetError
from kyvsim.model.result import Phase, Stage
from kyvsim.model.source import Document
from kyvsim.model.tracing import (
    Outcomes,
    PointKind,
    PolicyPlace,
    TraceContext,
    counted,
    traced,
    with_answer,
)
from kyvsim.policy.autogen import CRON_JOB
from kyvsim.policy.rule import read_policy

if TYPE_CHECKING:
    from kyvsim.model.policy import PolicyException

# Policy exceptions, attached to the rules that they name.
#
# Source of the rules: upstream pkg/exceptions/selector.go, pkg/engine/utils/exceptions.go.

_MATCH_APPLIES: Outcomes[bool] = Outcomes(
    PointKind.EXCEPTION, ("applied",), lambda found: 0 if found else None
)
_CONDITIONS_APPLY: Outcomes[ConditionsResult] = Outcomes(
    PointKind.EXCEPTION, ("applied",), lambda result: 0 if result.met else None
)


def declare_exceptions(options: CompileOptions) -> None:
    """Declare every entry of the exceptions for coverage, including those that name no rule."""
    if options.tracer is None:
        return
    for exception in options.exceptions:
        for index, one in enumerate(exception.exceptions):
            place = _entry_place(exception, index, ", ".join(one.rules))
            options.tracer.declare(place, PointKind.EXCEPTION, _MATCH_APPLIES.names)


def _entry_place(exception: "PolicyException", index: int, rule: str) -> PolicyPlace:
    policy = exception.exceptions[index].policy
    return PolicyPlace(exception.document, policy, rule, ("spec", "exceptions", index))


def _compile_exceptions(
    context: RuleContext, rule_type: RuleType, options: CompileOptions, *, lazy: bool
) -> Iterator[CompiledException]:
    """Yield the compiled exceptions that name the rule, in the given order."""
    name = context.rule.name
    for exception in options.exceptions:
        entries = [
            index
            for index in exception.entries.get(context.policy.key, ())
            if any(matches(pattern, name) for pattern in exception.exceptions[index].rules)
        ]
        if not entries:
            continue
        place = PolicyPlace(exception.document, exception.name, name, ("spec",))
        whole = TraceContext(place, options.tracer, counts=False)
        covers = compile_exception_match(exception.match, whole, options.system.meter)
        conditions: CompiledConditions | None = None
        if exception.conditions is not None:
            make = partial(
                compile_exception_conditions,
                exception.conditions,
                options.system,
                whole.at("conditions"),
            )
            conditions = _compiled(make, lazy=lazy)
        step = Step(StepKind.EXCEPTION, exception.key)
        covers = traced(whole.at("match"), covers, step, with_answer)
        for index in entries if options.tracer else ():
            trace = TraceContext(_entry_place(exception, index, name), options.tracer)
            # It applies if it matches and then its conditions hold.
            if conditions is None:
                covers = counted(trace, covers, _MATCH_APPLIES)
            else:
                conditions = counted(trace, conditions, _CONDITIONS_APPLY)
        yield CompiledException(
            key=exception.key,
            matches=covers,
            conditions=conditions,
            controls=rule_type.exclusions(exception.pod_security) if rule_type.exclusions else (),
            written=exception.match,
        )


def _compile_proofs(
    rule_type: RuleType, context: RuleContext, options: CompileOptions
) -> Callable[[], Proofs] | None:
    """Return a function that compiles the proofs of a rule; None if there can be none.

    With coverage or tracing nothing is proved, since evaluated parts would not be recorded.
    """
    tree = context.rule.tree
    if rule_type.phase is not Phase.VALIDATE or context.policy.kind == "Policy":
        return None
    # The shape of an object does not determine what these parts do.
    if options.tracer or tree.exclude or tree.context or tree.report_properties:
        return None
    if tree.cel_preconditions or not matches_by_kind(tree.match):
        return None

    return partial(prove, rule_type.field, context)


_Given = TypeVar("_Given")
_Found = TypeVar("_Found")


def _compiled(
    make: Callable[[], Callable[[_Given], _Found]], *, lazy: bool
) -> Callable[[_Given], _Found]:
    """Return the closure that `make` compiles: at once, or when it is first called."""
    if not lazy:
        return make()
    made: Callable[[_Given], _Found] | None = None

    def closure(given: _Given) -> _Found:
        nonlocal made
        if made is None:
            made = make()
        return made(given)

    return closure


def compile_phases(
    policy: Policy, rule: Rule, options: CompileOptions, *, lazy: bool = False
) -> tuple[CompiledRule, ...]:
    """Return the rule as closures, one for each phase; () if no rule type has its body.

    Autogen rules are `lazy`, compiled when first called: most runs have objects of one or two
    controllers, or none. The written rule is compiled at once, which finds text that cannot be
    read. Raises `QuerySyntaxError` if an expression of the rule is not JMESPath, and `ValueError`
    if another text cannot be read.
    """
    rule_type = next(rule_types_of(rule.tree), None)
    context = RuleContext(policy, rule, options.system, options.trace_of(policy, rule))
    found: list[CompiledRule] = []
    while rule_type is not None:
        found.append(_compile_phase(rule_type, context, options, lazy=lazy))
        rule_type = rule_type.then
    return tuple(found)


def _compile_phase(
    rule_type: RuleType, context: RuleContext, options: CompileOptions, *, lazy: bool
) -> CompiledRule:
    policy, rule, system, trace = context
    tree = rule.tree
    namespace = (policy.namespace or "default") if policy.kind == "Policy" else ""
    settled, validate = options.settled, tree.validate
    action = (validate and validate.failure_action) or policy.tree.validation_failure_action
    preconditions = None if settled else rule.tree.preconditions
    properties = tree.report_properties
    # A settled rule has no matching exceptions, except those that its body evaluates itself.
    excepted = not settled or rule_type.exclusions is not None
    exceptions: tuple[CompiledException, ...] = ()
    if excepted:
        exceptions = tuple(_compile_exceptions(context, rule_type, options, lazy=lazy))
    compiled_rule = CompiledRule(
        rule=rule,
        stage=Stage[rule_type.phase.name],
        matches=(lambda _: True)
        if settled
        else _compiled(
            lambda: compile_rule_match(tree.match, tree.exclude, namespace, trace, system.meter),
            lazy=lazy,
        ),
        kinds=rule.facts.kinds,
        entries=compile_entries(rule.tree.context, system, trace),
        preconditions=None
        if preconditions is None
        else _compiled(
            lambda: compile_conditions(preconditions, system, trace.at("preconditions")), lazy=lazy
        ),
        exceptions=exceptions,
        # For coverage and tracing, exceptions that do not apply count, too.
        find_exceptions=index_exceptions(exceptions) if exceptions and not options.tracer else None,
        weighs_exceptions=rule_type.exclusions is not None,
        concerns=rule_type.concerns(context) if rule_type.concerns else None,
        body=_compiled(lambda: _compile_body(rule_type, context, options), lazy=lazy),
        meter=system.meter,
        release=system.release,
        # Failures that existed before an UPDATE are skipped, by default for Enforce rules: upstream
        # pkg/engine/handlers/validation/validate_resource.go.
        tolerates_violations=rule_type.tolerant
        and action.lower() == "enforce"
        and (validate is None or validate.allow_existing_violations is not False),
        properties=(compile_template(properties, system), properties) if properties else None,
        included=(lambda: compile_rule_match(tree.match, None, namespace))
        if tree.exclude
        else None,
        later=rule.generates or rule.mutates_existing,
        answers_always=rule_type.phase is not Phase.GENERATE,
        proofs=_compile_proofs(rule_type, context, options),
    )
    return traced_rule(compiled_rule, policy, trace, *rule_type.field)


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


_CompiledRules: TypeAlias = dict[Rule, tuple[CompiledRule, ...]]
"""Compiled rules, one for each phase, by source rule."""


def _rules_with_coverage(
    policy: Policy, computed: ComputedRules, compiled_rules: _CompiledRules, options: CompileOptions
) -> _CompiledRules:
    """Return compiled rules that report to coverage when they apply.

    A written rule and its derived rules are one point; which of these rules applied is another.
    """
    found: _CompiledRules = {}
    for written in computed.written:
        forms = {"as written": written}
        for one in computed.derived:
            if one.written is written:
                forms["autogen-cronjob" if one.for_cron_jobs else "autogen"] = one.rule
        for number, rule in enumerate(forms.values()):
            compiled = compiled_rules[rule]
            if compiled:
                ends = next(rule_types_of(rule.tree)).ends_of(rule.tree)
                trace, names = options.trace_of(policy, rule), tuple(forms)
                compiled = tuple(counted_rule(one, ends, trace, number, names) for one in compiled)
            found[rule] = compiled
    return found


def compile_classic_policy(
    policy: Policy, options: CompileOptions
) -> tuple[CompiledPolicy | None, tuple[Diagnostic, ...]]:
    """Return a compiled policy, or None with the reason.

    KV190: an expression or another text of the policy cannot be read.
    """
    try:
        return compile_policy(policy, options), ()
    except (QuerySyntaxError, ValueError) as error:
        return None, (uncompiled(policy, error),)
    except RuleBudgetError as error:
        return None, (exhausted(policy, error.rule, str(error)),)


class RuleBudgetError(BudgetError):
    """Evaluating the constants of a rule exceeds the budget of a rule."""

    def __init__(self, rule: Rule, error: BudgetError) -> None:
        super().__init__(str(error))
        self.rule = rule
        self.cause = error.cause


def exhausted(policy: Policy, rule: Rule, why: str) -> Diagnostic:
    """Return the diagnostic (KV190) that a rule cannot be compiled within the budget."""
    message = f"rule `{rule.name}` cannot be compiled: {why}"
    return validation_error(policy, "KV190", message, rule.path)


def compile_rule(policy: Policy, rule: Rule, options: CompileOptions) -> tuple[CompiledRule, ...]:
    """Return the rule as closures; its constants are evaluated with a separate budget.

    Raises the errors of `compile_phases`, and RuleBudgetError.
    """
    options.system.meter.begin_rule()
    try:
        return compile_phases(policy, rule, options)
    except BudgetError as error:
        raise RuleBudgetError(rule, error) from error


def compile_policy(policy: Policy, options: CompileOptions) -> CompiledPolicy:
    """Return the policy as closures; its autogen rules are derived and compiled on first use.

    Raises the errors of `compile_rule`.
    """
    only = options.only
    computed = compute_rules(policy) if only is None else ComputedRules((only,))
    compiled_rules = {rule: compile_rule(policy, rule, options) for rule in computed.written}

    def every() -> _CompiledRules:
        others = (one for some in computed.of_other_kinds.values() for one in some)
        derived = (one.rule for one in (*computed.derived, *others))
        return compiled_rules | {
            one: compile_phases(policy, one, options, lazy=True) for one in derived
        }

    if options.tracer:  # coverage counts all of them
        uncounted = every()
        compiled_rules = uncounted | _rules_with_coverage(policy, computed, uncounted, options)
    written = _in_all_phases(computed.written, compiled_rules)
    if not computed.derived:
        return CompiledPolicy(policy, written, None)

    @cache
    def forms() -> DerivedForms:
        compiled = compiled_rules if options.tracer else every()
        # All controllers but CronJob have the same rules.
        alike = {_form_of(kind): kind for kind in computed.controllers}
        of_kind = {
            form: tuple(
                rule
                for rule in _in_all_phases(computed.for_kind(kind), compiled)
                if rule.phase is Phase.VALIDATE
            )
            for form, kind in alike.items()
        }
        validating = {kind: of_kind[_form_of(kind)] for kind in computed.controllers}
        return _in_all_phases(computed.every, compiled), validating

    kinds, is_open = POD_CONTROLLERS, False
    if not computed.controllers <= POD_CONTROLLERS:  # an annotation may name anything
        named = [one.kinds for one in forms()[0]]
        kinds, is_open = computed.controllers.union(*filter(None, named)), None in named
    retained = _in_all_phases(computed.retained, compiled_rules)
    # The rules for kinds without derived rules.
    plain = (
        *(one for one in retained if one.stage is not Stage.VALIDATE),
        *(one for one in written if one.stage is Stage.VALIDATE),
    )
    derivation = Derivation(kinds, is_open, retained, len(computed.derived), forms)
    return CompiledPolicy(policy, plain, derivation)


def _in_all_phases(
    rules: Iterable[Rule], compiled_rules: _CompiledRules
) -> tuple[CompiledRule, ...]:
    return tuple(one for rule in rules for one in compiled_rules[rule])


def _form_of(kind: str) -> str:
    """Return the kind if its objects have derived rules of their own, or ""."""
    return kind if kind == CRON_JOB or kind not in POD_CONTROLLERS else ""


def read(data: Json, document: Document) -> tuple[Policy, tuple[Diagnostic, ...]]:
    """Return a policy that conforms to its schema, with a warning if it has no rules."""
    spec = data["spec"]
    tree = read_policy(spec, ("spec",))
    rules = tuple(
        rule_of(rule, ("spec", "rules", index), tree)
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
        facts=policy_facts(tree, tuple(rule.facts for rule in rules)),
        tree=tree,
    )
    if rules:
        return policy, ()
    place = document.locate(("spec",))
    return policy, (Diagnostic("KV023", Severity.WARNING, "the policy has no rules", place),)


def needs_request(policy: Policy) -> bool:
    """Return whether a policy cannot be evaluated in the background."""
    if any(True for _ in user_dependencies(policy)):
        return True
    subjects = rules_under_check(policy)
    return any(True for one in subjects for _ in invalid_variables(one, background=True))
