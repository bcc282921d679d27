import pytest

from kyvsim.api import ApplyInputs, open_application
from kyvsim.cel.kyverno.environments import KINDS as ENVIRONMENTS
from kyvsim.languages import CEL_POLICIES
from kyvsim.languages.cel.compile import KINDS
from kyvsim.report.diagnostics import diagnostic_text


def test_every_kind_that_is_read_is_compiled_and_every_other_way_round():
    names = {kind.name for kind in KINDS}
    compiled = names | {f"Namespaced{name}" for name in names}
    assert CEL_POLICIES.kinds == compiled
    assert {*ENVIRONMENTS} == names


PODS = """
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
"""


def said(tmp_path, kind, spec):
    policy = tmp_path / "policy.yaml"
    head = f"apiVersion: policies.kyverno.io/v1\nkind: {kind}\nmetadata: {{name: p}}\nspec:"
    policy.write_text(f"{head}{PODS}{spec}\n")
    found = open_application(ApplyInputs(policies=(str(policy),)))
    return [one for one in found.diagnostics if one.code in {"KV150", "KV159"}]


@pytest.mark.parametrize(
    ("kind", "spec", "reason"),
    [
        ("ValidatingPolicy", "  validations: []", "`validations` is empty"),
        ("MutatingPolicy", "  mutations: []", "`mutations` is empty"),
        ("MutatingPolicy", "  mutations: [{patchType: JSONPatch}]", "`jsonPatch` is missing"),
        (
            "MutatingPolicy",
            "  mutations: [{patchType: jsonPatch}]",
            "`jsonPatch` is not a patch type",
        ),
        (
            "MutatingPolicy",
            "  mutations: [{patchType: ApplyConfiguration, jsonPatch: {expression: '[]'}}]",
            "`applyConfiguration` is missing",
        ),
    ],
)
def test_what_does_nothing_is_told(tmp_path, kind, spec, reason):
    (one,) = said(tmp_path, kind, spec)
    assert (one.code, one.message) == ("KV159", f"`p` has no effect: {reason}")


@pytest.mark.parametrize("field", ["jsonPatch", "applyConfiguration"])
def test_a_mutation_without_its_expression_is_refused(tmp_path, field):
    patch_type = "JSONPatch" if field == "jsonPatch" else "ApplyConfiguration"
    spec = f"  mutations: [{{patchType: {patch_type}, {field}: {{}}}}]"
    (one,) = said(tmp_path, "MutatingPolicy", spec)
    assert one.code == "KV150"
    assert "mismatched input '<EOF>'" in one.message


def test_an_expression_is_shown_with_a_mark(tmp_path):
    spec = "  validations: [{expression: 'object.foo =='}]"
    (one,) = said(tmp_path, "ValidatingPolicy", spec)
    assert one.excerpt[:2] == ("| object.foo ==", "| .............^")
    shown = diagnostic_text(one).splitlines()[1:3]
    assert shown == ["    | object.foo ==", "    | .............^"]
