import pytest

from kyvsim.model.result import PatchedTarget

LABEL = {
    "metadata": {
        "labels": {"seen": "{{ target.metadata.name }}-by-{{ request.object.metadata.name }}"}
    }
}
MAPS = {"apiVersion": "v1", "kind": "ConfigMap"}


@pytest.fixture
def given(thing):
    return [
        thing("ConfigMap", "b", "shop", labels={"x": "y"}, data={"k": "1"}),
        thing("ConfigMap", "a", "shop", data={"k": "2"}),
        thing("ConfigMap", "a", "bank", labels={"x": "y"}, data={"k": "3"}),
        thing("NetworkPolicy", "n", "shop", api_version="networking.k8s.io/v1"),
    ]


@pytest.fixture
def trigger(thing):
    return thing("Service", "web", "shop", spec={"ports": [{"name": "p"}, {"name": "q"}]})


@pytest.fixture
def patch(run, trigger, given, policy):
    def patched(*targets, namespace="", **mutate):
        body = {"match": {"any": [{"resources": {"kinds": ["Service"]}}]}}
        mutate.setdefault("patchStrategicMerge", LABEL)
        written = {key: value for key, value in mutate.items() if value is not None}
        rule = {**body, "mutate": {"targets": list(targets), **written}}
        return run([policy(rule, namespace=namespace, background=False)], trigger, given=given)

    return patched


def changed(response):
    found = [one for answer in response.responses for one in answer.results]
    targets = [target.object["metadata"] for one in found for target in one.targets]
    return [(target["namespace"], target["name"]) for target in targets]


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ({}, [("bank", "a"), ("shop", "a"), ("shop", "b")]),
        ({"namespace": "shop"}, [("shop", "a"), ("shop", "b")]),
        ({"namespace": "s*", "name": "a"}, [("shop", "a")]),
        ({"name": "a"}, [("bank", "a"), ("shop", "a")]),
        ({"name": "?", "namespace": "*"}, [("bank", "a"), ("shop", "a"), ("shop", "b")]),
        ({"namespace": "shop", "name": "b"}, [("shop", "b")]),
        ({"namespace": "{{ request.namespace }}", "name": "b"}, [("shop", "b")]),
        ({"selector": {"matchLabels": {"x": "y"}}}, [("bank", "a"), ("shop", "b")]),
        # By name and namespace an object is asked for, whatever the selector says.
        (
            {"namespace": "shop", "name": "a", "selector": {"matchLabels": {"x": "y"}}},
            [("shop", "a")],
        ),
        ({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy"}, [("shop", "n")]),
        ({"apiVersion": "*", "kind": "Net*", "name": "n"}, [("shop", "n")]),
        ({"namespace": "none"}, []),
        ({"kind": "ConfigMap/status", "name": "b"}, [("shop", "b")]),
    ],
)
def test_targets(patch, target, expected):
    response = patch({**MAPS, **target})
    assert changed(response) == expected
    assert len([one for answer in response.responses for one in answer.results]) == len(expected)


@pytest.mark.parametrize(
    ("target", "hint"),
    [
        (
            {**MAPS, "namespace": "{{ request.namespace }} ", "name": "a"},
            'no ConfigMap "a" in namespace "shop " (with a blank at the start or end) among the',
        ),
        ({**MAPS, "name": "no", "namespace": "bank"}, 'is no ConfigMap "no" in namespace "bank" a'),
        ({"apiVersion": "x.io/v1", "kind": "Widget"}, "there is no Widget among the target"),
    ],
)
def test_a_missing_target_has_a_hint(patch, target, hint):
    (result,) = patch(target).responses[0].results
    assert hint in result.note


def test_every_target_has_a_result_and_the_trigger_stays(patch, verdicts, trigger, given):
    response = patch({**MAPS, "namespace": "shop"})
    assert verdicts(response) == [
        ("r", "pass", "mutated ConfigMap/a in namespace shop"),
        ("r", "pass", "mutated ConfigMap/b in namespace shop"),
    ]
    assert response.object is trigger
    (answer,) = response.responses
    assert not answer.changed
    ((first,), (second,)) = (result.targets for result in answer.results)
    assert first == PatchedTarget(
        {**given[1], "metadata": {**given[1]["metadata"], "labels": {"seen": "a-by-web"}}},
        changed=True,
        before=given[1],
    )
    assert second.object["metadata"]["labels"] == {"x": "y", "seen": "b-by-web"}


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ({**MAPS, "namespace": "shop", "name": "no"}, ': configmaps "no" not found'),
        (
            {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "no"},
            ': deployments.apps "no" not found',
        ),
        ({"apiVersion": "x.io/v1", "kind": "Widget", "name": "*"}, ": not found"),
        (
            {**MAPS, "selector": {"matchLabels": {"x": "*"}}},
            (
                ': values[0][x]: Invalid value: "*": a valid label must be an empty string or '
                "consist of alphanumeric characters, '-', '_' or '.', and must start and end with "
                "an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex "
                "used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
            ),
        ),
        (
            {**MAPS, "name": "{{ request.object.no }}"},
            (
                ": failed to substitute variables in target[0]: failed to resolve "
                'request.object.no at path /name: JMESPath query failed: Unknown key "no" in path'
            ),
        ),
    ],
)
def test_targets_that_are_not_found(patch, verdicts, target, message):
    assert verdicts(patch(target)) == [("r", "error", message)]


def test_targets_without_a_patch(patch, verdicts):
    ((_, status, message),) = verdicts(
        patch({**MAPS, "namespace": "shop", "name": "b"}, patchStrategicMerge=None)
    )
    assert (status, message) == ("error", "empty mutate rule")


def test_one_error_names_all_targets_that_are_missing_and_the_others_are_patched(patch, verdicts):
    missing = [{**MAPS, "namespace": "shop", "name": name} for name in ("no", "nor")]
    response = patch(missing[0], {**MAPS, "namespace": "bank"}, missing[1])
    assert verdicts(response) == [
        ("r", "error", ': configmaps "no" not found; configmaps "nor" not found'),
        ("r", "pass", "mutated ConfigMap/a in namespace bank"),
    ]


def test_preconditions_and_context_are_those_of_the_target(patch, verdicts):
    key = {"name": "key", "variable": {"value": "{{ target.data.k }}"}}
    condition = {"key": "{{ key }}", "operator": "Equals", "value": "1", "message": "not 1"}
    target = {**MAPS, "context": [key], "preconditions": {"all": [condition]}}
    assert verdicts(patch({**target, "namespace": "shop"})) == [
        ("r", "skip", "preconditions not met; not 1"),
        ("r", "pass", "mutated ConfigMap/b in namespace shop"),
    ]
    condition["key"] = "{{ target.no }}"
    ((_, status, message), *_) = verdicts(patch(target))
    assert status == "error"
    assert message.startswith("failed to evaluate preconditions: failed to substitute variables")


def test_the_current_path_is_one_of_the_target(patch):
    response = patch({**MAPS, "name": "b"}, patchStrategicMerge={"data": {"k": "{{@}}-new"}})
    ((target,),) = (one.targets for one in response.responses[0].results)
    assert target.object["data"] == {"k": "1-new"}


def test_json_patches(patch, verdicts):
    patches = "- {op: add, path: /data/copy, value: '{{ target.data.k }}'}"
    response = patch({**MAPS, "name": "b"}, patchStrategicMerge=None, patchesJson6902=patches)
    ((target,),) = (one.targets for one in response.responses[0].results)
    assert target.object["data"] == {"k": "1", "copy": "1"}
    failing = "- {op: replace, path: /data/x/y, value: z}"
    response = patch({**MAPS, "name": "b"}, patchStrategicMerge=None, patchesJson6902=failing)
    ((_, status, message),) = verdicts(response)
    assert (status, message.partition(":")[0]) == ("error", "failed to patch resource")


def test_loops_see_the_trigger_for_every_target(patch):
    merge = {"data": {"{{ element.name }}": "{{ elementIndex }}"}}
    loop = {"list": "request.object.spec.ports", "patchStrategicMerge": merge}
    response = patch({**MAPS, "name": "a"}, patchStrategicMerge=None, foreach=[loop])
    found = [
        target.object["data"] for one in response.responses[0].results for target in one.targets
    ]
    assert found == [{"k": "3", "p": 0, "q": 1}, {"k": "2", "p": 0, "q": 1}]


def test_a_patch_without_effect_is_skipped(patch, verdicts):
    same = {"metadata": {"labels": {"x": "y"}}}
    response = patch({**MAPS, "name": "b"}, patchStrategicMerge=same)
    assert verdicts(response) == [("r", "skip", "no patches applied")]
    assert changed(response) == []


def test_a_namespaced_policy_reaches_only_its_namespace(patch):
    target = {**MAPS, "namespace": "shop", "name": "*"}
    assert changed(patch(target, namespace="shop")) == [("shop", "a"), ("shop", "b")]


def test_one_applied_rule_ends_the_policy_after_all_its_targets(run, policy, trigger, given):
    rule = {
        "match": {"any": [{"resources": {"kinds": ["Service"]}}]},
        "mutate": {"targets": [MAPS], "patchStrategicMerge": LABEL},
    }
    rules = [{**rule, "name": name} for name in ("one", "two")]
    response = run([policy(*rules, applyRules="One", background=False)], trigger, given=given)
    assert [one.rule.name for one in response.responses[0].results] == ["one"] * 3


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_targets_are_read_in_the_version_that_is_asked_for(patch, version):
    target = {"apiVersion": f"networking.k8s.io/{version}", "kind": "NetworkPolicy"}
    (result,) = patch({**target, "namespace": "shop", "name": "n"}).responses[0].results
    assert result.status.value == "pass"
    assert result.targets[0].object["apiVersion"] == f"networking.k8s.io/{version}"
