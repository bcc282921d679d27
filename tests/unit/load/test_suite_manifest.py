import pytest

from kyvsim.load import suite_manifest
from kyvsim.model.request import PayloadMode

CONVERTS = "`kyvsim test --fix` replaces it"
HEAD = "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\n"


@pytest.fixture
def read(tmp_path):
    def read_text(text):
        file = tmp_path / "kyverno-test.yaml"
        file.write_text(text)
        manifests, remarks = suite_manifest.read_manifests(str(file))
        return manifests, [(one.code, one.location.line, one.message) for one in remarks]

    return read_text


def test_every_field_is_read(read):
    text = f"""{HEAD}metadata: {{name: all}}
policies: [p.yaml, p.yaml]
resources: [r.yaml]
targetResources: [t.yaml]
paramResources: [q.yaml]
exceptions: [e.yaml]
clusterResources: [c.yaml]
variables: v.yaml
userinfo: u.yaml
context: x.yaml
jsonPayloads: [j.json]
httpPayloads: [h.json]
envoyPayloads: [e.json]
results:
  - policy: ns/p
    rule: r
    result: pass
    kind: Pod
    resources: [a, b/c]
    resourceSpecs: [{{group: apps, version: v1, kind: Deployment, namespace: lab, name: d}}]
    operation: UPDATE
    patchedResources: patched.yaml
    generatedResource: g.yaml
    cloneSourceResource: s.yaml
    failOnMissingResources: true
    isValidatingPolicy: false
    isDeletingPolicy: false
    isMutatingPolicy: true
  - {{policy: p, result: skip, generatedResources: [g.yaml, h.yaml]}}
"""
    (found,), remarks = read(text)
    assert remarks == []
    assert found.policies == ("p.yaml",)
    assert (found.resources, found.targets, found.params) == (("r.yaml",), ("t.yaml",), ("q.yaml",))
    assert (found.exceptions, found.cluster_resources) == (("e.yaml",), ("c.yaml",))
    assert (found.values_file, found.userinfo, found.context) == ("v.yaml", "u.yaml", "x.yaml")
    assert found.payloads == (
        (PayloadMode.JSON, "j.json"),
        (PayloadMode.HTTP, "h.json"),
        (PayloadMode.ENVOY, "e.json"),
    )
    first, second = found.rows
    assert first[:4] == ("ns/p", "r", "pass", ("a", "b/c"))
    assert first.specs == (("apps/v1", "Deployment", "lab", "d"),)
    assert first[5:] == (
        "Pod",
        "UPDATE",
        "patched.yaml",
        ("g.yaml",),
        "s.yaml",
        True,
        ("results", 0),
        ("isMutatingPolicy",),
    )
    assert (second.resources, second.generated) == (None, ("g.yaml", "h.yaml"))


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        (f"{HEAD}policy: [a]\n", ("KV012", 3, "unknown field `policy`: did you mean `policies`?")),
        (
            f"{HEAD}results:\n  - {{policy: p, result: pass, resource: x}}\n",
            ("KV040", 4, "`resource` is deprecated: use `resources`; " + CONVERTS),
        ),
        (f"{HEAD}results:\n  - result: pass\n", ("KV015", 4, "`results[0].policy` is required")),
        (
            f"{HEAD}checks: []\n",
            ("KV012", 3, "unknown field `checks`"),
        ),
        (
            f"{HEAD}name: old\n",
            ("KV040", 3, "`name` is deprecated: use `metadata.name`; " + CONVERTS),
        ),
        (f"{HEAD}resources: r.yaml\n", ("KV013", 3, "`resources` must be a list, not text")),
    ],
)
def test_what_does_not_fit_is_an_error(read, text, remark):
    manifests, remarks = read(text)
    assert (manifests, remarks) == ((), [remark])


def test_the_deprecated_shape_and_doubled_keys_are_errors(read):
    assert read("policies: []\n")[1][0][0] == "KV031"
    assert read(f"{HEAD}policies: []\npolicies: []\n")[1][0][0] == "KV006"


def test_fields_count_in_any_case_and_other_kinds_are_told(read):
    (found,), remarks = read(
        "apiVersion: kyverno.io/v1\nkind: Test\nPolicies: [a]\n"
        "results:\n  - {policy: p, result: pass, isMUtatingPolicy: true}\n"
    )
    assert found.policies == ("a",)
    assert [(code, line) for code, line, _ in remarks] == [("KV042", 3), ("KV042", 5), ("KV042", 1)]
    assert remarks[0][2] == "`Policies` is read as `policies`"


def test_each_document_is_a_manifest(read):
    manifests, remarks = read(f"{HEAD}policies: [a]\n---\n{HEAD}policies: [b]\n")
    assert [one.policies for one in manifests] == [("a",), ("b",)]
    assert remarks == []


def test_manifests_are_found_in_order_hidden_folders_too(tmp_path):
    for name in ("b", "a/.hidden", "a", "c"):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
        (tmp_path / name / "kyverno-test.yaml").write_text(HEAD)
    (tmp_path / "c" / "other.yaml").write_text(HEAD)
    (tmp_path / "d").symlink_to(tmp_path / "b")
    found, remarks = suite_manifest.find_manifests(str(tmp_path), "kyverno-test.yaml")
    names = [name.removeprefix(f"{tmp_path}/") for name in found]
    assert names == [f"{one}/kyverno-test.yaml" for one in ("a/.hidden", "a", "b", "c")]
    assert remarks == ()
    other = str(tmp_path / "c" / "other.yaml")
    assert suite_manifest.find_manifests(other, "kyverno-test.yaml") == ((other,), ())


@pytest.mark.parametrize("path", ["nowhere", "https://example.com/tests"])
def test_a_path_that_leads_nowhere_is_an_error(path):
    found, (remark,) = suite_manifest.find_manifests(path, "kyverno-test.yaml")
    assert (found, remark.code, remark.severity) == ((), "KV041", "error")
