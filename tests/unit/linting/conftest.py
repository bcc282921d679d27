"""Policies made by hand, and what `lint` and its checks report about them."""

import json

import pytest

from kyvsim.api.lint import lint
from kyvsim.languages import READERS
from kyvsim.load.policy import load_policies
from kyvsim.model.source import Document, Location

PODS = {"any": [{"resources": {"kinds": ["Pod"]}}]}


def located(path):
    return Location("/".join(map(str, path)))


def policy_of(*rules, annotations=None, **spec):
    named = [{"name": f"r{n}", "match": PODS, **rule} for n, rule in enumerate(rules)]
    for rule in named:
        if not rule.keys() & {"mutate", "generate", "validate", "verifyImages"}:
            rule["validate"] = {"deny": {}}
    data = {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "p", "annotations": annotations or {}},
        "spec": {"rules": named, **spec},
    }
    (policy,), remarks = load_policies([Document(data, "p.yaml", 0, located)], READERS)
    assert remarks == ()
    return policy


@pytest.fixture
def remarks():
    """A function that returns code and path of the diagnostics of a check about rules."""

    def ask(give, *rules, **spec):
        policy = policy_of(*rules, **spec)
        return [(one.code, one.location.file, one.message) for one in give(policy)]

    return ask


@pytest.fixture
def written(tmp_path):
    """Return what gives codes and messages of what is said of a policy."""

    def ask(kind, spec):
        head = {"apiVersion": "policies.kyverno.io/v1", "kind": kind, "metadata": {"name": "p"}}
        file = tmp_path / "p.json"
        file.write_text(json.dumps({**head, "spec": spec}))
        return [(one.code, one.message) for one in lint([str(file)]).diagnostics]

    return ask
