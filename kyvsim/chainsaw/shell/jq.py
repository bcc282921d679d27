"""The program `jq`: a part of its language, for the output of kubectl.

Paths, literals, objects, arrays, comparisons, `//`, `and`, `or`, `|`, `,`, `length`, `keys`, `not`,
`select` and `map`. Everything else is unsupported. Source of the rules: jq's manual.
"""

import json
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from types import MappingProxyType
from typing import TypeAlias

from kyvsim.chainsaw.environment import ProgramCall, Result, error_output, out
from kyvsim.chainsaw.errors import UnsupportedError

_TOKEN = re.compile(
    r"""\s*(?:(?P<field>\.[A-Za-z_]\w*)|(?P<text>"(?:[^"\\]|\\["\\/bfnrt])*")|(?P<number>\d+)
    |(?P<mark>//|[=!<>]=|[.\[\](){}|,:<>])|(?P<name>[A-Za-z_]\w*))""",
    re.VERBOSE,
)
_MOST_CHARACTERS = 2_000
_MOST_DEPTH = 20

Filter: TypeAlias = Callable[[object], Iterator[object]]
"""Yields the outputs for an input."""


class JqError(Exception):
    """A failure at run time; the text is the program's message."""


_COMPARISONS: Mapping[str, Callable[[object, object], bool]] = MappingProxyType(
    {"==": operator.eq, "!=": operator.ne}
)
_LITERALS = MappingProxyType({"null": None, "true": True, "false": False})


def jq(call: ProgramCall) -> Result:
    """Run `jq [-ecr] FILTER [FILE]`; raise UnsupportedError for what is not implemented."""
    flags = "".join(one[1:] for one in call.arguments if re.fullmatch("-[ecr]+", one))
    words = [one for one in call.arguments if not re.fullmatch("-[ecr]+", one)]
    if not 1 <= len(words) <= 2 or any(one.startswith("-") for one in words):
        raise call.unsupported("jq")
    text = call.stdin if len(words) == 1 else call.environment.read(words[1])
    if text is None:
        why = f"Could not open file {words[1]}: No such file or directory"
        return error_output(f"jq: error: {why}\n", 2)
    call.usage.step(1 + len(text) // 16)
    try:
        data = json.loads(text) if text.strip() else None
    except (ValueError, RecursionError):
        raise UnsupportedError("`jq` on input that is not one JSON document") from None
    if not text.strip():
        return Result(4 if "e" in flags else 0)
    try:
        found = [*_Reader(words[0], call.usage.step).filter()(data)]
        printed = "".join(f"{_shown(one, flags)}\n" for one in found)
    except JqError as error:
        return error_output(f"jq: error (at <stdin>:{text.count(chr(10))}): {error}\n", 5)
    except RecursionError:
        raise UnsupportedError("`jq` on deeply nested input") from None
    failed = "e" in flags and not (found and _holds(found[-1]))
    return out(printed)._replace(status=(1 if found else 4) if failed else 0)


def _shown(value: object, flags: str) -> str:
    if "r" in flags and isinstance(value, str):
        return value
    if "c" in flags:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return json.dumps(value, ensure_ascii=False, indent=2)


def _kind(value: object) -> str:
    kinds = {dict: "object", list: "array", str: "string", bool: "boolean", type(None): "null"}
    return kinds.get(value.__class__, "number")


def _field(value: object, name: object) -> object:
    """Return a member, null if there is none."""
    if value is None:
        return None
    if isinstance(value, dict) and isinstance(name, str):
        return value.get(name)
    if isinstance(value, list) and isinstance(name, int):
        return value[name] if name < len(value) else None
    by = f'"{name}"' if isinstance(name, str) else _kind(name)
    raise JqError(f"Cannot index {_kind(value)} with {by}")


def _every(value: object) -> Iterator[object]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value
    else:
        raise JqError(f"Cannot iterate over {_kind(value)}")


def _length(value: object) -> int:
    if isinstance(value, dict | list | str):
        return len(value)
    if value is None:
        return 0
    raise JqError(f"{_kind(value)} has no length")


def _keys(value: object) -> list[object]:
    if isinstance(value, dict):
        return sorted(value)
    if isinstance(value, list):
        return [*range(len(value))]
    raise JqError(f"{_kind(value)} has no keys")


def _holds(value: object) -> bool:
    return value is not None and value is not False


_FUNCTIONS: Mapping[str, Callable[[object], object]] = MappingProxyType(
    {"length": _length, "keys": _keys, "not": lambda value: not _holds(value)}
)


class _Reader:
    """Compiles a filter."""

    def __init__(self, source: str, step: Callable[[], None]) -> None:
        self.source = source
        self.step = step
        self.tokens: list[tuple[str, str]] = []
        at, end = 0, len(source.rstrip())
        while at < end:
            token = _TOKEN.match(source, at) if end <= _MOST_CHARACTERS else None
            if token is None:
                raise self._unsupported()
            self.tokens.append((token.lastgroup or "", token[token.lastgroup or 0]))
            at = token.end()
        self.tokens.append(("", ""))
        self.at = 0
        self.depth = 0

    def _unsupported(self) -> UnsupportedError:
        return UnsupportedError(f"the filter `{self.source}` of jq")

    def _take(self, *texts: str) -> str:
        """Return the next token if it is one of the texts, else ""."""
        if self.tokens[self.at][1] not in texts or self.tokens[self.at][0] == "text":
            return ""
        self.at += 1
        return self.tokens[self.at - 1][1]

    def _expect(self, text: str) -> None:
        if not self._take(text):
            raise self._unsupported()

    def filter(self) -> Filter:
        """Return the whole filter."""
        whole = self._pipe()
        if self.at < len(self.tokens) - 1:
            raise self._unsupported()
        return whole

    def _pipe(self) -> Filter:
        self.depth += 1
        if self.depth > _MOST_DEPTH:
            raise self._unsupported()
        first = self._several()
        then = self._pipe() if self._take("|") else None
        self.depth -= 1
        if then is None:
            return first
        return lambda value: (two for one in first(value) for two in then(one))

    def _several(self) -> Filter:
        parts = [self._binary(0)]
        while self._take(","):
            parts.append(self._binary(0))
        return lambda value: (one for part in parts for one in part(value))

    def _binary(self, level: int) -> Filter:
        """Return operators, the weakest first: `//`, `or`, `and`, comparisons."""
        if level == len(_LEVELS):
            return self._postfix()
        left = self._binary(level + 1)
        while sign := self._take(*_LEVELS[level]):
            left = _joined(sign, left, self._binary(level + 1))
        return left

    def _postfix(self) -> Filter:
        """Return a term with the steps of a path after it."""
        steps: list[Filter] = []
        is_path = self._take(".") or self.tokens[self.at][0] == "field"
        term: Filter = (lambda value: iter((value,))) if is_path else self._term()
        while True:
            kind, text = self.tokens[self.at]
            if kind == "field":
                self.at += 1
                steps.append(_step(text[1:]))
            elif self._take("["):
                kind, text = self.tokens[self.at]
                if not self._take("]"):
                    if kind not in {"text", "number"}:
                        raise self._unsupported()
                    self.at += 1
                    self._expect("]")
                    steps.append(_step(json.loads(text)))
                else:
                    steps.append(_every)
            else:
                break

        def run(value: object) -> Iterator[object]:
            self.step()
            values = term(value)
            for step in steps:
                values = chain.from_iterable(map(step, values))
            return values

        return run

    def _term(self) -> Filter:
        kind, text = self.tokens[self.at]
        self.at += 1
        if kind in {"text", "number"}:
            literal = json.loads(text)
            return lambda _value: iter((literal,))
        if text == "(":
            inner = self._pipe()
            self._expect(")")
            return inner
        if text == "[":
            if self._take("]"):
                return lambda _value: iter(([],))
            inner = self._pipe()
            self._expect("]")
            return lambda value: iter(([*inner(value)],))
        if text == "{":
            return self._object()
        if text in _LITERALS:
            return lambda _value: iter((_LITERALS[text],))
        if text in _FUNCTIONS:
            return lambda value: iter((_FUNCTIONS[text](value),))
        if text in {"select", "map"}:
            self._expect("(")
            inner = self._pipe()
            self._expect(")")
            if text == "select":
                return lambda value: (value for one in inner(value) if _holds(one))
            return lambda value: iter(([two for one in _every(value) for two in inner(one)],))
        raise self._unsupported()

    def _object(self) -> Filter:
        entries: list[tuple[str, Filter]] = []
        while not self._take("}"):
            if entries:
                self._expect(",")
            kind, text = self.tokens[self.at]
            if kind not in {"name", "text"}:
                raise self._unsupported()
            self.at += 1
            name = json.loads(text) if kind == "text" else text
            self._expect(":")
            entries.append((name, self._binary(0)))

        def run(value: object) -> Iterator[object]:
            made: list[dict[str, object]] = [{}]
            for name, inner in entries:
                values = [*inner(value)]
                made = [{**one, name: two} for one in made for two in values]
            return iter(made)

        return run


_LEVELS = (("//",), ("or",), ("and",), ("==", "!="))


def _step(name: object) -> Filter:
    return lambda value: iter((_field(value, name),))


def _joined(sign: str, left: Filter, right: Filter) -> Filter:
    """Return a binary operator on two filters."""
    if sign == "//":

        def alternative(value: object) -> Iterator[object]:
            found = [one for one in left(value) if _holds(one)]
            return iter(found) if found else right(value)

        return alternative
    if sign in _COMPARISONS:
        compare = _COMPARISONS[sign]
        return lambda value: (
            compare(_typed(one), _typed(two)) for two in right(value) for one in left(value)
        )
    ends = sign == "or"
    return lambda value: (
        ends if _holds(one) is ends else _holds(two)
        for one in left(value)
        for two in (right(value) if _holds(one) is not ends else (None,))
    )


def _typed(value: object) -> tuple[str, object]:
    """Return a value that is only equal to one of its own kind: in Python, 1 == True."""
    return _kind(value), value
