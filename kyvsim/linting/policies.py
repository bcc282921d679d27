"""`lint` of a single policy: its validation errors, and the checks of its language."""

import contextlib
from collections.abc import Iterable, Iterator

from kyvsim.cel.kubernetes import kubernetes_environment
from kyvsim.cel.kyverno.environments import kyverno_environment
from kyvsim.cel.parser import ExpressionSyntaxError, parse
from kyvsim.engine.compile import CompileOptions
from kyvsim.engine.compile.compiled import uncompiled
from kyvsim.jmespath import QuerySyntaxError
from kyvsim.languages import (
    CEL_POLICIES,
    CLEANUP_POLICIES,
    NATIVE_POLICIES,
    Diagnostics,
    kinds_of,
)
from kyvsim.languages.cel.compile import (
    compile_cel_policy,
    forbidden_names,
    unused_parts,
)
from kyvsim.languages.classic.compile import (
    RuleBudgetError,
    compile_policy,
    compile_rule,
    exhausted,
)
from kyvsim.languages.classic.suspicious import suspicious_parts
from kyvsim.languages.classic.validation import check_policy
from kyvsim.languages.classic.validation.policy_settings import check_match_conditions
from kyvsim.languages.classic.validation.rule_parts import validation_error
from kyvsim.languages.cleanup.compile import expression_problems, lower_cleanup
from kyvsim.languages.native.compile import compile_native_policy
from kyvsim.languages.native.type_checking import condition_faults
from kyvsim.linting.cel_fields import field_problems
from kyvsim.linting.cel_logic import constant_logic, impossible_texts, unreadable_texts
from kyvsim.linting.cel_policy import CelPolicy, ParsedExpression, expressions_of
from kyvsim.linting.cel_runs import checked_policy
from kyvsim.linting.cel_validations import templates_in_texts
from kyvsim.linting.registry import run_checks
from kyvsim.linting.runs import CheckSubject
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.policy import CelException, Policy
from kyvsim.model.ports import BudgetError, fault_text
from kyvsim.policy.visit import texts


def lint_policy(policy: Policy, options: CompileOptions) -> Diagnostics:
    """Return all diagnostics about a single policy."""
    options.system.meter.begin_resource()
    try:
        kinds = kinds_of(policy)
        if kinds is CEL_POLICIES:
            return _lint_cel(policy, options)
        if kinds is NATIVE_POLICIES:
            return _lint_native(policy, options)
        return _lint_rules(policy, options)
    except BudgetError as error:
        return (uncompiled(policy, error.cause),)  # `lint` has no option for the budget
    except Exception as error:  # noqa: BLE001 — an invariant: failures become errors of the policy
        return (uncompiled(policy, fault_text(error)),)


def _lint_rules(policy: Policy, options: CompileOptions) -> Diagnostics:
    problems: Diagnostics
    if kinds_of(policy) is CLEANUP_POLICIES:
        problems = tuple(expression_problems(policy)) or lower_cleanup(policy, options)[1]
    else:
        release = options.system.release
        # A cluster evaluates the match conditions of the webhook.
        problems = check_policy(policy, options.kinds, simulated=True, release=release) or tuple(
            _compile_errors(policy, options)
        )
        problems = (*problems, *_match_conditions(policy), *suspicious_parts(policy))
    found = tuple(run_checks((CheckSubject.RULES,), policy))
    # No CustomResourceDefinition defines a kind that was removed.
    removed = {one.location for one in found if one.code == "KV315"}
    problems = tuple(one for one in problems if one.code != "KV113" or one.location not in removed)
    wrong = {problem.location for problem in problems}
    return (*problems, *(one for one in found if one.location not in wrong))


def _match_conditions(policy: Policy) -> Iterator[Diagnostic]:
    """Yield KV102 for the webhook's match conditions: a warning if a cluster accepts them."""
    fault = condition_faults(policy)
    for one in check_match_conditions(policy):
        yield one._replace(message=fault) if fault else one._replace(severity=Severity.WARNING)


def _compile_errors(policy: Policy, options: CompileOptions) -> Iterator[Diagnostic]:
    failed = False
    for rule in policy.rules:
        try:
            compile_rule(policy, rule, options)
        except RuleBudgetError as error:
            failed = True
            yield exhausted(policy, rule, error.cause)
        except (QuerySyntaxError, ValueError) as error:
            failed = True
            path = rule.path
            if isinstance(error, QuerySyntaxError):
                places = (one.path for one in texts(rule.tree) if error.expression in one.text)
                path = next(places, path)
            message = f"rule `{rule.name}` cannot be compiled: {error}"
            yield validation_error(policy, "KV190", message, path)
    if failed:
        return
    try:
        compile_policy(policy, options)
    except (QuerySyntaxError, ValueError) as error:
        yield uncompiled(policy, error)


def _lint_cel(policy: Policy, options: CompileOptions) -> Diagnostics:
    problems = compile_cel_policy(policy, options)[1] or tuple(unused_parts(policy))
    if problems:
        return problems
    checked = checked_policy(policy, options.system, tuple(forbidden_names(policy, options)))
    return tuple(run_checks((CheckSubject.CEL, CheckSubject.EXPRESSIONS), checked))


def lint_cel_exceptions(
    exceptions: Iterable[CelException], policies: Iterable[Policy], options: CompileOptions
) -> Iterator[Diagnostic]:
    """Yield what is wrong in conditions of exceptions, which read the same objects."""
    system, by_name = options.system, {(one.kind, one.name): one for one in policies}
    for exception in exceptions:
        for policy in filter(
            None, (by_name.get((one.kind, one.name)) for one in exception.policies)
        ):
            if kinds_of(policy) is not CEL_POLICIES:
                continue
            env = kyverno_environment(
                policy.kind, system.clock, system.entropy, release=system.release
            )
            with contextlib.suppress(ExpressionSyntaxError):
                conditions = tuple(
                    ParsedExpression(
                        (*one.path, "expression"), one.expression, parse(one.expression, env.macros)
                    )
                    for one in exception.conditions
                )
                own = policy._replace(document=exception.document)
                checked = CelPolicy(own, env, conditions)
                for check in (
                    field_problems,
                    constant_logic,
                    impossible_texts,
                    unreadable_texts,
                    templates_in_texts,
                ):
                    yield from check(checked)


def _lint_native(policy: Policy, options: CompileOptions) -> Diagnostics:
    problems = compile_native_policy(policy, options)[1]
    if problems:
        return problems
    env = kubernetes_environment(params=policy.cel.param_kind is not None, mutates=True)
    checked = CelPolicy(policy, env, expressions_of(policy.cel, env))
    return tuple(run_checks((CheckSubject.EXPRESSIONS,), checked))
