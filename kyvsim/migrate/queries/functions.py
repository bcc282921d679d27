"""JMESPath functions → CEL, one converter for each."""

import re
from collections.abc import Callable, Mapping
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
    Types,
    element_of,
    is_list,
    is_map,
    is_text,
    list_of,
    values_of,
)

# JMESPath functions of times and durations → CEL, which has types for both.

_TimesConverter: TypeAlias = Callable[[list[Expr], Scope], Expr]
_NOW: Final = "time.now()"


def _moment(value: Expr) -> str:
    """Return the time that a text tells."""
    return value.moment or f"timestamp({value.text})"


def _at(moment: str) -> Expr:
    return Expr(f"string({moment})", TEXT, moment=moment)


def _lasting(duration: str) -> Expr:
    return Expr(f"string({duration})", TEXT, duration=duration)


def _now(_given: list[Expr], _: Scope) -> Expr:
    return _at(_NOW)


def _since(given: list[Expr], _: Scope) -> Expr:
    layout, start, end = given
    if layout.constant != ("",):
        raise no_twin("a time in another layout than that of RFC 3339")
    last = _NOW if end.constant == ("",) else _moment(end)
    return _lasting(f"{last} - {_moment(start)}")


def _difference(given: list[Expr], _: Scope) -> Expr:
    start, end = given
    return _lasting(f"{_moment(end)} - {_moment(start)}")


def _sum(given: list[Expr], _: Scope) -> Expr:
    start, added = given
    duration = added.duration or f"duration({added.text})"
    return _at(f"{_moment(start)} + {duration}")


def _same_moment(given: list[Expr], _: Scope) -> Expr:
    return _at(_moment(given[0]))


def _compared(sign: str) -> _TimesConverter:
    def convert(given: list[Expr], _: Scope) -> Expr:
        left, right = given
        return as_value(Relation(_moment(left), sign, _moment(right)))

    return convert


def _between(given: list[Expr], _: Scope) -> Expr:
    time, start, end = map(_moment, given)
    return as_value(every([Relation(time, ">", start), Relation(time, "<", end)]))


def _cron(given: list[Expr], _: Scope) -> Expr:
    return Expr(f"time.toCron({_moment(given[0])})", TEXT)


TIMES: Final[Mapping[str, _TimesConverter]] = MappingProxyType(
    {
        "time_now": _now,
        "time_now_utc": _now,
        "time_utc": _same_moment,
        "time_since": _since,
        "time_diff": _difference,
        "time_add": _sum,
        "time_before": _compared("<"),
        "time_after": _compared(">"),
        "time_between": _between,
        "time_to_cron": _cron,
    }
)

# JMESPath functions → CEL, one converter for each.

_FunctionsConverter: TypeAlias = Callable[[list[Expr], Scope], Expr]


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
    found = convert(given, scope)
    # A function ends in an error where an argument is null, unless it is made for that.
    if name in _TAKE_NULL or found.needs:
        return found
    return found._replace(needs=_needs(given))


_TAKE_NULL: Final = frozenset({"to_string", "to_array", "label_match"})


def _needs(given: list[Expr]) -> tuple[Test, ...]:
    return tuple(need for one in given for need in one.needed())


def _length(given: list[Expr], _: Scope) -> Expr:
    (value,) = given
    return Expr(f"size({value.text})", NUMBER, needs=value.needed())


def _contains(given: list[Expr], _: Scope) -> Expr:
    whole, part = given
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
    return found._replace(needs=(*whole.needed(), *part.needed()))


def _keys(given: list[Expr], _: Scope) -> Expr:
    (value,) = given
    text = f"{value.tight()}.map(key, key)"
    return Expr(text, list_of(TEXT), noun="keys", needs=value.needed(), keys_of=value.tight())


def _values(given: list[Expr], _: Scope) -> Expr:
    (value,) = given
    types = list_of(values_of(value.types) if is_map(value.types) else UNKNOWN)
    text = f"{value.tight()}.map(key, {value.text}[key])"
    return Expr(text, types, noun="values", needs=value.needed())


def _method(name: str, types: Types = TEXT) -> _FunctionsConverter:
    def convert(given: list[Expr], _: Scope) -> Expr:
        first, *rest = given
        arguments = ", ".join(one.text for one in rest)
        return Expr(f"{first.tight()}.{name}({arguments})", types, needs=_needs(given))

    return convert


def _test_method(name: str) -> _FunctionsConverter:
    def convert(given: list[Expr], _: Scope) -> Expr:
        first, second = given
        found = as_value(Plain(f"{first.tight()}.{name}({second.text})"))
        return found._replace(needs=_needs(given))

    return convert


def _regex_match(given: list[Expr], _: Scope) -> Expr:
    pattern, text = given
    subject = text.tight() if is_text(text.types) else f"string({text.text})"
    found = as_value(Plain(f"{subject}.matches({pattern.text})"))
    return found._replace(needs=_needs(given))


def _regex_replace_all(given: list[Expr], _: Scope) -> Expr:
    pattern, text, replacement = given
    if not replacement.constant:
        raise no_twin("a replacement that is no fixed text")
    sign = re.sub(r"\$\{?(\d+)\}?", r"\\\1", str(replacement.constant[0]))
    subject = text.tight() if is_text(text.types) else f"string({text.text})"
    return Expr(f"regex.replace({subject}, {pattern.text}, {quoted(sign)})", TEXT)


def _split(given: list[Expr], _: Scope) -> Expr:
    text, sign = given
    return Expr(f"{text.tight()}.split({sign.text})", list_of(TEXT), noun=text.noun)


def _join(given: list[Expr], _: Scope) -> Expr:
    sign, texts = given
    return Expr(f"{texts.tight()}.join({sign.text})", TEXT)


def _replace_all(given: list[Expr], _: Scope) -> Expr:
    text, old, new = given
    return Expr(f"{text.tight()}.replace({old.text}, {new.text})", TEXT)


def _to_string(given: list[Expr], _: Scope) -> Expr:
    (value,) = given
    if is_list(value.types) or is_map(value.types):
        return Expr(f"json.marshal({value.or_else(None)})", TEXT)
    # What is missing is null to a function, and `null` is the text of that.
    text = value.or_else("null")
    if is_text(value.types):
        return value._replace(text=text, optional="", has="", needs=())
    return Expr(f"string({text})", TEXT, needs=value.needs)


def _to_number(given: list[Expr], _: Scope) -> Expr:
    (value,) = given
    return Expr(f"double({value.text})", NUMBER, is_double=True, needs=value.needed())


def _numbers(name: str) -> _FunctionsConverter:
    def convert(given: list[Expr], _: Scope) -> Expr:
        (value,) = given
        return Expr(f"{value.tight()}.{name}()", element_of(value.types) or NUMBER, is_double=True)

    return convert


def _sort(given: list[Expr], _: Scope) -> Expr:
    (value,) = given
    return Expr(f"{value.tight()}.sort()", value.types, noun=value.noun)


def _reverse(given: list[Expr], _: Scope) -> Expr:
    (value,) = given
    if not is_list(value.types):
        raise no_twin("`reverse` of a text")
    return Expr(f"{value.tight()}.reverse()", value.types, noun=value.noun)


def _to_array(given: list[Expr], _: Scope) -> Expr:
    (value,) = given
    if is_list(value.types):
        # Of nothing it makes a list with null in it, which is nothing to look for.
        text = value.or_else([])
        return value._replace(text=text, soft="", optional="", has="", needs=())
    return Expr(f"[{value.text}]", list_of(value.types), noun=value.noun)


def _label_match(given: list[Expr], _: Scope) -> Expr:
    wanted, labels = given
    found = f"{labels.optional or labels.tight()}[?key]"
    body = Relation(found, "==", f"optional.of({wanted.tight()}[key])")
    return as_value(Quantified(wanted.or_else({}), "key", body))


def _parse(function: str) -> _FunctionsConverter:
    def convert(given: list[Expr], _: Scope) -> Expr:
        return Expr(f"{function}({given[0].text})", UNKNOWN)

    return convert


def _base64_decode(given: list[Expr], _: Scope) -> Expr:
    return Expr(f"string(base64.decode({given[0].text}))", TEXT)


def _base64_encode(given: list[Expr], _: Scope) -> Expr:
    return Expr(f"base64.encode(bytes({given[0].text}))", TEXT)


def _random(given: list[Expr], _: Scope) -> Expr:
    return Expr(f"random({given[0].text})", TEXT)


def _arithmetic(sign: str, level: int) -> _FunctionsConverter:
    def convert(given: list[Expr], _: Scope) -> Expr:
        left, right = given
        numbers = (f"double({one.text})" for one in (left, right))
        return Expr(f" {sign} ".join(numbers), NUMBER, level, is_double=True)

    return convert


FUNCTIONS: Final[Mapping[str, _FunctionsConverter]] = MappingProxyType(
    {
        "length": _length,
        "contains": _contains,
        "keys": _keys,
        "values": _values,
        "starts_with": _test_method("startsWith"),
        "ends_with": _test_method("endsWith"),
        "regex_match": _regex_match,
        "regex_replace_all": _regex_replace_all,
        "split": _split,
        "join": _join,
        "replace_all": _replace_all,
        "trim": _method("trim"),
        "to_lower": _method("lowerAscii"),
        "to_upper": _method("upperAscii"),
        "to_string": _to_string,
        "to_number": _to_number,
        "to_array": _to_array,
        "max": _numbers("max"),
        "min": _numbers("min"),
        "sum": _numbers("sum"),
        "sort": _sort,
        "reverse": _reverse,
        "label_match": _label_match,
        "parse_json": _parse("json.unmarshal"),
        "parse_yaml": _parse("yaml.parse"),
        "base64_decode": _base64_decode,
        "base64_encode": _base64_encode,
        "random": _random,
        "add": _arithmetic("+", 5),
        "subtract": _arithmetic("-", 5),
        "multiply": _arithmetic("*", 6),
        **TIMES,
    }
)
