"""Calls of JMESPath functions that can only fail.

To Kyverno these are faults of evaluation: the policy is taken, and the rule ends in error.
upstream: kyverno/go-jmespath `functions.go`, CallFunction
"""

from collections.abc import Iterator

from kyvsim.engine.compile.compiled import warn
from kyvsim.languages.classic.checks.variables import impossible_calls_in
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy


def impossible_calls(policy: Policy) -> Iterator[Diagnostic]:
    """KV205: a function that does not exist, or a call with a number of arguments it never takes.

    A fixed expression is looked at wherever it stands; one with variables in it is not.
    """
    for rule in policy.rules:
        for problem, path in impossible_calls_in(rule.data):
            yield warn(policy.document, "KV205", problem, (*rule.path, *path))
