"""Results of policies in open manifests, and test runs, as editors request them."""

import pytest

POLICY = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: named
spec:
  rules:
    - name: cart
      match: {any: [{resources: {kinds: [Pod]}}]}
      validate:
        message: it needs another name
        pattern: {metadata: {name: cart}}
"""
EXCEPTION = """\
apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: some, namespace: shop}
spec:
  exceptions: [{policyName: named, ruleNames: [cart]}]
  match: {any: [{resources: {kinds: [Pod], names: [other]}}]}
"""
TEST = """\
apiVersion: cli.kyverno.io/v1alpha1
kind: Test
metadata:
  name: carts
policies: [policies/named.yaml]
resources: [pods.yaml]
results:
  - {policy: named, rule: cart, resources: [cart], kind: Pod, result: pass}
  - policy: named
    rule: cart
    resources: [basket]
    kind: Pod
    result: pass
"""
POD = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {}\n"
FILES = {
    "policies/named.yaml": POLICY,
    "kyverno-test.yaml": TEST,
    "pods.yaml": f"{POD.format('cart')}---\n{POD.format('basket')}",
}


@pytest.mark.slow
def test_manifests_show_the_results_of_the_workspaces_policies(edit):
    editor = edit({"policies/named.yaml": POLICY})
    (found,) = editor.open("pod.yaml", POD.format("other"))
    assert found.message.startswith("named / cart: ")
    assert "it needs another name" in found.message
    assert found.severity == editor.types.DiagnosticSeverity.Error
    assert (found.range.start.line, found.range.start.character) == (3, 2)
    (rule,) = found.related_information
    assert rule.location.uri == editor.uri("policies/named.yaml")
    assert rule.location.range.start.line == 6
    assert editor.type("pod.yaml", POD.format("cart")) == []
    assert len(editor.type("pod.yaml", POD.format("other"))) == 1

    # An unsaved change of the policy counts, and an exception.
    editor.open("policies/named.yaml")
    count = len(editor.told[editor.uri("pod.yaml")])
    editor.type("policies/named.yaml", POLICY.replace("name: cart}}", "name: other}}"))
    editor.until(lambda: len(editor.told[editor.uri("pod.yaml")]) > count)
    assert editor.remarks("pod.yaml") == []
    editor.type("policies/named.yaml", POLICY)
    editor.open("exception.yaml", EXCEPTION)
    assert editor.type("pod.yaml", POD.format("other")) == []
    (found,) = editor.type("pod.yaml", POD.format("more"))
    assert "named / cart" in found.message

    assert editor.type("pod.yaml", f"{POD.format('other')}spec: {{{{ x }}\n") == []
    assert editor.logged == []
    page = editor.execute("kyvsim.report", editor.uri("pod.yaml"))
    assert page.lower().startswith("<!doctype html>")


@pytest.mark.slow
def test_results_can_be_switched_off(edit):
    editor = edit({"policies/named.yaml": POLICY, ".kyvsim.yaml": "lsp: {no-results: true}\n"})
    assert editor.open("pod.yaml", POD.format("other")) == []


@pytest.mark.slow
def test_rows_are_run_and_unknown_names_are_reported(edit):
    editor = edit(FILES)
    assert editor.open("kyverno-test.yaml") == []
    found = [
        (one.command.title, one.range.start.line) for one in editor.lenses("kyverno-test.yaml")
    ]
    assert found == [("Run all rows", 0), ("Run cart", 7), ("Run cart", 8)]

    every, _, second = (one.command for one in editor.lenses("kyverno-test.yaml"))
    assert every.command == "kyvsim.runTest"
    assert editor.execute(every.command, *every.arguments) == {"passed": 1, "failed": 1}
    editor.until(lambda: editor.told[editor.uri("kyverno-test.yaml")][-1].diagnostics)
    (failed,) = editor.remarks("kyverno-test.yaml")
    assert failed.range.start.line == 8
    assert "it needs another name" in failed.message
    assert editor.logged == ["kyvsim test: 1 passed, 1 failed"]
    page = editor.execute("kyvsim.report", editor.uri("kyverno-test.yaml"))
    assert "1 of 2 rows failed" in page

    # Rows of the text in the editor are run; what is typed removes the results of the last run.
    expected = TEST.replace("result: pass\n", "result: fail\n")
    assert editor.type("kyverno-test.yaml", expected) == []
    assert editor.execute(second.command, *second.arguments) == {"passed": 1, "failed": 0}
    with pytest.raises(editor.error, match="is not open"):
        editor.execute("kyvsim.runTest", editor.uri("pods.yaml"), 0)

    wrong = TEST.replace("rule: cart\n", "rule: crt\n").replace("[cart]", "[cart, baskt]")
    wrong += "  - {policy: namd, rule: cart, resources: [cart], result: pass}\n"
    found = editor.type("kyverno-test.yaml", wrong)
    assert [(one.code, one.range.start.line) for one in found] == [
        ("Resource not found", 7),
        ("Rule not found", 9),
        ("Policy not found", 13),
    ]
    fixes = [editor.actions("kyverno-test.yaml", line) for line in (7, 9, 13)]
    assert [one.title for (one,) in fixes] == ["use basket", "use cart", "use named"]
    for (one,) in fixes:
        (change,) = one.edit.document_changes[0].edits
        assert change.range.start.line == change.range.end.line
        assert not one.is_preferred


@pytest.mark.slow
def test_tests_that_read_files_outside_of_the_folder_are_not_checked_while_they_are_typed(
    edit, tmp_path
):
    (tmp_path / "outside.yaml").write_text(POLICY, encoding="utf-8")
    inside = TEST.replace("policies/named.yaml", "../outside.yaml").replace("cart,", "secret,")
    editor = edit({**FILES, "kyverno-test.yaml": inside})
    assert editor.open("kyverno-test.yaml") == []
