import pytest

from kyvsim.api.suite_files import Creation, create_test

POLICY = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: owned}
spec:
  rules:
    - name: owner
      match: {any: [{resources: {kinds: [Pod]}}]}
      validate:
        failureAction: Audit
        message: an owner is needed
        pattern: {metadata: {labels: {owner: "?*"}}}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: tidy}
spec:
  rules:
    - name: mark
      match: {any: [{resources: {kinds: [ConfigMap]}}]}
      mutate: {patchStrategicMerge: {metadata: {labels: {"+(marked)": "yes"}}}}
    - name: beside
      match: {any: [{resources: {kinds: [ConfigMap]}}]}
      generate:
        apiVersion: v1
        kind: Secret
        name: "{{ request.object.metadata.labels.as || 'one' }}"
        namespace: shop
        data: {data: {of: "{{ request.object.metadata.name }}"}}
    - name: asks
      match: {any: [{resources: {kinds: [Service]}}]}
      validate:
        failureAction: Audit
        message: "{{ request.object.spec.nothing }}"
        deny:
          conditions: {all: [{key: "{{ request.object.spec.no }}", operator: Equals, value: 1}]}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: silent}
spec:
  rules:
    - name: none
      match: {any: [{resources: {kinds: [Node]}}]}
      validate: {message: x, pattern: {metadata: {name: x}}}
"""


def resource(kind, name, labels="{}", rest=""):
    api_version = "apps/v1" if kind == "Deployment" else "v1"
    metadata = f"{{{name}, labels: {labels}}}"
    return f"---\napiVersion: {api_version}\nkind: {kind}\nmetadata: {metadata}\n{rest}"


@pytest.fixture
def created(tmp_path, monkeypatch):
    """Return what is created for resources, and its rows as plain data."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.yaml").write_text(POLICY)

    def create(*resources):
        (tmp_path / "resources.yaml").write_text("".join(resources))
        return create_test(Creation(("policy.yaml",), ("resources.yaml",), "new"))

    return create


def lines(found):
    return found.files[-1].text.splitlines()


def test_one_row_for_all_resources_with_the_same_end(created):
    pods = [resource("Pod", f"name: {name}") for name in ("a", "b")]
    found = created(*pods, resource("Pod", "name: c", "{owner: me}"))
    assert found.row_count == 3  # as `kyvsim test` counts: one for each resource of an entry
    text = found.files[-1].text
    assert "  resources:\n  - a\n  - b\n  result: fail\n" in text
    assert "  resources:\n  - c\n  result: pass\n" in text
    assert found.files[-1].path.endswith("kyverno-test.yaml")
    assert "- ../policy.yaml" in lines(found)


def test_a_derived_rule_goes_by_its_written_name(created):
    template = "spec: {template: {metadata: {labels: {owner: me}}}}\n"
    found = created(resource("Deployment", "name: web", rest=template))
    assert "  rule: owner" in lines(found)


def test_names_that_two_resources_have_get_their_namespace(created):
    found = created(
        resource("Pod", "name: a, namespace: shop"), resource("Pod", "name: a, namespace: till")
    )
    assert "  - shop/a" in lines(found)
    assert "  - till/a" in lines(found)


def test_patched_and_generated_objects_have_a_file_each(created):
    found = created(resource("ConfigMap", "name: a"))
    texts = {file.path.replace("\\", "/"): file.text for file in found.files}
    assert list(texts) == [
        "new/tidy-patched.yaml",
        "new/tidy-generated.yaml",
        "new/kyverno-test.yaml",
    ]
    assert 'marked: "yes"' in texts["new/tidy-patched.yaml"]
    assert "of: a" in texts["new/tidy-generated.yaml"]
    assert "generate.kyverno.io" not in texts["new/tidy-generated.yaml"]


def test_what_rows_cannot_say_is_left_out_and_told(created):
    found = created(resource("ConfigMap", "name: a"), resource("ConfigMap", "name: b"))
    told = [one for one in found.remarks if "omitted" in one]
    assert told == ["tidy / beside on default/ConfigMap/b: omitted, since a row cannot expect pass"]


def test_resources_without_a_name_have_no_row(created):
    found = created(resource("Pod", "generateName: a-"))
    assert found.files == ()
    assert any("Pod/?: omitted" in one for one in found.remarks)


def test_expected_errors_and_silent_policies_are_told(created):
    found = created(resource("Service", "name: a"))
    assert found.row_count == 1
    (told,) = (one for one in found.remarks if "the row expects an error" in one)
    assert "must be under `values` or `clusterResources` of the test" in told
    assert "silent: no row, since it has no result for these resources" in found.remarks


def test_inputs_that_cannot_be_used_give_nothing(created, tmp_path):
    found = created("- 1\n")
    assert found.unusable
    assert found.files == ()
    (tmp_path / "policy.yaml").unlink()
    assert created(resource("Pod", "name: a")).unusable
