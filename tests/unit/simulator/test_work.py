"""What a story costs, in calls: each further object costs what the one before it did."""

import sys

import pytest

_RULES = {
    "no-secret-name": {"pattern": {"metadata": {"name": "!secret*"}}},
    "team": {"pattern": {"metadata": {"labels": {"team": "?*"}}}},
}
_CALLS_FOR_A_POD = 7000
"""Two policies: its admission, its events and reports, a scan, and its start on a node."""


def _calls(function):
    """Return how many functions a call enters."""
    found = 0

    def seen(_frame, event, _argument):
        nonlocal found
        found += event == "call"

    sys.setprofile(seen)
    try:
        function()
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.slow
def test_a_further_object_costs_what_the_one_before_it_did(
    cluster, put, admin, cluster_policy, pod
):
    audited = {"failureAction": "Audit", "message": "no"}
    rules = {name: {"validate": {**pattern, **audited}} for name, pattern in _RULES.items()}
    put(*(cluster_policy(name, rule, background=True) for name, rule in rules.items()))
    advance, names = cluster.sim.scheduler.advance, (f"pod-{number:04}" for number in range(32))

    def create_eight():
        for _ in range(8):
            assert admin.create(pod(next(names))).ok
            advance(0.1)
        advance(120)

    create_eight()
    create_eight()
    second, third = _calls(create_eight), _calls(create_eight)
    assert third < 1.2 * second
    assert third < 8 * _CALLS_FOR_A_POD
    assert len(cluster.sim.store.list("wgpolicyk8s.io/v1alpha2", "PolicyReport", "")) == 32
