"""Inputs in the wrong place."""

import pytest

from kyvsim.load.recognise import (
    advice_for,
    misplaced_inputs,
    only_policies,
    without_policies,
)
from kyvsim.model.diagnostic import Severity
from kyvsim.model.source import Document, Location

POLICY = {"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy"}
POD = {"apiVersion": "v1", "kind": "Pod"}
TEST = {"apiVersion": "cli.kyverno.io/v1alpha1", "kind": "Test"}


def documents(*data):
    return [Document(one, "f", n, lambda _: Location("f")) for n, one in enumerate(data)]


@pytest.mark.parametrize(
    ("policies", "resources", "said"),
    [
        ([POD], [POLICY], "policies and resources seem to be swapped"),
        ([POLICY, POD], [POD], "each path of resources needs its own --resource"),
        ([POD], [POD], "each path of resources needs its own --resource"),
        ([POLICY], [POLICY], ""),
        ([POLICY], [POD], ""),
        ([{"replicas": 3}], [POD], ""),
        ([TEST], [POD], ""),
    ],
)
def test_inputs_in_the_place_of_others_are_told(policies, resources, said):
    found = misplaced_inputs(documents(*policies), documents(*resources))
    assert [one.code for one in found] == (["KV029"] if said else [])
    assert all(said in one.message for one in found)


@pytest.mark.parametrize(
    "data",
    [{"policies": ["p.yaml"], "steps": []}, {"apiVersion": "kyvsim.dev/v1", "kind": "Scenario"}],
)
def test_a_scenario_of_another_version_says_which_one_is_right(data):
    advice = advice_for(documents(data)[0])
    assert advice.endswith("has `apiVersion: kyvsim/v1` and `kind: Scenario`")
    assert not advice_for(documents({"policies": [], "replicas": 3})[0])


@pytest.mark.parametrize(("resources", "said"), [([POLICY], 1), ([POD], 0), ([], 0)])
def test_folders_that_look_exchanged_are_told(resources, said):
    found = misplaced_inputs((), documents(*resources), ["manifests"])
    assert [(one.code, one.location.file) for one in found] == [("KV029", "manifests")] * said
    assert not misplaced_inputs(documents(POLICY), documents(*resources), ["manifests"])


@pytest.mark.parametrize(
    ("resources", "advice"),
    [
        ([POLICY], "pass policies as arguments and resources with --resource"),
        ([TEST], "`kyvsim test` runs it"),
        ([TEST, POLICY], "pass policies as arguments and resources with --resource"),
        ([POLICY, POD], None),
        ([], None),
    ],
)
def test_resources_that_are_only_policies_are_an_error(resources, advice):
    found = only_policies(resources, "r")
    if advice is None:
        assert found is None
    else:
        assert (found.code, found.severity, str(found.location)) == ("KV029", Severity.ERROR, "r")
        assert found.message.endswith(advice)


def test_documents_among_which_there_is_no_policy_are_an_error():
    entry = {"apiVersion": "kyverno.io/v2", "kind": "GlobalContextEntry"}
    found = without_policies(documents(entry))
    assert (found.code, found.message) == (
        "KV026",
        "no policy found, only `GlobalContextEntry`",
    )
    assert without_policies(()) is None
