"""Rules on Pod security beside policies in CEL: what their controls look at is tried."""

import json

import pytest

from kyvsim.api.equal import EqualInputs, compare
from kyvsim.api.inputs import ApplyInputs
from kyvsim.api.migrate import migrate
from kyvsim.load.files import Source
from kyvsim.model.comparison import Answer, DifferenceKind, SearchBudget

pytestmark = pytest.mark.slow

OF_PODS = ["Sysctls", "Host Namespaces", "Seccomp", "SELinux", "AppArmor", "HostProcess"]
OF_CONTAINERS = ["Capabilities", "Host Ports", *OF_PODS[2:]]


@pytest.fixture
def pair(tmp_path):
    """Return a rule of few controls, and the policy that it becomes."""
    exclude = [
        *({"controlName": name} for name in OF_PODS),
        *({"controlName": name, "images": ["*"]} for name in OF_CONTAINERS),
    ]
    block = {"level": "baseline", "version": "latest", "exclude": exclude}
    match = {"any": [{"resources": {"kinds": ["Pod"], "operations": ["CREATE"]}}]}
    old = {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "p"},
        "spec": {"rules": [{"name": "r", "match": match, "validate": {"podSecurity": block}}]},
    }
    old["metadata"]["annotations"] = {"pod-policies.kyverno.io/autogen-controllers": "none"}
    path = tmp_path / "old.yaml"
    path.write_text(json.dumps(old), "utf-8")
    (conversion,) = migrate([str(path)]).conversions
    return old, json.loads(json.dumps(conversion.made[0].data))


def evidence(old, new, cases):
    texts = [(Source(name, json.dumps(data)),) for name, data in (("old", old), ("new", new))]
    found = compare(EqualInputs(*texts, ApplyInputs(policies=()), SearchBudget(cases)))
    assert found.evidence is not None, found.diagnostics
    return found.evidence


def test_a_rule_and_what_it_becomes_are_equal(pair):
    told = evidence(*pair, 5200)
    assert told.answer is Answer.EQUAL
    assert told.counterexamples == ()
    assert told.untried != ()


@pytest.mark.parametrize("control", ["HostPath Volumes", "hostProbes", "Privileged", "/proc"])
def test_a_control_that_is_left_out_is_found(control, pair):
    old, new = pair
    kept = [one for one in new["spec"]["validations"] if control not in one["message"]]
    assert len(kept) == len(new["spec"]["validations"]) - 1
    told = evidence(old, {**new, "spec": {**new["spec"], "validations": kept}}, 1500)
    assert told.answer is Answer.COUNTEREXAMPLE
    assert {one.difference for one in told.counterexamples} == {DifferenceKind.DENIAL_LOST}
