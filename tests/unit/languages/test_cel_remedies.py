import pytest

from kyvsim.languages.cel_expressions import Compiler, NativeScope
from kyvsim.languages.cel_remedies import expression_error, remedies
from kyvsim.model.source import Location
from kyvsim.policy.cel_policy import read_cel_policy
from kyvsim.policy.tree import NamedExpression


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("object.a == 1 and true", "CEL has `&&` instead of `and`"),
        ("object.a == 1 or true", "CEL has `||` instead of `or`"),
        ("not has(object.a)", "CEL has `!` instead of `not`"),
        ("object.a = 1", "CEL has `==` instead of `=`"),
        ("object.a =< 1", "CEL has `<=` instead of `=<`"),
        ("object.a == None", "CEL has `null` instead of `None`"),
        ("has(object.a) ?? 1 : 2", "but no `??`"),
        ("object.a.startWith('b')", "did you mean `startsWith`?"),
        ("object.a.matchs('b')", "did you mean `matches`?"),
        ("objects.a == 1", "did you mean `object`?"),
        ("length(object.a) > 1", "CEL has `size` instead of `length`"),
        ("metadata.name == 'a'", "CEL has `object.metadata` instead of `metadata`"),
        ("{{ request.name }} == 'a'", "CEL has no `{{ }}`"),
        ("object.metadata.labels.a/b == 'x'", "`labels['a/b']`"),
        ("size(object.a) > '1'", "numbers and strings are not compared"),
        ("team == 'a'", "the value of a variable is `variables.team`"),
        ("nothing == 'a'", ""),
        ("object.?a == 'a'", "add `.orValue(…)`"),
        ("object.metadata.name", "compare the value, such as with `== true`"),
        ("objct.a == 'a'", "did you mean `object`?"),
        ("object.a.all(item, itm.b == 'a')", "did you mean `item`?"),
        ("params.a == 'a'", "only Kubernetes' own admission policies, with a `paramKind`, have"),
        ("object.a ==", ""),
        ("variables.taem == 'a'", "did you mean `variables.team`?"),
        ("variables.x == 'a'", "they are `team`"),
        ("user.username == 'a'", "CEL has `request.userInfo` instead of `user`"),
        ("namespace == 'a'", "its name in `object.metadata.namespace`"),
        ("object.a == 1 ? true", "a choice has two values"),
        ("if object.a == 1 then true", "a choice is `condition ? a : b`"),
        ("object.a[*].b == 'c'", "write `list.all(e, …)`, `exists`, `filter` or `map`"),
        ("object.a > 3d", "as `duration('72h')`"),
        ("duration('3d') > duration('1h')", "a day is `24h`"),
        ("object.a.filter(e, e.b) == 0", "write `size(…)`"),
        (r"object.a.matches('^v\d+$')", "write `[0-9]` for `\\d`"),
        ("quantity(object.a) <= quantity('1Gi')", "`a.isLessThan(b)`"),
        ("quantity(object.a).isLessThan('1Gi')", "write `quantity('1Gi')`"),
        ("semver(object.a).isLessThan('1.0.0')", "write `semver('1.0.0')`"),
    ],
)
def test_an_expression_that_does_not_compile_has_a_remedy(text, remedy):
    spec = {"variables": [{"name": "team", "expression": "'a'"}]}
    spec["validations"] = [{"expression": text}]
    compiler = Compiler(NativeScope(params=False))
    compiler.variables(read_cel_policy(spec).variables)
    compiler.validations(read_cel_policy(spec).validations)
    (problem,) = compiler.problems
    names = remedies([NamedExpression((), "team", "'a'")])
    error = expression_error("KV156", "p", problem.message, Location("p.yaml"), names)
    notes = [line for line in error.excerpt if line.startswith("note: ")]
    assert [remedy in line for line in notes] == [True] * bool(remedy)
