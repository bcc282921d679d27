"""The grace period of the Pods of a test."""

import pytest

from kyvsim.chainsaw.operations import with_grace_period

SET = {"terminationGracePeriodSeconds": 5}


@pytest.mark.parametrize(
    ("api_version", "kind", "spec", "changed"),
    [
        ("v1", "Pod", {}, SET),
        ("apps/v1", "Deployment", {"template": {"spec": {}}}, {"template": {"spec": SET}}),
        (
            "batch/v1",
            "CronJob",
            {"jobTemplate": {"spec": {"template": {"spec": {"a": 1}}}}},
            {"jobTemplate": {"spec": {"template": {"spec": {"a": 1, **SET}}}}},
        ),
        ("apps/v1", "Deployment", {"replicas": 1}, {"replicas": 1}),
        ("v1", "ConfigMap", {}, {}),
    ],
)
def test_grace_period_is_set_where_pods_are_specified(api_version, kind, spec, changed):
    obj = {"apiVersion": api_version, "kind": kind, "spec": spec}
    assert with_grace_period(obj, 5.0)["spec"] == changed


@pytest.mark.parametrize("seconds", [None, 0.0])
def test_no_grace_period_changes_nothing(seconds):
    obj = {"apiVersion": "v1", "kind": "Pod", "spec": {}}
    assert with_grace_period(obj, seconds) is obj
