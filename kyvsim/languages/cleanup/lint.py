"""Everything that can be said of one cleanup policy: what is wrong with it, else advice."""

from kyvsim.engine.compile import CompileOptions
from kyvsim.languages.classic.lint import with_advice
from kyvsim.languages.cleanup.checks import expression_problems
from kyvsim.languages.cleanup.lower import lower_cleanup
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy


def lint_policy(policy: Policy, options: CompileOptions) -> tuple[Diagnostic, ...]:
    """Return all diagnostics about a policy whose shape is right."""
    problems = tuple(expression_problems(policy)) or lower_cleanup(policy, options)[1]
    return with_advice(policy, problems)
