"""The environment of admission policies."""

import pytest

from kyvsim.cel import CompileError, compile_expression, types
from kyvsim.cel.environment import read_type
from kyvsim.cel.kubernetes import VARIABLES, declared_type, kubernetes_environment


@pytest.mark.parametrize(
    ("text", "options"),
    [("params.x", {"params": True}), ("authorizer.path('/a')", {"authorizer": True})],
)
def test_some_variables_are_there_only_where_asked_for(text, options):
    compile_expression(text, kubernetes_environment(**options))
    with pytest.raises(CompileError, match="undeclared reference"):
        compile_expression(text, kubernetes_environment())


def test_variables_have_the_types_that_they_are_declared_with():
    env = kubernetes_environment().with_fields(VARIABLES, {"a": types.INT})
    assert compile_expression("variables.a + 1", env).type == types.INT
    with pytest.raises(CompileError, match="undefined field 'b'"):
        compile_expression("variables.b", env)


@pytest.mark.parametrize(
    ("found", "declared"),
    [
        ("int", "int"),
        ("list<optional<int>>", "list<dyn>"),
        ("map<string, kubernetes.URL>", "map<string, dyn>"),
        ("net.IP", "dyn"),
    ],
)
def test_few_types_are_kept_for_variables(found, declared):
    assert declared_type(read_type(found)) == read_type(declared)
