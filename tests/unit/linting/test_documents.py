from datetime import UTC, datetime

import pytest

from kyvsim.api.lint import lint
from kyvsim.linting.documents import (
    deprecated_versions,
    duplicate_names,
    expired_exceptions,
    manifest_problems,
    refused_contexts,
    unreadable_schedules,
)
from kyvsim.load.edits import with_edits
from kyvsim.model.source import Document, Location

NOW = datetime(2026, 2, 1, tzinfo=UTC)


def document(kind="ClusterPolicy", name="p", number=0, version="kyverno.io/v1", namespace=""):
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    data = {"apiVersion": version, "kind": kind, "metadata": metadata}
    return Document(data, "p.yaml", number, lambda path: Location("p.yaml", number + 1, len(path)))


def test_a_name_that_stands_twice():
    first, second = document(), document(number=4, version="kyverno.io/v2beta1")
    (found,) = duplicate_names([first, second])
    assert (found.code, found.location) == ("KV208", Location("p.yaml", 5, 2))
    assert found.message.startswith("duplicate ClusterPolicy `p`, also defined in p.yaml:1:0: ")


@pytest.mark.parametrize("whole_at", [0, 1])
@pytest.mark.parametrize(
    ("kind", "part", "field"),
    [
        ("ClusterPolicy", {"webhookConfiguration": {}}, "rules"),
        ("ValidatingPolicy", {"evaluation": {}}, "matchConstraints"),
    ],
)
def test_a_patch_beside_its_policy(kind, part, field, whole_at):
    pair = [document(kind), document(kind, number=1)]
    for one in pair:
        one.data["spec"] = part
    pair[whole_at].data["spec"] = {**part, field: []}
    (found,) = duplicate_names(pair)
    assert found.location == Location("p.yaml", 2 - whole_at, 2)
    assert found.message == (
        f"this is only a part of the {kind} `p` in p.yaml:{whole_at + 1}:0: a patch is listed "
        "under `patches` of a kustomization, not under `resources`"
    )


def test_two_parts_of_a_policy():
    pair = [document(), document(number=1)]
    for one in pair:
        one.data["spec"] = {"webhookConfiguration": {}}
    (found,) = duplicate_names(pair)
    assert found.message.startswith("duplicate ClusterPolicy `p`")


def test_names_that_are_not_the_same():
    others = [
        document(name="q", number=1),
        document(kind="Policy", number=2),
        document(kind="Policy", number=3, namespace="a"),
        document(version="policies.kyverno.io/v1", number=4),
        document(),  # the same document, read again
    ]
    assert list(duplicate_names([document(), *others])) == []


def test_versions_that_are_deprecated():
    old = document("PolicyException", version="kyverno.io/v2beta1")
    (found,) = deprecated_versions([old])
    assert (found.code, found.location.column) == ("KV203", 1)
    assert found.message == "kyverno.io/v2beta1 of PolicyException is deprecated: use kyverno.io/v2"


def test_versions_that_are_not():
    fine = [document(), document(version="kyverno.io/v2beta1"), document("PolicyException")]
    assert list(deprecated_versions(fine)) == []


def excepting(expires, version="policies.kyverno.io/v1"):
    one = document("PolicyException", version=version)
    return one._replace(data={**one.data, "spec": {"expiresAt": expires}})


def test_exceptions_expire():
    (found,) = expired_exceptions([excepting("2026-01-31T08:00:00Z")], NOW)
    assert (found.code, found.location.column) == ("KV219", 2)
    assert found.message.endswith("it expired at 2026-01-31T08:00:00Z")


def test_exceptions_that_last():
    lasting = [
        excepting("2026-02-02T08:00:00Z"),
        excepting("soon"),
        excepting(None),
        excepting("2026-01-31T08:00:00Z", version="kyverno.io/v2"),
    ]
    assert list(expired_exceptions(lasting, NOW)) == []


@pytest.mark.parametrize(
    ("kind", "schedule", "text"),
    [
        ("CleanupPolicy", "*/5 * * *", "it has 4 fields"),
        ("ClusterCleanupPolicy", "0 0 3 * * *", "it has 6 fields"),
        ("NamespacedDeletingPolicy", "0 25 * * *", "the hour is `25`, but it must be from 0 to 23"),
        ("ClusterPolicy", "x", ""),
        ("ClusterCleanupPolicy", "0 3 * * *", ""),
        ("ClusterCleanupPolicy", "@daily", ""),
        ("DeletingPolicy", 5, ""),
        ("DeletingPolicy", "0 0 31 4,6 *", "never comes"),
        ("DeletingPolicy", "0 0 29 2 *", ""),
    ],
)
def test_schedules(kind, schedule, text):
    one = document(kind=kind)
    one = one._replace(data={**one.data, "spec": {"schedule": schedule}})
    found = [(each.code, text in each.message) for each in unreadable_schedules([one], NOW)]
    assert found == ([("KV234", True)] if text else [])


TTL = "cleanup.kyverno.io/ttl"


@pytest.mark.parametrize(
    ("metadata", "found"),
    [
        ({"labels": {"a": True}}, ["KV327"]),
        ({"annotations": {"a": 1.5, "b": "1.5"}}, ["KV327"]),
        ({"annotations": {TTL: "2h"}}, ["KV321"]),
        ({"labels": {TTL: "tomorrow"}}, ["KV345"]),
        ({"labels": {TTL: "2d", "a": None}, "annotations": None}, []),
        ({"labels": "a"}, []),
    ],
)
def test_labels_and_annotations_of_manifests(metadata, found):
    one = document("ConfigMap", version="v1")
    one = one._replace(data={**one.data, "metadata": metadata})
    assert [problem.code for problem in manifest_problems([one])] == found


def test_labels_of_pod_templates():
    template = {"metadata": {"labels": {"a": 1, TTL: "tomorrow"}}}
    job = {"jobTemplate": {"spec": {"template": template}}}
    given = [
        document(kind)._replace(data={"apiVersion": "v1", "kind": kind, "spec": spec})
        for kind, spec in (("Deployment", {"template": template}), ("CronJob", job), ("Pod", []))
    ]
    assert [problem.code for problem in manifest_problems(given)] == ["KV327", "KV327"]
    # Pods of a template have the label, but no lifetime is expected of a template itself.


def test_lint_of_a_manifest(tmp_path):
    text = "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n  labels:\n    team: yes\n"
    file = tmp_path / "service.yaml"
    file.write_text(text)
    findings = lint([str(file)])
    ((code, place, fix),) = ((one.code, one.location, one.fix) for one in findings.diagnostics)
    assert (code, place.line, place.column) == ("KV327", 6, 5)
    assert with_edits(text, fix.edits) == text.replace("yes", '"yes"')
    shown = [fact.text for fact in findings.ending.facts]
    assert "0 policy documents and 1 object checked" in shown
    crd = tmp_path / "crd.yaml"
    crd.write_text("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n")
    assert [one.code for one in lint([str(crd)]).diagnostics] == ["KV011"]


@pytest.mark.parametrize(
    ("kind", "entry", "reported"),
    [
        ("CleanupPolicy", {"name": "a", "configMap": {"name": "b"}}, True),
        ("ClusterCleanupPolicy", {"name": "a", "imageRegistry": {"reference": "b"}}, True),
        ("CleanupPolicy", {"name": "a", "apiCall": {"urlPath": "/api/v1/pods"}}, False),
        ("CleanupPolicy", None, False),
        ("CleanupPolicy", True, False),
        ("CleanupPolicy", "configMap", False),
        ("ClusterPolicy", {"name": "a", "configMap": {"name": "b"}}, False),
    ],
)
def test_contexts_of_cleanup_policies(kind, entry, reported):
    one = document(kind=kind)
    one.data["spec"] = {"context": [entry]}
    assert [found.code for found in refused_contexts([one])] == ["KV393"] * reported


@pytest.mark.parametrize(
    ("kind", "schedule", "found"),
    [
        ("CronJob", "* 3 * * *", ["KV381"]),
        ("DeletingPolicy", "* */6 * * *", ["KV381"]),
        ("CronJob", "*/1 3,15 * * *", ["KV381"]),
        ("CleanupPolicy", "* * 1 * *", ["KV381"]),
        ("CronJob", "* * * * 0", ["KV381"]),
        ("CronJob", "*/45 * * * *", ["KV381"]),
        ("CronJob", "0 */16 * * *", ["KV381"]),
        ("CronJob", "*/90 * * * *", ["KV381"]),
        ("DeletingPolicy", "*/90 * * * *", ["KV234"]),
        ("CronJob", "* 9-17 * * 1-5", []),
        ("CronJob", "* * * * *", []),
        ("CronJob", "* * * * 1-5", []),
        ("CronJob", "0 */6 * * *", []),
        ("CronJob", "*/30 */1 * * *", []),
    ],
)
def test_schedules_with_other_times_than_they_show(kind, schedule, found):
    one = document(kind=kind)
    one = one._replace(data={**one.data, "spec": {"schedule": schedule}})
    assert [each.code for each in unreadable_schedules([one], NOW)] == found
