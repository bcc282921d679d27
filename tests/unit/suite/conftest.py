"""A test folder written for one case, and what comes of it."""

import textwrap

import pytest

from kyvsim.api import suite
from kyvsim.model.diagnostic import has_errors

POLICY = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: tidy
spec:
  rules:
    - name: owner
      match:
        any: [{resources: {kinds: [ConfigMap]}}]
      exclude:
        any: [{resources: {names: ["free-*"]}}]
      preconditions:
        all:
          - {key: "{{ request.object.metadata.name }}", operator: NotEquals, value: exempt}
      validate:
        failureAction: Audit
        message: an owner is needed
        pattern: {metadata: {labels: {owner: "?*"}}}
    - name: mark
      match:
        any: [{resources: {kinds: [Secret]}}]
      mutate:
        patchStrategicMerge: {metadata: {labels: {marked: "yes"}}}
    - name: items
      match:
        any: [{resources: {kinds: [ConfigMap]}}]
      validate:
        failureAction: Audit
        message: no empty items
        foreach:
          - list: request.object.items
            deny:
              conditions: {all: [{key: "{{ element }}", operator: Equals, value: ""}]}
    - name: beside
      match:
        any: [{resources: {kinds: [Namespace]}}]
      generate:
        apiVersion: v1
        kind: ConfigMap
        name: beside
        namespace: "{{ request.object.metadata.name }}"
        data: {data: {a: b}}
"""

RESOURCES = """
apiVersion: v1
kind: ConfigMap
metadata: {name: owned, labels: {owner: me}}
items: []
---
apiVersion: v1
kind: ConfigMap
metadata: {name: stray}
items: [""]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: free-one}
items: []
---
apiVersion: v1
kind: ConfigMap
metadata: {name: exempt}
items: []
---
apiVersion: v1
kind: Secret
metadata: {name: stray}
---
apiVersion: v1
kind: Secret
metadata: {name: key, namespace: vault}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
"""

SECRET = """
apiVersion: v1
kind: Secret
metadata: {name: stray, labels: {marked: "yes"}}
"""

BESIDE = """
apiVersion: v1
kind: ConfigMap
metadata: {name: beside, namespace: shop}
data: {a: b}
"""

FILES = {
    "policy.yaml": POLICY,
    "resources.yaml": RESOURCES,
    "secret.yaml": SECRET,
    "beside.yaml": BESIDE,
}


@pytest.fixture
def manifest_of(tmp_path, monkeypatch):
    """Write a folder with one manifest; returns the name of the manifest's file."""
    monkeypatch.chdir(tmp_path)

    def write(results, extra="", **files):
        for name, text in {**FILES, **files}.items():
            (tmp_path / name.replace("__", ".")).write_text(text)
        head = """\
            apiVersion: cli.kyverno.io/v1alpha1
            kind: Test
            metadata: {name: case}
            policies: [policy.yaml]
            resources: [resources.yaml]
            """
        rows = "".join(f"  - {{{row}}}\n" for row in results)
        text = f"{textwrap.dedent(head)}{extra}results:\n{rows}"
        (tmp_path / "kyverno-test.yaml").write_text(text)
        return "kyverno-test.yaml"

    return write


@pytest.fixture
def outcomes_of(manifest_of):
    """Return the outcomes of rows, in one of the two readings."""

    def check(*results, lenient=False, extra="", **files):
        file = manifest_of(results, extra, **files)
        (found,) = suite.run_file(file, suite.Reading(lenient=lenient))
        assert not has_errors(found.diagnostics), found.diagnostics
        return found.rows

    return check
