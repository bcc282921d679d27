"""The kinds of changes of policies: conditions, patterns, values, CEL expressions."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.cel.parser import tokenize
from kyvsim.kubernetes.objects import Json, KubernetesObject, Path, renamed, replaced, without
from kyvsim.kubernetes.wildcard import Comparison, Range, has_wildcard, parse_alternatives
from kyvsim.policy.anchors import CONDITION, EQUALITY, GLOBAL, Anchor, parse_anchor


class PartKind(Enum):
    """The kind of a part of a policy, independent of the kind of policy."""

    REMOVABLE = "removable"
    """A field or an element of a list that can be removed."""
    CHOICE = "choice"
    """The field `any` or `all` around several filters or conditions."""
    OPERATOR = "operator"
    FIELD = "field"
    """A field of a pattern or patch, which can have an anchor."""
    PATTERN = "pattern"
    """A value of a pattern: an operator, alternatives, wildcards, a constant."""
    CONSTANT = "constant"
    """A value that is compared with others, or written into objects."""
    LEVEL = "level"
    EXPRESSION = "expression"


class MutationPoint(NamedTuple):
    """A part of a policy that can be changed."""

    part: PartKind
    path: Path
    name: str = ""
    """The name of an element of a list: `condition`, `filter`, …; "" to show its value."""


class PolicyChange(NamedTuple):
    """A policy's document with one place changed."""

    path: Path
    was: str
    """The old value, as text."""
    now: str
    """The new value, as text; "" if it is removed."""
    data: KubernetesObject
    offset: int = -1
    """The index of the change in the string at the path; -1 for the whole."""


class MutationKind(NamedTuple):
    """A kind of change."""

    name: str
    """The description of the changed part: `operator of a condition`."""
    part: PartKind
    changes: Callable[[MutationPoint, Json, object], Iterator[PolicyChange]]
    """Yields the changes at a point, given its value and the document."""


def _with_value(point: MutationPoint, value: object, data: object, other: object) -> PolicyChange:
    was, now = json.dumps(value), json.dumps(other)
    return PolicyChange(point.path, was, now, replaced(data, point.path, other))


def _with_text(
    point: MutationPoint, text: str, data: object, at: int, was: str, now: str
) -> PolicyChange:
    """Return the document with a part of a string replaced, beginning at index `at`."""
    whole = f"{text[:at]}{now}{text[at + len(was) :]}"
    return PolicyChange(point.path, was, now, replaced(data, point.path, whole), at)


# Values: a number plus one, a negated boolean, a string with another letter.

_NUMBER = re.compile(r"(\d+)(?!.*\d)")
_VARIABLES = ("{{", "$(")
"""Prefixes of variables, which are replaced at evaluation."""


def _other_value(value: object) -> object:
    """Return another value of the same type; None if there is none, or if it has variables."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if not isinstance(value, str) or any(one in value for one in _VARIABLES):
        return None
    return _other_text(value)


def _other_text(text: str) -> str:
    """Return another string: with its last number incremented, or with another letter."""
    if _NUMBER.search(text):
        return _NUMBER.sub(lambda found: str(int(found[1]) + 1), text)
    return f"{text}x" if text else "x"


def _constants(point: MutationPoint, value: object, data: object) -> Iterator[PolicyChange]:
    """Yield the document with another value, unless the value has variables."""
    other = _other_value(value)
    if other is not None:
        yield _with_value(point, value, data, other)


# Conditions and blocks: operators, `any` and `all`, removed parts.

_ORDERED: Mapping[str, tuple[str, ...]] = {
    "GreaterThan": ("GreaterThanOrEquals", "LessThanOrEquals"),
    "GreaterThanOrEquals": ("GreaterThan", "LessThan"),
    "LessThan": ("LessThanOrEquals", "GreaterThanOrEquals"),
    "LessThanOrEquals": ("LessThan", "GreaterThan"),
}
OTHER_OPERATORS: Mapping[str, tuple[str, ...]] = {
    **{name: (f"Not{name}",) for name in ("Equal", "Equals", "In")},
    **{f"Not{name}": (name,) for name in ("Equal", "Equals", "In")},
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
"""The replacements of each operator: first the most similar, last its negation."""


def _any_or_all(point: MutationPoint, _: object, data: object) -> Iterator[PolicyChange]:
    other = "all" if point.name == "any" else "any"
    yield PolicyChange(point.path, point.name, other, renamed(data, point.path, other))


def _condition_operators(point: MutationPoint, was: str, data: object) -> Iterator[PolicyChange]:
    for other in OTHER_OPERATORS.get(was, ()):
        yield PolicyChange(point.path, was, other, replaced(data, point.path, other))


def _left_out(point: MutationPoint, value: object, data: object) -> Iterator[PolicyChange]:
    """Yield the document without a filter, a condition, an exclude block or a field."""
    last = point.path[-1]
    was = last if isinstance(last, str) else point.name or json.dumps(value)
    yield PolicyChange(point.path, was, "", without(data, point.path))


def _pod_security_levels(point: MutationPoint, was: str, data: object) -> Iterator[PolicyChange]:
    other = {"restricted": "baseline", "baseline": "restricted"}.get(was)
    if other:
        yield PolicyChange(point.path, was, other, replaced(data, point.path, other))


# Patterns: anchors, operators, values.

_OTHER_ANCHORS: Mapping[str, str] = MappingProxyType({CONDITION: EQUALITY, GLOBAL: CONDITION})
"""Anchors that are replaced by another one, too; all are removed."""
_OTHER_PATTERN_OPERATORS: Mapping[str, str] = {">=": ">", ">": ">=", "<=": "<", "<": "<=", "!": ""}
_ATOM = re.compile(r"[^|&]+")


def _anchors(point: MutationPoint, _: object, data: object) -> Iterator[PolicyChange]:
    """Yield the document with another anchor for the field, or with none."""
    was = str(point.path[-1])
    anchor = parse_anchor(was)
    if anchor is None:
        return
    keys = [anchor.key]
    if anchor.sign in _OTHER_ANCHORS:
        keys.append(str(Anchor(_OTHER_ANCHORS[anchor.sign], anchor.key)))
    for now in keys:
        yield PolicyChange(point.path, was, now, renamed(data, point.path, now))


def _atoms(value: object) -> Iterator[tuple[str, int, Comparison | Range]]:
    """Yield the parts of a pattern between `|` and `&`, with their index and meaning.

    Yield nothing for other values, or if variables compute the string.
    """
    if not isinstance(value, str) or "{{" in value:
        return
    for found in _ATOM.finditer(value):
        text = found[0].strip()
        if text:
            ((atom,),) = parse_alternatives(text)
            yield text, found.start() + found[0].index(text), atom


def _pattern_operators(point: MutationPoint, value: str, data: object) -> Iterator[PolicyChange]:
    for text, at, atom in _atoms(value):
        if isinstance(atom, Comparison) and atom.operator in _OTHER_PATTERN_OPERATORS:
            now = f"{_OTHER_PATTERN_OPERATORS[atom.operator]}{atom.operand}"
            yield _with_text(point, value, data, at, text, now)


def _pattern_values(point: MutationPoint, value: object, data: object) -> Iterator[PolicyChange]:
    """Yield the document with another value, or without one of several alternatives."""
    if not isinstance(value, str):
        yield _with_value(point, value, data, _other_value(value))
        return
    for text, at, atom in _atoms(value):
        before = value[:at].rstrip()
        after = value[at + len(text) :].lstrip()
        if before:
            less = f"{before[:-1].rstrip()}{f' {after}' if after else ''}"
        else:
            less = after[1:].lstrip()
        if less:
            yield PolicyChange(point.path, text, "", replaced(data, point.path, less), at)
        now = _other_pattern(atom)
        if now:
            yield _with_text(point, value, data, at, text, now)


def _other_pattern(atom: Comparison | Range) -> str:
    if isinstance(atom, Range):
        return f"{atom.first}{'-' if atom.inside else '!-'}{_other_text(atom.last)}"
    if has_wildcard(atom.operand) and not atom.operand.strip("?*"):
        # `?*` becomes `*`; other strings get another letter.
        return "*" if atom.operand == "?*" else ""
    return f"{atom.operator}{_other_text(atom.operand)}"


_OTHER_SIGNS: Mapping[str, str] = MappingProxyType(
    {"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">"}
    | {"&&": "||", "||": "&&", "!": ""}
)
_OTHER_MACROS: Mapping[str, str] = MappingProxyType({"all": "exists", "exists": "all"})


def _cel_constants(point: MutationPoint, expression: str, data: object) -> Iterator[PolicyChange]:
    """Yield the document with one constant changed: a boolean, an integer, a simple string."""
    for token in tokenize(expression)[0]:
        text = token.text
        if text in {"true", "false"}:
            now = "false" if text == "true" else "true"
        elif token.kind == "int" and text.isdecimal():
            now = str(int(text) + 1)
        elif token.kind == "string" and text[0] in "'\"" and text[:3] not in {'"""', "'''"}:
            now = f"{text[0]}{_other_text(text[1:-1])}{text[0]}"
        else:
            continue
        yield _with_text(point, expression, data, token.at, text, now)


def _cel_operators(point: MutationPoint, expression: str, data: object) -> Iterator[PolicyChange]:
    """Yield the document with one operator or quantifier changed."""
    tokens, _ = tokenize(expression)
    for before, token, after in zip([None, *tokens], tokens, [*tokens[1:], None], strict=False):
        now = _OTHER_SIGNS.get(token.text) if token.kind == "sign" else None
        is_method = before is not None and before.text == "."
        if token.kind == "name" and is_method and after is not None and after.text == "(":
            now = _OTHER_MACROS.get(token.text)
        if now is not None:
            yield _with_text(point, expression, data, token.at, token.text, now)


KINDS = (
    MutationKind("left out", PartKind.REMOVABLE, _left_out),
    MutationKind("any or all", PartKind.CHOICE, _any_or_all),
    MutationKind("operator of a condition", PartKind.OPERATOR, _condition_operators),
    MutationKind("value", PartKind.CONSTANT, _constants),
    MutationKind("anchor", PartKind.FIELD, _anchors),
    MutationKind("operator of a pattern", PartKind.PATTERN, _pattern_operators),
    MutationKind("value of a pattern", PartKind.PATTERN, _pattern_values),
    MutationKind("level", PartKind.LEVEL, _pod_security_levels),
    MutationKind("operator in CEL", PartKind.EXPRESSION, _cel_operators),
    MutationKind("constant in CEL", PartKind.EXPRESSION, _cel_constants),
)
"""The kinds of changes; their order has no effect on what is found."""
