"""JMESPath operators and projections → CEL."""

from types import MappingProxyType

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
    level_of,
    one_line,
    opposite,
    quoted,
    some,
)
from kyvsim.migrate.queries.scope import Scope, Tree, no_twin
from kyvsim.migrate.values import (
    BOOL,
    MAP,
    UNKNOWN,
    Expr,
    Types,
    element_of,
    is_bool,
    is_list,
    is_map,
    is_number,
    is_text,
    list_of,
    values_of,
)

# `==`, `<`, `&&`, `||`, `!`; and when a value counts as true.

# When a value counts as true, and tests as values.


def as_value(test: Test) -> Expr:
    """Return a test as a value that is true or false."""
    return Expr(one_line(test), BOOL, level_of(test), test=test)


def truth_of(value: Expr) -> Test:
    """Return the test that a value counts as true: it is there and not empty."""
    if value.test is not None:
        return value.test
    if value.constant:
        is_amount = value.constant[0].__class__ in {int, float}  # 0 counts as true in JMESPath
        return TRUE if value.constant[0] or is_amount else FALSE
    if is_bool(value.types):
        return Plain(value.or_else(False), value.level)
    if is_text(value.types):
        return Relation(value.or_else(""), "!=", "''")
    if is_list(value.types) or is_map(value.types):
        return Relation(f"size({value.or_else(value.empty)})", ">", "0")
    if is_number(value.types):
        return value.is_there()
    empty = "[null, false, '', [], {}]"
    given = Relation(value.text, "in", empty)
    return every([value.is_there(), opposite(given)])


# `==`, `<`, `&&`, `||`, `!` and what counts as true.

_SIGNS = MappingProxyType({"eq": "==", "ne": "!=", "lt": "<", "lte": "<=", "gt": ">", "gte": ">="})


def comparator(tree: Tree, scope: Scope) -> Expr:
    """Return whether two values are equal, or one is the larger number."""
    left, right = (scope.read(one, scope) for one in tree["children"])
    sign = _SIGNS[tree["value"]]
    if left.constant and not right.constant:
        left, right = right, left
        sign = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(sign, sign)
    return as_value(_compared(left, sign, right))


def _compared(left: Expr, sign: str, right: Expr) -> Test:
    if right.constant and right.constant[0] is None:
        return left.is_missing() if sign == "==" else left.is_there()
    if right.constant and isinstance(right.constant[0], bool) and left.test is not None:
        expected = right.constant[0] is (sign == "==")
        return left.test if expected else opposite(left.test)
    if not left.may_miss and not right.may_miss:
        return Relation(left.tight(RELATION + 1), sign, right.tight(RELATION + 1))
    if sign in {"==", "!="} and right.constant:
        default = _other_than(right.constant[0])
        return Relation(left.or_else(default), sign, right.text)
    if sign in {"==", "!="}:
        sides = (one.or_else(None) for one in (left, right))
        return Relation(next(sides), sign, next(sides))
    there = [one.is_there() for one in (left, right)]
    return every([*there, Relation(left.text, sign, right.text)])


def _other_than(constant: object) -> str | int | bool:
    if isinstance(constant, bool):
        return not constant
    if isinstance(constant, int | float):
        return constant - 1 if isinstance(constant, int) and constant <= 0 else 0
    return "" if constant != "" else "-"


def either(tree: Tree, scope: Scope) -> Expr:
    """Return the first value if it counts as true, else the second."""
    first, second = (scope.read(one, scope) for one in tree["children"])
    if first.test is not None and second.test is not None:
        return as_value(some([first.test, second.test]))
    if first.test is not None and second.constant and second.constant[0] is False:
        return as_value(every([*first.needs, first.test]))
    if second.constant == (None,):
        return first._replace(nullable=first.may_miss)
    if second.constant:
        return _or_constant(first, second)
    if first.soft and not second.may_miss:
        return _unless_no_element(first, second)
    if not first.may_miss:
        if is_text(first.types):
            raise no_twin("`||` between two strings")
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
    if default and (is_bool(first.types) or (default is True and not first.types)):
        # In JMESPath `false` counts as missing: the default replaces it, too.
        raise no_twin(
            "`||` after a boolean, which also replaces `false`",
            "compare the field itself, or test for `false`",
        )
    if (is_list(first.types) or first.soft) and not default:
        soft = first.or_else([])
        return first._replace(
            text=soft, soft="", optional="", has="", needs=(), fallback=(default,)
        )
    if first.soft:
        return _unless_no_element(first, second)
    if isinstance(default, float) and default.is_integer() and not first.is_double:
        default = int(default)  # all numbers of JMESPath are floats, those of CEL are not
    if not first.may_miss:
        # `request.operation || 'BACKGROUND'`: always set and never empty.
        if default and is_text(first.types) and not first.text.startswith("request."):
            return _unless_empty(first, first.text, second)
        return first
    if isinstance(default, str) and default and is_text(first.types):
        return _unless_empty(first, first.or_else(""), second)
    return first._replace(
        text=first.or_else(default),
        optional="",
        has="",
        is_choice=False,
        types=first.types or (second.types if default else ()),
        fallback=(default,),
        bare_optional=first.optional,
    )


def _unless_no_element(first: Expr, second: Expr) -> Expr:
    """Return a list, or another value where it is empty or made of nothing."""
    chosen = f"(size({first.soft}) > 0 ? {first.soft} : {second.text})"
    return Expr(chosen, first.types, noun=first.noun)


def _unless_empty(first: Expr, text: str, second: Expr) -> Expr:
    chosen = f"({text} != '' ? {first.text} : {second.text})"
    return Expr(chosen, first.types, noun=first.noun)


def both(tree: Tree, scope: Scope) -> Expr:
    """Return whether two values count as true."""
    tests = [truth_of(scope.read(one, scope)) for one in tree["children"]]
    return as_value(every(tests))


def negation(tree: Tree, scope: Scope) -> Expr:
    """Return whether a value does not count as true."""
    return as_value(opposite(truth_of(scope.read(tree["children"][0], scope))))


# Lists: `[*]`, `[]`, `[?test]`, `.*`, `[a, b]`; and maps that are made: `{a: b}`.


def projection(tree: Tree, scope: Scope) -> Expr:
    """Return the results of an expression for the elements of a list, without missing ones."""
    left, right = tree["children"]
    return _mapped(scope.read(left, scope), right, scope)


def _source(value: Expr) -> str:
    return value.or_else([]) if value.may_miss or value.soft else value.tight()


def derived_list(whole: Expr, steps: str, types: Types, noun: str) -> Expr:
    """Return a list that `steps` make of another one."""
    plain, soft = f"{whole.tight()}{steps}", f"{_source(whole)}{steps}"
    is_soft = soft != plain and not _fails(whole)
    return Expr(plain, types, noun=noun, soft=soft if is_soft else "", needs=whole.needed())


def _fails(whole: Expr) -> bool:
    """Return whether a value may end in an error, and not just be missing."""
    return bool(whole.needs) and not whole.soft


def _mapped(whole: Expr, right: Tree, scope: Scope, kept: str = "") -> Expr:
    """Return the elements mapped by `right`; `kept` is the filter."""
    if right["type"] == "identity":
        return derived_list(whole, kept, whole.types, whole.noun)
    name = scope.element(whole.noun)
    element = Expr(name, element_of(whole.types), noun=whole.noun)
    found = scope.read(right, scope.with_element(name, element))
    types = list_of(found.types)
    if found.soft:
        steps = f".map({name}, {found.soft})"
    elif not found.may_miss:
        steps = f".map({name}, {found.text})"
    elif is_list(found.types):
        steps = f".map({name}, {found.or_else([])})"
    else:
        there = one_line(found.is_there())
        steps = f".filter({name}, {there}).map({name}, {found.text})"
    return derived_list(whole, f"{kept}{steps}", types, found.noun)


def flatten(tree: Tree, scope: Scope) -> Expr:
    """Return a list with the lists in it opened."""
    value = scope.read(tree["children"][0], scope)
    if value.parts:
        found = list(value.parts)
        if not all(is_list(one.types) for one in found):
            raise no_twin("`[a, b][]` of values that may not be lists")
        parts = [_source(one) for one in found]
        if scope.patching:
            text = " + ".join(parts)
            return Expr(text, found[0].types, SUM, noun=found[0].noun)
        parts.sort(key=lambda text: ".orValue" in text)
        text = scope.context.variable(_name_of(found), " + ".join(parts))
        return Expr(text, found[0].types, noun=found[0].noun)
    element = element_of(value.types)
    if is_list(element):
        return derived_list(value, ".flatten()", element, value.noun)
    return derived_list(value, "", value.types, value.noun)


def _name_of(lists: list[Expr]) -> str:
    nouns = {one.noun for one in lists}
    if all(one.lower().endswith("containers") for one in nouns):
        return "allContainers" if len(nouns) > 2 else "containers"
    return "all" + "".join(one[:1].upper() + one[1:] for one in sorted(nouns))


def filtered(tree: Tree, scope: Scope) -> Expr:
    """Return the elements for which a test holds."""
    left, right, test = tree["children"]
    whole = scope.read(left, scope)
    name = scope.element(whole.noun)
    element = Expr(name, element_of(whole.types), noun=whole.noun)
    holds = truth_of(scope.read(test, scope.with_element(name, element)))
    kept = f".filter({name}, {one_line(holds)})"
    value = _mapped(whole, right, scope, kept)
    if right["type"] != "identity":
        return value
    return value._replace(test=Quantified(_source(whole), name, holds, "exists"))


def values(tree: Tree, scope: Scope) -> Expr:
    """Return the values of a map."""
    left, right = tree["children"]
    whole = scope.read(left, scope)
    steps = f".map(key, {whole.tight()}[key])"
    source = whole.or_else({}) if whole.may_miss else whole.tight()
    plain, soft = f"{whole.tight()}{steps}", f"{source}{steps}"
    soft = "" if soft == plain or _fails(whole) else soft
    types = list_of(values_of(whole.types))
    listed = Expr(plain, types, noun=whole.noun, soft=soft, needs=whole.needed())
    return _mapped(listed, right, scope)


def multi_select(tree: Tree, scope: Scope) -> Expr:
    """Return a list of several values."""
    found = [scope.read(one, scope) for one in tree["children"]]
    types: Types = list_of(found[0].types if all(is_text(one.types) for one in found) else UNKNOWN)
    text = f"[{', '.join(one.or_else(None) for one in found)}]"
    return Expr(text, types, parts=tuple(found))


def multi_select_map(tree: Tree, scope: Scope) -> Expr:
    """Return a map of several values; missing ones are null."""
    found = {one["value"]: scope.read(one["children"][0], scope) for one in tree["children"]}
    entries = (f"{quoted(key)}: dyn({one.or_else(None)})" for key, one in found.items())
    fields = {key: one._replace(nullable=one.may_miss) for key, one in found.items()}
    return Expr(f"{{{', '.join(entries)}}}", MAP, fields=MappingProxyType(fields), noun="map")
