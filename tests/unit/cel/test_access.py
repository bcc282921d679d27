"""Fields and elements, there or not."""

import pytest

from kyvsim.cel import CompileError, compile_expression

OBJ = {"m": {"a": 1.0}, "l": [1.0, 2.0], "s": "text", "n": None}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("object.m.a", 1.0),
        ("object.m.b", "error: no such key: b"),
        ("object.s.b", "error: no such key: b"),
        ("object.n.b", "error: no such key: b"),
        ("object.l.b", "error: unsupported index type 'string' in list"),
        ("object.l[1]", 2.0),
        ("object.l[1.0]", 2.0),
        ("object.l[2]", "error: index out of bounds: 2"),
        ("object.l[-1]", "error: index out of bounds: -1"),
        ("object.l[dyn(0.5)]", "error: unsupported index value 0.5 in list"),
        ("object.l['a']", "error: unsupported index type 'string' in list"),
        ("object['m']['a']", 1.0),
        ("object.s[0]", "error: no such key: 0"),
        ("has(object.m.a)", True),
        ("has(object.m.b)", False),
        ("has(object.n)", True),
        ("has(object.s.x)", False),
        ("has(object.x.y)", "error: no such key: x"),
        ("has(object.l.x)", "error: unsupported index type 'string' in list"),
        ("object.?m.?a.hasValue()", True),
        ("object.?x.?a.hasValue()", False),
        ("object.?m.a.value()", 1.0),
        ("object.?x.a.hasValue()", False),
        ("object.?l[0].value()", 1.0),
        ("object.?l[9].hasValue()", False),
        ("object.l[?9].hasValue()", False),
        ("object.m[?'a'].value()", 1.0),
        ("object.?x.value()", "error: optional.none() dereference"),
        ("{1: 'a'}[dyn(1.0)]", "a"),
        ("{1: 'a'}[dyn(1u)]", "a"),
        ("{1: 'a'}[dyn(true)]", "error: no such key: true"),
        ("{1: 'a'}[2]", "error: no such key: 2"),
        ("{null: 1}.all(k, k == null)", True),
        ("{[1]: 2}.exists(k, k == [1])", True),
        ("{[1]: 2} == {[1]: 2}", False),
        ("dyn(null) in {null: 1}", True),
        ("object.l in object", False),
        ("object[object.l]", "error: invalid qualifier type: []interface {}"),
        ("object[[object.l][0]]", "error: invalid qualifier type: []interface {}"),
        ("object[[[1]][0]]", "error: invalid qualifier type: *types.baseList"),
        ("object[?object.?l]", "error: invalid qualifier type: *types.Optional"),
        ("object.m[object.n]", "error: invalid qualifier type: <nil>"),
        (
            "dyn({'a': 1}).exists(k, b'a' in {k: 1})",
            "error: internal error: runtime error: hash of unhashable type types.Bytes",
        ),
        ("[?object.?m.?a, ?object.?x]", [1.0]),
        ("optional.of({'a': {'b': 1}}).a.b.hasValue()", True),
        ("[optional.of({'a': 1})].all(o, o.?a.hasValue())", True),
        ("{'o': optional.of({'a': 1})}.o.?a.hasValue()", False),
        ("{'o': optional.of({'a': 1})}.o[?'a'].hasValue()", False),
        ("{'o': optional.of({'a': 1})}.o.?a.orValue(2)", 2),
        ("{'o': optional.of({'a': 1})}['o'].a.hasValue()", "error: no such key: a"),
        ("{'o': optional.of({'a': 1})}.o['a'].hasValue()", "error: no such key: a"),
        ("has({'o': optional.of({'a': 1})}.o.a)", False),
        ("{'o': optional.of({'a': {'b': 1}})}.o.value().a.b", 1),
        ("{?'a': object.?s, ?'b': object.?x}", {"a": "text"}),
    ],
)
def test_access(value_of, text, expected):
    assert value_of(text, OBJ) == expected


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("object.m[null]", "types.Null"),
        ("[1, 2][dyn(null)]", "types.Null"),
        ("object.m[?b'a']", "types.Bytes"),
        ("object[[1]]", "*types.baseList"),
        ("object[int]", "*types.Type"),
    ],
)
def test_constants_that_can_be_no_key_are_refused_beforehand(environment, text, kind):
    with pytest.raises(CompileError) as caught:
        compile_expression(text, environment)
    assert caught.value.listing == f"invalid qualifier type: {kind}"
