"""Expressions by chance: of the functions that there are, and of values at the edges of types."""

import random
import re
from collections.abc import Iterator
from functools import lru_cache

from kyvsim.api.cel import EXPRESSION_KINDS, signatures
from kyvsim.jmespath.functions import Function, functions

Kinds = tuple[str, ...]
"""Types of JMESPath, any of them."""
ANY: Kinds = ("any",)
ARRAY: Kinds = ("array",)

TEXTS = (
    *("", "a", "é", "\\u0000", "\\u202e", "\\x1b[31m", "a.b.c", "1", "-1", "9" * 40, "1.5", "NaN"),
    *("1e999999999", "1Gi", "1Ki5", "100m", "-0", "1h30m", "1h" * 99, "P1D", "0s", "9" * 30 + "h"),
    *("2024-02-30T00:00:00Z", "2024-01-01T00:00:00Z", "0000-00-00T00:00:00Z", "Mon Jan _2"),
    *("1.2.3", ">=1.0.0 <2", "v1", "1.2.3-" + "a." * 50, "::1", "10.0.0.0/8", "300.1.1.1", "::/9"),
    *("nginx:1", "r:5000/a@sha256:" + "a" * 64, "a//b", "https://a:b@c:99999/%zz?q=%", "http://[::1"),
    *("(a*)*", "(((((", "[", "a{1000}{1000}", "(?i)a", "\\\\", "[[:alpha:]]{5}", ".*" * 50, "*?*"),
    *("%", "YQ==", "Y Q", "{", "[1, 2", '{"a": {"b": []}}', "a: &x [1]\\nb: *x", "- a\\n-b", "'"),
    *("Europe/Berlin", "Local", "+99:99", "UTC", "%s %d %.999999999f", "%v%v", "pods", "apps/v1"),
)  # fmt: skip
NUMBERS = (
    *("0", "1", "-1", "5", "2147483648", "9223372036854775807", "-9223372036854775808", "1e308"),
    *("0.1", "-0.0", "1e-320", "99999999999999999999", "1000000"),
)
CEL_KINDS = tuple(EXPRESSION_KINDS)
_DEPTH = 5


def jmespath(chance: random.Random, wanted: Kinds = ANY, depth: int = _DEPTH) -> str:
    """Return an expression in JMESPath; mostly one whose types are right."""
    if chance.random() < 0.05:
        wanted = ANY
    if depth == 0 or chance.random() < 0.15:
        return chance.choice(_leaves(wanted))

    def inner(kinds: Kinds = ANY) -> str:
        return jmespath(chance, kinds, depth - 1)

    if chance.random() < 0.75 and (functions := _functions(wanted)):
        function = chance.choice(functions)
        arguments = [
            f"&{inner()}" if kinds == ("expref",) else inner(kinds) for kinds in function.arguments
        ]
        if chance.random() < 0.05:
            arguments = arguments[:-1] if chance.random() < 0.5 else [*arguments, inner()]
        return f"{function.name}({', '.join(arguments)})"
    binary = chance.choice(("||", "&&", "==", "!=", "<", ">=", "|", "+", "-", "*", "/", "%"))
    step = chance.choice(("[]", "[*]", "[0]", "[-1]", "[::-1]", "[5:1:0]", ".a", ".*", '."a b"'))
    return (
        lambda: f"{inner(wanted)} {binary} {inner(wanted)}",
        lambda: f"({inner()}){step}",
        lambda: f"[{inner(wanted)}, {inner(wanted)}]",
        lambda: f"{{a: {inner()}, b: {inner(wanted)}}}",
        lambda: f"({inner(ARRAY)})[?{inner()}]",
        lambda: f"!{inner()}",
    )[chance.randint(0, 5)]()


@lru_cache(maxsize=32)
def _leaves(wanted: Kinds) -> tuple[str, ...]:
    plain = (one.replace("`", "").replace('"', "").replace("'", "") for one in TEXTS)
    known = {
        "string": tuple(f"'{one}'" for one in plain),
        "number": tuple(f"`{one}`" for one in NUMBERS),
        "boolean": ("`true`", "`false`"),
        "array": ("`[1, 2]`", "`[[1, 2], [3]]`", "`[]`", "spec.containers", '`["a", "b"]`'),
        "object": ('`{"a": 1}`', "`{}`", "@", "metadata.labels", "spec"),
        "array[number]": ("`[1, 2.5]`", "`[]`", "`[1e308, 1e308]`"),
        "array[string]": ('`["a", "b"]`', "`[]`", "spec.containers[].name"),
    }
    found = tuple(one for kind in wanted for one in known.get(kind, ()))
    return found or (*(one for some in known.values() for one in some), "`null`", "a", '"a b"', "*")


@lru_cache(maxsize=32)
def _functions(wanted: Kinds) -> tuple[Function, ...]:
    return tuple(
        one for one in functions().values() if wanted == ANY or {*one.returns} & {*wanted, *ANY}
    )


def cel(chance: random.Random, kind: str, wanted: str = "", depth: int = _DEPTH) -> str:
    """Return an expression in CEL for a kind of policies; mostly one whose types are right."""
    ways = _ways(kind)
    wanted = wanted or chance.choice([*ways])
    if chance.random() < 0.02:
        wanted = chance.choice([*ways])
    if depth > 0 and chance.random() < 0.1:
        return _of_syntax(chance, kind, wanted, depth - 1)
    made = ways.get(_plain(wanted), ())
    if not made or depth <= 0 or (chance.random() < 0.2 and _cel_leaf(chance, wanted)):
        return _cel_leaf(chance, wanted) or chance.choice(("dyn(1)", "object", "null"))
    name, target, arguments = chance.choice(made)
    inner = ", ".join(cel(chance, kind, one, depth - 1) for one in arguments)
    return (
        f"{cel(chance, kind, target, depth - 1)}.{name}({inner})" if target else f"{name}({inner})"
    )


def _of_syntax(chance: random.Random, kind: str, wanted: str, depth: int) -> str:
    def inner(type_: str = "dyn") -> str:
        return cel(chance, kind, type_, depth)

    macro = chance.choice(("all", "exists", "exists_one", "map", "filter", "sortBy"))
    operator = chance.choice(("+", "-", "*", "/", "%"))
    return (
        lambda: f"({inner('bool')} ? {inner(wanted)} : {inner(wanted)})",
        lambda: f"({inner(wanted)} {operator} {inner(wanted)})",
        lambda: f"{inner('list(string)')}.{macro}(x, {inner('bool')})",
        lambda: f"[{inner(wanted)}, {inner(wanted)}][{inner('int')}]",
        lambda: f"{{'a': {inner(wanted)}}}.a",
        lambda: f"dyn({inner()}) {chance.choice(('==', '<', 'in', '&&'))} {inner()}",
        lambda: f"[{inner(wanted)}].map(a, [a, {inner('string')}])",
        lambda: f"cel.bind(a, {inner(wanted)}, a)",
    )[chance.randint(0, 7)]()


def _cel_leaf(chance: random.Random, wanted: str) -> str:
    text = chance.choice(TEXTS).replace("'", "").replace("\\n", " ")
    number = chance.choice(NUMBERS)
    plain = _plain(wanted)
    return {
        # Literals of some arguments are looked at before anything is evaluated.
        "string": f"'{text}'" if chance.random() < 0.2 else f"('' + '{text}')",
        "int": number.split(".")[0].split("e")[0],
        "uint": f"{number.lstrip('-').split('.')[0].split('e')[0]}u",
        "double": number if "." in number or "e" in number else f"{number}.0",
        "bool": chance.choice(("true", "false", "has(object.a)", "'a' in object")),
        "bytes": f"b'{text}'",
        "dyn": chance.choice(("object", "object.spec", "dyn(1)", "null", "object.?a", "request")),
        "any": chance.choice(("object", "dyn('a')", "null", "[1]")),
        "list": chance.choice(("['a', 'b']", "[]", "[1, 2]", "object.spec.containers")),
        "map": chance.choice(("{'a': 'b'}", "{}", "object.metadata")),
        "google.protobuf.Duration": f"duration('' + '{text}')",
        "google.protobuf.Timestamp": f"timestamp('' + '{text}')",
    }.get(plain, chance.choice(("'a'", "1", "[1]")) if re.fullmatch("<.>", plain) else "")


def _plain(wanted: str) -> str:
    return wanted.partition("(")[0]


@lru_cache(maxsize=32)
def _ways(kind: str) -> dict[str, list[tuple[str, str, tuple[str, ...]]]]:
    """Return what makes values of a type: names, what stands before the dot, and arguments."""
    found: dict[str, list[tuple[str, str, tuple[str, ...]]]] = {}
    for name, ways in signatures(kind):
        for way in ways:
            head, _, result = way.partition(" -> ")
            before, _, rest = head.partition(f"{name}(")
            if "_" in name or not rest:
                continue
            arguments = tuple(_split(rest.removesuffix(")")))
            found.setdefault(_plain(result), []).append((name, before.removesuffix("."), arguments))
    return found


def _split(text: str) -> Iterator[str]:
    depth, start = 0, 0
    for at, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if sign == "," and depth == 0:
            yield text[start:at].strip()
            start = at + 1
    if text[start:].strip():
        yield text[start:].strip()
