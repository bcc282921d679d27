"""The kinds that rules declare to look up."""

import pytest
import yaml

from kyvsim.engine.world import ALL_KINDS
from kyvsim.languages import READERS
from kyvsim.languages.classic.lookups import looked_up_kinds
from kyvsim.load.documents import read_documents
from kyvsim.load.files import Source
from kyvsim.load.policy import load_policies


def looked_up(**rule):
    match = {"any": [{"resources": {"kinds": ["Pod"]}}]}
    spec = {"rules": [{"name": "r", "match": match, **rule}]}
    head = {"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {"name": "p"}}
    documents, _ = read_documents([Source("p.yaml", yaml.safe_dump({**head, "spec": spec}))])
    policies, _ = load_policies(documents, READERS)
    assert policies
    return looked_up_kinds(policies)


DENY = {"validate": {"message": "m", "deny": {}}}


def context(**entry):
    return {**DENY, "context": [{"name": "found", **entry}]}


def call(path):
    return context(apiCall={"urlPath": path})


def copies(**source):
    return {"generate": {"name": "a", "namespace": "b", **source}}


@pytest.mark.parametrize(
    ("rule", "kinds"),
    [
        (DENY, set()),
        (context(variable={"value": 1}), set()),
        (context(configMap={"name": "a", "namespace": "b"}), {"ConfigMap"}),
        (call("/api/v1/namespaces/{{ request.namespace }}/pods?limit=1"), {ALL_KINDS, "Pod"}),
        (call("/apis/apps/v1/deployments"), {ALL_KINDS, "Deployment"}),
        (call("/apis/example.com/v1/widgets"), {ALL_KINDS}),
        (call("/healthz"), {ALL_KINDS}),
        (
            copies(apiVersion="v1", kind="Secret", clone={"name": "a", "namespace": "c"}),
            {"Secret"},
        ),
        (copies(apiVersion="v1", kind="Secret", data={}), set()),
        (
            {
                "generate": {
                    "namespace": "b",
                    "cloneList": {"namespace": "c", "kinds": ["v1/ConfigMap", "v1/Secret"]},
                }
            },
            {"ConfigMap", "Secret"},
        ),
        (
            {"mutate": {"targets": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}]}},
            {ALL_KINDS, "Deployment"},
        ),
        ({"mutate": {"targets": [{"apiVersion": "*", "kind": "*", "name": "a"}]}}, {ALL_KINDS}),
    ],
)
def test_kinds_in_the_text_of_rules(rule, kinds):
    assert looked_up(**rule) == kinds
