"""A second evaluator that walks the tree of an expression, and the closures: they must agree.

It knows the language, and no library: an error is an error, whatever its words. It shares the
parser with the closures, and nothing of how values are found, compared or computed.
"""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kyvsim.cel import CelError, CompileError, compile_expression
from kyvsim.cel.kubernetes import kubernetes_environment
from kyvsim.cel.nodes import Call, Ident, ListLiteral, Literal, Loop, MapLiteral, Select
from kyvsim.cel.parser import parse

pytestmark = pytest.mark.slow

ENVIRONMENT = kubernetes_environment()

# --- the slow evaluator -------------------------------------------------------------------------


class Failed(Exception):  # noqa: N818 — an outcome, no error
    """An expression without a value."""


def need(holds):
    if not holds:
        raise Failed


def walk(node, names):
    match node:
        case Literal(value=value):
            return value
        case Ident(name=name):
            return names[name]
        case ListLiteral(elements=elements):
            return [walk(one, names) for one in elements]
        case MapLiteral(entries=entries):
            return {walk(one.key, names): walk(one.value, names) for one in entries}
        case Select():
            return walk_field(node, names)
        case Loop():
            return walk_loop(node, names)
        case Call():
            return walk_call(node, names)
    raise AssertionError(node)


def walk_field(node, names):
    found = walk(node.operand, names)
    if node.test:
        need(not isinstance(found, list))
        return isinstance(found, dict) and node.field in found
    need(isinstance(found, dict) and node.field in found)
    return found[node.field]


def walk_call(node, names):
    if node.function in {"_&&_", "_||_"}:
        return decided(node.arguments, [names] * len(node.arguments), node.function == "_||_")
    if node.function == "_?_:_":
        test, chosen, other = node.arguments
        found = walk(test, names)
        need(isinstance(found, bool))
        return walk(chosen if found else other, names)
    return FUNCTIONS[node.function](*(walk(one, names) for one in node.arguments))


def decided(terms, scopes, decides):
    """Return what `||` (which True decides) or `&&` says: one that decides outweighs failures."""
    found = []
    for term, names in zip(terms, scopes, strict=True):
        try:
            found.append(walk(term, names))
        except Failed:
            found.append(None)
    if any(one is decides for one in found):
        return decides
    need(all(one is (not decides) for one in found))
    return not decides


def walk_loop(node, names):
    source = walk(node.source, names)
    need(isinstance(source, (list, dict)))
    scopes = [{**names, node.variables[0]: one} for one in source]
    if node.kind in {"all", "exists"}:
        return decided([node.test] * len(scopes), scopes, node.kind == "exists")
    if node.test is not None:
        tests = [walk(node.test, scope) for scope in scopes]
        need(all(isinstance(one, bool) for one in tests))
        scopes = [scope for scope, taken in zip(scopes, tests, strict=True) if taken]
    if node.kind == "filter":
        return [scope[node.variables[0]] for scope in scopes]
    if node.kind == "exists_one":
        return len(scopes) == 1
    return [walk(node.result, scope) for scope in scopes]


def is_number(value):
    return type(value) in {int, float}


def equal(left, right):
    if is_number(left) and is_number(right):
        return left == right
    if type(left) is not type(right):
        return False
    if isinstance(left, list):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(equal(left[key], right[key]) for key in left)
    return left == right


def ordered(compare):
    def holds(left, right):
        need((is_number(left) and is_number(right)) or type(left) is type(right) in {str, bool})
        return compare(left, right)

    return holds


def computed(*kinds, compute):
    def run(left, right):
        need(type(left) is type(right) in kinds)
        found = compute(left, right)
        need(type(found) is not int or -(2**63) <= found < 2**63)
        return found

    return run


def quotient(left, right):
    if type(left) is float:
        return left / right if right else left * float("inf")
    need(right)
    return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)


def remainder(left, right):
    need(right)
    need(quotient(left, right) < 2**63)
    return left - right * quotient(left, right)


def index(found, key):
    if isinstance(found, dict):
        need(isinstance(key, str) and key in found)
        return found[key]
    need(isinstance(found, list) and is_number(key) and key in range(len(found)))
    return found[int(key)]


def contains(item, among):
    if isinstance(among, dict):
        return isinstance(item, str) and item in among
    need(isinstance(among, list))
    return any(equal(item, one) for one in among)


def size(value):
    need(isinstance(value, (str, list, dict)))
    return len(value)


def negative(value):
    need(is_number(value))
    need(value != -(2**63))
    return -value


def inverse(value):
    need(isinstance(value, bool))
    return not value


FUNCTIONS = {
    "dyn": lambda value: value,
    "size": size,
    "@in": contains,
    "_[_]": index,
    "-_": negative,
    "!_": inverse,
    "_==_": equal,
    "_!=_": lambda left, right: not equal(left, right),
    "_<_": ordered(lambda left, right: left < right),
    "_<=_": ordered(lambda left, right: left <= right),
    "_>_": ordered(lambda left, right: left > right),
    "_>=_": ordered(lambda left, right: left >= right),
    "_+_": computed(int, float, str, list, compute=lambda left, right: left + right),
    "_-_": computed(int, float, compute=lambda left, right: left - right),
    "_*_": computed(int, float, compute=lambda left, right: left * right),
    "_/_": computed(int, float, compute=quotient),
    "_%_": computed(int, compute=remainder),
}

# --- expressions whose types nobody knows beforehand ----------------------------------------------

FIELDS = st.sampled_from("abc")
LEAVES = st.sampled_from([None, True, False, 0, 1, 2, -3, 2**63 - 1, 1.0, 2.5, "", "a", "b", "é"])
DATA = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.fixed_dictionaries({"a": DATA, "b": DATA, "c": DATA})
LITERALS = st.sampled_from(["1", "0", "-1", "2", "1.0", "'a'", "''", "true", "false", "null"])
ATOMS = st.one_of(FIELDS.map("object.{}".format), FIELDS.map("object.{}".format), LITERALS)
SIGNS = st.sampled_from([*"+-*/%<>", "<=", ">=", "==", "!=", "in", "&&", "||", "&&", "||", "=="])
LOOPS = st.sampled_from(["all", "exists", "exists_one", "filter", "map"])


def larger(inner):
    inner = inner.map("dyn({})".format)
    # A loop's own name is one of the object's, put in by hand: the text is the same but for it.
    within = inner.map(lambda text: text.replace("object.a", "x"))
    return st.one_of(
        st.tuples(inner, SIGNS, inner).map(lambda p: f"{p[0]} {p[1]} {p[2]}"),
        st.tuples(inner, SIGNS, inner).map(lambda p: f"{p[0]} {p[1]} {p[2]}"),
        st.tuples(inner, st.sampled_from("!-")).map(lambda p: f"{p[1]}{p[0]}"),
        st.tuples(inner, inner, inner).map(lambda p: f"{p[0]} ? {p[1]} : {p[2]}"),
        st.tuples(inner, inner).map(lambda p: f"{p[0]}[{p[1]}]"),
        st.tuples(inner, FIELDS).map(lambda p: f"{p[0]}.{p[1]}"),
        st.tuples(inner, FIELDS).map(lambda p: f"has({p[0]}.{p[1]})"),
        st.tuples(inner, inner).map(lambda p: f"[{p[0]}, {p[1]}]"),
        st.tuples(FIELDS, inner).map(lambda p: f"{{'{p[0]}': {p[1]}}}"),
        inner.map("size({})".format),
        st.tuples(inner, LOOPS, within).map(lambda p: f"{p[0]}.{p[1]}(x, {p[2]})"),
        st.tuples(inner, within, within).map(lambda p: f"{p[0]}.map(x, {p[1]}, {p[2]})"),
    )


EXPRESSIONS = st.recursive(ATOMS, larger, max_leaves=6)


def outcome(call, fault):
    try:
        return repr(call())
    except fault:
        return "failed"


@given(EXPRESSIONS, OBJECTS)
def test_both_evaluators_agree(text, obj):
    try:
        program = compile_expression(text, ENVIRONMENT)
    except CompileError:  # what is fixed is worked out beforehand, and refused where it fails
        assume(False)
    fast = outcome(lambda: program.evaluate([obj, None, {}, {}, {}]), CelError)
    slow = outcome(lambda: walk(parse(text, ENVIRONMENT.macros), {"object": obj}), Failed)
    assert fast == slow


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("object.a[0] + object.b.c", 3),
        ("object.a.all(x, dyn(x) < 'a' || true)", True),
        ("object.a.exists(x, dyn(x).c == 1)", None),
        ("object.a.filter(x, dyn(x) > 1)", [2]),
        ("object.b.map(x, x)", ["c"]),
        ("has(object.b.d) ? 1 : size(object.a)", 2),
        ("object.b.d", None),
        ("dyn(9223372036854775807) + object.a[0]", None),
    ],
)
def test_walker_itself_knows_the_language(text, value):
    obj = {"a": [1, 2], "b": {"c": 2}}
    found = outcome(lambda: walk(parse(text, ENVIRONMENT.macros), {"object": obj}), Failed)
    assert found == ("failed" if value is None else repr(value))
