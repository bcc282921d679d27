"""Why a strategic merge patch changes nothing."""

import pytest
import yaml

from kyvsim.api import ApplyInputs, open_application
from kyvsim.languages.classic.rules.unchanged import unchanged_reason
from kyvsim.load.files import Source

OBJECT = yaml.safe_load(
    "{metadata: {labels: {a: b}}, spec: {type: x, items: [{name: c, port: 1}, {name: d}]}}"
)
MEETS = "the object has all values of the patch already"


@pytest.mark.parametrize(
    ("patch", "text", "path"),
    [
        ("{metadata: {labels: {a: b}}}", MEETS, ()),
        (
            "{metadata: {labels: {+(a): c}}}",
            "`+( )` only adds a missing field, and the object has `metadata.labels.a`: write `a` ",
            ("metadata", "labels", "+(a)"),
        ),
        ("{spec: {(kind): y, type: z}}", "the object has no `spec.kind`", ("spec", "(kind)")),
        (
            "{spec: {(type): y, size: 1}}",
            "`spec.type` is `x`, which does not match `y`",
            ("spec", "(type)"),
        ),
        (
            "{spec: {items: [{(name): e, port: 2}]}}",
            "`spec.items[].name` is `c`, which does not match `e` (the first of 2 elements)",
            ("spec", "items", 0, "(name)"),
        ),
        ("{spec: {items: [{(name): d, +(name): e}]}}", "`+( )` only adds", ()),
        ("{spec: {items: [{(name): d, name: d}]}}", MEETS, ()),
        ("null", MEETS, ()),
    ],
)
def test_a_patch_that_changes_nothing_has_a_reason(patch, text, path):
    found = unchanged_reason(yaml.safe_load(patch), OBJECT, lambda one, other: one == other)
    assert found.text.startswith(text)
    assert not path or found.path == path


POLICY = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [ServiceAccount]}}]}
    mutate:
      patchStrategicMerge:
        +(automountServiceAccountToken): false
"""
ACCOUNT = """
apiVersion: v1
kind: ServiceAccount
metadata: {name: a}
automountServiceAccountToken: true
"""


def test_a_run_of_skips_names_the_anchor():
    run = open_application(ApplyInputs((Source("p.yaml", POLICY),), (Source("r.yaml", ACCOUNT),)))
    (result,) = (one for each in run.responses for part in each.responses for one in part.results)
    assert (result.message, result.note) == ("no patches applied", "")
    (found,) = run.skip_reasons()
    assert str(found.location) == "p.yaml:11:9"
    assert "`+( )` only adds a missing field" in found.message
