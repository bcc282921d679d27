"""Everything that can be said of one policy: refusals, texts that do not compile, advice."""

from collections.abc import Iterator

from kyvsim.engine.compile.compiled import CompileOptions, uncompiled
from kyvsim.jmespath import QuerySyntaxError
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.classic.advice import ADVICE
from kyvsim.languages.classic.checks import check_policy
from kyvsim.languages.classic.checks.refusal import nodes, refuse
from kyvsim.languages.classic.doubts import doubts_about
from kyvsim.languages.classic.policy import (
    RuleBudgetError,
    compile_policy,
    compile_rule,
    exhausted,
)
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.source import Path


def lint_policy(policy: Policy, options: CompileOptions) -> tuple[Diagnostic, ...]:
    """Return all remarks about a policy whose shape is right.

    What cannot be compiled is told only where no refusal says it already, and there is no advice
    on a place that is in error.
    """
    problems = check_policy(policy, options.kinds) or tuple(_uncompiled(policy, options))
    return with_advice(policy, (*problems, *doubts_about(policy)))


def with_advice(policy: Policy, problems: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
    """Return what is wrong with a policy, and the advice on what is not."""
    wrong = {problem.location for problem in problems}
    advice = (remark for give in ADVICE for remark in give(policy))
    return (*problems, *(remark for remark in advice if remark.location not in wrong))


def _uncompiled(policy: Policy, options: CompileOptions) -> Iterator[Diagnostic]:
    """Yield one error for each rule that cannot be compiled, at the text that is to blame."""
    told = False
    for rule in policy.rules:
        try:
            compile_rule(policy, rule, options)
        except RuleBudgetError as error:
            told = True
            yield exhausted(policy, rule, error.cause)
        except (QuerySyntaxError, ValueError) as error:
            told = True
            yield _refused(policy, rule, error)
    if told:
        return
    try:
        compile_policy(policy, options)
    except (QuerySyntaxError, ValueError) as error:
        yield uncompiled(policy, error)


def _refused(policy: Policy, rule: Rule, error: Exception) -> Diagnostic:
    path: Path = ()
    if isinstance(error, QuerySyntaxError):
        path = _path_of(rule.data, error.expression)
    message = f"rule `{rule.name}` can't be compiled: {error}"
    return refuse(policy, "KV190", message, (*rule.path, *path))


def _path_of(data: Json, expression: str) -> Path:
    """Return the way to the first text that holds an expression; () where none does."""
    found = (path for path, value in nodes(data) if value.__class__ is str and expression in value)
    return next(found, ())
