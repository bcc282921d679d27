"""What is written so that an object is as a rule wants it."""

import pytest

from kyvsim.kubernetes.objects import ObjectKey
from kyvsim.simulator.configuration import BACKGROUND

LABELLED = {"any": [{"resources": {"kinds": ["Secret"], "selector": {"matchLabels": {"a": "b"}}}}]}
SOURCE = ObjectKey("v1", "ConfigMap", "default", "source")
TRIGGER = ObjectKey("v1", "Secret", "default", "t")
COPY = {"clone": {"name": "source", "namespace": "default"}}


@pytest.fixture
def again(cluster, cluster_policy, generate, put, obj, admin, settle, key_of_made):
    """Return what makes a rule work twice, and lists what it wrote to its object meanwhile."""

    def run(between=None, **fields):
        labels = {"labels": {"a": "b"}}
        put(obj("Namespace", "shop"), obj("ConfigMap", "source", "default", data={"b": "2"}))
        rule = generate(match=LABELLED, namespace="shop", synchronize=True, **fields)
        put(cluster_policy("p", rule), obj("Secret", "t", "default", metadata=labels))
        written = []

        def note(request, _response, _old):
            if request.user == BACKGROUND and request.key == key_of_made:
                written.append(request.operation.value)

        cluster.sim.server.observers.append(note)
        if between is not None:
            admin.merge(*between)
        admin.merge(TRIGGER, {"metadata": {"annotations": {"touched": "yes"}}})
        settle()
        return written

    return run


def test_a_copy_that_is_the_same_is_not_written_again(again):
    assert again(**COPY) == []


def test_a_copy_of_a_changed_source_is_written(again):
    assert set(again((SOURCE, {"data": {"b": "3"}}), **COPY)) == {"UPDATE"}


def test_data_is_written_again_even_where_it_is_the_same(again):
    assert again() == ["UPDATE"]
