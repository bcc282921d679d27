"""Resources, definitions and payloads."""

import copy
import json

import pytest

from kyvsim.kubernetes.discovery import NO_KINDS
from kyvsim.load.documents import read_documents
from kyvsim.load.files import Source
from kyvsim.load.recognise import looks_like_object, looks_like_policy
from kyvsim.load.resources import (
    EXCEPTIONS,
    OBJECTS,
    POLICIES,
    completed,
    load_definitions,
    load_resources,
    partition_by_kind,
    read_payloads,
)
from kyvsim.model.diagnostic import without_left_out
from kyvsim.model.request import PayloadMode
from kyvsim.model.source import Document, Location

POD = "apiVersion: v1\nkind: Pod\n"
WIDGET = {
    "kind": "CustomResourceDefinition",
    "spec": {"group": "e.io", "scope": "Cluster", "names": {"kind": "Widget", "plural": "widgets"}},
}


def complete(data, kinds):
    return completed(Document(data, "", 0, lambda _: Location("")), kinds).data


def load(text, **options):
    documents, remarks = load_resources(["-"], text.encode(), **options)
    return [one.data for one in documents], [(one.code, str(one.location)) for one in remarks]


@pytest.mark.parametrize(
    ("text", "metadata"),
    [
        (POD, {"namespace": "default"}),
        (POD + "metadata: {name: x}\n", {"name": "x", "namespace": "default"}),
        (POD + "metadata: {namespace: a}\n", {"namespace": "a"}),
        (POD + "metadata: {namespace: ''}\n", {"namespace": "default"}),
        (POD + "metadata: {namespace: 5}\n", {"namespace": "default"}),
        (POD + "metadata:\n", None),
        (POD + "metadata: []\n", []),
        ("apiVersion: v1\nkind: Namespace\nmetadata: {name: x}\n", {"name": "x"}),
        ("apiVersion: e.io/v1\nkind: Widget\n", {"namespace": "default"}),
    ],
)
def test_the_default_namespace_is_written_where_kinds_have_one(text, metadata):
    assert load(text)[0][0]["metadata"] == metadata


def test_definitions_given_apart_tell_the_scope():
    text = "apiVersion: e.io/v1\nkind: Widget\nmetadata: {name: x}\n"
    assert load(text, crds=[WIDGET])[0][0]["metadata"] == {"name": "x"}


@pytest.mark.parametrize("field", ["annotations", "labels", "matchLabels", "nodeSelector", "data"])
def test_null_maps_become_empty(field):
    text = POD + f"metadata: {{namespace: a, {field}: }}\nspec: [{{x: {{{field}: ~}}}}]\n"
    (found,), _ = load(text)
    assert found["metadata"][field] == {}
    assert found["spec"] == [{"x": {field: {}}}]


def test_other_nulls_and_lists_of_lists_stay():
    (found,), _ = load(POD + "metadata:\nspec: {x: , y: [[{labels: }]]}\n")
    assert found["spec"] == {"x": None, "true": [[{"labels": None}]]}


def test_the_given_object_is_left_as_it_is():
    data = {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": None}, "spec": {"a": [1.0]}}
    before = copy.deepcopy(data)
    assert complete(data, NO_KINDS)["metadata"] == {"labels": {}, "namespace": "default"}
    assert data == before


def test_a_complete_object_is_not_copied():
    data = {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "a", "labels": {}}}
    assert complete(data, NO_KINDS) is data


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        ("just text\n", ("KV020", "<stdin>:1:1")),
        ("- a\n", ("KV020", "<stdin>:1:1")),
        ("kind: Pod\n", ("KV021", "<stdin>:1:1")),
        ("apiVersion: v1\n", ("KV022", "<stdin>:1:1")),
        ("apiVersion: v1\nkind: ''\n", ("KV022", "<stdin>:1:1")),
        ("apiVersion: v1\nkind: 5\n", ("KV022", "<stdin>:2:1")),
        ("kind: Pod\napiVersion: 1\n", ("KV021", "<stdin>:2:1")),
        ("kind: Pod\napiVersion: a/b/c\n", ("KV021", "<stdin>:2:1")),
    ],
)
def test_objects_without_a_type_are_refused(text, remark):
    assert load(text) == ([], [remark])


def test_good_resources_beside_bad_ones_are_kept():
    found, remarks = load(POD + "---\nkind: x\n---\na: [\n---\n" + POD)
    assert len(found) == 2
    assert [code for code, _ in remarks] == ["KV006", "KV021"]


def test_all_numbers_are_floats():
    (found,), _ = load(POD + "spec: {a: 9007199254740993, b: [1]}\n")
    assert found["spec"] == {"a": 9007199254740992.0, "b": [1.0]}
    assert found["spec"]["b"][0].__class__ is float


# Definitions of custom resources: what is one, and what is told of files that hold none.

DEFINITIONS_WIDGET = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
"""
DEFINITIONS_POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
CHOICES = "choices: [a]\n"


@pytest.fixture
def ask(tmp_path):
    def load(path, **files):
        for name, text in files.items():
            (tmp_path / f"{name}.yaml").write_text(text)
        found, said = load_definitions([str(tmp_path / path)])
        told = [(one.code, one.severity.value, one.location.line, one.message) for one in said]
        return [one.data["spec"]["names"] for one in found], told

    return load


def test_a_definition_is_found_beside_other_objects_of_an_installation(ask):
    names, told = ask("all.yaml", all=f"{DEFINITIONS_POD}---\n{DEFINITIONS_WIDGET}")
    assert names == [{"kind": "Widget", "plural": "widgets"}]
    assert told == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [(DEFINITIONS_POD, "Pod (v1)"), (CHOICES, "a mapping without `kind`"), ("[a]", "a list")],
)
def test_a_file_without_definition_is_an_error(ask, text, shown):
    names, ((code, severity, line, message),) = ask("it.yaml", it=text)
    assert (names, code, severity, line) == ([], "KV075", "error", 1)
    assert message == f"expected a CustomResourceDefinition, found {shown}"


def test_in_a_folder_other_files_are_left_out(ask):
    names, told = ask("", crd=DEFINITIONS_WIDGET, pod=DEFINITIONS_POD)
    assert len(names) == 1
    assert [code for code, *_ in told] == ["KV028"]


def test_a_folder_without_definition_is_an_error(ask):
    _, told = ask("", pod=DEFINITIONS_POD)
    assert [(code, severity) for code, severity, *_ in told][-1] == ("KV026", "error")


def test_a_definition_of_no_kind_is_an_error(ask):
    _, told = ask("crd.yaml", crd=DEFINITIONS_WIDGET.replace("kind: Widget, ", ""))
    assert told == [
        (
            "KV076",
            "error",
            6,
            "the CustomResourceDefinition defines no kind: `spec.names.kind` is missing",
        )
    ]


# Payloads out of files.

JSON = PayloadMode.JSON


def read(name, text, mode=JSON):
    found, said = read_payloads([(mode, Source(name, text))])
    return [one.data for one in found], [one.code for one in said]


def test_numbers_of_json_are_doubles_and_those_of_yaml_are_not():
    for name, kind in (("p.json", float), ("p.yaml", int)):
        ((data,), said) = read(name, '{"a": 1}')
        assert data["a"].__class__ is kind
        assert not said


@pytest.mark.parametrize(
    ("name", "text", "mode"),
    [
        ("p.txt", "{}", JSON),
        ("p.json", "[1]", JSON),
        ("p.yaml", "a: 1\n---\nb: 2", JSON),
        ("p.yaml", "a: 1", PayloadMode.HTTP),
    ],
)
def test_what_cannot_be_used_is_told(name, text, mode):
    found, codes = read(name, text, mode)
    assert not found
    assert "KV152" in codes or "KV006" in codes


POLICY = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: a}\n"
SORTING_POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
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
    found = sort(
        POLICIES, a=POLICY, b=f"{SORTING_POD}---\n{VALUES}", c="- x\n", kustomization=VALUES
    )
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
    assert sort(POLICIES, named=True, a=SORTING_POD, b=VALUES) == (2, [])


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
        (POLICIES, SORTING_POD, "policy"),
        (EXCEPTIONS, POLICY, "policy exception"),
        (OBJECTS, VALUES, "resource"),
    ],
)
def test_a_folder_with_nothing_of_the_sort_is_an_error(sort, wanted, text, noun):
    _, said = sort(wanted, a=text)
    assert said[-1] == ("KV026", f"no {noun} in this folder")


def test_resources_beside_a_kustomization_are_told(sort):
    kept, said = sort(OBJECTS, a=SORTING_POD, kustomization="resources: [a.yaml]\n")
    assert (kept, [code for code, _ in said]) == (1, ["KV028", "KV025"])


PATCH = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec: {}\n"


@pytest.mark.parametrize(
    "field", ["patches: [{path: b.yaml}]", "patchesStrategicMerge: [./b.yaml, other.yaml]"]
)
def test_patches_of_a_kustomization_are_not_policies(sort, field):
    kept, said = sort(POLICIES, a=POLICY, b=PATCH, kustomization=f"resources: [a.yaml]\n{field}\n")
    assert kept == 1
    assert [code for code, _ in said] == ["KV028", "KV028", "KV025"]
    # without patches, the policies are those of the cluster
    kept, said = sort(POLICIES, a=POLICY, b=PATCH, kustomization="resources: [a.yaml, b.yaml]\n")
    assert (kept, [code for code, _ in said]) == (2, ["KV028"])


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
        ("no policy in this folder, but Test (cli.kyverno.io/v1alpha1): `kyvsim test` runs it"),
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
