"""Convert JMESPath expressions, and strings with variables, to CEL."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from kyvsim.jmespath import QuerySyntaxError
from kyvsim.jmespath.functions import functions
from kyvsim.jmespath.parse import parse
from kyvsim.jmespath.variables import find_variables, plain_pieces, unescape
from kyvsim.migrate.context import USER_KNOWN, NotConvertible, Scope, located, unsupported
from kyvsim.migrate.expressions import (
    FALSE,
    RELATION,
    SUM,
    TRUE,
    Plain,
    Quantified,
    Relation,
    Test,
    every,
    is_name,
    level_of,
    one_line,
    opposite,
    quoted,
    some,
)
from kyvsim.migrate.values import (
    BOOL,
    MAP,
    NUMBER,
    TEXT,
    UNKNOWN,
    Expr,
    Types,
    constant,
    list_of,
    shown,
)
from kyvsim.policy.rule import ForEachGeneration, ForEachMutation, ForEachValidation

_Tree: TypeAlias = dict[str, Any]


def query_value(text: str, scope: Scope, value: Expr | None = None) -> Expr:
    """Return the CEL value of an expression on a value, or on the names in the scope.

    Raises NotConvertible if it cannot be converted.
    """
    text, scope = _with_marks(text, scope, depth=1)
    return _read(_tree_of(text), scope._replace(current=value))


def loop_list(loop: ForEachValidation | ForEachMutation | ForEachGeneration, scope: Scope) -> Expr:
    """Return the value of a loop's list."""
    if not loop.list:
        raise NotConvertible("a loop without a list", "set `list`")
    with located((*loop.path, "list")):
        return query_value(loop.list, scope)


def _read(tree: _Tree, scope: Scope) -> Expr:
    convert = _NODES.get(tree["type"])
    if convert is None:
        raise unsupported(f"`{tree['type'].replace('_', ' ')}`")
    return convert(tree, scope)


def text_value(text: str, scope: Scope) -> Expr:
    """Return the value of a string: constant, a single variable, or a concatenation."""
    text, scope = _with_marks(text, scope)
    variables = find_variables(text)
    if not variables:
        return constant(unescape(text))
    if variables[0].text == text and "{{" not in variables[0].expression:
        return query_value(variables[0].expression, scope)
    parts = [
        quoted(one) if isinstance(one, str) else shown(one) for one in text_pieces(text, scope)
    ]
    return Expr(" + ".join(parts), TEXT, SUM)


def text_pieces(text: str, scope: Scope) -> list[str | Expr]:
    """Return the parts of a string: non-empty constant parts, and values of variables."""
    text, scope = _with_marks(text, scope)
    variables = find_variables(text)
    pieces = plain_pieces(text, variables) if variables else [text]
    parts = [*pieces, *(one.expression for one in variables)]
    if any("{{" in one.replace("\\{{", "") for one in parts):
        raise unsupported("a variable that is not closed")
    found: list[str | Expr] = [unescape(pieces[0])]
    for variable, piece in zip(variables, pieces[1:], strict=True):
        found += [query_value(variable.expression, scope), unescape(piece)]
    return [one for one in found if one != ""]


def _tree_of(text: str) -> _Tree:
    """Return the syntax tree of an expression; raise NotConvertible if it is invalid."""
    try:
        return parse(text.strip())
    except QuerySyntaxError as error:
        if "⟦" in text or "{{" in text:
            what = "a variable inside a variable that is not part of a literal or a name"
            raise unsupported(what, "move the inner one to a context entry") from None
        raise unsupported(f"`{text.strip()}`: {error.message}") from None


# Nested variables: the values of the inner ones become part of the outer expression.
#
# Kyverno replaces the inner ones first, as text. Here, a marker replaces each of them while the
# outer query is parsed; a marker in a literal or name is then converted to the value.

_INNERMOST: Final = re.compile(r"(?<!\\)\{\{-?\s*([^{}]*?)\s*\}\}")
_BRACES: Final = re.compile(r"(?<!\\)\{\{|\}\}")
_ALONE: Final = re.compile(r"⟦(\d+)⟧=")
_MARK: Final = re.compile(r"⟦(\d+)⟧")


def _with_marks(text: str, scope: Scope, *, depth: int = 0) -> tuple[str, Scope]:
    """Return a text with markers for inner variables, and the scope with their values.

    `depth` is the number of variables around the text itself.
    """
    while True:
        inner = next((one for one in _INNERMOST.finditer(text) if depth + _depth(text, one)), None)
        if inner is None:
            return text, scope
        value = _read(_tree_of(inner[1]), scope._replace(current=None))
        before, behind = text[: inner.start()], text[inner.end() :]
        mark = f"⟦{len(scope.marked)}⟧"
        if before.endswith("`") and behind.startswith("`"):
            mark = f'"{mark}="'  # a literal of any type
        text = f"{before}{mark}{behind}"
        scope = scope._replace(marked=(*scope.marked, value))


def _depth(text: str, inner: re.Match[str]) -> int:
    """Return how many variables are open at the start of another one."""
    before = _BRACES.findall(text, 0, inner.start())
    return sum(1 if one == "{{" else -1 for one in before)


def _is_marked(text: object) -> bool:
    return isinstance(text, str) and _MARK.search(text) is not None


def _marked_text(text: str, scope: Scope) -> Expr:
    alone = _ALONE.fullmatch(text)
    if alone:
        return _marked(alone[1], scope)
    pieces = _MARK.split(text)
    first = _marked(pieces[1], scope)
    if pieces == ["", pieces[1], ""] and first.is_text:
        return first
    parts = (
        shown(_marked(piece, scope)) if number % 2 else quoted(piece)
        for number, piece in enumerate(pieces)
        if piece
    )
    return Expr(" + ".join(parts), TEXT, SUM)


def _marked(number: str, scope: Scope) -> Expr:
    """Return the value of a marker; a missing one is an error."""
    value = scope.marked[int(number)]
    return value if value.soft else value.given()


_PLAIN: Final = frozenset({"operation", "namespace", "name"})
_TYPED: Final = frozenset({"kind", "resource", "requestKind", "requestResource"})
_USER: Final[Mapping[str, Expr]] = {
    "username": Expr("request.userInfo.username", TEXT, noun="username"),
    "groups": Expr("request.userInfo.groups", list_of(TEXT), noun="groups"),
    "uid": Expr("request.userInfo.uid", TEXT, noun="uid"),
}


def _field(tree: _Tree, scope: Scope) -> Expr:
    """Return a field of the current value, or the value of a name."""
    key = tree["value"]
    current = scope.current
    if _is_marked(key):
        if current is None or current.text.startswith("request"):
            raise unsupported("a name that is computed by another variable", "name the field")
        return current.entry(_marked_text(key, scope).text)
    if current is None:
        return _named(key, scope)
    if current.text == "request":
        return _of_request(key, scope)
    if current.text == "request.userInfo":
        scope.context.note(USER_KNOWN)
        return _USER[key] if key in _USER else current.child(key)
    if current.noun in _TYPED and current.text.startswith("request."):
        return Expr(f"{current.text}.{key}", TEXT, noun=key)
    return current.child(key)


def _named(key: str, scope: Scope) -> Expr:
    if key == "request":
        return Expr("request")
    if key in scope.names:
        return scope.names[key]
    if key in {"serviceAccountName", "serviceAccountNamespace"}:
        scope.context.note(USER_KNOWN)
        part = key.removeprefix("serviceAccount")
        return Expr(f"parseServiceAccount(request.userInfo.username).{part}", TEXT)
    if key == "images":
        raise unsupported(
            "`images`",
            "use `image(...)` of each container, which adds `library/` where a rule does not, "
            "or an ImageValidatingPolicy",
        )
    if not key:
        return constant(None)  # `x || ""`: the name that nothing has, not an empty string
    if scope.rest is not None:
        return scope.rest.child(key)
    raise unsupported(f"the name `{key}`")


def _of_request(key: str, scope: Scope) -> Expr:
    if scope.at_rest:
        if key == "namespace":
            return scope.object.at("metadata", "namespace")
        raise unsupported(f"`request.{key}`", "use `target`: there is no request")
    if key == "object":
        return scope.object
    if key == "oldObject":
        return scope.old
    if key in _PLAIN:
        return Expr(f"request.{key}", TEXT, noun=key)
    if key in _TYPED or key == "userInfo":
        return Expr(f"request.{key}", noun=key)
    if key == "dryRun":
        return Expr("request.dryRun")
    raise unsupported(f"`request.{key}`", "use groups or names of users instead")


def _subexpression(tree: _Tree, scope: Scope) -> Expr:
    first, *rest = tree["children"]
    value = _read(first, scope)
    for step in rest:
        # After a pipe, the first step is a call with null, an error; `x.f(@)` is null instead.
        if value.may_miss and step["type"] == "function_expression":
            value = _called(step, value, scope)
        else:
            value = _read(step, scope.within(value))
    return value


def _called(step: _Tree, value: Expr, scope: Scope) -> Expr:
    """Return `x.f(@)`, which is null if `x` is missing."""
    found = _read(step, scope.within(value.given()))
    if found.test is not None:
        return _as_value(every([value.is_there(), found.test]))
    if not found.is_list:
        return found._replace(needs=(*found.needs, value.is_there())).if_needed_is_there()
    text = value.or_else(value.empty)
    soft = _read(step, scope.within(value.given()._replace(text=text, level=8)))
    return found._replace(soft=soft.text)


def _identity(_: _Tree, scope: Scope) -> Expr:
    if scope.current is None:
        raise unsupported("`@` outside a list")
    return scope.current


def _index(tree: _Tree, scope: Scope) -> Expr:
    """Return an element of a list; it is null if the list is too short."""
    current = _identity(tree, scope)
    place = tree["value"]
    before = current.tight()
    element = Expr("", current.element_types, noun=current.noun, nullable=not current.optional)
    if place < -1:
        raise unsupported("an index from the end")
    # An empty projection is null, and so are its elements: that is not an error.
    needs = () if current.soft else current.needs
    if place == -1:
        listed = current.or_else([]) if current.optional or current.soft else before
        text, optional = f"{before}.last().value()", f"{listed}.last()"
    else:
        text = f"{before}[{place}]"
        optional = f"{current.optional or current.soft or before}[?{place}]"
    return element._replace(text=text, optional=optional, needs=needs)


def variable_name(name: str) -> str:
    """Return the name of a context entry as a valid CEL name."""
    words = [one for one in name.replace(".", "-").replace("_", "-").split("-") if one]
    if is_name(name) and "_" not in name:
        return name
    first, *rest = words or ["entry"]
    return "".join((first, *(one[:1].upper() + one[1:] for one in rest)))


# Operators: `==`, `<`, `&&`, `||`, `!`; and the truth of values.


def _as_value(test: Test) -> Expr:
    return Expr(one_line(test), BOOL, level_of(test), test=test)


def _truth_of(value: Expr) -> Test:
    """Return the test that a value is true: it exists and is not empty."""
    if value.test is not None:
        return value.test
    if value.constant:
        is_amount = value.constant[0].__class__ in {int, float}  # 0 is true in JMESPath
        return TRUE if value.constant[0] or is_amount else FALSE
    if value.is_bool:
        return Plain(value.or_else(False), value.level)
    if value.is_text:
        return Relation(value.or_else(""), "!=", "''")
    if value.is_list or value.is_map:
        return Relation(f"size({value.or_else(value.empty)})", ">", "0")
    if value.is_number:
        return value.is_there()
    empty = "[null, false, '', [], {}]"
    given = Relation(value.text, "in", empty)
    return every([value.is_there(), opposite(given)])


_SIGNS = MappingProxyType({"eq": "==", "ne": "!=", "lt": "<", "lte": "<=", "gt": ">", "gte": ">="})


def _comparator(tree: _Tree, scope: Scope) -> Expr:
    """Return the comparison of two values."""
    left, right = (_read(one, scope) for one in tree["children"])
    sign = _SIGNS[tree["value"]]
    if left.constant and not right.constant:
        left, right = right, left
        sign = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(sign, sign)
    return _as_value(_compared(left, sign, right))


def _compared(left: Expr, sign: str, right: Expr) -> Test:
    if right.constant and right.constant[0] is None:
        return left.is_missing() if sign == "==" else left.is_there()
    if right.constant and isinstance(right.constant[0], bool) and left.test is not None:
        expected = right.constant[0] is (sign == "==")
        return left.test if expected else opposite(left.test)
    if not left.may_miss and not right.may_miss:
        return Relation(left.tight(RELATION + 1), sign, right.tight(RELATION + 1))
    if sign in {"==", "!="} and right.constant:
        # A different value of the same type as the constant.
        constant = right.constant[0]
        default: str | int = "" if constant != "" else "-"
        if isinstance(constant, bool):
            default = not constant
        elif isinstance(constant, int | float):
            default = constant - 1 if isinstance(constant, int) and constant <= 0 else 0
        return Relation(left.or_else(default), sign, right.text)
    if sign in {"==", "!="}:
        return Relation(left.or_else(None), sign, right.or_else(None))
    there = [one.is_there() for one in (left, right)]
    return every([*there, Relation(left.text, sign, right.text)])


def _either(tree: _Tree, scope: Scope) -> Expr:
    """Return the first value if it is true, or the second."""
    first, second = (_read(one, scope) for one in tree["children"])
    if first.test is not None and second.test is not None:
        return _as_value(some([first.test, second.test]))
    if first.test is not None and second.constant and second.constant[0] is False:
        return _as_value(every([*first.needs, first.test]))
    if second.constant == (None,):
        return first._replace(nullable=first.may_miss)
    if second.constant:
        return _or_constant(first, second)
    if first.soft and not second.may_miss:
        return _unless_no_element(first, second)
    if not first.may_miss:
        if first.is_text:
            raise unsupported("`||` between two strings")
        return first
    if second.may_miss:
        optional = f"{first.optional}.or({second.optional})"
        needs = (*first.needs, *second.needs)
        text = f"{optional}.value()"
        return Expr(text, first.types, optional=optional, noun=first.noun, needs=needs)
    text = f"{first.optional}.orValue({second.text})"
    return Expr(text, first.types or second.types, noun=first.noun or second.noun)


def _or_constant(first: Expr, second: Expr) -> Expr:
    default = second.constant[0]
    if default and (first.is_bool or (default is True and not first.types)):
        # In JMESPath `false` counts as missing: the default replaces it, too.
        raise unsupported(
            "`||` after a boolean, which also replaces `false`",
            "compare the field itself, or test for `false`",
        )
    if (first.is_list or first.soft) and not default:
        soft = first.or_else([])
        return first._replace(
            text=soft, soft="", optional="", has="", needs=(), fallback=(default,)
        )
    if first.soft:
        return _unless_no_element(first, second)
    if isinstance(default, float) and default.is_integer() and not first.is_double:
        default = int(default)  # numbers in JMESPath are floats, in CEL only some are
    if not first.may_miss:
        # `request.operation || 'BACKGROUND'`: always set and never empty.
        if default and first.is_text and not first.text.startswith("request."):
            return _unless_empty(first, first.text, second)
        return first
    if isinstance(default, str) and default and first.is_text:
        return _unless_empty(first, first.or_else(""), second)
    types = first.types or (second.types if default else ())
    plain = first._replace(text=first.or_else(default), optional="", has="", is_choice=False)
    return plain._replace(types=types, fallback=(default,), bare_optional=first.optional)


def _unless_no_element(first: Expr, second: Expr) -> Expr:
    """Return a list, or the other value if it is empty or missing."""
    chosen = f"(size({first.soft}) > 0 ? {first.soft} : {second.text})"
    return Expr(chosen, first.types, noun=first.noun)


def _unless_empty(first: Expr, text: str, second: Expr) -> Expr:
    chosen = f"({text} != '' ? {first.text} : {second.text})"
    return Expr(chosen, first.types, noun=first.noun)


# Lists: `[*]`, `[]`, `[?test]`, `.*`, `[a, b]`; and maps: `{a: b}`.


def _derived_list(whole: Expr, steps: str, types: Types, noun: str) -> Expr:
    plain, soft = f"{whole.tight()}{steps}", f"{whole.list_or_empty}{steps}"
    if soft == plain or (whole.needs and not whole.soft):  # the evaluation may end in an error
        soft = ""
    return Expr(plain, types, noun=noun, soft=soft, needs=whole.needed())


def _mapped(whole: Expr, right: _Tree, scope: Scope, kept: str = "") -> Expr:
    """Return the elements mapped by `right`, without missing ones; `kept` is the filter."""
    if right["type"] == "identity":
        return _derived_list(whole, kept, whole.types, whole.noun)
    element = scope.element(whole)
    name = element.text
    found = _read(right, scope.with_element(element))
    types = list_of(found.types)
    if found.soft or not found.may_miss or found.is_list:
        steps = f".map({name}, {found.or_else([])})"
    else:
        there = one_line(found.is_there())
        steps = f".filter({name}, {there}).map({name}, {found.text})"
    return _derived_list(whole, f"{kept}{steps}", types, found.noun)


def _flatten(tree: _Tree, scope: Scope) -> Expr:
    value = _read(tree["children"][0], scope)
    if value.parts:
        found = list(value.parts)
        if not all(one.is_list for one in found):
            raise unsupported("`[a, b][]` of values that may not be lists")
        parts = [one.list_or_empty for one in found]
        if scope.patching:
            text = " + ".join(parts)
            return Expr(text, found[0].types, SUM, noun=found[0].noun)
        parts.sort(key=lambda text: ".orValue" in text)
        nouns = sorted({one.noun for one in found})
        name = "all" + "".join(one[:1].upper() + one[1:] for one in nouns)
        if all(one.lower().endswith("containers") for one in nouns):
            name = "allContainers" if len(nouns) > 2 else "containers"
        text = scope.context.variable(name, " + ".join(parts))
        return Expr(text, found[0].types, noun=found[0].noun)
    element = Expr("", value.element_types)
    if element.is_list:
        return _derived_list(value, ".flatten()", element.types, value.noun)
    return _derived_list(value, "", value.types, value.noun)


def _filtered(tree: _Tree, scope: Scope) -> Expr:
    """Return the elements for which a test is true."""
    left, right, test = tree["children"]
    whole = _read(left, scope)
    element = scope.element(whole)
    name = element.text
    holds = _truth_of(_read(test, scope.with_element(element)))
    kept = f".filter({name}, {one_line(holds)})"
    value = _mapped(whole, right, scope, kept)
    if right["type"] != "identity":
        return value
    return value._replace(test=Quantified(whole.list_or_empty, name, holds, "exists"))


def _values(tree: _Tree, scope: Scope) -> Expr:
    left, right = tree["children"]
    whole = _read(left, scope)
    steps = f".map(key, {whole.tight()}[key])"
    source = whole.or_else({}) if whole.may_miss else whole.tight()
    plain, soft = f"{whole.tight()}{steps}", f"{source}{steps}"
    if soft == plain or (whole.needs and not whole.soft):  # the evaluation may end in an error
        soft = ""
    types = list_of(whole.value_types)
    listed = Expr(plain, types, noun=whole.noun, soft=soft, needs=whole.needed())
    return _mapped(listed, right, scope)


def _multi_select(tree: _Tree, scope: Scope) -> Expr:
    found = [_read(one, scope) for one in tree["children"]]
    types: Types = list_of(found[0].types if all(one.is_text for one in found) else UNKNOWN)
    text = f"[{', '.join(one.or_else(None) for one in found)}]"
    return Expr(text, types, parts=tuple(found))


def _multi_select_map(tree: _Tree, scope: Scope) -> Expr:
    """Return a map of several values; missing ones are null."""
    found = {one["value"]: _read(one["children"][0], scope) for one in tree["children"]}
    entries = (f"{quoted(key)}: dyn({one.or_else(None)})" for key, one in found.items())
    fields = {key: one._replace(nullable=one.may_miss) for key, one in found.items()}
    return Expr(f"{{{', '.join(entries)}}}", MAP, fields=MappingProxyType(fields), noun="map")


# Functions: a converter for each. For times and durations CEL has types.

_TAKE_NULL: Final = frozenset({"to_string", "to_array", "label_match"})


def _call(tree: _Tree, scope: Scope) -> Expr:
    name = tree["value"]
    convert = _FUNCTIONS.get(name)
    if convert is None:
        raise unsupported(f"the function `{name}`")
    if any(one["type"] == "expref" for one in tree["children"]):
        raise unsupported(f"`{name}` with an expression as argument")
    if refusal := functions()[name].refusal(len(tree["children"])):
        raise NotConvertible(f"{refusal}: the result of the rule is an error", "fix the call")
    given = [_read(one, scope) for one in tree["children"]]
    found = convert(*given)
    # A null argument is an error, except for functions that accept it.
    if name in _TAKE_NULL or found.needs:
        return found
    return found._replace(needs=tuple(need for one in given for need in one.needed()))


def _moment(value: Expr) -> str:
    return value.moment or f"timestamp({value.text})"


def _time(moment: str) -> Expr:
    return Expr(f"string({moment})", TEXT, moment=moment)


def _duration(duration: str) -> Expr:
    return Expr(f"string({duration})", TEXT, duration=duration)


def _since(layout: Expr, start: Expr, end: Expr) -> Expr:
    if layout.constant != ("",):
        raise unsupported("a time in a layout other than RFC 3339")
    last = "time.now()" if end.constant == ("",) else _moment(end)
    return _duration(f"{last} - {_moment(start)}")


def _time_test(sign: str, left: Expr, right: Expr) -> Expr:
    return _as_value(Relation(_moment(left), sign, _moment(right)))


def _between(*given: Expr) -> Expr:
    time, start, end = map(_moment, given)
    return _as_value(every([Relation(time, ">", start), Relation(time, "<", end)]))


def _contains(whole: Expr, part: Expr) -> Expr:
    text = whole.tight()
    is_word = part.constant and isinstance(part.constant[0], str) and not whole.noun.endswith("s")
    if whole.keys_of:
        return _as_value(Relation(part.text, "in", whole.keys_of))
    if whole.is_list:
        return _as_value(Relation(part.text, "in", text))
    if whole.is_text or is_word:
        return _as_value(Plain(f"{text}.contains({part.text})"))
    listed = f"type({whole.text}) == list ? {part.text} in {whole.text}"
    return _as_value(Plain(f"({listed} : {text}.contains({part.text}))"))


def _values_of(value: Expr) -> Expr:
    types = list_of(value.value_types if value.is_map else UNKNOWN)
    return Expr(f"{value.tight()}.map(key, {value.text}[key])", types, noun="values")


def _method(name: str, text: Expr) -> Expr:
    return Expr(f"{text.tight()}.{name}()", TEXT)


def _test_method(name: str, first: Expr, second: Expr) -> Expr:
    return _as_value(Plain(f"{first.tight()}.{name}({second.text})"))


def _subject(text: Expr) -> str:
    """Return the string for a regular expression."""
    return text.tight() if text.is_text else f"string({text.text})"


def _regex_replace_all(pattern: Expr, text: Expr, replacement: Expr) -> Expr:
    if not replacement.constant:
        raise unsupported("a replacement that is not a fixed string")
    sign = re.sub(r"\$\{?(\d+)\}?", r"\\\1", str(replacement.constant[0]))
    return Expr(f"regex.replace({_subject(text)}, {pattern.text}, {quoted(sign)})", TEXT)


def _to_string(value: Expr) -> Expr:
    if value.is_list or value.is_map:
        return Expr(f"json.marshal({value.or_else(None)})", TEXT)
    # For a function, a missing value is null, and its string is `null`.
    text = value.or_else("null")
    if value.is_text:
        return value._replace(text=text, optional="", has="", needs=())
    return Expr(f"string({text})", TEXT, needs=value.needs)


def _number(name: str, value: Expr) -> Expr:
    return Expr(f"{value.tight()}.{name}()", value.element_types or NUMBER, is_double=True)


def _reverse(value: Expr) -> Expr:
    if not value.is_list:
        raise unsupported("`reverse` of a string")
    return Expr(f"{value.tight()}.reverse()", value.types, noun=value.noun)


def _to_array(value: Expr) -> Expr:
    if value.is_list:
        # From null it makes a list with null, in which nothing is found.
        text = value.or_else([])
        return value._replace(text=text, soft="", optional="", has="", needs=())
    return Expr(f"[{value.text}]", list_of(value.types), noun=value.noun)


def _label_match(expected: Expr, labels: Expr) -> Expr:
    found = f"{labels.optional or labels.tight()}[?key]"
    body = Relation(found, "==", f"optional.of({expected.tight()}[key])")
    return _as_value(Quantified(expected.or_else({}), "key", body))


def _arithmetic(sign: str, level: int, left: Expr, right: Expr) -> Expr:
    text = f"double({left.text}) {sign} double({right.text})"
    return Expr(text, NUMBER, level, is_double=True)


_FUNCTIONS: Final[Mapping[str, Callable[..., Expr]]] = {
    "length": lambda value: Expr(f"size({value.text})", NUMBER),
    "contains": _contains,
    "keys": lambda value: Expr(
        f"{value.tight()}.map(key, key)", list_of(TEXT), noun="keys", keys_of=value.tight()
    ),
    "values": _values_of,
    "starts_with": partial(_test_method, "startsWith"),
    "ends_with": partial(_test_method, "endsWith"),
    "regex_match": lambda pattern, text: _as_value(
        Plain(f"{_subject(text)}.matches({pattern.text})")
    ),
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
    "to_number": lambda value: Expr(f"double({value.text})", NUMBER, is_double=True),
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
    "time_now": lambda: _time("time.now()"),
    "time_now_utc": lambda: _time("time.now()"),
    "time_utc": lambda time: _time(_moment(time)),
    "time_since": _since,
    "time_diff": lambda start, end: _duration(f"{_moment(end)} - {_moment(start)}"),
    "time_add": lambda time, added: _time(
        f"{_moment(time)} + {added.duration or f'duration({added.text})'}"
    ),
    "time_before": partial(_time_test, "<"),
    "time_after": partial(_time_test, ">"),
    "time_between": _between,
    "time_to_cron": lambda time: Expr(f"time.toCron({_moment(time)})", TEXT),
}


_NODES: Final[Mapping[str, Callable[[_Tree, Scope], Expr]]] = {
    "field": _field,
    "subexpression": _subexpression,
    "index_expression": _subexpression,
    "index": _index,
    "identity": _identity,
    "current": _identity,
    "literal": lambda tree, scope: (
        _marked_text(tree["value"], scope) if _is_marked(tree["value"]) else constant(tree["value"])
    ),
    "comparator": _comparator,
    "or_expression": _either,
    "and_expression": lambda tree, scope: _as_value(
        every(_truth_of(_read(one, scope)) for one in tree["children"])
    ),
    "not_expression": lambda tree, scope: _as_value(
        opposite(_truth_of(_read(tree["children"][0], scope)))
    ),
    "projection": lambda tree, scope: _mapped(
        _read(tree["children"][0], scope), tree["children"][1], scope
    ),
    "flatten": _flatten,
    "filter_projection": _filtered,
    "value_projection": _values,
    "multi_select_list": _multi_select,
    "multi_select_dict": _multi_select_map,
    "function_expression": _call,
    "pipe": lambda tree, scope: _read(
        tree["children"][1], scope.within(_read(tree["children"][0], scope))
    ),
}
