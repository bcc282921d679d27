"""JMESPath expressions: nested variables, context entries."""

import json

import pytest

from kyvsim.api.equal import EqualInputs, compare
from kyvsim.api.inputs import ApplyInputs
from kyvsim.load.files import Source
from kyvsim.model.comparison import Answer

from .test_conditions import deny

# Variables inside of variables stand for what they come to, wherever that is asked.

EXPRESSIONS = [
    (
        {
            "key": "{{ request.object.spec.containers"
            "[?name == '{{ request.object.metadata.name }}']"
            " | length(@) }}",
            "operator": "GreaterThan",
            "value": 0,
        },
        (
            "size(object.spec.containers.filter(container, "
            "container.name == object.metadata.name)) <= 0"
        ),
    ),
    (
        {
            "key": "{{ request.object.metadata.labels.\"{{ request.namespace }}\" || '' }}",
            "operator": "Equals",
            "value": "x",
        },
        "object.metadata.?labels[?request.namespace].orValue('') != 'x'",
    ),
    (
        {
            "key": "{{ request.object.spec.nodeName == 'a-{{ request.namespace }}-b' }}",
            "operator": "Equals",
            "value": True,
        },
        "object.spec.?nodeName.orValue(null) != 'a-' + request.namespace + '-b'",
    ),
]


@pytest.mark.parametrize(("one", "wanted"), EXPRESSIONS, ids=["literal", "name", "piece"])
def test_expressions(one, wanted, expression):
    assert expression(deny(one)) == wanted


def test_an_element_keeps_its_name_within_a_filter(denials, pod):
    rule = {
        "validate": {
            "message": "m",
            "foreach": [
                {
                    "list": "request.object.spec.volumes[?hostPath]",
                    "deny": {
                        "conditions": {
                            "any": [
                                {
                                    "key": "{{ request.object.spec.containers[].volumeMounts"
                                    "[?name == '{{ element.name }}'][] | length(@) }}",
                                    "operator": "GreaterThan",
                                    "value": 0,
                                }
                            ]
                        }
                    },
                }
            ],
        }
    }
    volumes = [{"name": "host", "hostPath": {"path": "/a"}}, {"name": "own", "emptyDir": {}}]

    def mounting(name):
        mounts = [{"name": name, "mountPath": "/b"}]
        containers = [{"name": "c", "image": "c", "volumeMounts": mounts}]
        return pod(name, containers=containers, volumes=volumes)

    assert denials(rule, [mounting("host"), mounting("own")]) == ["host"]


# What is read of the cluster and of registries means the same in CEL.

ALLOWED = {"name": "allowed", "configMap": {"name": "teams", "namespace": "default"}}
TEAM = "{{ request.object.metadata.labels.team }}"
NO_DELETE = {
    "all": [{"key": "{{ request.operation }}", "operator": "NotEquals", "value": "DELETE"}]
}


def denying(condition, *context):
    return {
        "name": "found",
        "match": {"any": [{"resources": {"kinds": ["Service"]}}]},
        "context": list(context),
        "preconditions": NO_DELETE,
        "validate": {"message": "m", "deny": {"conditions": {"all": [condition]}}},
    }


@pytest.fixture
def answer(converted):
    """Return what gives the evidence on a rule and what becomes of it."""

    def answer_of(rule):
        _, made = converted(rule)
        old = {
            "apiVersion": "kyverno.io/v1",
            "kind": "ClusterPolicy",
            "metadata": {"name": "old"},
            "spec": {"rules": [rule]},
        }
        sides = (
            tuple(Source(f"{name}{n}", json.dumps(one)) for n, one in enumerate(some))
            for name, some in (("old", [old]), ("new", made))
        )
        evidence = compare(EqualInputs(*sides, ApplyInputs(policies=()))).evidence
        assert evidence is not None
        return evidence.answer

    return answer_of


@pytest.mark.slow
@pytest.mark.parametrize("operator", ["In", "NotIn", "AnyIn", "AnyNotIn", "AllIn", "AllNotIn"])
def test_texts_of_config_maps_are_lists_patterns_or_themselves(operator, answer):
    condition = {"key": TEAM, "operator": operator, "value": "{{ allowed.data.teams }}"}
    assert answer(denying(condition, ALLOWED)) is Answer.EQUAL


def test_nothing_but_wildcards_is_special_in_a_text_that_is_read(expression):
    condition = {"key": TEAM, "operator": "Equals", "value": "{{ allowed.data.team }}"}
    assert r"'^\\Q' + variables.allowed.data.team.replace('*', '\\E.*\\Q')" in expression(
        denying(condition, ALLOWED)
    )


def test_a_label_that_is_missing_matches_no_empty_one(converted):
    call = {
        "urlPath": "/api/v1/services",
        "jmesPath": "items[?label_match(spec.selector, `{{ request.object.metadata.labels }}`)]"
        " | length(@)",
    }
    condition = {"key": "{{ count }}", "operator": "GreaterThan", "value": 0}
    rule = denying(condition, {"name": "count", "apiCall": call})
    _, (made,) = converted(rule)
    (count,) = made["spec"]["variables"]
    assert "[?key] ==" in count["expression"]
    assert "optional.of(service.spec.selector[key])" in count["expression"]


def test_images_are_resolved_without_their_tag(converted):
    entry = {"reference": "{{ request.object.metadata.name }}", "jmesPath": "resolvedImage"}
    condition = {"key": "{{ image }}", "operator": "Equals", "value": "x"}
    _, (made,) = converted(denying(condition, {"name": "image", "imageRegistry": entry}))
    asked = "image.GetMetadata(object.metadata.name)"
    (variable,) = made["spec"]["variables"]
    assert variable["expression"] == (
        f"{asked}.registry + '/' + {asked}.repository + '@' + {asked}.digest"
    )
