"""Convert conditions of preconditions and deny rules to CEL."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from kyvsim.kubernetes.go_text import sprint
from kyvsim.kubernetes.quantities import SECOND, parse_duration, parse_quantity
from kyvsim.kubernetes.semver import read_version
from kyvsim.kubernetes.wildcard import has_wildcard, range_ends
from kyvsim.migrate.context import NotConvertible, Scope, element_for, unsupported, within
from kyvsim.migrate.expressions import (
    FALSE,
    RELATION,
    TRUE,
    Conditional,
    Plain,
    Quantified,
    Relation,
    Test,
    chosen,
    every,
    literal,
    opposite,
    quoted,
    some,
)
from kyvsim.migrate.queries import text_value
from kyvsim.migrate.scalars import (
    amount_test,
    compared_quantities,
    is_amount,
    is_number_text,
    like,
    like_one,
)
from kyvsim.migrate.values import Expr, constant, list_of
from kyvsim.model.migration import ConversionCondition
from kyvsim.policy.tree import Condition, Conditions

READ_TEXTS = ConversionCondition(
    "texts read at run time",
    "they must not contain wildcards, which a ClusterPolicy would match as such",
)


def _equals_read(key: Expr, value: Expr) -> Test:
    """Return the test that a key equals a value; data of the cluster may contain wildcards."""
    if not value.is_looked_up:
        return Relation(key.tight(RELATION + 1), "==", value.tight(RELATION + 1))
    return _fits_read(key.tight(), value.tight())


def _fits_read(text: str, pattern: str) -> Test:
    """Return the test that a string matches a pattern read at run time; both are tight."""
    # Between \Q and \E, only the two wildcards are special.
    sign = rf"{pattern}.replace('*', '\\E.*\\Q').replace('?', '\\E.\\Q')"
    return Plain(rf"{text}.matches('^\\Q' + {sign} + '\\E$')")


def _equals(key: Expr, value: Expr) -> Test:
    """Return the test that a key equals a value; a constant string is a wildcard pattern."""
    if not value.constant:
        return _equals_read(key, value)
    expected, text = value.constant[0], key.tight(RELATION + 1)
    if isinstance(expected, bool):
        test = Relation(text, "==", literal(expected))
        return test if key.test is None else key.test if expected else opposite(key.test)
    is_default = (expected,) == key.fallback and not expected
    if key.is_list and is_default:
        return Relation(f"size({key.text})", "==", "0")
    if key.is_map and is_default and key.bare_optional:
        return Relation(f"size({key.bare_optional}.orValue({{}}))", "==", "0")
    if not isinstance(expected, str):
        number = float(expected) if key.is_double and isinstance(expected, int) else expected
        return Relation(text, "==", literal(number))
    if key.is_number or key.is_bool:
        if key.is_number and expected.isdecimal():
            return Relation(text, "==", expected)
        return Relation(f"string({key.text})", "==", literal(expected))
    if is_amount(expected):
        return amount_test(key, "==", expected)
    if has_wildcard(expected):
        text = key.tight() if key.is_text else f"string({key.text})"
    return like(text, expected)


_LONG: Final = 60
"""Longer expressions are not repeated in a test."""
_PLAIN: Final = "[0-9]+([.][0-9]+)?"
_NUMBER: Final = f"^[-+]?{_PLAIN}([eE][-+]?[0-9]+)?$"
_DURATION: Final = f"^[-+]?({_PLAIN}(ns|us|ms|s|m|h))+$"
_SECONDS: Final = f"^[-+]?({_PLAIN}|({_PLAIN}(ns|us|ms|s|m|h))+)$"
"""Regular expressions for numbers, durations, and either of them."""


def _compared(sign: str, key: Expr, value: Expr) -> Test:
    if value.constant:
        return _compared_constant(sign, key, value.constant[0])
    sides = (key, value)
    if any(one.is_number for one in sides):
        left, right = (
            one.tight(RELATION + 1) if one.is_number else f"double({one.text})" for one in sides
        )
        return Relation(left, sign, right)
    are_texts = all(one.is_text for one in sides)
    left, right = (one.text if are_texts else f"string({one.text})" for one in sides)
    return compared_quantities(left, sign, right)


def _compared_constant(sign: str, key: Expr, expected: object) -> Test:
    """Return the comparison with a constant, which depends on its type as in upstream.

    upstream: pkg/engine/variables/operator/numeric.go
    """
    if isinstance(expected, bool) or expected is None or isinstance(expected, list | dict):
        return FALSE
    text = str(expected)
    if key.bare_optional and not is_number_text(str(key.fallback[0])):
        key = _with_number(sign, key, text)
    if key.duration and parse_duration(text) is not None:
        return amount_test(key, sign, text)
    if key.is_number:
        duration = None if is_number_text(text) else parse_duration(text)
        if duration is not None:  # a number means seconds
            text = str(duration // SECOND) if not duration % SECOND else repr(duration / SECOND)
        return Relation(key.tight(RELATION + 1), sign, text) if is_number_text(text) else FALSE
    if key.is_scalar and not isinstance(expected, str):
        raise NotConvertible(
            f"the number {text} as the bound of a quantity cannot be converted to CEL: the rule "
            "reads `100m` as minutes, and rejects other units",
            f'write it as a string: "{text}"',
        )
    if key.is_scalar:
        return amount_test(key, sign, text) if parse_quantity(text) is not None else FALSE
    if not key.is_text and not isinstance(expected, str):
        return Relation(key.tight(RELATION + 1), sign, text)
    read = key.tight() if key.is_text else f"string({key.text})"
    if len(read) <= _LONG:
        return _of_text(sign, read, expected)
    return Quantified(f"[{key.as_text}]", "text", _of_text(sign, "text", expected), "exists")


def _of_text(sign: str, text: str, expected: object) -> Test:
    """Return the comparison of a string: a duration, a quantity or number, or a version."""
    if not isinstance(expected, str):
        is_number = Plain(f"{text}.matches({quoted(_NUMBER)})")
        number = every([is_number, Relation(f"double({text})", sign, str(expected))])
        return some([number, _of_duration(sign, text, f"{expected}s", _DURATION)])
    duration, quantity = parse_duration(expected), parse_quantity(expected)
    if quantity is not None:
        found = every(
            [Plain(f"isQuantity({text})"), compared_quantities(text, sign, quoted(expected))]
        )
        if duration is None or expected == "0":
            return found
        is_duration = Plain(f"{text}.matches({quoted(_DURATION)})")
        return Conditional(is_duration, _of_duration(sign, text, expected), found)
    if duration is not None:
        seconds = f"{text} + ({text}.matches('[0-9.]$') ? 's' : '')"
        return _of_duration(sign, seconds, expected, _SECONDS, text)
    try:
        read_version(expected)
    except ValueError:
        return FALSE
    compared_text = f"semver({text}).compareTo(semver({quoted(expected)}))"
    return every([Plain(f"isSemver({text})"), Relation(compared_text, sign, "0")])


def _of_duration(sign: str, text: str, expected: str, form: str = "", read: str = "") -> Test:
    """Return the comparison of durations; `form` is the regular expression for `read`."""
    found = Relation(f"duration({text})", sign, f"duration({quoted(expected)})")
    return every([Plain(f"{read or text}.matches({quoted(form)})"), found]) if form else found


def _with_number(sign: str, key: Expr, bound: str) -> Expr:
    """Return the key with a default for which the comparison is false."""
    if not is_number_text(bound):
        return key
    number = float(bound)
    holds_of_zero, beside = {
        ">": (number < 0, number),
        ">=": (number <= 0, number - 1),
        "<": (number > 0, number),
        "<=": (number >= 0, number + 1),
    }[sign]
    default = (int(beside) if beside.is_integer() else beside) if holds_of_zero else 0
    return key._replace(text=f"{key.bare_optional}.orValue({default})")


_WILD_FIELDS: Final = frozenset(
    {"verbs", "resources", "apiGroups", "resourceNames", "nonResourceURLs"}
    | {"host", "hosts", "path", "paths", "args", "command"}
)
"""Fields whose strings can contain wildcards, which rules use as patterns, too.

upstream: pkg/engine/variables/operator/anyin.go, which matches in both directions
"""

_TAME_FIELDS: Final = (
    frozenset({"accessModes", "concurrencyPolicy", "dnsPolicy", "effect", "hostname", "image"})
    | {"imagePullPolicy", "ingressClassName", "kind", "namespace", "nodeName", "policyTypes"}
    | {"priorityClassName", "protocol", "restartPolicy", "runtimeClassName", "serviceAccountName"}
    | {"storageClassName", "type"}
)
"""Fields in which an API server accepts no wildcards."""


def _not_in(key: Expr, value: Expr) -> Test:
    """Return the test of the deprecated NotIn: false for a string that is not a JSON list."""
    if value.constant or not value.is_looked_up or not value.is_text or key.is_list:
        return _membership("exists", False, key, value)
    # The key is always evaluated: a missing one is an error.
    held, one = value.tight(), key.tight(RELATION + 1)
    listed = f"({held}.startsWith('[') ? json.unmarshal({held}) : [{one}])"
    return opposite(Relation(one, "in", listed))


def _may_be_wild(key: Expr) -> bool:
    """Return whether a key may contain wildcards that the test would take literally."""
    item = Expr("", key.element_types) if key.is_list else key
    if key.constant or item.is_number or item.is_bool:
        return False
    if key.noun in _WILD_FIELDS and item.is_text:
        return False
    is_tame = key.noun in _TAME_FIELDS or key.text.startswith("request.")
    return not (is_tame or "labels" in key.text or key.text.endswith("metadata.name"))


def _takes_wildcards(value: Expr) -> bool:
    """Return whether wildcards in a list that is read count in the test, too."""
    return value.noun in _WILD_FIELDS and Expr("", value.element_types).is_text


def _membership(macro: str, expected: bool, key: Expr, value: Expr) -> Test:
    """Return the test that a key, or one or all of its elements, are among a value's elements.

    `macro` is `exists` or `all`; if not `expected`, they must not be among them.
    """
    if key.constant and isinstance(key.constant[0], str) and has_wildcard(key.constant[0]):
        if value.constant:
            raise NotConvertible("a condition with two fixed sides", "remove the condition")
        source = value.or_else([]) if value.is_list else _listed(value)
        found = Quantified(source, "text", like("text", key.constant[0]), "exists")
        return found if expected else opposite(found)

    def ends(one: Expr) -> Test:
        found = _among(one, value)
        return found if expected else opposite(found)

    # A value of unknown type is a single item if its name is not a plural.
    is_singular = bool(key.noun) and not key.noun.endswith("s")
    if not key.is_list and (key.types or is_singular):
        return ends(key)
    source = key.or_else([]) if key.is_list else _listed(key)
    element = element_for(key, frozenset({key.text.split(".")[0]}))
    test = Quantified(source, element.text, ends(element), macro)
    listed = value.constant[0] if value.constant else None
    takes_empty = isinstance(listed, list) and any(one in ("", "*") for one in listed)
    if key.is_list and key.fallback == ("",) and not takes_empty:
        size = f"size({source})"
        if macro == "exists" and not expected:
            return some([Relation(size, "==", "0"), test])
        if macro == "all" and expected:
            return every([Relation(size, ">", "0"), test])
    return test


def _listed(key: Expr) -> str:
    return f"[{key.text}].flatten()"


def _among(one: Expr, value: Expr) -> Test:
    """Return the test that a single item is among a value's elements."""
    if not value.constant:
        return _among_read(one, value)
    constant = value.constant[0]
    if isinstance(constant, list):
        texts = [item if isinstance(item, str) else sprint(item) for item in constant]
        return _among_texts(one, texts)
    if isinstance(constant, str):
        ends = range_ends(constant)
        if ends is None:
            return _among_texts(one, _elements(constant))
        least, most, inside = ends
        tests = [amount_test(one, ">=", least), amount_test(one, "<=", most)]
        return every(tests) if inside else some(map(opposite, tests))
    raise NotConvertible(
        f"`{json.dumps(constant)}` as the value of a membership test cannot be converted to CEL",
        "use a list of strings",
    )


def _elements(text: str) -> list[str]:
    """Return the elements of a JSON list of strings; of other strings the string itself."""
    try:
        data = json.loads(text)
    except ValueError:
        return [text]
    return data if isinstance(data, list) and all(isinstance(one, str) for one in data) else [text]


def _among_texts(one: Expr, texts: list[str]) -> Test:
    if one.is_number and all(map(str.isdecimal, texts)):
        return Relation(one.text, "in", f"[{', '.join(texts)}]")
    if one.is_number or one.is_bool:
        text = f"string({one.text})"
    else:
        text = one.tight(RELATION + 1) if one.is_text else one.tight()
    found = like_one(text, texts)
    plain = [text for text in texts if not has_wildcard(text)]
    if one.noun in _WILD_FIELDS and plain and one.is_text:
        listed = ", ".join(map(quoted, plain))
        found = [test for test in found if not isinstance(test, Relation)]
        found.insert(
            0, Quantified(f"[{listed}]", "text", _fits_read("text", one.tight()), "exists")
        )
    return some(found)


def _among_read(one: Expr, value: Expr) -> Test:
    text = one.tight(RELATION + 1)
    if value.is_text:
        is_equal = _equals_read(one, value)
        if not value.is_looked_up:
            return is_equal
        # A string from the cluster may be a JSON list.
        held = value.tight()
        in_list = Relation(text, "in", f"json.unmarshal({held})")
        return Conditional(Plain(f"{held}.startsWith('[')"), in_list, is_equal)
    listed = value.or_else([]) if value.is_list else _listed(value)
    if _takes_wildcards(value):
        # The order does not matter, and `sort()` may lose the type of the elements.
        listed = listed.removesuffix(".sort()")
        if one.noun and one.noun not in _WILD_FIELDS:
            return Quantified(listed, "pattern", _fits_read(one.tight(), "pattern"), "exists")
        # The content of a concatenated string, which has no noun, is unknown.
        key = one.tight() if len(one.text) <= _LONG else "text"
        fits = some([_fits_read(key, "pattern"), _fits_read("pattern", key)])
        among = Quantified(listed, "pattern", fits, "exists")
        return among if key != "text" else Quantified(f"[{one.text}]", key, among, "exists")
    return Relation(text, "in", listed)


OPERATORS: Final[Mapping[str, Callable[[Expr, Expr], Test]]] = {
    "Equal": _equals,
    "Equals": _equals,
    "NotEqual": lambda key, value: opposite(_equals(key, value)),
    "NotEquals": lambda key, value: opposite(_equals(key, value)),
    "In": partial(_membership, "all", True),
    "AnyIn": partial(_membership, "exists", True),
    "AllIn": partial(_membership, "all", True),
    "NotIn": _not_in,
    "AnyNotIn": partial(_membership, "exists", False),
    "AllNotIn": partial(_membership, "all", False),
    "GreaterThan": partial(_compared, ">"),
    "GreaterThanOrEquals": partial(_compared, ">="),
    "LessThan": partial(_compared, "<"),
    "LessThanOrEquals": partial(_compared, "<="),
    "DurationGreaterThan": partial(_compared, ">"),
    "DurationGreaterThanOrEquals": partial(_compared, ">="),
    "DurationLessThan": partial(_compared, "<"),
    "DurationLessThanOrEquals": partial(_compared, "<="),
}

_ORDERING: Final = frozenset(name for name in OPERATORS if "Than" in name)
_AMOUNTS: Final = ConversionCondition(
    "amounts read at run time",
    "both must be numbers or quantities: durations and versions cause an error, which denies "
    "the request",
)
_MEMBERSHIP: Final = frozenset(name for name in OPERATORS if name.endswith("In"))
_OF_ALL: Final = frozenset({"In", "AllIn", "AllNotIn"})
"""Operators that are true for an empty list, but not for null."""


class FallibleTest(NamedTuple):
    """The test of a block, or of a part of it."""

    test: Test
    fails: bool
    """Whether its evaluation can end in an error, which ends that of the block."""


def conditions_test(
    conditions: Conditions | None, scope: Scope, *, lenient: bool = False, denies: bool = False
) -> FallibleTest:
    """Return the test that conditions are met, true if there are none.

    A missing key is an error; if `lenient`, the conditions are not met then. With `denies`, an
    error counts as if they were met.
    """

    def of_each(some_conditions: Iterable[Condition]) -> list[FallibleTest]:
        return [within(one.path, _condition, one, scope, lenient) for one in some_conditions]

    if conditions is not None and conditions.never_hold:
        return FallibleTest(FALSE, fails=False)
    groups = []
    for group in conditions.effective if conditions else ():
        parts = []
        if group.any:
            # An error also denies: the order does not matter.
            parts.append(_in_turn(of_each(group.any), some, waits=not denies))
        if group.all:
            parts.append(_in_turn(of_each(group.all)))
        groups.append(_in_turn(parts))
    return _in_turn(groups)


def _in_turn(
    parts: Sequence[FallibleTest],
    joined: Callable[[Iterable[Test]], Test] = every,
    *,
    waits: bool = True,
) -> FallibleTest:
    """Return that `every` or `some` part is true, evaluated in order.

    `&&` is false if any side is, even if another one ends in an error, and `||` is true: if
    `waits`, the rest is only evaluated after a part that can end in an error.
    """
    found = joined(one.test for one in parts[-1:])
    side_by_side: list[Test] = []
    for one in reversed(parts[:-1]):
        if one.fails and waits:
            rest = joined([*reversed(side_by_side), found])
            found = chosen(one.test, *((rest, FALSE) if joined is every else (TRUE, rest)))
            side_by_side = []
        else:  # joined together, since joining one by one takes quadratic time
            side_by_side.append(one.test)
    found = joined([*reversed(side_by_side), found])
    return FallibleTest(found, any(one.fails for one in parts))


def _condition(one: Condition, scope: Scope, lenient: bool) -> FallibleTest:
    key, value = value_of(one.key, scope), value_of(one.value, scope)
    name = one.operator
    operator = OPERATORS.get(name)
    if operator is None:
        what = f"the operator `{name}`" if name else "a condition without an operator"
        raise unsupported(what, "use one of Kyverno's operators")
    if lenient:
        needs = (*key.needed(), *value.needed())
        return FallibleTest(every([*needs, operator(key.given(), value.given())]), fails=False)
    sides = [side for side in (key, value) if not _may_be_empty(side)]
    fails = any(side.needed() and not side.nullable for side in sides)
    # Conditions on sides that are read at run time.
    are_read, takes_wildcards = not key.constant and not value.constant, _takes_wildcards(value)
    if name in _ORDERING:
        if are_read and not (key.is_number and value.is_number):
            scope.context.note(_AMOUNTS)
    elif (are_read and value.is_looked_up and value.is_list and not takes_wildcards) or (
        name in _MEMBERSHIP
        and (key.noun or not takes_wildcards)
        and (_may_be_wild(key) or _may_be_wild(value))
    ):
        scope.context.note(READ_TEXTS)
    # Values that must exist for the operator to be true: an empty projection is null.
    present = [side.is_there() for side in sides if side.nullable]
    if key.soft and name in _OF_ALL:
        present += key.needs
    present += value.needs if value.soft else ()
    # Other missing values are an error, as in a rule.
    held = operator(*(one if _may_be_empty(one) else one.given() for one in (key, value)))
    return FallibleTest(every([*present, held]), fails)


def _may_be_empty(value: Expr) -> bool:
    """Return whether a value is a list that is empty if its source is missing."""
    return bool(value.soft) or (value.nullable and value.is_list)


def value_of(data: object, scope: Scope) -> Expr:
    """Return the key or value of a condition, with its variables."""
    if isinstance(data, str):
        return text_value(data, scope)
    if isinstance(data, list) and any(isinstance(one, str) and "{{" in one for one in data):
        parts = [value_of(one, scope) for one in data]
        first = parts[0]
        texts = ", ".join(one.text for one in parts)
        return Expr(f"[{texts}]", list_of(first.types))
    if isinstance(data, dict) and "{{" in str(data):
        raise unsupported("a map with variables as a value")
    return constant(data)
