"""What `lint` says of policies in CEL that compile: of what it warns, and of what it does not."""

import importlib
import json
from pathlib import Path

import pytest

import kyvsim.languages.cel_advice as advice
from kyvsim.api.lint import lint
from kyvsim.languages.cel_advice import CEL_ADVICE

PODS = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["pods"],
    "operations": ["CREATE", "UPDATE"],
}
DEPLOYMENTS = {**PODS, "apiGroups": ["apps"], "resources": ["deployments"]}
CREATED, DELETED = ({**PODS, "operations": [name]} for name in ("CREATE", "DELETE"))
GOOD = "object.spec.containers.all(c, has(c.image))"
QUIET = {"background": {"enabled": False}}


@pytest.fixture
def told(tmp_path):
    """Return what gives code, path and message of what is said of a policy."""

    def ask(*validations, rules=(PODS,), kind="ValidatingPolicy", **spec):
        texts = [{"expression": one} if isinstance(one, str) else one for one in validations]
        if rules:
            spec = {"matchConstraints": {"resourceRules": [*rules]}, **spec}
        policy = {
            "apiVersion": "policies.kyverno.io/v1",
            "kind": kind,
            "metadata": {"name": "p"},
            "spec": {**spec, "validations": texts},
        }
        file = tmp_path / "p.json"
        file.write_text(json.dumps(policy))
        return [(one.code, one.message) for one in lint([str(file)]).diagnostics]

    return ask


def codes(found):
    return [code for code, _ in found]


BAD = [
    ("KV240", ["true"], {}),
    ("KV240", ["1 < 2 && !false"], {}),
    ("KV240", [GOOD], {"matchConditions": [{"name": "a", "expression": "'a' in ['b']"}]}),
    ("KV240", [GOOD], {"matchConditions": [{"name": "a", "expression": "size('a') == 1"}]}),
    ("KV241", ["false", GOOD], {}),
    ("KV242", [GOOD], {"variables": [{"name": "v", "expression": "object.kind"}]}),
    ("KV243", ["object.?spec.?hostNetwork.orValue(false) == false"], {}),
    ("KV243", ["object['spec'].hostNetwork == false"], {}),
    ("KV243", ["!has(oldObject.spec) || oldObject[?'spec'].hasValue()"], {}),
    ("KV244", ["object.metadata.name.startsWith('a')"], {}),
    ("KV244", ["object.metadata.ownerReferences.size() == 0"], {}),
    ("KV245", [GOOD], {"rules": [{**PODS, "resources": ["pods", "pods/ephemeralcontainers"]}]}),
    ("KV245", [GOOD], {"rules": [PODS, {**PODS, "resources": ["pods/exec"]}]}),
    ("KV246", [GOOD], {"autogen": {"podControllers": {"controllers": ["Deployment", "jobs"]}}}),
    (
        "KV246",
        [GOOD],
        {"rules": [DEPLOYMENTS], "autogen": {"podControllers": {"controllers": ["jobs"]}}},
    ),
    ("KV247", ["oldObject == null || has(object.spec)"], {}),
    ("KV247", ["null != object && has(object.spec)"], {}),
    ("KV248", ["object.spec.a == oldObject.spec.a"], {"rules": [CREATED]}),
    ("KV248", ["object.metadata.namespace == 'a'"], {"rules": [DELETED]}),
    ("KV249", [{"expression": GOOD, "message": "a", "messageExpression": "'b'"}], {}),
    ("KV250", [GOOD], {"rules": []}),
    ("KV251", ["request.userInfo.username == 'a'"], {}),
    ("KV252", ["object.spec.replicas % 2 == 0"], {"rules": [DEPLOYMENTS]}),
    ("KV252", ["1 + object.spec.replicas < 3"], {"rules": [DEPLOYMENTS]}),
]  # fmt: skip


@pytest.mark.parametrize(("code", "validations", "spec"), BAD)
def test_what_is_told(told, code, validations, spec):
    assert codes(told(*validations, **spec)) == [code]


WELL = [
    ([GOOD], {}),
    (["random('[a-z]').size() == 1"], {}),
    (["time.now() > timestamp('2020-01-01T00:00:00Z')"], {}),
    (["false"], {}),
    ([GOOD, "false"], {}),
    (["variables.v == 'Pod'"], {"variables": [{"name": "v", "expression": "object.kind"}]}),
    (["has(variables.v)"], {"variables": [{"name": "v", "expression": "object.kind"}]}),
    (
        ["object.spec.containers.all(resource, resource.name in variables.v)"],
        {"variables": [{"name": "v", "expression": "['a']"}]},
    ),
    (["dyn(variables) != null"], {"variables": [{"name": "v", "expression": "object.kind"}]}),
    (["object.?spec.?replicas.orValue(0) < 3"], {"rules": [DEPLOYMENTS]}),
    (["object.spec.?hostNetwork.orValue(false) == false"], {}),
    (["object.?metadata.?labels.hasValue()"], {}),
    (["object.metadata.name == 'a'"], {"rules": [DEPLOYMENTS]}),
    (["object.metadata.namespace == 'a'"], {}),
    (["!has(object.metadata.name) || object.metadata.name == 'a'"], {}),
    (["object.metadata.?name.orValue('') == 'a'"], {}),
    (["object.metadata.name == 'a'"], {"autogen": {"podControllers": {"controllers": []}}}),
    (
        ["!has(object.spec.ephemeralContainers)"],
        {"rules": [{**PODS, "resources": ["pods", "pods/ephemeralcontainers"]}]},
    ),
    (
        [GOOD],
        {
            "rules": [{**PODS, "resources": ["pods", "pods/exec"]}],
            "autogen": {"podControllers": {"controllers": []}},
        },
    ),
    ([GOOD], {"rules": [{**PODS, "resources": ["pods", "services"]}]}),
    ([GOOD], {"autogen": {"podControllers": {"controllers": ["jobs"]}}}),
    (["object.spec != null"], {}),
    (["has(oldObject.spec) || has(object.spec)"], {}),
    (["has(oldObject.spec)"], {"rules": [{**PODS, "operations": ["CREATE"]}]}),
    (["oldObject.spec.a == 'b'"], {"rules": [{**PODS, "operations": ["DELETE"]}]}),
    (["oldObject.spec.a == 'b'"], {"rules": [PODS, {**PODS, "operations": ["DELETE"]}]}),
    ([{"expression": GOOD, "messageExpression": "'b'"}], {}),
    (["request.userInfo.username == 'a'"], {"evaluation": QUIET}),
    (["request.userInfo.?username.orValue('') == 'a'"], {}),
    (["!has(request.userInfo.username) || request.userInfo.username == 'a'"], {}),
    (["object.spec.replicas > 2 && object.spec.replicas * 1.5 < 9.0"], {"rules": [DEPLOYMENTS]}),
    (["int(object.spec.replicas) % 2 == 0"], {"rules": [DEPLOYMENTS]}),
]  # fmt: skip


@pytest.mark.parametrize(("validations", "spec"), WELL)
def test_what_is_fine(told, validations, spec):
    assert told(*validations, **spec) == []


def test_what_does_not_compile_comes_first(told):
    assert codes(told("true", "object.a ||")) == ["KV150"]


def test_a_name_with_another_meaning_is_not_judged(told):
    assert told("[dyn(null)].all(object, object == null)", "true") == []


def test_every_advice_is_registered_and_described():
    folder = Path(advice.__file__).parent
    names = sorted(
        one.stem for one in folder.glob("*.py") if one.stem not in {"__init__", "written"}
    )
    assert sorted(one.__name__ for one in CEL_ADVICE) == names
    for name in names:
        module = importlib.import_module(f"kyvsim.languages.cel_advice.{name}")
        assert getattr(module, name).__doc__.startswith("KV2")
