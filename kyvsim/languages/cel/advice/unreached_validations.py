"""Validations behind one that is never true: the first that fails ends a policy.

upstream: pkg/cel/policies/vpol/compiler/policy.go
"""

from collections.abc import Iterator
from itertools import pairwise

from kyvsim.engine.compile.compiled import warn
from kyvsim.languages.cel_advice.constant_tests import constant_value
from kyvsim.languages.cel_advice.written import Written
from kyvsim.model.diagnostic import Diagnostic


def unreached_validations(written: Written) -> Iterator[Diagnostic]:
    """KV241: validations that are never evaluated."""
    tests = [
        one
        for one in written.expressions
        if one.list_name == "validations" and one.path[-1] == "expression"
    ]
    for one, following in pairwise(tests):
        if constant_value(one, written) is False:
            text = f"this validation is never evaluated: `{one.text}` before it always fails"
            yield warn(written.policy.document, "KV241", text, following.path)
            return
