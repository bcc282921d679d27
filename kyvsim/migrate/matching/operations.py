"""Conditions on the operation → the operations of resource rules."""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from kyvsim.kube.objects import Json
from kyvsim.migrate.refusal import NotConvertible

EVERY: Final = ("CREATE", "UPDATE", "DELETE", "CONNECT")
WRITES: Final = ("CREATE", "UPDATE", "DELETE")
_KEY: Final = re.compile(r"\{\{-?\s*request\.operation\s*(\|\|\s*'[A-Z]*'\s*)?\}\}")
_IN: Final = frozenset({"Equals", "Equal", "In", "AnyIn", "AllIn"})
_NOT_IN: Final = frozenset({"NotEquals", "NotEqual", "NotIn", "AnyNotIn", "AllNotIn"})


class Operations(NamedTuple):
    """What a rule is asked for."""

    usual: tuple[str, ...]
    """The operations of its type, where neither it nor its preconditions say so."""
    allowed: frozenset[str]
    """Those that its preconditions allow."""
    takes_all: bool = False
    """Whether it is asked for any operation that a match block names."""

    def chosen(self, named: Iterable[str]) -> list[str]:
        """Return the operations of resource rules, where a match block names some or none.

        Raises NotConvertible where none is left.
        """
        listed = tuple(named)
        usual = self.usual
        if self.takes_all and listed:
            usual = EVERY
        elif listed or self.allowed == {"CONNECT"}:
            usual = (*self.usual, "CONNECT")
        found = [one for one in listed or usual if one in self.allowed and one in usual]
        if not found:
            raise NotConvertible("no operation is left for the rule", "leave the rule out")
        return found


def without_operations(block: Json) -> tuple[Json, frozenset[str]]:
    """Return preconditions without those on the operation, and the operations that these allow."""
    allowed = frozenset(EVERY)
    if isinstance(block, list):
        kept = []
        for one in block:
            found = _allowed(one) if "key" in one else None
            if found is None:
                kept.append(one)
            else:
                allowed &= found
        return kept, allowed
    if not isinstance(block, dict):
        return block, allowed
    rest = dict(block)
    if block.get("all"):
        rest["all"], found = without_operations(list(block["all"]))
        allowed &= found
    some = block.get("any") or ()
    each = [_allowed(one) for one in some]
    if some and all(one is not None for one in each):
        del rest["any"]
        allowed &= frozenset().union(*(one for one in each if one is not None))
    return {key: value for key, value in rest.items() if value}, allowed


def _allowed(condition: Json) -> frozenset[str] | None:
    """Return the operations that a condition allows; None where it asks for something else."""
    key, value = condition.get("key"), condition.get("value")
    if not isinstance(key, str) or _KEY.fullmatch(key) is None:
        return None
    values = [value] if isinstance(value, str) else value or ()
    if not isinstance(values, list | tuple) or not all(isinstance(one, str) for one in values):
        return None
    named = frozenset(values)
    if not named <= frozenset(EVERY) | {"BACKGROUND"}:
        return None
    if condition["operator"] in _IN:
        return named & frozenset(EVERY)
    return frozenset(EVERY) - named if condition["operator"] in _NOT_IN else None
