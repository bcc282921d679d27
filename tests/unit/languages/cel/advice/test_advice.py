"""What `lint` says of policies in CEL that compile: of what it warns, and of what it does not."""

import importlib
from pathlib import Path

import pytest

import kyvsim.languages.cel.advice as advice
import kyvsim.languages.cel_advice as cel_advice
from kyvsim.languages.cel.advice import CEL_ADVICE

PODS = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["pods"],
    "operations": ["CREATE", "UPDATE"],
}
DEPLOYMENTS = {**PODS, "apiGroups": ["apps"], "resources": ["deployments"]}
CREATED, DELETED = ({**PODS, "operations": [name]} for name in ("CREATE", "DELETE"))
GOOD = "object.spec.containers.all(c, has(c.name))"
READING = {"written", "container_checks", "matched_kinds", "patch_paths", "set_fields"}
"""Files of what advice looks at."""
QUIET = {"background": {"enabled": False}}


@pytest.fixture
def told(written):
    """Return what gives codes and messages of what is said of a ValidatingPolicy."""

    def ask(*validations, rules=(PODS,), **spec):
        texts = [{"expression": one} if isinstance(one, str) else one for one in validations]
        if rules:
            spec = {"matchConstraints": {"resourceRules": [*rules]}, **spec}
        return written("ValidatingPolicy", {**spec, "validations": texts})

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
    ("KV255", [GOOD], {"rules": [], "matchConstraints": {}}),
    ("KV255", [GOOD], {"rules": [], "matchConstraints": {"objectSelector": {}}}),
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


def mutation(expression, patch_type="ApplyConfiguration"):
    field = "applyConfiguration" if patch_type == "ApplyConfiguration" else "jsonPatch"
    return {"patchType": patch_type, field: {"expression": expression}}


SPEC = "Object{spec: Object.spec{hostNetwork: false}}"
METADATA = "Object{metadata: Object.metadata{labels: {'a': 'b'}}}"
CHOICE = f"object.kind == 'Pod' ? {METADATA} : Object{{}}"
PATCH = "[JSONPatch{op: 'add', path: '/spec/a', value: object.apiVersion}]"
NONE_DERIVED = {"autogen": {"podControllers": {"controllers": []}}}


@pytest.mark.parametrize(
    ("entry", "spec", "found"),
    [
        (mutation(SPEC), {}, []),
        (mutation(METADATA), {}, ["KV253"]),
        (mutation(METADATA), NONE_DERIVED, []),
        (mutation(CHOICE), {}, []),
        (mutation(PATCH, "JSONPatch"), {}, ["KV254"]),
        (mutation(PATCH, "JSONPatch"), NONE_DERIVED, []),
        (mutation(PATCH.replace("apiVersion", "kind"), "JSONPatch"), {}, []),
    ],
)
def test_mutations_that_are_carried_over_to_controllers(written, entry, spec, found):
    constraints = {"matchConstraints": {"resourceRules": [PODS]}}
    assert codes(written("MutatingPolicy", {**constraints, "mutations": [entry], **spec})) == found


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ({}, ["KV256"]),
        ({"conditions": [{"name": "a", "expression": "has(object.data)"}]}, []),
        ({"matchConstraints": {"resourceRules": [{**PODS, "resourceNames": ["a"]}]}}, []),
        (
            {
                "matchConstraints": {
                    "resourceRules": [PODS],
                    "objectSelector": {"matchLabels": {"old": "yes"}},
                }
            },
            [],
        ),
        ({"matchConstraints": {"resourceRules": [PODS], "objectSelector": {}}}, ["KV256"]),
    ],
)
def test_what_a_policy_deletes_without_a_condition(written, spec, found):
    constraints = {"matchConstraints": {"resourceRules": [PODS]}}
    whole = {**constraints, "schedule": "0 1 * * *", **spec}
    assert codes(written("DeletingPolicy", whole)) == found


@pytest.mark.parametrize("kind", ["GeneratingPolicy", "DeletingPolicy", "MutatingPolicy"])
def test_of_kinds_that_derive_nothing_controllers_are_no_matter(written, kind):
    beside = {**PODS, "resources": ["pods", "pods/exec"]}
    test = {"name": "a", "expression": "object.metadata.name == 'a' && object.?spec.hasValue()"}
    body = {
        "GeneratingPolicy": {"matchConditions": [test], "generate": [{"expression": "true"}]},
        "DeletingPolicy": {"conditions": [test], "schedule": "* * * * *"},
        "MutatingPolicy": {
            "matchConditions": [test],
            "mutations": [
                mutation("Object{spec: Object.spec{hostNetwork: false}}"),
            ],
        },
    }[kind]
    for rule in (PODS, beside):
        assert written(kind, {"matchConstraints": {"resourceRules": [rule]}, **body}) == []


def test_what_does_not_compile_comes_first(told):
    assert codes(told("true", "object.a ||")) == ["KV150"]


def test_a_name_with_another_meaning_is_not_judged(told):
    assert told("[dyn(null)].all(object, object == null)", "true") == []


def named(package, apart=()):
    """Return the functions of a folder's files, which have the same names."""
    folder = Path(package.__file__).parent
    names = sorted(one.stem for one in folder.glob("*.py") if one.stem not in {"__init__", *apart})
    modules = [importlib.import_module(f"{package.__name__}.{name}") for name in names]
    return [vars(module)[name] for name, module in zip(names, modules, strict=True)]


def test_every_advice_is_registered_and_described():
    functions = [*named(advice), *named(cel_advice, READING)]
    assert sorted(map(repr, CEL_ADVICE)) == sorted(map(repr, functions))
    assert all(function.__doc__.startswith("KV2") for function in functions)
