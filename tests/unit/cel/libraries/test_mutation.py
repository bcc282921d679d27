"""Objects and JSON patches that expressions write."""

import json
import random
from datetime import UTC, datetime
from unittest.mock import Mock

import pytest

from kyvsim.cel import CelError, CompileError, compile_expression
from kyvsim.cel.kyverno.environments import kyverno_environment
from kyvsim.cel.libraries.admission import type_mismatches

CLOCK = Mock(now=lambda: datetime(2026, 1, 1, tzinfo=UTC))
ENTROPY = Mock(below=random.Random(0).randrange)
ENVIRONMENT = kyverno_environment("MutatingPolicy", CLOCK, ENTROPY)
VALUES = [{"name": "web"}] + [None] * 20


def value_of(text):
    program = compile_expression(text, ENVIRONMENT)
    return str(program.type), program.evaluate(VALUES)


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("Object{}", "Object", {}),
        ("Object{a: 1, b: object.name}", "Object", {"a": 1, "b": "web"}),
        ("Object.spec{a: Object.spec.a{}}", "Object.spec", {"a": {}}),
        ("Object{?a: optional.of(1), ?b: optional.none()}", "Object", {"a": 1}),
        ("Object{a: 1, ?a: optional.none()}", "Object", {}),
        ("Object{a: 'x'}.a", "dyn", "x"),
        ("has(Object{a: 'x'}.a)", "bool", True),
        ("Object{a: 1} == Object{a: 1}", "bool", True),
        ("[1].map(x, Object.a{x: x})", "list(Object.a)", [{"x": 1}]),
        ("JSONPatch{op: 'add', path: '/a'}.op", "string", "add"),
        ("JSONPatch{op: 'add', value: [1]}.value", "dyn", [1]),
        ("jsonpatch.escapeKey('a/b~c')", "string", "a~1b~0c"),
    ],
)
def test_what_is_written(text, kind, value):
    found = value_of(text)
    assert (found[0], json.loads(json.dumps(found[1]))) == (kind, value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Objekt{}", "1:7: undeclared reference to 'Objekt' (in container '')"),
        ("Object{?a: 1}", "1:12: expected type 'optional_type(int)' but found 'int'"),
        (
            "JSONPatch{op: 1}",
            "1:13: expected type of field 'op' is 'string' but provided type is 'int'",
        ),
        ("JSONPatch{a: 1}", "1:12: expected type of field 'a' is '' but provided type is 'int'"),
    ],
)
def test_what_cannot_be_written(text, message):
    with pytest.raises(CompileError) as caught:
        compile_expression(text, ENVIRONMENT)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("JSONPatch{op: dyn(1)}", "unexpected type int64 for JSONPatchType 'op' field"),
        (
            "Object{?a: dyn(1)}",
            "cannot initialize optional entry 'a' from non-optional value 1",
        ),
    ],
)
def test_what_fails_when_it_is_evaluated(text, message):
    with pytest.raises(CelError, match=message):
        value_of(text)


def test_validating_policies_write_no_objects():
    env = kyverno_environment("ValidatingPolicy", CLOCK, ENTROPY)
    with pytest.raises(CompileError, match="undeclared reference to 'Object'"):
        compile_expression("Object{}", env)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("Object{spec: Object.spec{a: [Object.spec.a{}]}}", []),
        ("Object{m: {'k': Object.m{}}}", []),
        ("Object{spec: Object.metadata{}}", [("Object.metadata", "Object.spec")]),
        (
            "Object{a: Object.b{c: Object.b.c{}}}",
            [("Object.b", "Object.a"), ("Object.b.c", "Object.a.c")],
        ),
    ],
)
def test_types_are_named_after_the_way(text, wrong):
    found = list(type_mismatches(value_of(text)[1], "Object"))
    assert found == [
        f'unexpected type name "{name}", expected "{way}", which matches field name path from '
        "root Object type"
        for name, way in wrong
    ]
