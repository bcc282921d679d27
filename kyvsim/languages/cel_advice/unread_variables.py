"""Variables that nothing reads: what was meant to be checked with them is not."""

from collections.abc import Iterator

from kyvsim.cel.nodes import Select
from kyvsim.engine.compile.compiled import warn
from kyvsim.languages.cel_advice.written import MUTATING, VALIDATING, Written, is_name
from kyvsim.model.diagnostic import Diagnostic

_KINDS = frozenset({*VALIDATING, *MUTATING, "DeletingPolicy"})
"""Kinds whose expressions all stand in fields of that name."""


def unread_variables(written: Written) -> Iterator[Diagnostic]:
    """KV242: a variable that no expression reads."""
    if written.kind not in _KINDS or not written.expressions:
        return
    whole, named = 0, set()
    for one in written.expressions:
        for node in one.nodes():
            whole += is_name(node, "variables")
            if isinstance(node, Select) and is_name(node.operand, "variables"):
                named.add(node.field)
                whole -= 1
    if whole:
        return  # some expression takes all of them together
    for index, variable in enumerate(written.spec.get("variables") or ()):
        if variable["name"] not in named:
            text = f"nothing reads the variable `{variable['name']}`"
            path = ("spec", "variables", index, "name")
            yield warn(written.policy.document, "KV242", text, path)
