import pytest

from kyvsim.languages.cel_expressions import Compiler, NativeScope
from kyvsim.policy.cel_policy import read_cel_policy


def reads(*tests, variables=(), conditions=(), message=None):
    entries = [{"expression": one} for one in tests]
    if message:
        entries[0]["messageExpression"] = message
    named = [{"name": f"v{n}", "expression": one} for n, one in enumerate(variables)]
    matched = [{"name": f"c{n}", "expression": one} for n, one in enumerate(conditions)]
    spec = {"variables": named, "matchConditions": matched, "validations": entries}
    policy, compiler = read_cel_policy(spec), Compiler(NativeScope(params=False))
    compiler.variables(policy.variables)
    compiler.conditions(policy.match_conditions)
    compiler.validations(policy.validations)
    return compiler.reads


@pytest.mark.parametrize(
    ("found", "names"),
    [
        (reads("true"), set()),
        (reads("object.a == 'b'", "has(oldObject.a)"), {"object", "oldObject"}),
        (reads("true", variables=["request.operation"]), {"request"}),
        (reads("true", conditions=["namespaceObject.metadata.name == 'x'"]), {"namespaceObject"}),
        (reads("true", message="request.name"), {"request"}),
        (
            reads("authorizer.requestResource.check('get').allowed()"),
            {"authorizer.requestResource"},
        ),
        (reads("authorizer.path('/x').check('get').allowed()"), {"authorizer"}),
        (reads("no such thing"), set()),
    ],
)
def test_every_name_that_some_expression_reads(found, names):
    assert found == names
