"""Variables inside of variables stand for what they come to, wherever that is asked."""

import pytest

from .test_conditions import deny

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
