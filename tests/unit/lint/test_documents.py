from datetime import UTC, datetime

import pytest

from kyvsim.lint.documents import (
    deprecated_versions,
    duplicate_names,
    expired_exceptions,
    unreadable_schedules,
)
from kyvsim.model.source import Document, Location


def document(kind="ClusterPolicy", name="p", number=0, version="kyverno.io/v1", namespace=""):
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    data = {"apiVersion": version, "kind": kind, "metadata": metadata}
    return Document(data, "p.yaml", number, lambda path: Location("p.yaml", number + 1, len(path)))


def test_a_name_that_stands_twice():
    first, second = document(), document(number=4, version="kyverno.io/v2beta1")
    (found,) = duplicate_names([first, second])
    assert (found.code, found.location) == ("KV208", Location("p.yaml", 5, 2))
    assert found.message.startswith("duplicate ClusterPolicy `p`, also defined in p.yaml:1:0: ")


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
    now = datetime(2026, 2, 1, tzinfo=UTC)
    (found,) = expired_exceptions([excepting("2026-01-31T08:00:00Z")], now)
    assert (found.code, found.location.column) == ("KV219", 2)
    assert found.message.endswith("it expired at 2026-01-31T08:00:00Z")


def test_exceptions_that_last():
    now = datetime(2026, 2, 1, tzinfo=UTC)
    lasting = [
        excepting("2026-02-02T08:00:00Z"),
        excepting("soon"),
        excepting(None),
        excepting("2026-01-31T08:00:00Z", version="kyverno.io/v2"),
    ]
    assert list(expired_exceptions(lasting, now)) == []


@pytest.mark.parametrize(
    ("kind", "schedule", "text"),
    [
        ("CleanupPolicy", "*/5 * * *", "it has 4 fields"),
        ("ClusterCleanupPolicy", "0 0 3 * * *", "it has 6 fields"),
        ("NamespacedDeletingPolicy", "0 25 * * *", "is not a schedule of cron"),
        ("ClusterPolicy", "x", ""),
        ("ClusterCleanupPolicy", "0 3 * * *", ""),
        ("ClusterCleanupPolicy", "@daily", ""),
        ("DeletingPolicy", 5, ""),
    ],
)
def test_schedules(kind, schedule, text):
    one = document(kind=kind)
    one = one._replace(data={**one.data, "spec": {"schedule": schedule}})
    found = [(each.code, text in each.message) for each in unreadable_schedules([one])]
    assert found == ([("KV234", True)] if text else [])
