"""Checks of conditions: constant or contradicting ones, and deprecated operators."""

import re
from collections.abc import Iterator

from kyvsim.engine.compile.compiled import warn
from kyvsim.engine.conditions import operators
from kyvsim.engine.conditions.operators import Operator, duration_of
from kyvsim.jmespath.errors import QuerySyntaxError
from kyvsim.jmespath.parse import parse
from kyvsim.jmespath.variables import VARIABLE
from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.quantities import parse_float, parse_quantity
from kyvsim.kubernetes.wildcard import has_wildcard
from kyvsim.languages.classic.validation.rule_parts import conditions_of, is_open
from kyvsim.languages.classic.validation.variables import expression_of
from kyvsim.model.diagnostic import ChangeKind, Diagnostic, Fix, change
from kyvsim.model.policy import Policy
from kyvsim.model.source import Path

# Conditions that always come out the same, whatever a rule is about.
#
# Only what is certain is reported: conditions without a variable, lists without an element,
# values that nothing compares with, of operations that no request has, and of lengths, which are
# whole and never below zero.
#
# A key that has to equal a plain word is that word, so that other conditions on it that have to
# hold as well come out one way. Words that Kyverno compares differently (patterns, durations,
# quantities) say nothing.

_OPERATION = re.compile(r"\{\{\s*request\.operation\s*(?:\|\|\s*'([^'{}]*)'\s*)?\}\}")
_OPERATIONS = ("CREATE", "UPDATE", "DELETE", "CONNECT")
_ORDERS = ("Greater", "Less", "Duration")
_LENGTH = re.compile(r"\{\{-?\s*(length\(.*\))\s*\}\}")
_LENGTHS = (0, 1 << 31)
"""The least length and one that none reaches: what orders both alike orders all alike."""
_LISTS = frozenset({"all", "preconditions", "conditions"})
"""Fields with conditions of which all have to hold."""
_EQUAL = frozenset({"Equal", "Equals"})
_MOST_PAIRS = 1_000_000
"""Elements that are compared with each other for the advice on one policy: about a second."""
_NUMBERS = re.compile(r"\d|inf|nan", re.IGNORECASE)


def constant_conditions(policy: Policy) -> Iterator[Diagnostic]:
    """KV222: a condition that is always or never true.

    Long lists with wildcards end the search: compiling reports rules that exceed the budget.
    """
    pairs = 0
    for rule in policy.rules:
        for path, condition in conditions_of(rule.data, rule.path):
            operator = operators.get(condition["operator"])
            if operator is None or "key" not in condition:
                continue
            key, value = condition["key"], condition.get("value")
            pairs += operator.pairs(key, value) if operator.pairs is not None else 0
            if pairs > _MOST_PAIRS:
                return
            for holds, why in _constant(operator, key, value):
                word = "always" if holds else "never"
                text = f"the condition is {word} true: {why}"
                yield warn(policy.document, "KV222", text, path)
                break


def _constant(operator: Operator, key: Json, value: Json) -> Iterator[tuple[bool, str]]:
    """Yield how a condition always comes out, and why; nothing where that is open."""
    if is_open(value):
        return
    if not is_open(key):
        yield operator.holds(key, value), "it contains no variable"
    elif operator.name == "AnyIn" and value == []:
        yield False, "an empty list contains nothing"
    elif operator.name.startswith(_ORDERS) and not _is_number(value):
        yield False, f"`{operator.name}` compares numbers, quantities, durations and versions"
    elif key.__class__ is str and (asked := _OPERATION.fullmatch(key.strip())):
        other = asked[1]
        possible = (*_OPERATIONS, "", *([other] if other is not None else ()))
        found = {operator.holds(one, value) for one in possible}
        if len(found) == 1:
            operations = ", ".join(f"`{one}`" for one in _OPERATIONS)
            yield found.pop(), f"the operations are {operations}"
    elif key.__class__ is str and operator.name.startswith(_ORDERS) and _is_length(key):
        found = {operator.holds(one, value) for one in _LENGTHS}
        if len(found) == 1:
            yield found.pop(), "a length is never negative"


def _is_length(key: str) -> bool:
    """Return whether a key is a call of `length` and nothing else."""
    called = _LENGTH.fullmatch(key.strip())
    if not called:
        return False

    try:
        tree = parse(called[1])
    except QuerySyntaxError:
        return False
    return tree["type"] == "function_expression" and bool(tree["value"] == "length")


def _is_number(value: Json) -> bool:
    """Return whether a value may be one that is compared by its size."""
    if value.__class__ is str:
        return _NUMBERS.search(value) is not None
    return value.__class__ in {int, float}


def exclusive_conditions(policy: Policy) -> Iterator[Diagnostic]:
    """KV223: conditions that are never true together."""
    for rule in policy.rules:
        lists: dict[Path, list[tuple[Path, Json]]] = {}
        for path, condition in conditions_of(rule.data, rule.path):
            if path[-2] in _LISTS and "key" in condition:
                lists.setdefault(path[:-1], []).append((path, condition))
        for entries in lists.values():
            for path, text in _exclusive(entries):
                yield warn(policy.document, "KV223", text, path)


def _exclusive(entries: list[tuple[Path, Json]]) -> Iterator[tuple[Path, str]]:
    """Yield the first condition on each key that another one of a list excludes."""
    words: dict[str, str] = {}
    for _, condition in entries:
        expression = _expression(condition["key"])
        if expression and condition["operator"] in _EQUAL and _is_word(condition.get("value")):
            words.setdefault(expression, condition["value"])
    for path, condition in entries:
        expression, value = _expression(condition["key"]), condition.get("value")
        word = words.get(expression)
        operator = operators.get(condition["operator"])
        if word is None or operator is None or is_open(value) or operator.holds(word, value):
            continue
        text = (
            "the conditions are never true together: another condition requires `{{ "
            f"{expression} }}}}` to be `{word}`"
        )
        yield path, text
        del words[expression]


def _expression(key: Json) -> str:
    """Return the expression that a key is as a whole, "" where two of it may differ."""
    found = VARIABLE.fullmatch(key.strip()) if key.__class__ is str else None
    expression = expression_of(found[2]) if found else ""
    # Functions may give another answer each time: `random`, `time_now_utc`.
    return "" if "(" in expression else expression


def _is_word(value: Json) -> bool:
    """Return whether a value equals only one string, and nothing that is not a string."""
    if value.__class__ is not str or not value or is_open(value) or has_wildcard(value):
        return False
    readings = (duration_of, parse_quantity, parse_float)
    return all(read(value) is None for read in readings)


# Operators of conditions that have a successor.
#
# Source of the rules: upstream pkg/engine/variables/operator/utils.go,
# api/kyverno/v1/common_types.go


def deprecated_operators(policy: Policy) -> Iterator[Diagnostic]:
    """KV201: an operator that still works and has a successor."""
    for rule in policy.rules:
        for path, condition in conditions_of(rule.data, rule.path):
            name = condition["operator"]
            operator = operators.get(name)
            if operator is not None and operator.successors:
                instead = " or ".join(f"`{one}`" for one in operator.successors)
                text = f"operator `{name}` is deprecated: use {instead}"
                place = (*path, "operator")
                fix = _use_successor(policy, operator, condition, place)
                yield warn(policy.document, "KV201", text, place, fix=fix)


def _use_successor(policy: Policy, operator: Operator, condition: Json, path: Path) -> "Fix | None":
    """Return a fix that replaces an operator by its successor, if both are equivalent.

    `In` and `NotIn` are, for keys that are not lists, among strings.
    """
    first, *others = operator.successors
    if others and not (_is_string(condition.get("key")) and _are_strings(condition.get("value"))):
        return None
    return Fix(f"use {first}", (change(policy.document, ChangeKind.VALUE, path, first),))


_STRING_QUERIES = re.compile(
    r"request\.(?:operation|name|namespace|userInfo\.username"
    r"|(?:object|oldObject)\.metadata\.(?:name|namespace)|(?:object|oldObject)\.kind)"
    r"(?:\s*\|\|\s*'[^']*')?"
)
"""Queries that lead to a text or to nothing."""


def _is_string(key: Json) -> bool:
    """Return whether a key is certainly no list when the rule runs."""
    if key.__class__ is not str:
        return key.__class__ in {int, float, bool}
    whole = re.fullmatch(r"\s*\{\{(.*)\}\}\s*", key, re.DOTALL)
    if whole is None or "{{" in whole[1]:
        return "{{" not in key
    return _STRING_QUERIES.fullmatch(whole[1].strip()) is not None


def _are_strings(value: Json) -> bool:
    return value.__class__ is list and all(
        one.__class__ is str and "{{" not in one for one in value
    )
