"""Scalars of patterns → tests: texts with operators, ranges and wildcards, numbers, null."""

import re
from collections.abc import Iterator
from typing import Final

from kyvsim.engine.pattern.checks import compile_scalar
from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.quantities import parse_duration, parse_quantity
from kyvsim.kubernetes.wildcard import has_wildcard, range_ends, split_operator
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
from kyvsim.migrate.values import (
    Expr,
    Types,
    element_of,
    is_bool,
    is_list,
    is_number,
    is_scalar,
    is_text,
)

# Wildcard texts → tests of texts.

_SPECIAL = re.compile(r"([.+()|\[\]{}^$\\])")


def like(text: str, pattern: str) -> Test:
    """Return the test that `text`, an expression that binds tightly, fits a wildcard text."""
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
    """Return tests of which one holds where a text fits one of the wildcard texts."""
    plain = [one for one in patterns if not has_wildcard(one)]
    tests = [like(text, one) for one in patterns if has_wildcard(one)]
    if len(plain) == 1:
        return [Relation(text, "==", quoted(plain[0])), *tests]
    listed = ", ".join(map(quoted, plain))
    return [Relation(text, "in", f"[{listed}]"), *tests] if plain else tests


def expression_of(pattern: str) -> str:
    """Return a wildcard text as a regular expression of whole texts."""
    signs = _SPECIAL.sub(r"\\\1", pattern).replace("*", ".*").replace("?", ".")
    return f"^(?s:{signs})$"


_TRUTHS: Final = ("true", "false")


def fits_null(pattern: Json) -> bool:
    """Return whether nothing fits a scalar of a pattern."""
    return compile_scalar(pattern)(None)


_DURATION: Final = "^[-+]?(0|([0-9.]+(ns|us|ms|s|m|h))+)$"
"""What texts of durations look like."""


def scalar_test(pattern: Json, value: Expr, *, if_missing: bool) -> Test:
    """Return the test that a value fits a scalar, with what a missing one means."""
    if pattern == "*":
        return TRUE if if_missing else value.is_there()
    if is_list(value.types):
        body = _test(pattern, "item", element_of(value.types))
        source = value.or_else([]) if if_missing else value.text
        return every([TRUE if if_missing else value.is_there(), Quantified(source, "item", body)])
    if not value.may_miss:
        return _test(pattern, value.tight(), value.types)
    fits = compile_scalar(pattern)
    for default in _defaults(value.types, pattern):
        if fits(default) is if_missing:
            return _test(pattern, value.or_else(default), value.types)
    test = _test(pattern, value.text, value.types)
    if if_missing:
        return some([value.is_missing(), test])
    return every([value.is_there(), test])


def _defaults(types: Types, pattern: Json) -> Iterator[Json]:
    """Yield possible defaults for a missing value, the likeliest first."""
    if is_text(types):
        yield ""
        if isinstance(pattern, str) and all(map(_is_plain, _alternatives(pattern))):
            yield _alternatives(pattern)[0]
    elif is_number(types):
        yield from (0, 1)
    elif is_bool(types) or isinstance(pattern, bool) or pattern in _TRUTHS:
        yield from (False, True)
    elif isinstance(pattern, int | float):
        yield 0
    elif isinstance(pattern, str) and _measures(pattern):
        yield "0"
    else:
        yield ""


def _measures(pattern: str) -> bool:
    """Return whether a text compares amounts."""
    first = _alternatives(pattern)[0].partition("&")[0]
    name, operand = split_operator(first.strip())
    return range_ends(pattern) is not None or (
        name in {">", "<", ">=", "<="} and parse_quantity(operand) is not None
    )


def _test(pattern: Json, text: str, types: Types) -> Test:
    if pattern is None:
        return Relation(text, "in", "[null, '', 0, false]")
    if isinstance(pattern, bool):
        return Relation(text, "==", literal(pattern))
    if isinstance(pattern, int | float):
        expected = quoted(str(pattern)) if is_text(types) else repr(pattern)
        return Relation(text, "==", expected)
    parts = _alternatives(pattern)
    # An amount with a unit may be written in others, too.
    is_exact = is_number(types) or is_bool(types) or not any(map(_has_unit, parts))
    if len(parts) > 1 and all(map(_is_plain, parts)) and is_exact:
        if is_bool(types):  # the text of a truth is one of two
            return some(Relation(text, "==", one) for one in parts if one in _TRUTHS)
        if not is_number(types) or all(map(is_number_text, parts)):
            listed = ", ".join(parts if is_number(types) else map(quoted, parts))
            return Relation(_in_type(text, types, parts), "in", f"[{listed}]")
    return some(
        every(_atom(atom.strip(" "), text, types) for atom in part.split("&")) for part in parts
    )


def _alternatives(pattern: str) -> list[str]:
    return [one.strip(" ") for one in pattern.split("|")]


def _is_plain(part: str) -> bool:
    name, operand = split_operator(part)
    return not name and "&" not in part and not has_wildcard(operand) and range_ends(part) is None


def _has_unit(text: str) -> bool:
    return parse_quantity(text) is not None and not is_number_text(text)


def _in_type(text: str, types: Types, parts: list[str]) -> str:
    """Return a value as what its texts are compared with."""
    if types and (is_text(types) or is_number(types) or is_bool(types)):
        return text
    is_special = any(one in _TRUTHS or parse_quantity(one) is not None for one in parts)
    return f"string({text})" if is_special else text


def _atom(atom: str, text: str, types: Types) -> Test:
    ends = range_ends(atom)
    if ends is not None:
        least, most, inside = ends
        within = [_amount(text, types, ">=", least), _amount(text, types, "<=", most)]
        return every(within) if inside else some(map(opposite, within))
    name, operand = split_operator(atom)
    if name in {">", "<", ">=", "<="}:
        return _amount(text, types, name, operand)
    test: Test
    has_quantity = parse_quantity(operand) is not None
    if is_bool(types) and operand in _TRUTHS:
        test = Relation(text, "==", operand)
    elif is_number(types) and has_quantity:
        test = _amount(text, types, "==", operand)
    elif is_number(types) or is_bool(types):
        test = like(f"string({text})", operand)
    elif has_quantity and operand and not operand.isdecimal():
        test = _amount(text, types, "==", operand)
    else:
        test = like(_in_type(text, types, [operand]), operand)
    return opposite(test) if name == "!" else test


def _amount(text: str, types: Types, sign: str, operand: str) -> Test:
    """Return the comparison of amounts: numbers, durations, quantities."""
    if is_number(types) and is_number_text(operand):
        return Relation(text, sign, operand)
    as_text = text if is_text(types) else f"string({text})"
    if _is_duration(operand, types):
        return Relation(f"duration({as_text})", sign, f"duration({quoted(operand)})")
    if parse_quantity(operand) is None:
        return FALSE
    compared = f"quantity({as_text}).compareTo(quantity({quoted(operand)}))"
    return Relation(compared, sign, "0")


def _is_duration(operand: str, types: Types) -> bool:
    """Return whether an amount is compared as a duration.

    `10m` is a duration and a quantity. Where a field takes quantities only, minutes are in the
    order of thousandths, and a number without a unit is not a duration.
    """
    if operand == "0" or parse_duration(operand) is None:
        return False
    return not is_scalar(types) or parse_quantity(operand) is None


def is_number_text(text: str) -> bool:
    """Return whether a text is a plain number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def is_amount(text: str) -> bool:
    """Return whether a text is a duration or a quantity with a unit, and no plain number."""
    if not text or is_number_text(text):
        return False
    return parse_duration(text) is not None or parse_quantity(text) is not None


def amount_test(value: Expr, sign: str, operand: str) -> Test:
    """Return the comparison of a value with an amount."""
    if value.duration and parse_duration(operand) is not None:
        return Relation(value.duration, sign, f"duration({quoted(operand)})")
    readable: Test = TRUE
    if is_text(value.types) and not value.constant:  # which may be no amount at all
        if _is_duration(operand, value.types):
            readable = Plain(f"{value.tight()}.matches({quoted(_DURATION)})")
        elif parse_quantity(operand) is not None:
            readable = Plain(f"isQuantity({value.text})")
    return every([readable, _amount(value.text, value.types, sign, operand)])
