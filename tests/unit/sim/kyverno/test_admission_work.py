"""Work of the webhooks, counted: one look at a request serves all policies and webhooks."""

from collections import Counter

import pytest

from kyvsim.sim.kyverno import admission
from kyvsim.sim.server import authorizer

_LABELLED = {"pattern": {"metadata": {"labels": {"team": "?*"}}}, "message": "team is missing"}
_AUDITED = {"validate": {**_LABELLED, "failureAction": "Audit"}}


@pytest.fixture
def calls(monkeypatch):
    """Return how often requests are made for rules, opened, and roles are looked for."""
    found = Counter()
    for module, name in (
        (admission, "admission_request"),
        (admission, "open_request"),
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
