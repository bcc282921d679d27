"""What each kind of policy knows: the table of the reference, expression by expression."""

import importlib
import random
from datetime import UTC, datetime
from pathlib import Path
from unittest.mock import Mock

import pytest

from kyvsim.cel import CompileError, Library, compile_expression
from kyvsim.cel.kyverno.authorization import MODES, authorization_environment
from kyvsim.cel.kyverno.environments import KINDS, kyverno_environment
from kyvsim.cel.kyverno.functions import random_library, time_library
from kyvsim.cel.kyverno.tokens import token_library

CLOCK = Mock(now=lambda: datetime(2026, 1, 1, tzinfo=UTC))
ENTROPY = Mock(below=random.Random(0).randrange)
ENVIRONMENTS = {
    kind: kyverno_environment(kind, CLOCK, ENTROPY)
    for name in KINDS
    for kind in (name, f"Namespaced{name}")
}
EVERY = set(KINDS)
STORED = {"ValidatingPolicy", "MutatingPolicy", "ImageValidatingPolicy"}
KNOWN = [
    ("[1].all(i, v, v > i)", STORED),
    ("cel.bind(x, 1, x)", EVERY),
    ("math.greatest(1, 2) + math.abs(-1)", EVERY),
    ("base64.encode(b'a')", EVERY),
    ("regex.replace('a', 'b', 'c')", EVERY),
    ("proto.hasExt(object, a.b)", EVERY),
    ("'ab'.reverse()", set()),
    ("semver('1.2.3', true)", EVERY),
    ("authorizer", set()),
    ("[1, 'a']", {"GeneratingPolicy"}),
    ("{'a': 1, 'b': 'x'}", {"GeneratingPolicy"}),
    ("duration('x')", {"GeneratingPolicy", "DeletingPolicy"}),
    ("'a'.matches('[')", {"GeneratingPolicy", "DeletingPolicy"}),
    ("'%.2f'.format([1u])", set()),
    ("'%v'.format([1])", set()),
    ("'%d %s'.format([1])", set()),
    ("'%.2f'.format([object.a])", EVERY),
    ("'%v'.format(object.a)", EVERY),
    ("request.object.a", EVERY),
    ("request.nothing", set()),
    ("exceptions.allowedImages", EVERY - {"ImageValidatingPolicy", "DeletingPolicy"}),
    ("images.containers", {"ImageValidatingPolicy"}),
    ("params", set()),
    ("variables.undeclared", set()),
    ("parseServiceAccount('x')", STORED),
    ("x509.decode('x')", EVERY - {"ImageValidatingPolicy"}),
    ("hash.md5('a') + random() + json.marshal(1) + mylib_version", EVERY),
    ("resource.Get('v1', 'pods', 'a', 'b')", EVERY),
    ("generator.Apply('ns', [{'a': dyn(1)}])", {"GeneratingPolicy"}),
]


def compiles(text, kind):
    try:
        compile_expression(text, ENVIRONMENTS[kind])
    except CompileError:
        return False
    return True


@pytest.mark.parametrize(("text", "kinds"), KNOWN, ids=[text for text, _ in KNOWN])
def test_what_compiles_where(text, kinds):
    assert {kind for kind in KINDS if compiles(text, kind)} == kinds


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("'%d %.1f %e'.format([1.5, 1u, 1])", ""),
        ("'%f'.format([true])", "can only be used on ints, uints, and doubles, was given bool"),
        ("'%v'.format([1])", 'unrecognized formatting clause "v"'),
    ],
)
def test_formats_of_requests_take_every_number(mode, text, refused):
    env = authorization_environment(mode, CLOCK)
    if not refused:
        assert compile_expression(text, env)
        return
    with pytest.raises(CompileError, match=refused):
        compile_expression(text, env)


def test_namespaced_policies_name_no_namespace():
    kind = "NamespacedGeneratingPolicy"
    assert compiles("resource.get('v1', 'pods', 'a')", kind)
    assert not compiles("resource.get('v1', 'pods', 'a', 'b')", kind)
    assert compiles("generator.apply([{'a': dyn(1)}])", kind)
    assert not compiles("generator.apply('ns', [{'a': dyn(1)}])", kind)


def test_a_value_that_is_not_optional_needs_a_lenient_kind():
    assert compiles("object.a.orValue(1)", "ValidatingPolicy")
    assert not compiles("'a'.orValue('b')", "ImageValidatingPolicy")


def test_every_library_is_in_an_environment():
    folder = Path(importlib.import_module("kyvsim.cel.kyverno").__file__).parent
    names = {path.stem for path in folder.glob("*.py")} - {"__init__", "native"}
    names -= {"environments", "authorization", "messages"}
    libraries = [random_library(ENTROPY), time_library(CLOCK), token_library(CLOCK)]
    for name in names - {"random", "time", "tokens"}:
        module = importlib.import_module(f"kyvsim.cel.kyverno.{name}")
        found = [value for value in vars(module).values() if isinstance(value, Library)]
        assert found, name
        libraries += found
    decided = [authorization_environment(mode, CLOCK) for mode in MODES.values()]
    for library in libraries:
        assert any(
            function.name in env.functions
            for env in (*ENVIRONMENTS.values(), *decided)
            for function in library.functions
        ), library.name
