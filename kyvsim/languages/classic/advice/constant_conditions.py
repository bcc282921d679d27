"""Conditions that always come out the same, whatever a rule is about.

Said is what is certain: of conditions without a variable, of lists without an element, of values
that nothing compares with, and of operations that no request has.
"""

import re
from collections.abc import Iterator

from kyvsim.compile.remark import warn
from kyvsim.conditions import operators
from kyvsim.conditions.operators import Operator
from kyvsim.kube.objects import Json
from kyvsim.languages.classic.advice.remark import conditions_of
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy

_OPERATION = re.compile(r"\{\{\s*request\.operation\s*(?:\|\|\s*'([^'{}]*)'\s*)?\}\}")
_OPERATIONS = ("CREATE", "UPDATE", "DELETE", "CONNECT")
_ORDERS = ("Greater", "Less", "Duration")
_NUMBERS = re.compile(r"\d|inf|nan", re.IGNORECASE)


def constant_conditions(policy: Policy) -> Iterator[Diagnostic]:
    """KV222: a condition that always holds, or never does."""
    for rule in policy.rules:
        for path, condition in conditions_of(rule.data, rule.path):
            operator = operators.get(condition["operator"])
            if operator is None or "key" not in condition:
                continue
            for holds, why in _constant(operator, condition["key"], condition.get("value")):
                word = "always" if holds else "never"
                text = f"the condition {word} holds: {why}"
                yield warn(policy.document, "KV222", text, path)
                break


def _constant(operator: Operator, key: Json, value: Json) -> Iterator[tuple[bool, str]]:
    """Yield how a condition always comes out, and why; nothing where that is open."""
    if _is_open(value):
        return
    if not _is_open(key):
        yield operator.holds(key, value), "there is no variable in it"
    elif operator.name == "AnyIn" and value == []:
        yield False, "nothing is in an empty list"
    elif operator.name.startswith(_ORDERS) and not _is_number(value):
        yield False, f"`{operator.name}` compares numbers, quantities, durations and versions"
    elif key.__class__ is str and (asked := _OPERATION.fullmatch(key.strip())):
        other = asked[1]
        possible = (*_OPERATIONS, "", *([other] if other is not None else ()))
        found = {operator.holds(one, value) for one in possible}
        if len(found) == 1:
            yield found.pop(), f"operations are {', '.join(f'`{one}`' for one in _OPERATIONS)}"


def _is_open(data: Json) -> bool:
    """Return whether there are variables or references in data."""
    pending = [data]
    while pending:
        one = pending.pop()
        if one.__class__ is dict:
            pending += [*one, *one.values()]
        elif one.__class__ is list:
            pending += one
        elif one.__class__ is str and ("{{" in one or "$(" in one):
            return True
    return False


def _is_number(value: Json) -> bool:
    """Return whether a value may be one that is compared by its size."""
    if value.__class__ is str:
        return _NUMBERS.search(value) is not None
    return value.__class__ in {int, float}
