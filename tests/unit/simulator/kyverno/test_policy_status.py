"""What policies say of themselves once they act."""

import pytest

from kyvsim.languages.classic.admission import written_rule

DENY = {"validate": {"message": "no", "deny": {}}}


@pytest.fixture
def status(cluster):
    return lambda: cluster.sim.store.get("kyverno.io/v1", "ClusterPolicy", "", "p")["status"]


def test_a_policy_says_that_it_is_ready_and_since_when(put, cluster_policy, status):
    put(cluster_policy("p", DENY))
    assert status()["conditions"] == [
        {
            "lastTransitionTime": "2026-01-01T00:00:00Z",
            "message": "Ready",
            "reason": "Succeeded",
            "status": "True",
            "type": "Ready",
        }
    ]


def test_readiness_that_stays_keeps_its_time(put, cluster, cluster_policy, status, admin):
    put(cluster_policy("p", DENY))
    cluster.sim.scheduler.advance(60)
    admin.update(cluster_policy("p", DENY, DENY))
    cluster.sim.scheduler.settle(30)
    assert status()["rulecount"]["validate"] == 2
    assert status()["conditions"][0]["lastTransitionTime"] == "2026-01-01T00:00:00Z"


def test_change_of_a_policy_that_acts_counts_before_a_new_policy_would(
    put, cluster, cluster_policy, status, admin
):
    put(cluster_policy("p", DENY))
    admin.update(cluster_policy("p", DENY, DENY))
    cluster.sim.scheduler.advance(0.04)
    assert status()["rulecount"]["validate"] == 2
    admin.create({**cluster_policy("q", DENY)})
    cluster.sim.scheduler.advance(0.04)
    assert cluster.kyverno.cache.get("q") is None


def test_derived_rules_are_listed_and_not_counted(put, cluster_policy, status):
    pattern = {"message": "m", "pattern": {"spec": {"hostPID": False}}}
    put(cluster_policy("p", {"validate": pattern}))
    names = [rule["name"] for rule in status()["autogen"]["rules"]]
    assert names == ["autogen-rule-0", "autogen-cronjob-rule-0"]
    assert status()["rulecount"] == {"generate": 0, "mutate": 0, "validate": 1, "verifyimages": 0}


def test_rules_are_written_with_the_empty_fields_of_their_type():
    rule = {"match": {"any": [{"roles": ["r"]}]}, "context": [{"apiCall": {"jmesPath": "@"}}]}
    assert written_rule(rule) == {
        "match": {"any": [{"resources": {}, "roles": ["r"]}], "resources": {}},
        "context": [{"apiCall": {"jmesPath": "@", "urlPath": ""}}],
    }
