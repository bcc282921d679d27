"""The rules of webhooks: what a wider entry takes, and the order in which they are written."""

import pytest

from kyvsim.simulator.webhook_configurations import WebhookTarget, in_order, rules_of


def entry(resource, operation="CREATE", *, group="", version="v1", scope="Namespaced"):
    name, _, part = resource.partition("/")
    return WebhookTarget(group, version, name, part, scope, operation)


def shown(rules):
    return [(one["resources"], one["operations"]) for one in rules]


def test_resources_with_the_same_operations_share_a_rule():
    found = [entry("secrets"), entry("configmaps"), entry("secrets", "UPDATE")]
    assert shown(rules_of(found)) == [
        (["configmaps"], ["CREATE"]),
        (["secrets"], ["CREATE", "UPDATE"]),
    ]


def test_ephemeral_containers_come_with_pods():
    assert shown(rules_of([entry("pods")])) == [(["pods", "pods/ephemeralcontainers"], ["CREATE"])]
    assert shown(rules_of([entry("pods", group="apps")])) == [(["pods"], ["CREATE"])]


@pytest.mark.parametrize(
    ("wide", "narrow", "covered"),
    [
        ("*/*", "pods/exec", True),
        ("*/*", "secrets", True),
        ("*", "secrets", True),
        ("pods/*", "pods/exec", True),
        ("*/scale", "deployments/scale", True),
        ("pods/*", "pods", False),
        ("*", "pods/exec", False),
    ],
)
def test_what_a_wider_entry_takes(wide, narrow, covered):
    found = rules_of([entry(wide, group="*", version="*", scope="*"), entry(narrow)])
    assert (len(found) == 1) is covered


def test_another_operation_is_not_taken():
    found = [entry("*", group="*", version="*", scope="*"), entry("secrets", "DELETE")]
    assert len(rules_of(found)) == 2


def test_rules_stand_once_with_sorted_lists_and_shorter_ones_first():
    rule = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["UPDATE", "CREATE"]}
    found = in_order([{**rule, "resources": ["b", "a"]}, {**rule, "resources": ["z"]}] * 2)
    assert shown(found) == [(["z"], ["CREATE", "UPDATE"]), (["a", "b"], ["CREATE", "UPDATE"])]
