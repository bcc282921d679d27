"""References and new names of policies and rules, as editors request them."""

import pytest

from kyvsim.api import Source
from kyvsim.lsp.document import read_text
from kyvsim.lsp.navigation import NamedTarget, occurrences_of, runnable_rows

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
        pattern: {metadata: {name: cart}}
    - name: cart-too
      match: {any: [{resources: {kinds: [Pod]}}]}
      validate:
        pattern: {metadata: {name: cart}}
"""
EXCEPTION = """\
apiVersion: kyverno.io/v2
kind: PolicyException
metadata:
  name: cart
  namespace: shop
spec:
  exceptions:
    - policyName: named
      ruleNames: [cart, "autogen-cart", autogen-cronjob-cart, other]
    - policyName: other
      ruleNames:
        - cart
  match: {any: [{resources: {kinds: [Pod]}}]}
"""
TEST = """\
apiVersion: cli.kyverno.io/v1alpha1
kind: Test
metadata:
  name: "😀 cart"
policies: [policies/named.yaml]
resources: [pods.yaml]
results:
  - {policy: named, rule: cart, resources: [cart], kind: Pod, result: pass} # 😀
  - policy: shop/named
    rule: autogen-cart
    resources: [cart]
    result: fail
"""
POD = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: cart\n"
FILES = {
    "policies/named.yaml": POLICY,
    "exceptions.yaml": EXCEPTION,
    "kyverno-test.yaml": TEST,
    "pods.yaml": POD,
}
RULE = {
    ("policies/named.yaml", 7),
    ("exceptions.yaml", 9),
    ("kyverno-test.yaml", 8),
    ("kyverno-test.yaml", 10),
}


def applied(text, edits):
    lines = text.split("\n")
    for one in sorted(edits, key=lambda one: one.range.start.character, reverse=True):
        start, end = one.range.start, one.range.end
        line = lines[start.line]
        lines[start.line] = line[: start.character] + one.new_text + line[end.character :]
    return "\n".join(lines)


@pytest.mark.slow
def test_rules_and_policies_are_found_and_renamed_in_all_files(edit):
    editor = edit(FILES)
    for name in ("policies/named.yaml", "kyverno-test.yaml", "exceptions.yaml"):
        editor.open(name)
    at_rule = ("policies/named.yaml", 6, 13)
    found = editor.references(*at_rule)
    assert {place[:2] for place in found} == RULE
    assert len(found) == 6  # three in one list
    assert len(editor.references(*at_rule, definition=False)) == 5
    for place in (("kyverno-test.yaml", 9, 12), ("kyverno-test.yaml", 7, 26)):
        assert sorted(editor.references(*place)) == sorted(found)
    assert sorted(editor.references("exceptions.yaml", 8, 20)) == sorted(found)

    assert editor.renamed_name(*at_rule) == "cart"
    assert editor.renamed_name("policies/named.yaml", 0, 3) == ""
    edits = editor.rename(*at_rule, "basket")
    assert applied(POLICY, edits["policies/named.yaml"]) == POLICY.replace(
        "- name: cart\n", "- name: basket\n"
    )
    assert applied(EXCEPTION, edits["exceptions.yaml"]) == EXCEPTION.replace(
        '[cart, "autogen-cart", autogen-cronjob-cart, ',
        '[basket, "autogen-basket", autogen-cronjob-basket, ',
    )
    renamed = TEST.replace("rule: cart,", "rule: basket,").replace("autogen-cart", "autogen-basket")
    assert applied(TEST, edits["kyverno-test.yaml"]) == renamed
    assert "pods.yaml" not in edits

    edits = editor.rename("kyverno-test.yaml", 8, 15, "renamed")
    assert applied(TEST, edits["kyverno-test.yaml"]) == TEST.replace(
        "policy: named", "policy: renamed"
    ).replace("shop/named", "shop/renamed")
    assert applied(EXCEPTION, edits["exceptions.yaml"]) == EXCEPTION.replace(
        "policyName: named", "policyName: renamed"
    )

    for new, why in (
        ("cart-too", "there is already a rule named `cart-too`"),
        ("a: b", "cannot be a name here"),
        ("true", "cannot be a name here"),
        ("1.5", "cannot be a name here"),
        ("x" * 64, "cannot be a name here"),
    ):
        with pytest.raises(editor.error, match=why):
            editor.rename(*at_rule, new)
    editor.open("again.yaml", POLICY)
    with pytest.raises(editor.error, match="several definitions have this name"):
        editor.rename(*at_rule, "basket")
    with pytest.raises(editor.error, match="does not define this rule"):
        editor.rename("exceptions.yaml", 11, 11, "basket")


def test_names_of_other_things_are_no_references():
    files = {name: Source(name, text) for name, text in FILES.items()}
    found = [*occurrences_of(NamedTarget("named", "cart"), files)]
    assert {(one.range.file, one.range.line + 1) for one in found} == RULE
    assert [one.range.file for one in found if one.is_definition] == ["policies/named.yaml"]
    assert [*occurrences_of(NamedTarget(), files)] == []


def test_what_can_be_run_in_a_test():
    found = [(name, entry.line) for name, entry in runnable_rows(read_text(TEST))]
    assert found == [("", 0), ("cart", 7), ("autogen-cart", 8)]
    assert [*runnable_rows(read_text(POLICY))] == []
    assert [*runnable_rows(read_text(TEST[: TEST.index("results")]))] == []
