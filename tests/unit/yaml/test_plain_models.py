"""What is read and compared in Kubernetes' texts, against models that are slow and obvious.

Each model is written from the specification: exact fractions where there are numbers, structures
where there are texts, of which the texts are made.
"""

import re
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from kyvsim.kubernetes.labels import compile_selector
from kyvsim.kubernetes.quantities import format_duration, parse_duration, parse_quantity
from kyvsim.kubernetes.semver import parse_range, parse_version
from kyvsim.kubernetes.wildcard import compile_text_pattern, compile_wildcard, matches

# --- wildcards: the first sign decides what becomes of the rest -----------------------------------


def fits(pattern, text):
    if not pattern:
        return not text
    if pattern[0] == "*":
        return fits(pattern[1:], text) or (bool(text) and fits(pattern, text[1:]))
    return bool(text) and pattern[0] in ("?", text[0]) and fits(pattern[1:], text[1:])


@given(st.text("ab*?é", max_size=7), st.text("abé*\n", max_size=7))
def test_wildcards(pattern, text):
    assert matches(pattern, text) is compile_wildcard(pattern)(text) is fits(pattern, text)


# --- quantities: a decimal number and a power, rounded up to nano ---------------------------------

POWERS = {
    **{text: Fraction(1024) ** n for n, text in enumerate(["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"], 1)},
    **{text: Fraction(1000) ** n for n, text in enumerate("kMGTPE", 1)},
    **{text: Fraction(1000) ** -n for n, text in enumerate("mun", 1)},
    **{f"{sign}{n}": Fraction(10) ** n for sign in "eE" for n in range(-12, 13)},
    "": Fraction(1),
}
DIGITS = st.text("0123456789", min_size=1, max_size=6)
DECIMALS = st.one_of(
    DIGITS,
    st.tuples(DIGITS, DIGITS).map(".".join),
    DIGITS.map(".{}".format),
    DIGITS.map("{}.".format),
)
QUANTITIES = st.tuples(st.sampled_from(["", "-", "+"]), DECIMALS, st.sampled_from(sorted(POWERS)))


def amount(parts):
    sign, number, power = parts
    exact = Fraction(f"0{number}0" if number.endswith(".") else f"0{number}") * POWERS[power]
    nano = Fraction(-(-exact * 10**9 // 1), 10**9)
    most = min(nano, Fraction(2**63 - 1)) if power.endswith("i") else nano
    return -most if sign == "-" else most


def exactly(quantity):
    return Fraction(quantity.mantissa) * Fraction(10) ** quantity.scale


@given(QUANTITIES)
def test_quantities(parts):
    found = parse_quantity("".join(parts))
    assert exactly(found) == amount(parts)
    assert exactly(parse_quantity(str(found))) == amount(parts)


@given(QUANTITIES, QUANTITIES)
def test_quantities_in_order_and_their_sums(left, right):
    one, other = parse_quantity("".join(left)), parse_quantity("".join(right))
    difference = amount(left) - amount(right)
    assert (one < other, one == other, one > other) == (
        difference < 0,
        difference == 0,
        difference > 0,
    )
    assert exactly(one.plus(other)) == amount(left) + amount(right)
    assert exactly(one.minus(other)) == difference


# --- durations: a sum of parts, each cut to a whole nanosecond ------------------------------------

UNITS = {"ns": 1, "us": 10**3, "\u00b5s": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9}
UNITS["h"] = 60 * UNITS["m"]
SHORT = st.text("0123456789", min_size=1, max_size=3)
PARTS = st.lists(st.tuples(SHORT, st.just("") | SHORT, st.sampled_from(sorted(UNITS))), min_size=1)


@given(st.sampled_from(["", "-", "+"]), PARTS)
def test_durations(sign, parts):
    text = sign + "".join(f"{whole}.{rest}{unit}" for whole, rest, unit in parts)
    total = sum(Fraction(f"{whole}.{rest}0") * UNITS[unit] // 1 for whole, rest, unit in parts)
    assert parse_duration(text) == (-total if sign == "-" else total)


@given(st.integers(-(2**63), 2**63 - 1))
def test_durations_are_read_as_they_are_written(nanoseconds):
    assert parse_duration(format_duration(nanoseconds)) == nanoseconds


@given(st.text("0123.hmsu\u00b5n-+", max_size=8))
def test_a_text_is_a_duration_where_the_grammar_says_so(text):
    grammar = r"[-+]?(0|((\d+(\.\d*)?|\.\d+)(ns|us|\u00b5s|ms|s|m|h))+)"
    assert (parse_duration(text) is not None) is bool(re.fullmatch(grammar, text))


# --- versions: https://semver.org, item 11 --------------------------------------------------------

NUMBERS = st.integers(0, 3)
VERSIONS = st.tuples(
    st.tuples(NUMBERS, NUMBERS, NUMBERS),
    st.lists(NUMBERS.map(str) | st.sampled_from(["a", "b", "a-b", "-", "A", "10"]), max_size=3),
)


def written(version):
    numbers, before = version
    return ".".join(map(str, numbers)) + ("-" + ".".join(before) if before else "")


def order(left, right):
    """Return -1, 0 or 1."""
    if left[0] != right[0]:
        return -1 if left[0] < right[0] else 1
    if not left[1] or not right[1]:
        return bool(right[1]) - bool(left[1])
    for one, other in zip(left[1], right[1], strict=False):
        if one != other:
            if one.isdigit() and other.isdigit():
                return -1 if int(one) < int(other) else 1
            if one.isdigit() or other.isdigit():
                return -1 if one.isdigit() else 1
            return -1 if one < other else 1
    return (len(left[1]) > len(right[1])) - (len(left[1]) < len(right[1]))


@given(VERSIONS, VERSIONS)
def test_versions(left, right):
    one, other = (parse_version(f"{written(version)}+build.1") for version in (left, right))
    assert ((one > other) - (one < other)) == order(left, right)


HOLDS = {
    **{sign: {0} for sign in ("", "=", "==")},
    **{sign: {-1, 1} for sign in ("!", "!=")},
    ">": {1},
    ">=": {0, 1},
    "<": {-1},
    "<=": {-1, 0},
}
BOUNDS = st.lists(st.tuples(st.sampled_from(sorted(HOLDS)), VERSIONS), min_size=1, max_size=3)


@given(st.lists(BOUNDS, min_size=1, max_size=3), VERSIONS)
def test_ranges_of_versions(ways, version):
    text = " || ".join(" ".join(f"{sign}{written(end)}" for sign, end in way) for way in ways)
    inside = any(all(order(version, end) in HOLDS[sign] for sign, end in way) for way in ways)
    assert parse_range(text)(parse_version(written(version))) is inside


# --- ranges and operators in the texts of patterns ------------------------------------------------

SIZES = st.tuples(st.just(""), st.integers(0, 4).map(str), st.sampled_from(["", "k", "Ki", "M"]))
ATOMS = st.one_of(
    st.tuples(st.sampled_from([">", "<", ">=", "<="]), SIZES),
    st.tuples(st.sampled_from(["-", "!-"]), SIZES, SIZES),
)


def atom_text(atom):
    sign, *ends = ("".join(part) for part in atom)
    return ends[0] + sign + ends[1] if len(ends) == 2 else sign + ends[0]


def atom_holds(atom, value):
    sign, *ends = atom
    found, (end, *others) = amount(value), map(amount, ends)
    if sign == "-":
        return end <= found <= others[0]
    if sign == "!-":
        return found < end or found > others[0]
    return {">": found > end, "<": found < end, ">=": found >= end, "<=": found <= end}[sign]


@given(st.lists(st.lists(ATOMS, min_size=1, max_size=2), min_size=1, max_size=2), SIZES)
def test_ranges_and_operators_of_patterns(ways, value):
    text = " | ".join(" & ".join(map(atom_text, way)) for way in ways)
    holds = any(all(atom_holds(atom, value) for atom in way) for way in ways)
    assert compile_text_pattern(text)("".join(value)) is holds


# --- label selectors ------------------------------------------------------------------------------

WORDS = st.sampled_from(["a", "b", "ab", "x.y/a"])
VALUES = st.sampled_from(["a", "b", ""])
EXPRESSIONS = st.one_of(
    st.tuples(WORDS, st.sampled_from(["In", "NotIn"]), st.lists(VALUES, min_size=1)),
    st.tuples(WORDS, st.sampled_from(["Exists", "DoesNotExist"]), st.just([])),
)
WILD = st.sampled_from(["a", "b", "a*", "?", "*", "*b"])


def expression_holds(key, operator, values, labels):
    return {
        "In": labels.get(key) in values,
        "NotIn": labels.get(key) not in values,
        "Exists": key in labels,
        "DoesNotExist": key not in labels,
    }[operator]


@given(
    st.dictionaries(WILD, WILD, max_size=2),
    st.lists(EXPRESSIONS, max_size=2),
    st.dictionaries(WORDS, VALUES, max_size=3),
)
def test_label_selectors(wanted, expressions, labels):
    selector = {
        "matchLabels": wanted,
        "matchExpressions": [
            {"key": key, "operator": operator, "values": values}
            for key, operator, values in expressions
        ],
    }
    expected = all(
        any(fits(key, name) and fits(value, text) for name, text in labels.items())
        for key, value in wanted.items()
    ) and all(expression_holds(*one, labels) for one in expressions)
    assert compile_selector(selector)(labels) is expected
