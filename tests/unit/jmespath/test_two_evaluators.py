"""A second evaluator, slow and obvious, and the closures: they must agree on everything.

The walker works from the tree with an exception for a missing field, so it shares neither the
sentinel nor the special forms with the closures; it shares the parser and the functions.
"""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kyvsim.jmespath import NotFoundError, QueryError, System, compile_query
from kyvsim.jmespath.functions import functions
from kyvsim.jmespath.parse import parse
from kyvsim.model.ports import Meter


class Still:
    def now(self):
        return datetime(2026, 1, 1, tzinfo=UTC)

    def below(self, bound):
        return bound - 1


ENV = System(Still(), Still(), Meter())


def walk(node, value):
    return WALKS[node["type"]](node, value)


def forgiving(node, value):
    """The value, or None where a field was missing."""
    try:
        return walk(node, value)
    except NotFoundError:
        return None


def swallowing(node, value):
    """The value, or None whatever went wrong."""
    try:
        return walk(node, value)
    except QueryError:
        return None


def truth(value):
    return not any(value is false for false in (None, False)) and value not in ("", [], {})


def same(left, right):
    if type(left) is not type(right):
        return False
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[k], right[k]) for k in left)
    return left == right


def walk_field(node, value):
    if not isinstance(value, dict):
        return None
    if node["value"] not in value:
        raise NotFoundError(node["value"])
    return value[node["value"]]


def walk_steps(node, value):
    for child in node["children"]:
        value = walk(child, value)
    return value


def walk_index(node, value):
    place = node["value"]
    inside = isinstance(value, list) and -len(value) <= place < len(value)
    return value[place] if inside else None


def walk_slice(node, value):
    if not isinstance(value, list):
        return None
    start, stop, step = node["children"]
    if step == 0:
        raise QueryError("Invalid slice, step cannot be 0")
    return value[start:stop:step]


def collect(node, items):
    found = [forgiving(node, item) for item in items]
    return [item for item in found if item is not None]


def walk_projection(node, value):
    items = forgiving(node["children"][0], value)
    return collect(node["children"][1], items) if isinstance(items, list) else None


def walk_value_projection(node, value):
    found = swallowing(node["children"][0], value)
    if not isinstance(found, dict):
        return None
    blanks = [None for _ in found]
    return collect(node["children"][1], blanks + [found[key] for key in sorted(found)])


def walk_flatten(node, value):
    items = swallowing(node["children"][0], value)
    if not isinstance(items, list):
        return None
    flat = []
    for item in items:
        flat.extend(item if isinstance(item, list) else [item])
    return flat


def walk_filter(node, value):
    left, right, condition = node["children"]
    items = swallowing(left, value)
    if not isinstance(items, list):
        return None
    found = []
    for item in items:
        if truth(forgiving(condition, item)):
            found.extend(collect(right, [item]))
    return found


def walk_comparator(node, value):
    left, right = (forgiving(child, value) for child in node["children"])
    name = node["value"]
    if name in {"eq", "ne"}:
        return same(left, right) is (name == "eq")
    if type(left) is not float or type(right) is not float:
        return None
    return {"lt": left < right, "lte": left <= right, "gt": left > right, "gte": left >= right}[
        name
    ]


def walk_or(node, value):
    left = forgiving(node["children"][0], value)
    return left if truth(left) else forgiving(node["children"][1], value)


def walk_and(node, value):
    left = forgiving(node["children"][0], value)
    return walk(node["children"][1], value) if truth(left) else left


def walk_pipe(node, value):
    for child in node["children"]:
        value = forgiving(child, value)
    return value


def walk_list(node, value):
    if value is None:
        return None
    return [forgiving(child, value) for child in node["children"]]


def walk_hash(node, value):
    if value is None:
        return None
    return {pair["value"]: forgiving(pair["children"][0], value) for pair in node["children"]}


def walk_call(node, value):
    arguments = [forgiving(child, value) for child in node["children"]]
    function = functions().get(node["value"])
    if function is None:
        raise QueryError(f"unknown function: {node['value']}")
    given = (ENV,) if function.needs_system else ()
    if function.variadic:
        return function.code(*given, *arguments)
    if len(arguments) != len(function.arguments):
        raise QueryError("incorrect number of args")
    for types, argument in zip(function.arguments, arguments, strict=True):
        if not any(TYPES[name](argument) for name in types):
            raise QueryError("Invalid type for")
    return function.code(*given, *arguments)


TYPES = {
    "any": lambda _: True,
    "number": lambda value: type(value) is float,
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "array[number]": lambda v: isinstance(v, list) and all(type(x) is float for x in v),
    "array[string]": lambda v: isinstance(v, list) and all(isinstance(x, str) for x in v),
    "expref": callable,
}
WALKS = {
    "and_expression": walk_and,
    "comparator": walk_comparator,
    "current": lambda _, value: value,
    "expref": lambda node, _: lambda item: forgiving(node["children"][0], item),
    "field": walk_field,
    "filter_projection": walk_filter,
    "flatten": walk_flatten,
    "function_expression": walk_call,
    "identity": lambda _, value: value,
    "index": walk_index,
    "index_expression": walk_steps,
    "literal": lambda node, _: node["value"],
    "multi_select_dict": walk_hash,
    "multi_select_list": walk_list,
    "not_expression": lambda node, value: not truth(forgiving(node["children"][0], value)),
    "or_expression": walk_or,
    "pipe": walk_pipe,
    "projection": walk_projection,
    "slice": walk_slice,
    "subexpression": walk_steps,
    "value_projection": walk_value_projection,
}

KEYS = st.sampled_from("abc")
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0.0, 1.0, 2.5, -1.0]),
    st.sampled_from([0, 1, 2]),
    st.sampled_from(["", "a", "b", "ab"]),
)
DATA = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=12,
)
LITERALS = st.sampled_from(
    ["`1`", "`0`", "'a'", "''", "`true`", "`false`", "`null`", "`[]`", "`{}`", '`[1, "a"]`']
)
ATOMS = st.one_of(KEYS, st.just("@"), st.just("*"), st.just("[*]"), st.just("[]"), LITERALS)
SUFFIXES = st.sampled_from(
    [".a", ".b", ".c.a", "[0]", "[-1]", "[5]", "[*]", "[]", "[1:]", "[::-1]", ".*", "[*].a", "[].b"]
)


def larger(inner):
    two = st.tuples(inner, inner)
    return st.one_of(
        st.tuples(inner, SUFFIXES).map(lambda p: f"({p[0]}){p[1]}"),
        st.tuples(KEYS, SUFFIXES, SUFFIXES).map("".join),
        st.tuples(two, st.sampled_from(["||", "&&", "|", "==", "!=", "<", ">="])).map(
            lambda p: f"({p[0][0]}) {p[1]} ({p[0][1]})"
        ),
        inner.map(lambda e: f"!({e})"),
        two.map(lambda p: f"({p[0]})[?{p[1]}]"),
        two.map(lambda p: f"({p[0]})[?{p[1]}].a"),
        two.map(lambda p: f"[{p[0]}, {p[1]}]"),
        two.map(lambda p: f"{{x: {p[0]}, a: {p[1]}}}"),
        st.tuples(
            st.sampled_from(["length", "keys", "type", "to_string", "sort", "nope"]), inner
        ).map(lambda p: f"{p[0]}({p[1]})"),
        two.map(lambda p: f"contains({p[0]}, {p[1]})"),
        two.map(lambda p: f"not_null({p[0]}, {p[1]})"),
        two.map(lambda p: f"map(&({p[0]}), {p[1]})"),
        st.tuples(st.sampled_from(["sort_by", "max_by", "min_by"]), inner, KEYS).map(
            lambda p: f"{p[0]}({p[1]}, &{p[2]})"
        ),
    )


EXPRESSIONS = st.recursive(ATOMS, larger, max_leaves=6)


def outcome(call):
    try:
        return "value", call()
    except NotFoundError as error:
        return "missing", error.key
    except QueryError:
        return "error", None


@given(EXPRESSIONS, DATA)
def test_closures_agree_with_walker(expression, data):
    tree = parse(expression)
    slow = outcome(lambda: walk(tree, data))
    fast = outcome(lambda: compile_query(expression, ENV).evaluate(data))
    assert slow[0] == fast[0]
    assert same(slow[1], fast[1])


@pytest.mark.parametrize(
    ("data", "outcomes"),
    [
        ({"a": {"b": 1.0}}, [("value", 1.0), ("value", True), ("value", None)]),
        ({"a": {}}, [("missing", "b"), ("value", False), ("value", None)]),
        ({"a": 5}, [("value", None), ("value", False), ("value", None)]),
    ],
)
def test_walker_itself_tells_missing_from_null(data, outcomes):
    trees = [parse(text) for text in ("a.b", "a.b == `1`", "a.b | @.c")]
    assert [outcome(lambda tree=tree: walk(tree, data)) for tree in trees] == outcomes
