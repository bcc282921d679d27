"""The kinds of changes: conditions, patterns, values, CEL expressions."""

import json
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.cel.parser import Token, tokenize
from kyvsim.engine.pattern.anchors import CONDITION, EQUALITY, GLOBAL, Anchor, parse_anchor
from kyvsim.kubernetes.objects import Json, renamed, replaced, without
from kyvsim.kubernetes.wildcard import has_wildcard, range_ends, split_operator
from kyvsim.mutation.change import MutationKind, MutationPoint, PartKind, PolicyChange

# The value that takes another one's place.

_NUMBER = re.compile(r"(\d+)(?!.*\d)")
"""The last number in a text."""
_STANDS_FOR = ("{{", "$(")
"""With what texts begin that hold other values when a rule runs."""


def other_value(value: Json) -> Json:
    """Return another value of the same type; None where there is none, or the text holds others."""
    if value.__class__ is bool:
        return not value
    if value.__class__ in {int, float}:
        return value + 1
    if value.__class__ is not str or any(one in value for one in _STANDS_FOR):
        return None
    return other_text(value)


def other_text(text: str) -> str:
    """Return another text: with the last number one more, with a letter more, or a first one."""
    if _NUMBER.search(text):
        return _NUMBER.sub(lambda found: str(int(found[1]) + 1), text)
    return f"{text}x" if text else "x"


# The atoms of a pattern's value: the parts between `|` and `&`.

_BETWEEN = re.compile(r"[^|&]+")
_VARIABLE = "{{"


class Atom(NamedTuple):
    """An atom, and the text that it is part of."""

    text: str
    at: int
    """Which character of the whole it begins with."""
    whole: str

    def put(self, text: str) -> str:
        """Return the whole with another text in place of the atom."""
        return f"{self.whole[: self.at]}{text}{self.whole[self.at + len(self.text) :]}"

    def left_out(self) -> str:
        """Return the whole without the atom and what joins it to another one; "" if it is all."""
        before = self.whole[: self.at].rstrip()
        after = self.whole[self.at + len(self.text) :].lstrip()
        if before:
            return f"{before[:-1].rstrip()}{f' {after}' if after else ''}"
        return after[1:].lstrip()


def atoms_of(value: Json) -> Iterator[Atom]:
    """Yield the atoms of a text; none of other values, or where variables give the text."""
    if value.__class__ is not str or _VARIABLE in value:
        return
    for found in _BETWEEN.finditer(value):
        text = found[0].strip()
        if text:
            yield Atom(text, found.start() + found[0].index(text), value)


# Changes of conditions and blocks: operators, `any` and `all`, parts that are left out.

# `any` becomes `all`, and the other way round, around several filters or conditions.


def any_or_all_changes(point: MutationPoint, data: Json) -> Iterator[PolicyChange]:
    """Yield the document with the other word."""
    other = "all" if point.name == "any" else "any"
    yield PolicyChange(point.path, point.name, other, renamed(data, point.path, other))


ANY_OR_ALL = MutationKind("any or all", frozenset({PartKind.CHOICE}), any_or_all_changes)

# The operator of a condition becomes its opposite, or the one beside it.

_ORDERED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "GreaterThan": ("GreaterThanOrEquals", "LessThanOrEquals"),
        "GreaterThanOrEquals": ("GreaterThan", "LessThan"),
        "LessThan": ("LessThanOrEquals", "GreaterThanOrEquals"),
        "LessThanOrEquals": ("LessThan", "GreaterThan"),
    }
)
_CONDITIONS_OTHERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Equal": ("NotEqual",),
        "Equals": ("NotEquals",),
        "NotEqual": ("Equal",),
        "NotEquals": ("Equals",),
        "In": ("NotIn",),
        "NotIn": ("In",),
        "AnyIn": ("AllIn", "AllNotIn"),
        "AllIn": ("AnyIn", "AnyNotIn"),
        "AnyNotIn": ("AllNotIn", "AllIn"),
        "AllNotIn": ("AnyNotIn", "AnyIn"),
        **_ORDERED,
        **{
            f"Duration{name}": tuple(f"Duration{one}" for one in others)
            for name, others in _ORDERED.items()
        },
    }
)
"""What each operator becomes: first the one that differs least, last its opposite."""


def condition_operators_changes(point: MutationPoint, data: Json) -> Iterator[PolicyChange]:
    """Yield the document with each other operator."""
    was = point.value.get("operator")
    path = (*point.path, "operator")
    for other in _CONDITIONS_OTHERS.get(was, ()):
        yield PolicyChange(path, was, other, replaced(data, path, other))


CONDITION_OPERATORS = MutationKind(
    "operator of a condition", frozenset({PartKind.CONDITION}), condition_operators_changes
)

# A part is left out: a filter, a condition, the exclude block, a field of a pattern.


def left_out_changes(point: MutationPoint, data: Json) -> Iterator[PolicyChange]:
    """Yield the document without the part."""
    yield PolicyChange(point.path, _named(point), "", without(data, point.path))


def _named(point: MutationPoint) -> str:
    """Return what a part is called: by its field, by what people call it, or by its value."""
    last = point.path[-1]
    return last if last.__class__ is str else point.name or json.dumps(point.value)


LEFT_OUT = MutationKind("left out", frozenset({PartKind.REMOVABLE}), left_out_changes)

# Changes of single values, and of the level of the Pod Security Standards.

# A value is another one: a number one more, a truth the other one, a text a longer one.


def constants_changes(point: MutationPoint, data: Json) -> Iterator[PolicyChange]:
    """Yield the document with another value, unless the value is made when the rule runs."""
    other = other_value(point.value)
    if other is not None:
        changed = replaced(data, point.path, other)
        yield PolicyChange(point.path, json.dumps(point.value), json.dumps(other), changed)


CONSTANTS = MutationKind("value", frozenset({PartKind.CONSTANT}), constants_changes)

# A level of the Pod Security Standards becomes the other one.

_CONSTANTS_OTHERS: Mapping[str, str] = MappingProxyType(
    {"restricted": "baseline", "baseline": "restricted"}
)


def pod_security_levels_changes(point: MutationPoint, data: Json) -> Iterator[PolicyChange]:
    """Yield the document with the other level."""
    other = _CONSTANTS_OTHERS.get(str(point.value))
    if other:
        yield PolicyChange(point.path, str(point.value), other, replaced(data, point.path, other))


POD_SECURITY_LEVELS = MutationKind(
    "level", frozenset({PartKind.LEVEL}), pod_security_levels_changes
)

# Changes of patterns: anchors, operators, values.

# An anchor becomes a plain field, or another anchor.

_ANCHORS_OTHERS: Mapping[str, str] = MappingProxyType({CONDITION: EQUALITY, GLOBAL: CONDITION})
"""Anchors that become another one, too; all are left off."""


def anchors_changes(point: MutationPoint, data: Json) -> Iterator[PolicyChange]:
    """Yield the document with the field as another anchor, or as none."""
    was = str(point.path[-1])
    anchor = parse_anchor(was)
    if anchor is None:
        return
    for now in _keys(anchor):
        yield PolicyChange(point.path, was, now, renamed(data, point.path, now))


def _keys(anchor: Anchor) -> Iterator[str]:
    yield anchor.key
    if anchor.sign in _ANCHORS_OTHERS:
        yield str(Anchor(_ANCHORS_OTHERS[anchor.sign], anchor.key))


ANCHORS = MutationKind("anchor", frozenset({PartKind.FIELD}), anchors_changes)

# An operator in a value of a pattern becomes another one: `>=` `>`, `!` nothing.

_PATTERN_OPERATORS_OTHERS: Mapping[str, str] = MappingProxyType(
    {">=": ">", ">": ">=", "<=": "<", "<": "<=", "!": ""}
)


def pattern_operators_changes(point: MutationPoint, data: Json) -> Iterator[PolicyChange]:
    """Yield the document with the operator of one atom changed."""
    for atom in atoms_of(point.value):
        operator, operand = split_operator(atom.text)
        if operator in _PATTERN_OPERATORS_OTHERS:
            now = f"{_PATTERN_OPERATORS_OTHERS[operator]}{operand}"
            yield PolicyChange(
                point.path, atom.text, now, replaced(data, point.path, atom.put(now)), atom.at
            )


PATTERN_OPERATORS = MutationKind(
    "operator of a pattern", frozenset({PartKind.PATTERN}), pattern_operators_changes
)

# A value of a pattern changes, loses an alternative, or becomes less strict.


def pattern_values_changes(point: MutationPoint, data: Json) -> Iterator[PolicyChange]:
    """Yield the document with another value, or without one of several alternatives."""
    if point.value.__class__ is not str:
        other = other_value(point.value)
        changed = replaced(data, point.path, other)
        yield PolicyChange(point.path, json.dumps(point.value), json.dumps(other), changed)
        return
    for atom in atoms_of(point.value):
        less = atom.left_out()
        if less:
            yield PolicyChange(point.path, atom.text, "", replaced(data, point.path, less), atom.at)
        now = _other(atom)
        if now:
            whole = replaced(data, point.path, atom.put(now))
            yield PolicyChange(point.path, atom.text, now, whole, atom.at)


def _other(atom: Atom) -> str:
    """Return another text for an atom; "" where there is none."""
    operator, operand = split_operator(atom.text)
    ends = range_ends(atom.text)
    if ends is not None:
        low, high, inside = ends
        return f"{low}{'-' if inside else '!-'}{other_text(high)}"
    if has_wildcard(operand):
        wider = operand.replace("?", "").replace("*", "")
        # What is only there becomes what may be anything; of what is written a letter more.
        return f"{operator}{other_text(operand)}" if wider else "*" if operand == "?*" else ""
    return f"{operator}{other_text(operand)}"


PATTERN_VALUES = MutationKind(
    "value of a pattern", frozenset({PartKind.PATTERN}), pattern_values_changes
)

# Changes of CEL expressions: constants, operators and quantifiers.

# A constant of a CEL expression is another one.

_QUOTES = ("'", '"')


def cel_constants_changes(point: MutationPoint, data: Json) -> Iterator[PolicyChange]:
    """Yield the document with one constant of the expression changed."""
    text = point.value
    for token in tokenize(text)[0]:
        now = _cel_constants_other(token)
        if now:
            changed = f"{text[: token.at]}{now}{text[token.at + len(token.text) :]}"
            whole = replaced(data, point.path, changed)
            yield PolicyChange(point.path, token.text, now, whole, token.at)


def _cel_constants_other(token: Token) -> str:
    """Return another constant; "" if it is not a constant or not a plain string."""
    if token.text in {"true", "false"}:
        return "false" if token.text == "true" else "true"
    if token.kind == "int" and token.text.isdecimal():
        return str(int(token.text) + 1)
    if token.kind != "string" or token.text[0] not in _QUOTES or token.text[:3] in {'"""', "'''"}:
        return ""
    quote = token.text[0]
    return f"{quote}{other_text(token.text[1:-1])}{quote}"


CEL_CONSTANTS = MutationKind(
    "constant in CEL", frozenset({PartKind.EXPRESSION}), cel_constants_changes
)

# An operator or a quantifier of a CEL expression becomes another one.

_SIGNS: Mapping[str, str] = MappingProxyType(
    {
        "==": "!=",
        "!=": "==",
        "<": "<=",
        "<=": "<",
        ">": ">=",
        ">=": ">",
        "&&": "||",
        "||": "&&",
        "!": "",
    }
)
_CALLED: Mapping[str, str] = MappingProxyType({"all": "exists", "exists": "all"})


def cel_operators_changes(point: MutationPoint, data: Json) -> Iterator[PolicyChange]:
    """Yield the document with one operator of the expression changed."""
    text = point.value
    tokens, _ = tokenize(text)
    for before, token, after in zip([None, *tokens], tokens, [*tokens[1:], None], strict=False):
        now = _cel_operators_other(token, before, after)
        if now is not None:
            changed = f"{text[: token.at]}{now}{text[token.at + len(token.text) :]}"
            whole = replaced(data, point.path, changed)
            yield PolicyChange(point.path, token.text, now, whole, token.at)


def _cel_operators_other(token: Token, before: Token | None, after: Token | None) -> str | None:
    if token.kind == "sign":
        return _SIGNS.get(token.text)
    called = token.kind == "name" and after is not None and after.text == "("
    is_method = before is not None and before.text == "."
    return _CALLED.get(token.text) if called and is_method else None


CEL_OPERATORS = MutationKind(
    "operator in CEL", frozenset({PartKind.EXPRESSION}), cel_operators_changes
)

# The kinds of changes; their order has no effect.

KINDS: tuple[MutationKind, ...] = (
    LEFT_OUT,
    ANY_OR_ALL,
    CONDITION_OPERATORS,
    CONSTANTS,
    ANCHORS,
    PATTERN_OPERATORS,
    PATTERN_VALUES,
    POD_SECURITY_LEVELS,
    CEL_OPERATORS,
    CEL_CONSTANTS,
)
