"""Convert scalars of patterns to tests: strings with operators and wildcards, numbers, null."""

import re
from collections.abc import Iterator
from typing import Final

from kyvsim.engine.pattern.checks import compile_scalar
from kyvsim.kubernetes.quantities import parse_duration, parse_quantity
from kyvsim.kubernetes.wildcard import (
    OPERATORS,
    Comparison,
    Range,
    has_wildcard,
    parse_alternatives,
)
from kyvsim.migrate.context import unsupported
from kyvsim.migrate.expressions import (
    FALSE,
    TRUE,
    Plain,
    Quantified,
    Relation,
    Test,
    every,
    literal,
    opposite,
    quoted,
    some,
)
from kyvsim.migrate.values import Expr

_SPECIAL = re.compile(r"([.+()|\[\]{}^$\\])")


def like(text: str, pattern: str) -> Test:
    """Return the test that `text`, a tight expression, matches a wildcard pattern."""
    if not has_wildcard(pattern):
        return Relation(text, "==", quoted(pattern))
    if not pattern.strip("*"):
        return TRUE
    if pattern in {"?*", "*?"}:
        return Relation(text, "!=", "''")
    inner = pattern.strip("*")
    if has_wildcard(inner):
        return Plain(f"{text}.matches({quoted(expression_of(pattern))})")
    before, after = pattern.startswith("*"), pattern.endswith("*")
    function = "contains" if before and after else "endsWith" if before else "startsWith"
    return Plain(f"{text}.{function}({quoted(inner)})")


def like_one(text: str, patterns: list[str]) -> list[Test]:
    """Return tests of which one is true if a string matches one of the wildcard patterns."""
    plain = [one for one in patterns if not has_wildcard(one)]
    tests = [like(text, one) for one in patterns if has_wildcard(one)]
    if len(plain) == 1:
        return [Relation(text, "==", quoted(plain[0])), *tests]
    return [Relation(text, "in", literal(plain)), *tests] if plain else tests


def compared_quantities(left: str, sign: str, right: str) -> Test:
    """Return the comparison of two quantities, given as strings."""
    return Relation(f"quantity({left}).compareTo(quantity({right}))", sign, "0")


def expression_of(pattern: str) -> str:
    """Return a wildcard pattern as a regular expression for whole strings."""
    signs = _SPECIAL.sub(r"\\\1", pattern).replace("*", ".*").replace("?", ".")
    return f"^(?s:{signs})$"


_TRUTHS: Final = ("true", "false")


_DURATION: Final = "^[-+]?(0|([0-9.]+(ns|us|ms|s|m|h))+)$"
"""The regular expression for durations."""


def scalar_test(pattern: str | float | None, value: Expr, *, if_missing: bool) -> Test:
    """Return the test that a value matches a scalar, with the result for a missing one."""
    if pattern == "*":
        return TRUE if if_missing else value.is_there()
    if value.is_list:
        body = _test(pattern, Expr("item", value.element_types))
        source = value.or_else([]) if if_missing else value.text
        return every([TRUE if if_missing else value.is_there(), Quantified(source, "item", body)])
    if not value.may_miss:
        return _test(pattern, Expr(value.tight(), value.types))
    fits = compile_scalar(pattern)
    for default in _defaults(value, pattern):
        if fits(default) is if_missing:
            return _test(pattern, Expr(value.or_else(default), value.types))
    test = _test(pattern, value)
    if if_missing:
        return some([value.is_missing(), test])
    return every([value.is_there(), test])


def _defaults(value: Expr, pattern: str | float | None) -> Iterator[object]:
    """Yield possible defaults for a missing value, the most suitable first."""
    if value.is_text:
        yield ""
        operands = _plain_operands(pattern) if isinstance(pattern, str) else ()
        yield from operands[:1]
    elif value.is_number:
        yield from (0, 1)
    elif value.is_bool or isinstance(pattern, bool) or pattern in _TRUTHS:
        yield from (False, True)
    elif isinstance(pattern, int | float):
        yield 0
    elif isinstance(pattern, str):
        # "0" for comparisons of amounts.
        (first, *more), *others = parse_alternatives(pattern)
        if isinstance(first, Range):
            yield "" if more or others else "0"
        else:
            is_ordered = OPERATORS[first.operator].matches_text is None
            yield "0" if is_ordered and parse_quantity(first.operand) is not None else ""
    else:
        yield ""


def _test(pattern: str | float | None, value: Expr) -> Test:
    text = value.text
    if pattern is None:
        return Relation(text, "in", "[null, '', 0, false]")
    if isinstance(pattern, bool):
        return Relation(text, "==", literal(pattern))
    if isinstance(pattern, int | float):
        return Relation(text, "==", quoted(str(pattern)) if value.is_text else repr(pattern))
    operands = _plain_operands(pattern)
    # An amount with a unit can be written with other units, too.
    has_unit = any(parse_quantity(one) is not None and not is_number_text(one) for one in operands)
    if len(operands) > 1 and (value.is_number or value.is_bool or not has_unit):
        if value.is_bool:  # a boolean as string is one of two
            return some(Relation(text, "==", one) for one in operands if one in _TRUTHS)
        if not value.is_number or all(map(is_number_text, operands)):
            listed = f"[{', '.join(operands)}]" if value.is_number else literal(operands)
            return Relation(_in_type(value, operands), "in", listed)
    return some(every(_atom(one, value) for one in part) for part in parse_alternatives(pattern))


def _plain_operands(pattern: str) -> list[str]:
    """Return the alternatives of a string without operators, ranges and wildcards, or []."""
    found = []
    for first, *more in parse_alternatives(pattern):
        if more or isinstance(first, Range) or first.operator or has_wildcard(first.operand):
            return []
        found.append(first.operand)
    return found


def _in_type(value: Expr, parts: list[str]) -> str:
    """Return the expression for a value, converted to a string if necessary."""
    if value.is_text or value.is_number or value.is_bool:
        return value.text
    is_special = any(one in _TRUTHS or parse_quantity(one) is not None for one in parts)
    return f"string({value.text})" if is_special else value.text


def _atom(atom: Comparison | Range, value: Expr) -> Test:
    if isinstance(atom, Range):
        within = [_amount(value, ">=", atom.first), _amount(value, "<=", atom.last)]
        return every(within) if atom.inside else some(map(opposite, within))
    name, operand = atom
    if OPERATORS[name].matches_text is None:
        return _amount(value, name, operand)
    if name not in {"", "!"}:
        raise unsupported(f"the pattern operator `{name}`", "write the comparison by hand")
    test: Test
    has_quantity = parse_quantity(operand) is not None
    if value.is_bool and operand in _TRUTHS:
        test = Relation(value.text, "==", operand)
    elif value.is_number and has_quantity:
        test = _amount(value, "==", operand)
    elif value.is_number or value.is_bool:
        test = like(f"string({value.text})", operand)
    elif has_quantity and operand and not operand.isdecimal():
        test = _amount(value, "==", operand)
    else:
        test = like(_in_type(value, [operand]), operand)
    return opposite(test) if name == "!" else test


def _amount(value: Expr, sign: str, operand: str) -> Test:
    """Return the comparison of amounts: numbers, durations, quantities."""
    if value.is_number and is_number_text(operand):
        return Relation(value.text, sign, operand)
    if _is_duration(operand, value):
        return Relation(f"duration({value.as_text})", sign, f"duration({quoted(operand)})")
    if parse_quantity(operand) is None:
        return FALSE
    return compared_quantities(value.as_text, sign, quoted(operand))


def _is_duration(operand: str, value: Expr) -> bool:
    """Return whether an amount is compared as a duration.

    `10m` is a duration and a quantity. In a field of type quantity, `m` means thousandths,
    and a number without a unit is not a duration.
    """
    if operand == "0" or parse_duration(operand) is None:
        return False
    return not value.is_scalar or parse_quantity(operand) is None


def is_number_text(text: str) -> bool:
    """Return whether a string is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def is_amount(text: str) -> bool:
    """Return whether a string is a duration or a quantity with a unit, and not a number."""
    if not text or is_number_text(text):
        return False
    return parse_duration(text) is not None or parse_quantity(text) is not None


def amount_test(value: Expr, sign: str, operand: str) -> Test:
    """Return the comparison of a value with an amount."""
    if value.duration and parse_duration(operand) is not None:
        return Relation(value.duration, sign, f"duration({quoted(operand)})")
    readable: Test = TRUE
    if value.is_text and not value.constant:  # it may not be an amount
        if _is_duration(operand, value):
            readable = Plain(f"{value.tight()}.matches({quoted(_DURATION)})")
        elif parse_quantity(operand) is not None:
            readable = Plain(f"isQuantity({value.text})")
    return every([readable, _amount(value, sign, operand)])
