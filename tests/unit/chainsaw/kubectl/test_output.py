"""What kubectl prints: tables, ages, JSONPath."""

from datetime import UTC, datetime

import pytest

from kyvsim.chainsaw.errors import UnsupportedError
from kyvsim.chainsaw.kubectl.output import (
    JsonPathError,
    age,
    print_jsonpath,
    print_table,
    shown_seconds,
)

# Tables of `kubectl get`, by kind.

NOW = datetime(2024, 1, 1, 0, 1, tzinfo=UTC)
META = {"name": "x", "namespace": "n", "creationTimestamp": "2024-01-01T00:00:00Z"}
POLICY = {"spec": {"admission": True, "background": False}}
READY = {"conditions": [{"type": "Ready", "status": "True", "message": "Ready"}]}
WAITING = [{"ready": False, "restartCount": 2, "state": {"waiting": {"reason": "ErrImagePull"}}}]
PEERS = {"podSelector": {"matchLabels": {"b": "2", "a": "1"}}}
COUNTS = {"pass": 1, "fail": 2, "warn": 0, "error": 0, "skip": 3}


def obj(api_version, kind, **fields):
    return {"apiVersion": api_version, "kind": kind, "metadata": META, **fields}


@pytest.mark.parametrize(
    ("shown", "cells"),
    [
        (obj("v1", "Secret", type="Opaque", data={"a": "b"}), "x Opaque 1 60s"),
        (
            obj(
                "v1",
                "Pod",
                spec={"containers": [{}]},
                status={"phase": "Pending", "containerStatuses": WAITING},
            ),
            "x 0/1 ErrImagePull 2 60s",
        ),
        (
            obj("apps/v1", "Deployment", spec={"replicas": 2}, status={"readyReplicas": 1}),
            "x 1/2 0 0 60s",
        ),
        (obj("apps/v1", "ReplicaSet", spec={"replicas": 2}, status={"replicas": 1}), "x 2 1 0 60s"),
        (obj("networking.k8s.io/v1", "NetworkPolicy", spec=PEERS), "x a=1,b=2 60s"),
        (
            obj(
                "rbac.authorization.k8s.io/v1",
                "RoleBinding",
                roleRef={"kind": "ClusterRole", "name": "view"},
            ),
            "x ClusterRole/view 60s",
        ),
        (obj("rbac.authorization.k8s.io/v1", "Role"), "x 2024-01-01T00:00:00Z"),
        (obj("kyverno.io/v1", "Policy", **POLICY, status=READY), "x true false True 60s Ready"),
        (
            obj("wgpolicyk8s.io/v1alpha2", "PolicyReport", scope={"kind": "Pod"}, summary=COUNTS),
            "x Pod 1 2 0 0 3 60s",
        ),
    ],
)
def test_columns_are_those_of_kubectl(shown, cells, cluster):
    text = print_table([shown], cluster.sim.store, NOW, namespaces=False, headings=False)
    assert text.split() == cells.split()


def test_columns_are_as_wide_as_their_widest_cell_and_three_blanks(cluster):
    longer = obj("v1", "ConfigMap") | {"metadata": {**META, "name": "longer-name"}}
    text = print_table(
        [obj("v1", "ConfigMap", data={"a": "b"}), longer],
        cluster.sim.store,
        NOW,
        namespaces=True,
        headings=True,
    )
    assert text == (
        "NAMESPACE   NAME          DATA   AGE\n"
        "n           x             1      60s\n"
        "n           longer-name   0      60s\n"
    )


def test_table_of_an_unknown_layout_is_not_simulated(cluster):
    with pytest.raises(UnsupportedError, match="the table of `kubectl get` for a Service"):
        print_table([obj("v1", "Service")], cluster.sim.store, NOW, namespaces=False, headings=True)


# Times as kubectl shows them.

LATER = datetime(2024, 1, 1, 0, 2, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (150, "2m30s"),
        (600, "10m"),
        (10799, "179m"),
        (10800, "3h"),
        (11000, "3h3m"),
        (30000, "8h"),
        (172800, "2d"),
        (180000, "2d2h"),
        (8 * 86400, "8d"),
        (731 * 86400, "2y1d"),
        (3000 * 86400, "8y"),
    ],
)
def test_seconds_are_shown_in_one_or_two_units(seconds, text):
    assert shown_seconds(seconds) == text


@pytest.mark.parametrize(
    ("stamp", "text"),
    [
        ("2024-01-01T00:00:00Z", "2m30s"),
        ("2024-01-01T00:02:00.500000Z", "29s"),
        ("", "<unknown>"),
    ],
)
def test_age_is_counted_from_a_stamp(stamp, text):
    assert age(stamp, LATER) == text


DATA = {
    "metadata": {"name": "a", "labels": {"app.io/x": "y"}},
    "items": [{"n": "one", "v": 1}, {"n": "two", "v": 2}],
    "list": [],
    "flag": True,
}
PATHS = [
    ("{.metadata.name}", "a"),
    ("{$.metadata.name}", "a"),
    ("name: {.metadata.name}!", "name: a!"),
    ("{.metadata.labels.app\\.io/x}", "y"),
    ("{.metadata.labels['app.io/x']}", "y"),
    ("{.items[*].n}", "one two"),
    ("{.items[0].n}{.items[-1].n}", "onetwo"),
    ("{.items[0:1].n}", "one"),
    ('{.items[?(@.n=="two")].v}', "2"),
    ("{.items[?(@.v!=2)].n}", "one"),
    ('{range .items[*]}{.n}{"\\n"}{end}.', "one\ntwo\n."),
    ("{.missing.further}", ""),
    ("{.flag}", "true"),
    ("{.items[0]}", '{"n":"one","v":1}'),
]


@pytest.mark.parametrize(("template", "text"), PATHS)
def test_template_prints(template, text):
    assert print_jsonpath(template, DATA) == text


@pytest.mark.parametrize(
    "template", ["{.items[7]}", "{..n}", "{.items[a b]}", "{range .items[*]}x"]
)
def test_what_is_no_template_is_an_error(template):
    with pytest.raises(JsonPathError):
        print_jsonpath(template, DATA)
