"""Tests that look at nothing: they say the same of every object."""

from collections.abc import Iterator

from kyvsim.cel import BudgetError, CelError, CompileError, compile_expression
from kyvsim.cel.nodes import Call
from kyvsim.engine.compile.compiled import warn
from kyvsim.languages.cel_advice.written import VALIDATING, Expression, Written
from kyvsim.model import ports
from kyvsim.model.diagnostic import Diagnostic

_BY_CHANCE = frozenset({"time.now", "random", "random.random"})
_CONDITIONS = frozenset({"matchConditions", "conditions"})


def constant_tests(written: Written) -> Iterator[Diagnostic]:
    """KV240: a validation that always holds, or a condition that always or never does."""
    for one in written.expressions:
        if one.path[-1] != "expression":
            continue
        value = constant_value(one, written)
        if one.list_name == "validations" and value is True and written.kind in VALIDATING:
            text = f"`{one.text}` is true of every object: the validation checks nothing"
            yield warn(written.policy.document, "KV240", text, one.path)
        elif one.list_name in _CONDITIONS and value is not None:
            effect = "it leaves nothing out" if value else "the policy does nothing"
            holds = "always holds" if value else "never holds"
            text = f"the condition `{one.text}` {holds}: {effect}"
            yield warn(written.policy.document, "KV240", text, one.path)


def constant_value(expression: Expression, written: Written) -> bool | None:
    """Return the truth value that an expression has whatever it is asked of, None for no such."""
    if any(_by_chance(node) for node in expression.nodes()):
        return None
    try:
        program = compile_expression(expression.text, written.env)
        if program.reads:
            return None
        found = program.evaluate([None] * len(written.env.variables))
    except (CompileError, CelError, BudgetError, ports.BudgetError):
        return None
    return found if found.__class__ is bool else None


def _by_chance(node: object) -> bool:
    if not isinstance(node, Call):
        return False
    name = node.function
    return name in _BY_CHANCE or (node.target is not None and name in {"now", "random"})
