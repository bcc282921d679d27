"""Completions, and descriptions of fields, without a server."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kyvsim.api import Source
from kyvsim.api.schemas import known_schemas
from kyvsim.lsp.document import read_text
from kyvsim.lsp.hints import about, completions_at, description_of, hover_at, page_of
from kyvsim.lsp.navigation import defined_by, named_by, occurrences_of, runnable_rows, symbols_of

CLASSIC = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: named
spec:
  rules:
    - name: a
      match:
        any:
          - resources: {kinds: [Pod, v1/Service]}
      exclude:
        any:
          - resources: {kinds: [Secret]}
      context:
        - name: teams
          variable:
            jmesPath: HERE
      validate:
        message: "{{ HERE"
        foreach:
          - list: HERE
"""
CEL = """\
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata:
  name: named
spec:
  matchConstraints:
    resourceRules:
      - apiGroups: [apps]
        apiVersions: [v1]
        operations: [CREATE]
        resources: [deployments]
  variables:
    - name: limit
      expression: "1"
  validations:
    - expression: |
        size(object.spec) > 0 &&
          HERE
"""
TESTS = """\
apiVersion: cli.kyverno.io/v1alpha1
kind: Test
metadata: {name: carts}
policies: [policies/named.yaml]
resources: [pods.yaml]
results:
  - {policy: named, rule: cart, resources: [cart], kind: Pod, result: pass}
  - policy: named
    rule: cart
    resources:
      - cart
---
apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: some, namespace: shop}
spec:
  exceptions: [{policyName: named, ruleNames: [cart]}]
"""


def completed(text, typed, which=0):
    """Return the labels at a place of a text, with the column at which each begins."""
    parts = text.split("HERE")
    before = "HERE".join(parts[: which + 1]) + typed
    line, column = before.count("\n"), len(before) - before.rfind("\n") - 1
    found = completions_at(read_text(before + "HERE".join(parts[which + 1 :])), line, column)
    return {one.label: column - one.column for one in found}


@pytest.mark.parametrize("which", range(3))
def test_expressions_of_jmespath_are_completed_with_and_without_braces(which):
    found = completed(CLASSIC, "to_u", which)
    assert found["to_upper"] == found["teams"] == found["request.object"] == 4
    found = completed(CLASSIC, "request.obj", which)
    assert found["request.object"] == 11
    assert "teams" not in found
    assert "to_upper" not in found
    found = completed(CLASSIC, "request.object.spec.cont", which)
    assert found["containers"] == 4
    assert found["clusterIP"] == 4
    assert "image" in completed(CLASSIC, "request.object.spec.containers[0].", which)
    assert not {"data", "stringData"} & completed(CLASSIC, "request.object.", which).keys()


def test_variables_and_fields_are_completed_in_cel():
    assert completed(CEL, "variables.") == {"limit": 0}
    assert completed(CEL, "variables.li") == {"limit": 2}
    found = completed(CEL, "object.spec.re")
    assert found["replicas"] == 2
    assert found["contains"] == 2
    assert "size" in found
    assert "base64.decode" not in found
    assert "image" in completed(CEL, "object.spec.template.spec.containers[0].")
    assert "variables.limit" in completed(CEL, "var")


def test_a_variable_shows_its_expression():
    text = CEL.replace("HERE", "variables.limit > 0").replace('"1"', "size(object.spec)")
    line = text.split("\n").index("          variables.limit > 0")
    source = Source("new.yaml", text)
    assert hover_at(read_text(text), source, line, 22) == "```\nsize(object.spec)\n```"
    assert hover_at(read_text(text.replace("limit >", "x >")), source, line, 22) == ""


def paths_of(node, path=(), above=()):
    """Yield the path of every field, once for schemas that contain themselves."""
    for one in node.choices or (node,):
        if id(one) in above:
            continue
        inside = (*above, id(one))
        for name in one.properties:
            yield (*path, name)
            yield from paths_of(one.child(name), (*path, name), inside)
        for inner in filter(None, (one.items, one.further)):
            yield from paths_of(inner, (*path, 0), inside)


@pytest.mark.parametrize("kind", sorted(known_schemas()))
def test_every_field_has_a_description_and_a_link(kind):
    fields = set(paths_of(known_schemas()[kind]))
    assert fields
    bare = [path for path in fields if not description_of(kind, path)]
    assert bare == []
    if not kind.startswith("kyvsim/"):
        assert all(page_of(kind, path).startswith("https://") for path in fields)


def test_descriptions_are_those_of_the_nearest_field():
    kind = "kyverno.io/v1/ClusterPolicy"
    pattern = about(kind, ("spec", "rules", 0, "validate", "pattern"))
    assert "must match" in pattern
    assert "/validate/)" in pattern
    names = about(kind, ("spec", "rules", 0, "match", "any", 0, "resources", "names"))
    assert "wildcards" in names
    assert "/match-exclude/)" in names
    assert about(kind, ("spec", "ruless")) == ""
    steps = about("chainsaw.kyverno.io/v1alpha1/Test", ("spec", "steps"))
    assert "The steps, in order." in steps


@given(data=st.data())
def test_no_text_and_no_position_is_an_error(data):
    """Texts are cut, joined and changed at random, as while typing."""
    text = data.draw(st.sampled_from([CLASSIC, CEL, TESTS]))
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    junk = data.draw(st.text("[]{}:,-'\"#|&*! \n\tax.0{", max_size=12))
    text = text[:start] + junk + text[end:]
    line = data.draw(st.integers(0, text.count("\n")))
    column = data.draw(st.integers(0, 40))
    read, source = read_text(text), Source("new.yaml", text)
    for one in completions_at(read, line, column):
        assert one.column >= 0
    hover_at(read, source, line, column)
    assert all(one.range.start.line <= one.range.end.line for one in symbols_of(read))
    assert len([*runnable_rows(read)]) <= len(read.entries)
    for entry in read.entries:
        named_by(read, entry)
        found = occurrences_of(defined_by(read, entry), {"new.yaml": source})
        assert all(one.range.line < len(text.split("\n")) for one in found)
