"""Work of the webhooks, counted: one look at a request serves all policies and webhooks."""

from collections import Counter

import pytest

from kyvsim.engine import policy
from kyvsim.simulator.admission import classic
from kyvsim.simulator.api_server import authorizer

_LABELLED = {"pattern": {"metadata": {"labels": {"team": "?*"}}}, "message": "team is missing"}
_AUDITED = {"validate": {**_LABELLED, "failureAction": "Audit"}}


@pytest.fixture
def calls(monkeypatch):
    """Return how often requests are made for rules, opened, and roles are looked for."""
    found = Counter()
    for module, name in (
        (classic, "admission_request"),
        (classic, "open_request"),
        (authorizer, "_bound_roles"),
    ):
        real = getattr(module, name)

        def counted(*args, _real=real, _name=name):
            found[_name] += 1
            return _real(*args)

        monkeypatch.setattr(module, name, counted)
    return found


def test_a_request_is_opened_once_for_all_policies(put, admin, cluster_policy, pod, calls):
    put(*(cluster_policy(f"policy-{number}", _AUDITED) for number in range(4)))
    assert admin.create(pod("first")).ok
    calls.clear()
    assert admin.create(pod("second")).ok
    # One for the webhooks that mutate, one for those that validate what they left.
    assert calls["admission_request"] == 2
    assert calls["open_request"] == 1
    assert calls["_bound_roles"] == 0


def test_what_passes_is_shown_without_evaluating_rules(
    cluster, put, admin, cluster_policy, pod, monkeypatch
):
    put(cluster_policy("labelled", _AUDITED, background=True))
    evaluated = []
    real = policy.evaluate_rule

    def counted(rule, given, **options):
        evaluated.append(given.request.subject["metadata"]["name"])
        return real(rule, given, **options)

    monkeypatch.setattr(policy, "evaluate_rule", counted)
    for number in range(20):
        labels = {"team": "a"} if number != 18 else None
        assert admin.create(pod(f"pod-{number:02}", labels=labels)).ok
    cluster.sim.scheduler.advance(120)
    # The first is evaluated when it is admitted; one that fails also when it is scanned.
    assert (evaluated.count("pod-00"), evaluated.count("pod-18")) == (1, 2)
    assert evaluated.count("pod-17") == evaluated.count("pod-19") == 0
    reports = cluster.sim.store.list("wgpolicyk8s.io/v1alpha2", "PolicyReport", "")
    entries = {one["scope"]["name"]: one["results"] for one in reports}
    assert len(entries) == 20
    assert entries["pod-18"][0]["result"] == "fail"
    assert entries["pod-00"] == entries["pod-19"]
    assert entries["pod-19"][0]["result"] == "pass"
