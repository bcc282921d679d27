import pytest

from kyvsim.languages.classic.advice.autogen_off import autogen_off
from kyvsim.languages.classic.autogen import ANNOTATION

FOR_PODS = {"validate": {"pattern": {"spec": {"hostNetwork": "false"}}}}
MADE = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "namespace": "b", "data": {}}


def matching(**resources):
    return {"match": {"any": [{"resources": {"kinds": ["Pod"], **resources}}]}, **FOR_PODS}


FIRES = [
    ({"generate": MADE}, "it generates objects"),
    ({"mutate": {"patchesJson6902": "[]"}}, "it has a JSON patch"),
    (matching(names=["a"]), "it selects by name, labels or annotations"),
    (matching(kinds=["Pod", "Service"]), "it names other kinds beside Pod"),
]
SERVICES = {"match": {"any": [{"resources": {"kinds": ["Service"], "names": ["a"]}}]}, **FOR_PODS}


@pytest.mark.parametrize(("rule", "part"), FIRES)
def test_fires(remarks, rule, part):
    ((code, path, message),) = remarks(autogen_off, FOR_PODS, rule)
    assert (code, path) == ("KV207", "spec/rules/1")
    assert f"because {part}: Pod controllers do not meet `r0`" in message


@pytest.mark.parametrize(
    "rules",
    [
        [FOR_PODS, FOR_PODS],
        [{"generate": MADE}],
        [matching(names=["a"]), matching(names=["b"])],
        [SERVICES, {"generate": MADE}],
    ],
)
def test_leaves_alone(remarks, rules):
    assert remarks(autogen_off, *rules) == []


def test_leaves_alone_a_policy_that_wants_none(remarks):
    wanted = {ANNOTATION: "none"}
    assert remarks(autogen_off, FOR_PODS, {"generate": MADE}, annotations=wanted) == []


def test_fires_for_a_policy_that_wants_some(remarks):
    wanted = {ANNOTATION: "Deployment"}
    assert len(remarks(autogen_off, FOR_PODS, {"generate": MADE}, annotations=wanted)) == 1
