"""Checks of conditions, of context entries that are never read, of JMESPath that cannot work."""

import re
from collections.abc import Iterable, Iterator, Mapping

from kyvsim.engine.compile.compiled import warn
from kyvsim.engine.conditions import operators
from kyvsim.engine.conditions.operators import Operator, duration_of
from kyvsim.jmespath.errors import QuerySyntaxError
from kyvsim.jmespath.parse import parse
from kyvsim.jmespath.variables import VARIABLE
from kyvsim.kubernetes.objects import Json, Path, text_field
from kyvsim.kubernetes.quantities import parse_float, parse_quantity
from kyvsim.kubernetes.wildcard import has_wildcard
from kyvsim.languages.classic.validation.rule_parts import (
    conditions_of,
    is_free,
    is_open,
    is_query,
    nodes,
    texts,
)
from kyvsim.languages.classic.validation.variables import (
    expression_of,
    impossible_calls_in,
    syntax_problem,
)
from kyvsim.model.diagnostic import ChangeKind, Diagnostic, Fix, change
from kyvsim.model.policy import Policy

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
    called = _LENGTH.fullmatch(key.strip())
    if not called:
        return False

    try:
        tree = parse(called[1])
    except QuerySyntaxError:
        return False
    return tree["type"] == "function_expression" and bool(tree["value"] == "length")


def _is_number(value: Json) -> bool:
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


# Context entries that nothing reads.
#
# An entry is loaded when a query names it, so one whose name is nowhere else is never loaded.
# In a rule that computes names (a variable inside a variable) nothing is reported.

_WORD = re.compile(r"\w+")
_NESTED = re.compile(r"\{\{[^{}]*\{\{")


def unread_entries(policy: Policy) -> Iterator[Diagnostic]:
    """KV204: a context entry that is never used in its rule."""
    for rule in policy.rules:
        entries = tuple(_entries(rule.data))
        found = tuple(texts(rule.data)) if entries else ()
        if any(
            ("{{" in text and (is_query(path) or _NESTED.search(text) is not None))
            for path, text in found
        ):
            continue
        places = _places_of_words(found) if entries else {}
        for path, name in entries:
            if _WORD.fullmatch(name):
                is_read = any(place[: len(path)] != path for place in places.get(name, ()))
            else:
                word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
                others = (text for place, text in found if place[: len(path)] != path)
                is_read = any(word.search(text) for text in others)
            if not is_read:
                text = f"the context entry `{name}` is never used in the rule"
                yield warn(policy.document, "KV204", text, (*rule.path, *path))


def _places_of_words(found: Iterable[tuple[Path, str]]) -> Mapping[str, list[Path]]:
    places: dict[str, list[Path]] = {}
    for place, text in found:
        for word in _WORD.findall(text):
            places.setdefault(word, []).append(place)
    return places


def _entries(rule: Json) -> Iterator[tuple[Path, str]]:
    for path, value in nodes(rule):
        if path[-2:-1] == ("context",) and path[-1].__class__ is int and not is_free(path):
            name = text_field(value, "name")
            if name:
                yield path, name


# Fixed expressions that are not JMESPath, where Kyverno reads them only when the rule runs.
#
# Those of a rule's own context entries and of variables `{{ }}` are read, and refused, before
# (KV112, KV135).


def unreadable_queries(policy: Policy) -> Iterator[Diagnostic]:
    """KV209: an expression in a loop or target that cannot be parsed: the rule ends in error."""
    for rule in policy.rules:
        for path, query in _queries(rule.data):
            problem = syntax_problem(query)
            if problem:
                message = f"`{query}` is not valid JMESPath: {problem}"
                yield warn(policy.document, "KV209", message, (*rule.path, *path))


def _queries(rule: Json) -> Iterator[tuple[Path, str]]:
    for path, text in texts(rule):
        if is_query(path) and path[0] != "context" and text.strip() and "{{" not in text:
            yield path, text.strip()


# Calls of JMESPath functions that can only fail.
#
# To Kyverno these are errors of evaluation: the policy is accepted, and the rule ends in error.
#
# Source of the rules: upstream kyverno/go-jmespath `functions.go`, CallFunction


def impossible_calls(policy: Policy) -> Iterator[Diagnostic]:
    """KV205: a function that does not exist, or a call with a number of arguments it never takes.

    Fixed expressions are checked everywhere; those with variables are not.
    """
    for rule in policy.rules:
        for problem, path in impossible_calls_in(rule.data):
            yield warn(policy.document, "KV205", problem, (*rule.path, *path))
