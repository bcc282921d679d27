"""Checks of conditions, unused context entries, and invalid JMESPath."""

import contextlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Final, TypeVar

from kyvsim.engine.compile.compiled import warn
from kyvsim.engine.conditions import operators
from kyvsim.engine.conditions.operators import Operator, duration_of
from kyvsim.jmespath.parse import QuerySyntaxError, parse
from kyvsim.jmespath.query import note_on_syntax
from kyvsim.jmespath.variables import VARIABLE
from kyvsim.kubernetes.objects import Path
from kyvsim.kubernetes.quantities import parse_duration, parse_float, parse_quantity
from kyvsim.kubernetes.semver import parse_version
from kyvsim.kubernetes.wildcard import has_wildcard, range_ends
from kyvsim.languages.classic.validation.rule_parts import is_open, syntax_problem
from kyvsim.languages.classic.validation.variables import (
    expression_of,
    impossible_calls_in,
)
from kyvsim.linting.patterns import are_apart, is_no_image, order, unit_hint
from kyvsim.linting.queries import is_list
from kyvsim.linting.traversal import expressions_in, joined_texts, nodes_of, texts_of
from kyvsim.model.diagnostic import ChangeKind, Diagnostic, Fix, change
from kyvsim.model.policy import Policy, PolicyException
from kyvsim.model.request import OPERATIONS
from kyvsim.model.source import Document
from kyvsim.policy.nodes import Node
from kyvsim.policy.tree import Condition, Conditions, ContextEntry
from kyvsim.policy.visit import TextKind, walk

_OPERATION = re.compile(r"\{\{\s*request\.operation\s*(?:\|\|\s*'([^'{}]*)'\s*)?\}\}")
_ORDERS = ("Greater", "Less", "Duration")
_LENGTH = re.compile(r"\{\{-?\s*(length\(.*\))\s*\}\}")
_LENGTHS = (0, 1 << 31)
"""The minimum length and an impossible one: if the results are equal, they are for all lengths."""
_MOST_PAIRS = 1_000_000
"""Maximum number of compared pairs of elements for one policy: about a second."""
_Node = TypeVar("_Node", Condition, Conditions)


def constant_conditions(policy: Policy) -> Iterator[Diagnostic]:
    """KV222: a condition that is always or never true for any object.

    Only certain cases are reported: conditions without a variable, empty lists, values that cannot
    be compared, operations that do not exist, and lengths. Long lists with wildcards end the
    search: compiling reports rules that exceed the budget.
    """
    yield from _constant_in(
        policy.document, [one for rule in policy.rules for one in nodes_of(rule)]
    )


def constant_exceptions(exceptions: Iterable[PolicyException]) -> Iterator[Diagnostic]:
    """KV222 in the conditions of exceptions."""
    for one in exceptions:
        if one.conditions:
            yield from _constant_in(one.document, [*walk(one.conditions)])


def _constant_in(document: Document, nodes: Iterable[Node]) -> Iterator[Diagnostic]:
    pairs = 0
    for condition in nodes:
        if isinstance(condition, Conditions):
            for group in condition.groups:
                for path, text in _always_one(group.any or ()):
                    of_all = change(document, ChangeKind.KEY, path[:-1], "all")
                    is_both = len(group.any or ()) == 2 and not group.all and path[-2] == "any"
                    fix = Fix("use all", (of_all,)) if is_both else None
                    yield warn(document, "KV222", text, path, fix=fix)
        if not isinstance(condition, Condition):
            continue
        operator, key, value = operators.get(condition.operator), condition.key, condition.value
        if operator is None or key is None:
            continue
        pairs += operator.pairs(key, value) if operator.pairs is not None else 0
        if pairs > _MOST_PAIRS:
            return
        yield from _same_or_empty(document, condition, operator)
        yield from _ordered_times(document, condition, operator)
        for index, text in _patterns_in_list(condition, operator):
            yield warn(document, "KV349", text, (*condition.path, "value", index))
        checks = (_constant, _never_equal, _line_break, _one_string)
        found = chain.from_iterable(check(operator, key, value) for check in checks)
        for holds, why in () if is_open(value) else found:
            word = "always" if holds else "never"
            text = f"the condition is {word} true: {why}"
            meant = "" if is_open(key) else _in_braces(key)
            added = change(document, ChangeKind.VALUE, (*condition.path, "key"), meant)
            fix = Fix("add braces", (added,)) if meant else None
            yield warn(document, "KV222", text, condition.path, fix=fix)
            break


def _same_or_empty(document: Document, one: Condition, operator: Operator) -> Iterator[Diagnostic]:
    """Yield that both sides of a condition are the same, or that it tests a field for ""."""
    if one.value not in ("", one.key) or operator.name not in _INSTEAD:
        return
    name = _expression(one.key)
    if name and one.key == one.value:
        text = "the key and the value are the same expression, so the result is constant"
        if "request.object." in name:
            text = f"{text} (`request.oldObject` is the object before an update)"
        yield warn(document, "KV222", text, one.path)
    elif one.value == "" and _OPTIONAL.fullmatch(name):
        path, meant = (*one.path, "key"), f"{name} || ''"
        text = f"a missing field is an error here, and not the empty string: write `{meant}`"
        changes = (change(document, ChangeKind.VALUE, path, f"{{{{ {meant} }}}}"),)
        yield warn(document, "KV356", text, path, fix=Fix("add the default", changes))


_TIME = re.compile(
    r"(?:request\.(?:object|oldObject)|target|element)\.metadata\.(?:creation|deletion)Timestamp"
    r"|time_(?:now|now_utc|utc|add|parse|truncate)\([^|]*\)"
)
"""Expressions whose whole value is a time."""


def _ordered_times(document: Document, one: Condition, operator: Operator) -> Iterator[Diagnostic]:
    """Yield that a time is compared as a number; see `_constant` for other values.

    upstream: pkg/engine/variables/operator/numeric.go
    """
    found = VARIABLE.fullmatch(one.key.strip()) if isinstance(one.key, str) else None
    is_other = not is_open(one.value) and not _is_comparable(operator, one.value)
    if found is None or is_other or not operator.name.startswith(_ORDERS):
        return
    if _TIME.fullmatch(expression_of(found[2])):
        text = (
            f"the condition is never true: `{operator.name}` does not compare times (write "
            "`time_before(…, …)` with `value: true`, or `time_since('', …, '')` with a duration as "
            "value)"
        )
        yield warn(document, "KV222", text, one.path)


_NEGATED = re.compile(r"!\s*[\w*].*")
_FREE = re.compile(r"\b(?:annotations|args|command|data|message)\b")
"""Fields that may have any text."""


def _patterns_in_list(one: Condition, operator: Operator) -> Iterator[tuple[int, str]]:
    """Yield the items of a list that are ranges or operators, which only patterns have.

    upstream: pkg/engine/variables/operator/anyin.go, where a range is the whole value
    """
    items = one.value if isinstance(one.value, list) and operator.name.endswith("In") else []
    negated = "Not" in operator.name
    number_beside = any(isinstance(each, int) or str(each).isdecimal() for each in items)
    for index, item in enumerate(items):
        if not isinstance(item, str) or _FREE.search(str(one.key)):
            continue
        ends = range_ends(item)
        if sign := _COMPARISON.fullmatch(item):
            _, order_sign, equals, rest = sign.groups()
            is_greater, or_equal = (order_sign == ">") != negated, bool(equals) != negated
            meant = f"{'Greater' if is_greater else 'Less'}Than{'OrEquals' * or_equal}"
            yield index, f"`{item}` is text in a list: write a condition `{meant}` with `{rest}`"
        elif _NEGATED.fullmatch(item):
            name = operator.name
            opposite = name.replace("Not", "") if negated else f"{name.removesuffix('In')}NotIn"
            text = f"`{item}` is text in a list, as `!` is for patterns: write `{opposite}`"
            yield index, f"{text} with `{item[1:].strip()}`"
        elif ends and number_beside and (order(ends.first, ends.last) or 0) < 0:
            text = f"`{item}` is text in a list: write a condition with `value: {item}` for a range"
            yield index, text


def _nodes(policy: Policy, kind: type[_Node]) -> Iterator[_Node]:
    for rule in policy.rules:
        yield from (one for one in nodes_of(rule) if isinstance(one, kind))


def _constant(operator: Operator, key: object, value: object) -> Iterator[tuple[bool, str]]:
    if not is_open(key):
        meant = _in_braces(key)
        hint = f" (write `{meant}`)" if meant else ""
        yield operator.holds(key, value), f"it contains no variable{hint}"
    elif operator.name == "AnyIn" and value == []:
        yield False, "an empty list contains nothing"
    elif operator.name.startswith(_ORDERS) and not _is_comparable(operator, value):
        compared = "numbers, quantities, durations and versions"
        if operator.name.startswith("Duration") and isinstance(value, str):
            compared = "durations"
        hint = unit_hint(value) if isinstance(value, str) and compared != "durations" else ""
        yield False, f"`{operator.name}` compares {compared}{hint}"
    elif operator.name.endswith("In") and (swapped := _swapped_range(value)):
        yield "Not" in operator.name, f"the smaller end of a range comes first: `{swapped}`"
    elif isinstance(key, str) and (read := _OPERATION.fullmatch(key.strip())):
        other = read[1]
        possible = (*OPERATIONS, "", *([other] if other is not None else ()))
        found = {operator.holds(one, value) for one in possible}
        if len(found) == 1:
            operations = ", ".join(f"`{one}`" for one in OPERATIONS)
            hint = list_hint(operator) if isinstance(value, list) else ""
            yield found.pop(), f"the operations are {operations}{hint}"
    elif isinstance(key, str) and operator.name.startswith(_ORDERS) and _is_length(key):
        found = {operator.holds(one, value) for one in _LENGTHS}
        if len(found) == 1:
            yield found.pop(), "a length is never negative"


_BARE = re.compile(r"\{?\s*((?:request|element|target|images)\.[\w.]+)\s*\}?")
_LABEL = re.compile(
    r"request\.(?:object|oldObject)\.metadata\.(?:labels|annotations)"
    r"""\.(?:\w+|"[^"]+")(?:\s*\|\|\s*'[^']*')?"""
)
_OF_LABELS = re.compile(
    r"""request\.(?:object|oldObject)\.metadata\.labels\.(?:\w+|"[^"]+")(?:\s*\|\|\s*'[^',|]*')?"""
)
_OPTIONAL = re.compile(
    r"(?:request\.(?:object|oldObject)|element|target)(?:\.\w+)*\.metadata"
    r"\.(?:labels|annotations)"
    r"""\.(?:\w+|"[^"]+")"""
)
_LISTS = re.compile(r"\[[*?\]].*\[\*\]")
"""Lists in a list: only `[]` joins the elements of the inner ones."""
_REGEX = re.compile(r"\^.+|.*(?:\.[*+]|\[[^\]]+\][*+]|\\[.dws]).*\$")
"""What no value of a field looks like."""
_COMPARISON = re.compile(r"\s*(([<>])(=?))\s*(\d[\w.]*)\s*")
_INSTEAD: Mapping[str, str] = {
    **dict.fromkeys(("Equal", "Equals"), "AnyIn"),
    **dict.fromkeys(("NotEqual", "NotEquals"), "AnyNotIn"),
}
"""The operators for lists, by those for single values."""


def _in_braces(key: object) -> str:
    """Return an expression without its braces as a variable, or ""."""
    bare = _BARE.fullmatch(key.strip()) if isinstance(key, str) else None
    return f"{{{{ {bare[1]} }}}}" if bare else ""


def list_hint(operator: Operator) -> str:
    """Return the operator for lists instead of one for single values, in parentheses, or ""."""
    instead = _INSTEAD.get(operator.name)
    return f" (write `{instead}` for a list)" if instead else ""


_NAME = re.compile(r"[A-Za-z*][\w./:*?@-]*")


def _line_break(operator: Operator, key: object, value: object) -> Iterator[tuple[bool, str]]:
    """Yield that a value in one line has a line break at its end, as `|` and `>` make it."""
    line = value.removesuffix("\n") if isinstance(value, str) else ""
    is_name = value != line and _NAME.fullmatch(line) is not None
    if is_name and "{{" in str(key) and not _FREE.search(str(key)):
        found = {operator.holds(one, value) for one in ("", "x", line, line.strip(" *"), [line])}
        if len(found) == 1:
            yield (
                found.pop(),
                "the value ends with a line break (write it after the colon, or `|-`)",
            )


SEVERAL_NAMES: Final = re.compile(r"\s*[\w./:*?@-]+(?:(?=[^\S\n]*[,\n])[\s,]++[\w./:*?@-]+)+[\s,]*")
"""Several names in one string, without the signs of other texts such as `CN=a,O=b`."""


def _one_string(operator: Operator, key: object, value: object) -> Iterator[tuple[bool, str]]:
    """Yield that a name, which has no commas, is compared with several in one string."""
    is_open_key = isinstance(key, str) and "{{" in key
    is_name = is_open_key and _is_string(key)
    is_label = isinstance(key, str) and _OF_LABELS.fullmatch(_expression(key)) is not None
    text = value if isinstance(value, str) else ""
    are_names = "In" in operator.name and SEVERAL_NAMES.fullmatch(text) is not None
    is_several = is_open_key and are_names and not _FREE.search(str(key))
    for sign, what in (("|", "`|`"), (",", "commas"), ("\n", "several lines")):
        is_one = is_label if sign == "|" else is_several
        if sign in text and (is_one or (is_name and sign != "\n")):
            parts = [one.strip() for one in text.split(sign)]
            lists = [[one] for one in parts] if is_several else []
            found = {operator.holds(one, value) for one in ("", "x", *parts, *lists)}
            if len(found) == 1:
                instead = _INSTEAD.get(operator.name)
                how = f"write a list{f', with `{instead}`' if instead else ''}"
                yield found.pop(), f"a string with {what} is one value ({how})"


def _never_equal(operator: Operator, key: object, value: object) -> Iterator[tuple[bool, str]]:
    """Yield that a list is compared with a single value, or a label with a boolean or number."""
    expression = _expression(key) if operator.name in _INSTEAD else ""
    samples: tuple[object, ...] = ()
    why = ""
    if expression and "[" in expression and not isinstance(value, list | dict):
        with contextlib.suppress(QuerySyntaxError):
            if is_list(parse(expression)):
                samples = ([], ["x"], [value], [value, "x"])
        why = f"`{expression}` is a list, and the value is not{list_hint(operator)}"
        if _LISTS.search(expression):
            joined = expression.replace("[*]", "[]")
            why = f"{why}; `{joined}` joins the lists in it"
    elif _LABEL.fullmatch(expression) and isinstance(value, bool | int | float):
        written = json.dumps(value)
        samples = ("", "x", written)
        why = f"labels and annotations are strings (write `'{written}'` in quotes)"
    elif isinstance(value, str) and expression.endswith(".image") and is_no_image(value):
        samples = ("nginx", "ghcr.io/example/web:1.0@sha256:0", value.strip(":@/") + ":latest")
        why = f"no image is `{value}` (write `*:latest` for a tag, `ghcr.io/*` for a registry)"
    elif isinstance(value, str) and _REGEX.fullmatch(value):
        samples = ("", "x")
        why = (
            f"`{value}` is not a regular expression, but a wildcard with `*` and `?` (write "
            f"`regex_match('{value}', …)` in the key, and `true` as the value)"
        )
    elif isinstance(value, str) and (sign := _COMPARISON.fullmatch(value)):
        written, order_sign, equals, rest = sign.groups()
        samples = (0, "0", 1 << 31, str(1 << 31), rest)
        meant = "Greater" if order_sign == ">" else "Less"
        equal = "OrEquals" if equals else ""
        why = f"`{written}` is for patterns (write `{meant}Than{equal}` with `{rest}`)"
    found = {operator.holds(one, value) for one in samples}
    if len(found) == 1:
        yield found.pop(), why


_DIFFERING = frozenset({"NotEqual", "NotEquals", "NotIn", "AnyNotIn", "AllNotIn"})


def _complementary(conditions: tuple[Condition, ...]) -> Iterator[Path]:
    """Yield the path of the first condition on a key whose negation another one excludes."""
    seen: dict[str, list[list[str]]] = {}
    for one in conditions:
        expression = _expression(one.key)
        values = one.value if isinstance(one.value, list) else [one.value]
        words = [value for value in values if isinstance(value, str) and value]
        if not expression or one.operator not in _DIFFERING or is_open(one.value):
            continue
        if len(words) != len(values):
            continue
        others = seen.setdefault(expression, [])
        if any(all(are_apart(a, b) for a in words for b in other) for other in others):
            yield one.path
            return
        others.append(words)


def _swapped_range(value: object) -> str:
    """Return the range that a reversed one should be, or ""."""
    ends = range_ends(value) if isinstance(value, str) else None
    if ends is None or not ends.inside or (order(ends.first, ends.last) or 0) <= 0:
        return ""
    return f"{ends.last}-{ends.first}"


def _is_comparable(operator: Operator, value: object) -> bool:
    """Return whether a key can be greater or less than a value."""
    if not isinstance(value, str):
        return isinstance(value, int | float) and not isinstance(value, bool)
    if parse_duration(value) is not None:
        return True
    readers = () if operator.name.startswith("Duration") else (parse_quantity, parse_float)
    return any(read(value) is not None for read in readers) or (
        bool(readers) and parse_version(value) is not None
    )


def _is_length(key: str) -> bool:
    called = _LENGTH.fullmatch(key.strip())
    if not called:
        return False
    try:
        tree = parse(called[1])
    except QuerySyntaxError:
        return False
    return tree["type"] == "function_expression" and bool(tree["value"] == "length")


def exclusive_conditions(policy: Policy) -> Iterator[Diagnostic]:
    """KV223: conditions that are never true together.

    A key that must equal a plain word has this value, which determines other conditions on it.
    Words that Kyverno compares differently (patterns, durations, quantities) prove nothing.
    """
    for block in _nodes(policy, Conditions):
        # Conditions without `any` or `all` are separate groups, but all of them must be true.
        lists: dict[Path, list[Condition]] = {}
        for condition in (one for group in block.groups for one in group.all or ()):
            lists.setdefault(condition.path[:-1], []).append(condition)
        for conditions in lists.values():
            for path, text in _exclusive(conditions):
                yield warn(policy.document, "KV223", text, path)


def _exclusive(conditions: list[Condition]) -> Iterator[tuple[Path, str]]:
    """Yield the first condition on each key that another one in the list excludes."""
    yield from _crossed(conditions)
    words: dict[str, str] = {}
    for one in conditions:
        expression = _expression(one.key)
        if expression and one.operator in {"Equal", "Equals"} and _is_word(one.value):
            words.setdefault(expression, one.value)
    for one in conditions:
        expression, operator = _expression(one.key), operators.get(one.operator)
        word = words.get(expression)
        if word is None or operator is None or is_open(one.value):
            continue
        if not operator.holds(word, one.value):
            text = (
                "the conditions are never true together: another condition requires `{{ "
                f"{expression} }}}}` to be `{word}`"
            )
            yield one.path, text
            del words[expression]


_BOUNDS = re.compile(r"(?:Duration)?(Greater|Less)Than(OrEquals)?")


def _bounds(conditions: Iterable[Condition]) -> Iterator[tuple[Condition, str, bool, str]]:
    """Yield the comparisons with a constant: expression, whether it is a lower bound, its value."""
    for one in conditions:
        sign = _BOUNDS.fullmatch(one.operator)
        whole = VARIABLE.fullmatch(one.key.strip()) if isinstance(one.key, str) else None
        is_constant = isinstance(one.value, str | int | float) and not is_open(one.value)
        if sign and whole and is_constant and "random(" not in whole[2]:
            yield one, expression_of(whole[2]), sign[1] == "Greater", str(one.value)


def _crossed(conditions: Iterable[Condition]) -> Iterator[tuple[Path, str]]:
    """Yield a condition that requires less than another one does, which requires more."""
    seen: dict[tuple[str, bool], str] = {}
    for one, expression, is_lower, value in _bounds(conditions):
        other = seen.get((expression, not is_lower))
        low, high = (value, other) if is_lower else (other, value)
        if low is not None and high is not None and (order(low, high) or 0) > 0:
            text = (
                f"the conditions are never true together: nothing is greater than `{low}` and less "
                f"than `{high}` (write `any` instead of `all`)"
            )
            yield one.path, text
        seen.setdefault((expression, is_lower), value)


def _always_one(conditions: tuple[Condition, ...]) -> Iterator[tuple[Path, str]]:
    """Yield a condition that is true for all values for which another one of `any` is not."""
    for path in _complementary(conditions):
        text = (
            "one of these conditions is true for every value: a value that differs from either is "
            "enough under `any` (write `all`, or one condition with `AnyNotIn`)"
        )
        yield path, text
    seen: dict[tuple[str, bool], str] = {}
    for one, expression, is_lower, value in _bounds(conditions):
        other = seen.get((expression, not is_lower))
        low, high = (value, other) if is_lower else (other, value)
        if low is not None and high is not None and (order(low, high) or 0) < 0:
            yield one.path, "one of these conditions is true for every value: write `all`"
        seen.setdefault((expression, is_lower), value)


def _expression(key: object) -> str:
    """Return the expression if it is the whole key; "" if its value may change."""
    found = VARIABLE.fullmatch(key.strip()) if isinstance(key, str) else None
    expression = expression_of(found[2]) if found else ""
    # Functions may return different values each time: `random`, `time_now_utc`.
    return "" if "(" in expression else expression


def _is_word(value: object) -> bool:
    """Return whether a value only equals one string, and no value of another type."""
    if not isinstance(value, str) or not value or is_open(value) or has_wildcard(value):
        return False
    return all(read(value) is None for read in (duration_of, parse_quantity, parse_float))


def deprecated_operators(policy: Policy) -> Iterator[Diagnostic]:
    """KV201: a deprecated operator that has a successor.

    upstream: pkg/engine/variables/operator/utils.go, api/kyverno/v1/common_types.go
    """
    for condition in _nodes(policy, Condition):
        operator = operators.get(condition.operator)
        if operator is None or not operator.successors:
            continue
        instead = " or ".join(f"`{one}`" for one in operator.successors)
        text = f"operator `{condition.operator}` is deprecated: use {instead}"
        path = (*condition.path, "operator")
        first, *others = operator.successors
        fix = None
        # `In` and `NotIn` are equivalent for keys that are not lists, among strings.
        if not others or (_is_string(condition.key) and _are_strings(condition.value)):
            fix = Fix(f"use {first}", (change(policy.document, ChangeKind.VALUE, path, first),))
        yield warn(policy.document, "KV201", text, path, fix=fix)


_STRING_QUERIES = re.compile(
    r"request\.(?:operation|name|namespace|userInfo\.username"
    r"|(?:object|oldObject)\.metadata\.(?:name|namespace)|(?:object|oldObject)\.kind)"
    r"(?:\s*\|\|\s*'[^']*')?"
)
"""Queries whose value is a string or missing."""


def _is_string(key: object) -> bool:
    if not isinstance(key, str):
        return isinstance(key, int | float)
    whole = re.fullmatch(r"\s*\{\{(.*)\}\}\s*", key, re.DOTALL)
    if whole is None or "{{" in whole[1]:
        return "{{" not in key
    return _STRING_QUERIES.fullmatch(whole[1].strip()) is not None


def _are_strings(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(one, str) and "{{" not in one for one in value
    )


_WORD = re.compile(r"\w+")
_NESTED = re.compile(r"\{\{[^{}]*\{\{")


def unread_entries(policy: Policy) -> Iterator[Diagnostic]:
    """KV204: a context entry that is never used in its rule.

    An entry is loaded when a query uses it, so it is never loaded if its name does not occur
    elsewhere. Rules that compute names (a variable inside a variable) are not checked.
    """
    for rule in policy.rules:
        entries = [one for one in nodes_of(rule) if isinstance(one, ContextEntry) and one.name]
        found = texts_of(rule) if entries else ()
        if any(
            "{{" in one.text
            and (one.kind is TextKind.QUERY or _NESTED.search(one.text) is not None)
            for one in found
        ):
            continue
        places: dict[str, list[Path]] = {}
        for one in found:
            for word in _WORD.findall(one.text):
                places.setdefault(word, []).append(one.path)
        for entry in entries:
            name, path = entry.name, entry.path
            if _WORD.fullmatch(name):
                used = places.get(name, ())
            else:
                whole = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
                used = [one.path for one in found if whole.search(one.text)]
            if all(place[: len(path)] == path for place in used):
                text = f"the context entry `{name}` is never used in the rule"
                yield warn(policy.document, "KV204", text, path)


def later_entries(policy: Policy) -> Iterator[Diagnostic]:
    """KV341: a context entry that only uses an entry after it, which has no value then.

    Entries are loaded when they are used, but each only sees those before it. Later ones may
    already be loaded if anything else in the rule uses them, except for the message, which is last.

    upstream: pkg/engine/context/deferred.go
    """
    for rule in policy.rules:
        if "context" not in joined_texts(rule):
            continue
        entries = [one for one in nodes_of(rule) if isinstance(one, ContextEntry) and one.name]
        index_of = {one.name: index for index, one in enumerate(entries)}
        if len(index_of) < max(2, len(entries)):
            continue
        uses = [
            (path, _index_of(path, entries), used)
            for path, expression in expressions_in(texts_of(rule))
            for name, used in index_of.items()
            if name in expression and _uses(expression, name) and used != _index_of(path, entries)
        ]
        # The message is rendered last, so it loads no entry for the conditions.
        early = {used for path, _, used in uses if path[-1] != "message"}
        for path, user, used in uses:
            if not 0 <= user < used or entries[user].path[:-1] != entries[used].path[:-1]:
                continue
            alone = all(other == used for _, one, other in uses if one == user)
            others = (
                path
                for path, one, other in uses
                if other == used and one != user and not (path[-1] == "message" and user in early)
            )
            if alone and not any(others):
                name = entries[used].name
                text = f"`{name}` has no value here: its context entry comes later (move it up)"
                yield warn(policy.document, "KV341", text, path)


def _index_of(path: Path, entries: list[ContextEntry]) -> int:
    """Return the index of the entry that contains a path, or -1."""
    return next((i for i, one in enumerate(entries) if path[: len(one.path)] == one.path), -1)


def _uses(expression: str, name: str) -> bool:
    """Return whether an expression contains a name that is not a field, a string or a function."""
    return re.search(rf"(?<![\w.\"'/-]){re.escape(name)}\b(?!\s*\()", expression) is not None


_BARE_KEY = re.compile(r"(?<!\\)\{\{[^{}]*[\w\]\")]\.(\{\{[^{}]+\}\})")


def unquoted_keys(policy: Policy) -> Iterator[Diagnostic]:
    """KV305: a variable as a key in another variable, without quotes around its value."""
    for rule in policy.rules:
        for one in texts_of(rule) if ".{{" in joined_texts(rule) else ():
            if found := _BARE_KEY.search(one.text):
                text = (
                    f"a name with `-` or `.` is not a key without quotes, and the rule ends in an "
                    f'error: write `."{found[1]}"`'
                )
                yield warn(policy.document, "KV305", text, one.path)


def unreadable_queries(policy: Policy) -> Iterator[Diagnostic]:
    """KV209: an expression in a loop or target that cannot be parsed: the rule ends in an error.

    Those of the rule's own context entries and of variables `{{ }}` are rejected earlier (KV112,
    KV135).
    """
    for rule in policy.rules:
        queries = [one for one in texts_of(rule) if one.kind is TextKind.QUERY]
        if not queries:
            continue
        own = {one.path for one in rule.tree.context}
        known = {"request", "element", "images", "target"}
        known |= {one.name for one in nodes_of(rule) if isinstance(one, ContextEntry)}
        for path, text, _ in queries:
            inner = VARIABLE.fullmatch(text.strip())
            meant = expression_of(inner[2]) if inner else ""
            is_query = path[-1] == "list" or known.isdisjoint(_WORD.findall(meant))
            if inner and is_query:
                changes = (change(policy.document, ChangeKind.VALUE, path, meant),)
                message = f"`{path[-1]}` is an expression, without braces: write `{meant}`"
                fix = Fix("remove the braces", changes)
                yield warn(policy.document, "KV209", message, path, fix=fix)
            # The path of an expression is two steps below that of its entry.
            if path[:-2] in own or "{{" in text:
                continue
            problem = syntax_problem(text.strip()) if text.strip() else None
            if problem:
                message = f"`{text.strip()}` is not valid JMESPath: {problem}"
                note = note_on_syntax(text)
                yield warn(policy.document, "KV209", message, path)._replace(
                    excerpt=(note,) if note else ()
                )


def impossible_calls(policy: Policy) -> Iterator[Diagnostic]:
    """KV205: an unknown function, or a call with a wrong number of arguments.

    Constant expressions are checked everywhere; those with variables are not. For Kyverno these are
    evaluation errors. upstream: kyverno/go-jmespath `functions.go`, CallFunction
    """
    for rule in policy.rules:
        for problem, path in impossible_calls_in(texts_of(rule)):
            yield warn(policy.document, "KV205", problem, path)
