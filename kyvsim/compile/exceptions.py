"""Policy exceptions, attached to the rules that they name.

Source of the rules: upstream pkg/exceptions/selector.go, pkg/engine/utils/exceptions.go.
"""

from kyvsim.compile.compiled import CompiledException
from kyvsim.compile.options import CompileOptions
from kyvsim.conditions import compile_exception_conditions
from kyvsim.kube.wildcard import matches
from kyvsim.match import compile_exception_match
from kyvsim.model.exception import PolicyException
from kyvsim.model.policy import Policy, Rule
from kyvsim.rules.protocol import Exclusion


def attach_exceptions(
    policy: Policy, rule: Rule, options: CompileOptions
) -> tuple[CompiledException, ...]:
    """Return the compiled exceptions that name the rule, in the order in which they were given."""
    return tuple(
        CompiledException(
            exception.key,
            compile_exception_match(exception.match),
            compile_exception_conditions(exception.conditions, options.environment)
            if exception.conditions
            else None,
            _controls(exception),
        )
        for exception in options.exceptions
        if _names(exception, policy, rule)
    )


def _controls(exception: PolicyException) -> tuple[Exclusion, ...]:
    if not exception.pod_security:
        return ()
    from kyvsim.rules.pod_security.exclusions import (  # noqa: PLC0415 — many modules, rarely needed
        compile_exclusions,
    )

    return compile_exclusions(exception.pod_security)


def _names(exception: PolicyException, policy: Policy, rule: Rule) -> bool:
    return any(
        one.policy == policy.key and any(matches(pattern, rule.name) for pattern in one.rules)
        for one in exception.exceptions
    )
