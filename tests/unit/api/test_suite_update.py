import pytest

from kyvsim.api import suite
from kyvsim.api.suite_files import UpdateError, plan_updates, updated
from kyvsim.kubernetes.objects import object_key
from kyvsim.suite.compare import ExpectedFile

MANIFEST = """
apiVersion: cli.kyverno.io/v1alpha1
kind: Test
metadata: {name: case}
policies: [policy.yaml]
resources: [resources.yaml]
results:
"""
POLICY = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: mark}
spec:
  rules:
    - name: mark
      match: {any: [{resources: {kinds: [ConfigMap]}}]}
      mutate: {patchStrategicMerge: {metadata: {labels: {marked: "yes"}}}}
"""
RESOURCES = """
apiVersion: v1
kind: ConfigMap
metadata: {name: one}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: two}
"""
EXPECTED = """\
# the first
apiVersion: v1
kind: ConfigMap
metadata: {name: one, labels: {marked: "no"}}
--- # between
apiVersion: v1
kind: Secret
metadata: {name: one}   # not ours
"""


def config(name, **fields):
    metadata = {"name": name, "namespace": "default", **fields}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def wanted(*objects):
    return ExpectedFile({object_key(obj): obj for obj in objects}, ())


@pytest.fixture
def planned(tmp_path, monkeypatch):
    """Return the updates of a folder with these rows and this expected file."""

    def plan(*rows, expected=EXPECTED, policy=POLICY):
        monkeypatch.chdir(tmp_path)
        texts = {"policy.yaml": policy, "resources.yaml": RESOURCES, "expected.yaml": expected}
        texts["kyverno-test.yaml"] = MANIFEST + "".join(f"  - {{{row}}}\n" for row in rows)
        for name, text in texts.items():
            (tmp_path / name).write_text(text)
        options = suite.Reading(goldens=True)
        return plan_updates(suite.run_tests(suite.SuiteRun((".",), options=options)))

    return plan


ROW = "policy: mark, rule: mark, kind: ConfigMap, patchedResources: expected.yaml, result: "


def test_what_differs_is_replaced_and_the_rest_stays(planned):
    (file,), problems = planned(f"{ROW}pass, resources: [one]")
    assert problems == ()
    assert (file.path, file.folder) == ("expected.yaml", "")
    assert file.objects == ("default/ConfigMap/one",)
    head, _, tail = file.text.partition("--- # between\n")
    assert head.startswith("# the first\napiVersion: v1\n")
    assert 'marked: "yes"' in head
    assert tail == EXPECTED.partition("--- # between\n")[2]


def test_an_object_that_the_file_lacks_is_added(planned):
    (file,), _ = planned(f"{ROW}pass, resources: [two]")
    assert file.text.startswith(f"{EXPECTED}---\napiVersion: v1\n")
    assert file.objects == ("default/ConfigMap/two",)


def test_a_row_with_another_verdict_writes_nothing(planned):
    for result in ("fail", "skip"):
        assert planned(f"{ROW}{result}, resources: [one, two]") == ((), ())


def test_what_is_as_expected_is_not_written(planned):
    right = EXPECTED.replace('"no"', '"yes"')
    assert planned(f"{ROW}pass, resources: [one]", expected=right) == ((), ())


def test_without_being_asked_rows_keep_no_objects(planned):
    planned(f"{ROW}pass, resources: [one]")
    (outcome,) = suite.run_tests(suite.SuiteRun((".",))).manifests
    assert outcome.rows
    assert not any(row.goldens for row in outcome.rows)


def test_rows_that_disagree_write_nothing(planned):
    second = POLICY.replace("name: mark}\nspec", "name: again}\nspec").replace('"yes"', '"twice"')
    rows = [
        f"{ROW}pass, resources: [one]",
        f"{ROW}pass, resources: [one]".replace("mark,", "again,", 1),
    ]
    files, problems = planned(*rows, policy=f"{POLICY}---{second}")
    assert files == ()
    assert problems == ("expected.yaml: rows expect v1/ConfigMap/default/one in different states",)


LIST = """\
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: one}}
"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"apiVersion": "v1"}', "it is JSON"),
        (LIST, "is an item of a List"),
        ("a: [", "it cannot be read"),
        ("a: b\n---x\n", "begins with ---"),
    ],
)
def test_a_file_that_would_lose_something_is_refused(tmp_path, text, reason):
    path = tmp_path / "expected.yaml"
    path.write_text(text)
    with pytest.raises(UpdateError, match=reason):
        updated(str(path), wanted(config("one")))


def test_what_is_no_single_file_is_refused(tmp_path):
    (tmp_path / "link.yaml").symlink_to(tmp_path / "other.yaml")
    for name in ("", "link.yaml", "*.yaml"):
        with pytest.raises(UpdateError):
            updated(str(tmp_path / name), wanted(config("one")))


def test_line_ends_stay(tmp_path):
    path = tmp_path / "expected.yaml"
    path.write_bytes(EXPECTED.replace("\n", "\r\n").encode())
    text, changed = updated(str(path), wanted(config("one")))
    assert changed
    assert text.count("\n") == text.count("\r\n")
    assert "not ours\r\n" in text


def test_a_list_beside_the_object_stays(tmp_path):
    path = tmp_path / "expected.yaml"
    path.write_text(LIST)
    text, _ = updated(str(path), wanted(config("two")))
    assert text.startswith(f"{LIST}---\n")
