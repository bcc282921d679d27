"""Lists: `[*]`, `[]`, `[?test]`, `.*`, `[a, b]`; and maps that are made: `{a: b}`."""

from types import MappingProxyType

from kyvsim.migrate.expressions import SUM, Each, one_line, quoted
from kyvsim.migrate.known_types import (
    MAP,
    UNKNOWN,
    Types,
    element_of,
    is_list,
    is_text,
    list_of,
    values_of,
)
from kyvsim.migrate.queries.logic import truth_of
from kyvsim.migrate.queries.scope import Scope, Tree, no_twin
from kyvsim.migrate.values import Value


def projection(tree: Tree, scope: Scope) -> Value:
    """Return what an expression gives for each element of a list, without what is missing."""
    left, right = tree["children"]
    return _mapped(scope.read(left, scope), right, scope)


def _source(value: Value) -> str:
    return value.or_else([]) if value.may_miss or value.soft else value.tight()


def derived_list(whole: Value, steps: str, types: Types, noun: str) -> Value:
    """Return a list that `steps` make of another one."""
    plain, soft = f"{whole.tight()}{steps}", f"{_source(whole)}{steps}"
    is_soft = soft != plain and not _fails(whole)
    return Value(plain, types, noun=noun, soft=soft if is_soft else "", needs=whole.needed())


def _fails(whole: Value) -> bool:
    """Return whether a value may end in an error, and not just be missing."""
    return bool(whole.needs) and not whole.soft


def _mapped(whole: Value, right: Tree, scope: Scope, kept: str = "") -> Value:
    """Return the elements, each as `right` says; `kept` is the filter that chose them."""
    if right["type"] == "identity":
        return derived_list(whole, kept, whole.types, whole.noun)
    name = scope.element(whole.noun)
    element = Value(name, element_of(whole.types), noun=whole.noun)
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


def flatten(tree: Tree, scope: Scope) -> Value:
    """Return a list with the lists in it opened."""
    value = scope.read(tree["children"][0], scope)
    if value.parts:
        return _concatenated(list(value.parts), scope)
    element = element_of(value.types)
    if is_list(element):
        return derived_list(value, ".flatten()", element, value.noun)
    return derived_list(value, "", value.types, value.noun)


def _concatenated(found: list[Value], scope: Scope) -> Value:
    if not all(is_list(one.types) for one in found):
        raise no_twin("`[a, b][]` of what may be no lists")
    parts = [_source(one) for one in found]
    if scope.patching:
        text = " + ".join(parts)
        return Value(text, found[0].types, SUM, noun=found[0].noun)
    parts.sort(key=lambda text: ".orValue" in text)
    text = scope.desk.variable(_name_of(found), " + ".join(parts))
    return Value(text, found[0].types, noun=found[0].noun)


def _name_of(lists: list[Value]) -> str:
    nouns = {one.noun for one in lists}
    if all(one.lower().endswith("containers") for one in nouns):
        return "allContainers" if len(nouns) > 2 else "containers"
    return "all" + "".join(one[:1].upper() + one[1:] for one in sorted(nouns))


def filtered(tree: Tree, scope: Scope) -> Value:
    """Return the elements for which a test holds."""
    left, right, test = tree["children"]
    whole = scope.read(left, scope)
    name = scope.element(whole.noun)
    element = Value(name, element_of(whole.types), noun=whole.noun)
    holds = truth_of(scope.read(test, scope.with_element(name, element)))
    kept = f".filter({name}, {one_line(holds)})"
    value = _mapped(whole, right, scope, kept)
    if right["type"] != "identity":
        return value
    return value._replace(test=Each(_source(whole), name, holds, "exists"))


def values(tree: Tree, scope: Scope) -> Value:
    """Return the values of a map."""
    left, right = tree["children"]
    whole = scope.read(left, scope)
    steps = f".map(key, {whole.tight()}[key])"
    source = whole.or_else({}) if whole.may_miss else whole.tight()
    plain, soft = f"{whole.tight()}{steps}", f"{source}{steps}"
    soft = "" if soft == plain or _fails(whole) else soft
    types = list_of(values_of(whole.types))
    listed = Value(plain, types, noun=whole.noun, soft=soft, needs=whole.needed())
    return _mapped(listed, right, scope)


def multi_select(tree: Tree, scope: Scope) -> Value:
    """Return a list of several values."""
    found = [scope.read(one, scope) for one in tree["children"]]
    types: Types = list_of(found[0].types if all(is_text(one.types) for one in found) else UNKNOWN)
    text = f"[{', '.join(one.or_else(None) for one in found)}]"
    return Value(text, types, parts=tuple(found))


def multi_select_map(tree: Tree, scope: Scope) -> Value:
    """Return a map of several values; what is missing is null there."""
    found = {one["value"]: scope.read(one["children"][0], scope) for one in tree["children"]}
    entries = (f"{quoted(key)}: dyn({one.or_else(None)})" for key, one in found.items())
    fields = {key: one._replace(nullable=one.may_miss) for key, one in found.items()}
    return Value(f"{{{', '.join(entries)}}}", MAP, fields=MappingProxyType(fields), noun="map")
