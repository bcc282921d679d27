import json

import pytest

from kyvsim.load.documents import read_documents
from kyvsim.load.recognise import looks_like_object, looks_like_policy
from kyvsim.load.resources import EXCEPTIONS, OBJECTS, POLICIES, partition_by_kind
from kyvsim.model.diagnostic import without_left_out

POLICY = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: a}\n"
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
ADMISSION = "admissionregistration.k8s.io"
VALUES = "replicas: 3\n"


@pytest.fixture
def sort(tmp_path):
    def run(wanted, named=False, **texts):
        for name, text in texts.items():
            (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
        paths = [f"{tmp_path}/{name}.yaml" for name in texts] if named else [str(tmp_path)]
        kept, said = partition_by_kind(read_documents(paths)[0], wanted)
        return len(kept), [(one.code, one.message) for one in said]

    return run


def test_what_is_no_policy_is_left_out_of_a_folder(sort):
    found = sort(POLICIES, a=POLICY, b=f"{POD}---\n{VALUES}", c="- x\n", kustomization=VALUES)
    assert found == (
        1,
        [
            ("KV028", "Pod (v1)"),
            ("KV028", "a mapping without `kind`"),
            ("KV028", "a list"),
            ("KV028", "a kustomization"),
        ],
    )


def test_what_is_named_is_kept(sort):
    assert sort(POLICIES, named=True, a=POD, b=VALUES) == (2, [])


TYPED_POD = "apiVersion:v1\nkind:Pod\n"
TYPED_POLICY = "apiVersion:kyverno.io/v1\nkind:ClusterPolicy\n"
TYPED_BY_KUBERNETES = f"apiVersion:{ADMISSION}/v1\nkind:ValidatingAdmissionPolicy\n"
TYPED_EXCEPTION = "apiVersion:kyverno.io/v2\nkind:PolicyException\n"
COMMENTED = '// a\n{"apiVersion":"v1","kind":"Pod"}\n'


@pytest.mark.parametrize(
    ("wanted", "text", "kept"),
    [
        (OBJECTS, TYPED_POD, True),
        (OBJECTS, COMMENTED, True),
        (OBJECTS, "a kind of text\n", False),
        (POLICIES, TYPED_POLICY, True),
        (POLICIES, TYPED_BY_KUBERNETES, True),
        (POLICIES, TYPED_POD, False),
        (POLICIES, "every kind of ClusterPolicy\n", False),
        (EXCEPTIONS, TYPED_EXCEPTION, True),
        (EXCEPTIONS, TYPED_POLICY, False),
    ],
)
def test_a_text_that_was_meant_for_a_mapping_is_kept(sort, wanted, text, kept):
    """Whoever reads it reports it: left out of a folder, nobody would miss it."""
    assert sort(wanted, a=text)[0] == kept


@pytest.mark.parametrize(
    ("wanted", "text", "noun"),
    [
        (POLICIES, POD, "policy"),
        (EXCEPTIONS, POLICY, "policy exception"),
        (OBJECTS, VALUES, "resource"),
    ],
)
def test_a_folder_with_nothing_of_the_sort_is_an_error(sort, wanted, text, noun):
    _, said = sort(wanted, a=text)
    assert said[-1] == ("KV026", f"there is no {noun} in this folder")


def test_resources_beside_a_kustomization_are_told(sort):
    kept, said = sort(OBJECTS, a=POD, kustomization="resources: [a.yaml]\n")
    assert (kept, [code for code, _ in said]) == (1, ["KV028", "KV025"])


def test_kustomizations_are_reported_once_with_their_number(tmp_path):
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "kustomization.yaml").write_text("resources: []\n", encoding="utf-8")
    (said,) = without_left_out(partition_by_kind(read_documents([str(tmp_path)])[0], OBJECTS)[1])[
        0
    ][:-1]
    assert (said.code, said.location.file) == ("KV025", f"{tmp_path}/a/kustomization.yaml")
    assert said.message.endswith("(and 2 more kustomizations)")


def test_charts_are_reported_once_with_their_number(tmp_path):
    for name in ("a/x", "b/y"):
        (tmp_path / name / "templates").mkdir(parents=True)
        (tmp_path / name / "Chart.yaml").write_text("a: 1\n", encoding="utf-8")
    paths = [str(tmp_path / "a"), str(tmp_path / "b")]
    (said,) = without_left_out(read_documents(paths)[1])[0]
    assert (said.code, said.location.file) == ("KV024", f"{tmp_path}/a/x/templates")
    assert said.message.endswith("(and 1 more chart)")


OF_TEST = "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: a}\n"


def test_a_folder_of_tests_without_policies_is_told_apart(sort):
    said = sort(POLICIES, a=OF_TEST)[1]
    assert said[-1] == (
        "KV026",
        (
            "there is no policy in this folder, but Test (cli.kyverno.io/v1alpha1): "
            "`kyvsim test` runs it"
        ),
    )


RULES = {"rules": [{"name": "r", "match": {"any": []}, "validate": {}}]}


@pytest.mark.parametrize(
    ("version", "kind"),
    [
        ("json.kyverno.io/v1alpha1", "ValidatingPolicy"),
        ("cli.kyverno.io/v1alpha1", "Values"),
        ("chainsaw.kyverno.io/v1alpha2", "Configuration"),
        ("kyverno.io/v2", "UpdateRequest"),
        ("kyverno.io/v1beta1", "UpdateRequest"),
        ("kyverno.io/v1alpha2", "ClusterAdmissionReport"),
        ("reports.kyverno.io/v1", "EphemeralReport"),
        ("wgpolicyk8s.io/v1alpha2", "ClusterPolicyReport"),
        ("openreports.io/v1alpha1", "Report"),
    ],
)
def test_what_is_related_to_kyverno_is_no_policy(sort, version, kind):
    data = {"apiVersion": version, "kind": kind, "metadata": {"name": "a"}, "spec": RULES}
    kept, said = sort(POLICIES, a=POLICY, b=json.dumps(data))
    assert (kept, said) == (1, [("KV028", f"{kind} ({version})")])


@pytest.mark.parametrize(
    ("data", "looks"),
    [
        ({"apiVersion": "kyverno.io/v1", "kind": "ClusterPolciy"}, True),
        ({"apiVersion": "kyverno.io/v1"}, True),
        ({"apiVersion": "policies.kyverno.io/v1", "kind": "ValidatingPolicy"}, True),
        ({"apiVersion": "kyvern.io/v1", "kind": "ClusterPolicy"}, True),
        ({"kind": "ClusterPolicy"}, True),
        ({"spec": {"rules": [{"validate": {}}]}}, True),
        ({"spec": {"rules": [{"match": {"any": []}}]}}, True),
        ({"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy", "spec": {}}, False),
        ({"kind": "Ingress", "spec": {"rules": [{"host": "a", "http": {}}]}}, False),
        ({"apiVersion": "cli.kyverno.io/v1alpha1", "kind": "Test"}, False),
        ({"apiVersion": "chainsaw.kyverno.io/v1alpha1", "kind": "Test"}, False),
        ({"apiVersion": f"{ADMISSION}/v1", "kind": "ValidatingWebhookConfiguration"}, False),
        (
            {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy"},
            True,
        ),
        ({"spec": {"rules": None}}, False),
        ([], False),
        ("x", False),
    ],
)
def test_what_looks_like_a_policy(data, looks):
    assert looks_like_policy(data) is looks


@pytest.mark.parametrize(
    ("data", "looks"),
    [
        ({"apiVersion": "v1", "kind": "Pod"}, True),
        ({"kind": "Pod"}, True),
        ({"apiVersion": "v1", "spec": {}}, True),
        ({"metadata": {}}, True),
        ([{"kind": "Pod"}], True),
        ({"apiVersion": "v2", "name": "chart", "version": "1.0.0"}, False),
        ({"replicas": 3}, False),
        (["a"], False),
        ("x", False),
    ],
)
def test_what_looks_like_an_object(data, looks):
    assert looks_like_object(data) is looks
