"""Tests in CEL as trees, so that they can be negated, joined and formatted."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

# Values stay text: only the operators between tests matter.

CHOICE, OR, AND, RELATION, SUM, PRODUCT, UNARY, TIGHT = range(1, 9)
"""Precedences of expressions, lowest first."""

_RELATIONS: Final = MappingProxyType(
    {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
)
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEYWORDS: Final = frozenset({"true", "false", "null", "in"})


class Plain(NamedTuple):
    """A test that is a single text."""

    text: str
    level: int = TIGHT


class Relation(NamedTuple):
    """A relation between two values."""

    left: str
    sign: str
    right: str


class Not(NamedTuple):
    """The negation of a test."""

    test: "Test"


class All(NamedTuple):
    """A conjunction of tests."""

    parts: "tuple[Test, ...]"


class Some(NamedTuple):
    """A disjunction of tests."""

    parts: "tuple[Test, ...]"


class Quantified(NamedTuple):
    """A test of every element of a list, or of one of them."""

    source: str
    name: str
    body: "Test"
    macro: str = "all"
    keyed: str = ""
    """The first variable of a loop with two: the index or key of an element."""


class Conditional(NamedTuple):
    """One test or another, depending on a third."""

    question: "Test"
    yes: "Test"
    no: "Test"


Test: TypeAlias = Plain | Relation | Not | All | Some | Quantified | Conditional

TRUE, FALSE = Plain("true"), Plain("false")


def quoted(text: str) -> str:
    """Return a string as a CEL literal."""
    if "'" in text or not text.isprintable() or "\\" in text:
        return json.dumps(text, ensure_ascii=not text.isprintable())
    return f"'{text}'"


def literal(value: object) -> str:
    """Return constant data as CEL; members of different types are hidden from the type checker."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, str):
        return quoted(value)
    if not isinstance(value, list | dict):
        return repr(value)
    parts = list(value.values()) if isinstance(value, dict) else value
    texts = [literal(one) for one in parts]
    if len(set(map(type, parts))) > 1:
        texts = [f"dyn({one})" for one in texts]
    if isinstance(value, list):
        return f"[{', '.join(texts)}]"
    pairs = zip(value, texts, strict=True)
    return f"{{{', '.join(f'{quoted(key)}: {text}' for key, text in pairs)}}}"


def is_name(key: str) -> bool:
    """Return whether a key can be written after a dot."""
    return _IDENTIFIER.fullmatch(key) is not None and key not in _KEYWORDS


def every(parts: Iterable[Test]) -> Test:
    """Return the conjunction of tests."""
    return _expressions_joined(parts, All, idle=TRUE, decides=FALSE)


def some(parts: Iterable[Test]) -> Test:
    """Return the disjunction of tests."""
    return _expressions_joined(parts, Some, idle=FALSE, decides=TRUE)


def _expressions_joined(
    parts: Iterable[Test], kind: type[All] | type[Some], idle: Plain, decides: Plain
) -> Test:
    """Join tests: `idle` ones have no effect, one that `decides` is the result."""
    flat: list[Test] = []
    for one in parts:
        flat += one.parts if isinstance(one, kind) else (one,)
    if decides in flat:
        return decides
    kept = tuple(dict.fromkeys(one for one in flat if one != idle))
    return idle if not kept else kept[0] if len(kept) == 1 else kind(kept)


def chosen(question: Test, yes: Test, no: Test) -> Test:
    """Return a choice between two tests; an error of the question stays an error."""
    if {yes, no} == {TRUE, FALSE}:
        return question if yes == TRUE else opposite(question)
    return Conditional(question, yes, no)


def opposite(test: Test) -> Test:
    """Return the negation of a test, pushed inwards if that is more readable."""
    if test in {TRUE, FALSE}:
        return FALSE if test == TRUE else TRUE
    if isinstance(test, Not):
        return test.test
    if isinstance(test, Relation) and test.sign in _RELATIONS:
        return test._replace(sign=_RELATIONS[test.sign])
    if isinstance(test, Some):
        return every(opposite(one) for one in test.parts)
    if isinstance(test, All):
        return some(opposite(one) for one in test.parts)
    if isinstance(test, Quantified) and _turns(test.body):
        macro = "all" if test.macro == "exists" else "exists"
        return test._replace(macro=macro, body=opposite(test.body))
    if isinstance(test, Conditional):
        return chosen(test.question, opposite(test.yes), opposite(test.no))
    return Not(test)


def _turns(test: Test) -> bool:
    """Return whether the negation of a body is as readable."""
    if isinstance(test, All | Some):
        return all(map(_turns, test.parts))
    if isinstance(test, Quantified):
        return _turns(test.body)
    return isinstance(test, Not | Relation) and getattr(test, "sign", "!=") != "in"


_LEVELS: Final[Mapping[type[Test], int]] = {
    Relation: RELATION,
    Not: UNARY,
    All: AND,
    Some: OR,
    Quantified: TIGHT,
    Conditional: CHOICE,
}


def level_of(test: Test) -> int:
    """Return the precedence of a test as text."""
    return test.level if isinstance(test, Plain) else _LEVELS[type(test)]


def one_line(test: Test) -> str:
    """Return a test as text without line breaks."""
    return "".join(_pieces(test))


def short_line(test: Test, width: int) -> str | None:
    """Return a test on one line, or None if it exceeds `width`; the rest is not formatted then."""
    text = ""
    for piece in _pieces(test):
        text += piece
        if len(text) > width:
            return None
    return text


def _pieces(test: Test) -> Iterator[str]:
    """Yield the text of a test from left to right, without recursion."""
    waiting: list[Test | str] = [test]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        else:
            waiting += reversed(_parts(one))


def _parts(test: Test) -> list[Test | str]:
    if isinstance(test, Plain):
        return [test.text]
    if isinstance(test, Relation):
        return [f"{test.left} {test.sign} {test.right}"]
    if isinstance(test, Not):
        return ["!", *_enclosed(test.test, UNARY)]
    if isinstance(test, All | Some):
        sign = " && " if isinstance(test, All) else " || "
        joined = (part for one in test.parts for part in (sign, *_enclosed(one, AND)))
        return [*joined][1:]
    if isinstance(test, Quantified):
        return [f"{head_of(test)}, ", test.body, ")"]
    question, yes = _enclosed(test.question, OR), _enclosed(test.yes, OR)
    return [*question, " ? ", *yes, " : ", *_enclosed(test.no, CHOICE)]


def head_of(test: Quantified) -> str:
    """Return the start of a loop, including its variables."""
    names = f"{test.keyed}, {test.name}" if test.keyed else test.name
    return f"{test.source}.{test.macro}({names}"


def enclosed(test: Test, least: int) -> str:
    """Return a test on one line, in parentheses if its precedence is lower than `least`."""
    return "".join(one if isinstance(one, str) else one_line(one) for one in _enclosed(test, least))


def _enclosed(test: Test, least: int) -> list[Test | str]:
    return [test] if level_of(test) >= least else ["(", test, ")"]


# Format tests on several lines, with one operand on each.

_WIDTH: Final = 84
_STEP: Final = 2


def laid_out(test: Test) -> str:
    """Return a test as text, on several lines if one would be too long."""
    return "\n".join(_lines(test, _WIDTH))


def _lines(test: Test, width: int) -> list[str]:
    text = short_line(test, width)
    if text is not None:
        return [text]
    if isinstance(test, All | Some):
        sign = " &&" if isinstance(test, All) else " ||"
        lines: list[str] = []
        for one in test.parts:
            part = _part(one, width, RELATION)
            if lines:
                lines[-1] += sign
            lines += part
        return lines
    if isinstance(test, Quantified):
        body = _indented(_lines(test.body, width - _STEP))
        return [f"{head_of(test)},", *body, ")"]
    if isinstance(test, Not):
        is_tight = level_of(test.test) >= UNARY
        lines = _lines(test.test, width if is_tight else width - _STEP)
        return [f"!{lines[0]}", *lines[1:]] if is_tight else ["!(", *_indented(lines), ")"]
    if isinstance(test, Conditional):
        yes = _part(test.yes, width - _STEP, OR)
        no = _lines(test.no, width - _STEP)
        yes[0], no[0] = f"? {yes[0]}", f": {no[0]}"
        found = [enclosed(test.question, AND)]
        return [*found, yes[0], *_indented(yes[1:]), no[0], *_indented(no[1:])]
    return [one_line(test)]


def _part(test: Test, width: int, least: int) -> list[str]:
    if level_of(test) >= least:
        return _lines(test, width)
    text = short_line(test, width - 2)
    if text is not None:
        return [f"({text})"]
    return ["(", *_indented(_lines(test, width - _STEP)), ")"]


def _indented(lines: list[str]) -> list[str]:
    return [f"{' ' * _STEP}{one}" for one in lines]
