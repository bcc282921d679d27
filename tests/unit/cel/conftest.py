"""What the tests of expressions share: evaluate a text in the API server's environment."""

import pytest

from kyvsim.cel import CelBudgetError, CelError, CompileError, compile_expression
from kyvsim.cel.kubernetes import authorizer_values, kubernetes_environment
from kyvsim.cel.libraries.admission import AccessQuery

ENVIRONMENT = kubernetes_environment(authorizer=True)
REQUEST = {"operation": "CREATE", "kind": {"group": "", "version": "v1", "kind": "Pod"}}


def _value_of(text, obj=None):
    """Return the value of an expression, or `error: …` or `refused: …`."""
    values = [
        obj,
        None,
        {"metadata": {"name": "ns"}},
        REQUEST,
        {},
        *authorizer_values(AccessQuery("jane")),
    ]
    return _value_in(ENVIRONMENT, text, values)


def _value_in(env, text, values):
    try:
        program = compile_expression(text, env)
    except CompileError as error:
        lines = str(error).splitlines()
        return f"refused: {lines[0].removeprefix('compilation failed: ERROR: <input>:')}"
    try:
        return program.evaluate(values)
    except (CelError, CelBudgetError) as error:
        return f"error: {error}"


@pytest.fixture(scope="session")
def value_of():
    return _value_of


@pytest.fixture(scope="session")
def value_in():
    """Return what gives the value of an expression in an environment with values."""
    return _value_in


@pytest.fixture(scope="session")
def environment():
    return ENVIRONMENT
