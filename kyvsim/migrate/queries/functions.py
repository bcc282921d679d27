"""JMESPath functions → CEL, one converter for each."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final, TypeAlias

from kyvsim.jmespath.functions.table import functions
from kyvsim.migrate.context import NotConvertible
from kyvsim.migrate.expressions import Plain, Quantified, Relation, Test, every, quoted
from kyvsim.migrate.queries.operators import as_value
from kyvsim.migrate.queries.scope import Scope, Tree, no_twin
from kyvsim.migrate.values import (
    NUMBER,
    TEXT,
    UNKNOWN,
    Expr,
    element_of,
    is_list,
    is_map,
    is_text,
    list_of,
    values_of,
)

_Converter: TypeAlias = Callable[..., Expr]
"""Takes the arguments of a call."""

# Times and durations, for which CEL has types.

_NOW: Final = "time.now()"


def _moment(value: Expr) -> str:
    """Return the time of a string."""
    return value.moment or f"timestamp({value.text})"


def _time(moment: str) -> Expr:
    return Expr(f"string({moment})", TEXT, moment=moment)


def _duration(duration: str) -> Expr:
    return Expr(f"string({duration})", TEXT, duration=duration)


def _since(layout: Expr, start: Expr, end: Expr) -> Expr:
    if layout.constant != ("",):
        raise no_twin("a time in a layout other than RFC 3339")
    last = _NOW if end.constant == ("",) else _moment(end)
    return _duration(f"{last} - {_moment(start)}")


def _compared(sign: str, left: Expr, right: Expr) -> Expr:
    return as_value(Relation(_moment(left), sign, _moment(right)))


def _between(*given: Expr) -> Expr:
    time, start, end = map(_moment, given)
    return as_value(every([Relation(time, ">", start), Relation(time, "<", end)]))


TIMES: Final[Mapping[str, _Converter]] = MappingProxyType(
    {
        "time_now": lambda: _time(_NOW),
        "time_now_utc": lambda: _time(_NOW),
        "time_utc": lambda time: _time(_moment(time)),
        "time_since": _since,
        "time_diff": lambda start, end: _duration(f"{_moment(end)} - {_moment(start)}"),
        "time_add": lambda time, added: _time(
            f"{_moment(time)} + {added.duration or f'duration({added.text})'}"
        ),
        "time_before": partial(_compared, "<"),
        "time_after": partial(_compared, ">"),
        "time_between": _between,
        "time_to_cron": lambda time: Expr(f"time.toCron({_moment(time)})", TEXT),
    }
)

# All functions.


def call(tree: Tree, scope: Scope) -> Expr:
    """Return the value of a call."""
    name = tree["value"]
    convert = FUNCTIONS.get(name)
    if convert is None:
        raise no_twin(f"the function `{name}`")
    if any(one["type"] == "expref" for one in tree["children"]):
        raise no_twin(f"`{name}` with an expression as argument")
    if refusal := functions()[name].refusal(len(tree["children"])):
        raise NotConvertible(f"{refusal}: the rule ends in an error", "fix the call")
    given = [scope.read(one, scope) for one in tree["children"]]
    found = convert(*given)
    # A function ends in an error where an argument is null, unless it is made for that.
    if name in _TAKE_NULL or found.needs:
        return found
    return found._replace(needs=_needs(*given))


_TAKE_NULL: Final = frozenset({"to_string", "to_array", "label_match"})


def _needs(*given: Expr) -> tuple[Test, ...]:
    return tuple(need for one in given for need in one.needed())


def _contains(whole: Expr, part: Expr) -> Expr:
    text = whole.tight()
    if is_text(whole.types):
        found = as_value(Plain(f"{text}.contains({part.text})"))
    elif whole.keys_of:
        found = as_value(Relation(part.text, "in", whole.keys_of))
    elif is_list(whole.types):
        found = as_value(Relation(part.text, "in", text))
    elif part.constant and isinstance(part.constant[0], str) and not whole.noun.endswith("s"):
        found = as_value(Plain(f"{text}.contains({part.text})"))
    else:
        listed = f"type({whole.text}) == list ? {part.text} in {whole.text}"
        found = as_value(Plain(f"({listed} : {text}.contains({part.text}))"))
    return found._replace(needs=_needs(whole, part))


def _keys(value: Expr) -> Expr:
    text = f"{value.tight()}.map(key, key)"
    return Expr(text, list_of(TEXT), noun="keys", needs=value.needed(), keys_of=value.tight())


def _values(value: Expr) -> Expr:
    types = list_of(values_of(value.types) if is_map(value.types) else UNKNOWN)
    text = f"{value.tight()}.map(key, {value.text}[key])"
    return Expr(text, types, noun="values", needs=value.needed())


def _method(name: str, first: Expr, *rest: Expr) -> Expr:
    arguments = ", ".join(one.text for one in rest)
    return Expr(f"{first.tight()}.{name}({arguments})", TEXT, needs=_needs(first, *rest))


def _test_method(name: str, first: Expr, second: Expr) -> Expr:
    found = as_value(Plain(f"{first.tight()}.{name}({second.text})"))
    return found._replace(needs=_needs(first, second))


def _regex_match(pattern: Expr, text: Expr) -> Expr:
    subject = text.tight() if is_text(text.types) else f"string({text.text})"
    found = as_value(Plain(f"{subject}.matches({pattern.text})"))
    return found._replace(needs=_needs(pattern, text))


def _regex_replace_all(pattern: Expr, text: Expr, replacement: Expr) -> Expr:
    if not replacement.constant:
        raise no_twin("a replacement that is not a fixed string")
    sign = re.sub(r"\$\{?(\d+)\}?", r"\\\1", str(replacement.constant[0]))
    subject = text.tight() if is_text(text.types) else f"string({text.text})"
    return Expr(f"regex.replace({subject}, {pattern.text}, {quoted(sign)})", TEXT)


def _to_string(value: Expr) -> Expr:
    if is_list(value.types) or is_map(value.types):
        return Expr(f"json.marshal({value.or_else(None)})", TEXT)
    # A missing value is null to a function, and becomes the string `null`.
    text = value.or_else("null")
    if is_text(value.types):
        return value._replace(text=text, optional="", has="", needs=())
    return Expr(f"string({text})", TEXT, needs=value.needs)


def _number(name: str, value: Expr) -> Expr:
    return Expr(f"{value.tight()}.{name}()", element_of(value.types) or NUMBER, is_double=True)


def _reverse(value: Expr) -> Expr:
    if not is_list(value.types):
        raise no_twin("`reverse` of a string")
    return Expr(f"{value.tight()}.reverse()", value.types, noun=value.noun)


def _to_array(value: Expr) -> Expr:
    if is_list(value.types):
        # Of nothing it makes a list with null in it, which is nothing to look for.
        text = value.or_else([])
        return value._replace(text=text, soft="", optional="", has="", needs=())
    return Expr(f"[{value.text}]", list_of(value.types), noun=value.noun)


def _label_match(expected: Expr, labels: Expr) -> Expr:
    found = f"{labels.optional or labels.tight()}[?key]"
    body = Relation(found, "==", f"optional.of({expected.tight()}[key])")
    return as_value(Quantified(expected.or_else({}), "key", body))


def _arithmetic(sign: str, level: int, left: Expr, right: Expr) -> Expr:
    text = f"double({left.text}) {sign} double({right.text})"
    return Expr(text, NUMBER, level, is_double=True)


FUNCTIONS: Final[Mapping[str, _Converter]] = MappingProxyType(
    {
        "length": lambda value: Expr(f"size({value.text})", NUMBER, needs=value.needed()),
        "contains": _contains,
        "keys": _keys,
        "values": _values,
        "starts_with": partial(_test_method, "startsWith"),
        "ends_with": partial(_test_method, "endsWith"),
        "regex_match": _regex_match,
        "regex_replace_all": _regex_replace_all,
        "split": lambda text, sign: Expr(
            f"{text.tight()}.split({sign.text})", list_of(TEXT), noun=text.noun
        ),
        "join": lambda sign, texts: Expr(f"{texts.tight()}.join({sign.text})", TEXT),
        "replace_all": lambda text, old, new: Expr(
            f"{text.tight()}.replace({old.text}, {new.text})", TEXT
        ),
        "trim": partial(_method, "trim"),
        "to_lower": partial(_method, "lowerAscii"),
        "to_upper": partial(_method, "upperAscii"),
        "to_string": _to_string,
        "to_number": lambda value: Expr(
            f"double({value.text})", NUMBER, is_double=True, needs=value.needed()
        ),
        "to_array": _to_array,
        "max": partial(_number, "max"),
        "min": partial(_number, "min"),
        "sum": partial(_number, "sum"),
        "sort": lambda value: Expr(f"{value.tight()}.sort()", value.types, noun=value.noun),
        "reverse": _reverse,
        "label_match": _label_match,
        "parse_json": lambda text: Expr(f"json.unmarshal({text.text})"),
        "parse_yaml": lambda text: Expr(f"yaml.parse({text.text})"),
        "base64_decode": lambda text: Expr(f"string(base64.decode({text.text}))", TEXT),
        "base64_encode": lambda text: Expr(f"base64.encode(bytes({text.text}))", TEXT),
        "random": lambda text: Expr(f"random({text.text})", TEXT),
        "add": partial(_arithmetic, "+", 5),
        "subtract": partial(_arithmetic, "-", 5),
        "multiply": partial(_arithmetic, "*", 6),
        **TIMES,
    }
)
