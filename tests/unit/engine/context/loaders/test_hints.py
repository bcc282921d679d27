"""What results tell of entries that nothing answered: how to answer them, in lines to paste."""

import pytest

from kyvsim.engine.evaluate import evaluate
from kyvsim.engine.world import GivenObjects, World
from kyvsim.load.documents import STRICT_FLOATS, parse_documents
from kyvsim.load.files import Source
from kyvsim.load.values import load_values
from kyvsim.model.values import Values

KIND = "apiVersion: cli.kyverno.io/v1alpha1\nkind: Values"


@pytest.fixture
def notes(rule, compiled, policy, pod, request_for):
    """Return what gives the notes of a rule with one entry, `got`, and of one without any."""

    def told(values=None, *, in_cluster=True, **entry):
        asking = rule(**entry)
        asking["validate"]["message"] = "no"
        if "configMap" in entry:
            asking["validate"]["deny"]["conditions"]["all"][0]["key"] = "{{ got.data.k || '' }}"
        bodies = {"name": "asks", **asking}, {"name": "asks-not", "validate": {"deny": {}}}
        world = World(GivenObjects(()), values, in_cluster)
        response = evaluate(compiled(policy(*bodies)), request_for(pod()), world)
        first, second = response.responses[0].results
        assert second.note == ""
        return first.note

    return told


MAP = {"configMap": {"name": "m", "namespace": "{{ request.namespace }}"}}
CALL = {"apiCall": {"urlPath": "/api/v1/namespaces/shop/secrets/s"}}
SERVICE = {"apiCall": {"service": {"url": "https://x.io"}, "method": "POST", "default": "d"}}
SHARED = {"globalReference": {"name": "pods.first"}}


@pytest.mark.parametrize(
    ("entry", "lines"),
    [
        (
            MAP,
            (
                'kind: ConfigMap, metadata: {name: "m", namespace: "shop"}, data: {}}',
                'globalValues: {"got.data": {}}',
            ),
        ),
        (
            CALL,
            (
                '{apiVersion: v1, kind: Secret, metadata: {name: "s", namespace: "shop"}}',
                'apiCallResponses: [{urlPath: "/api/v1/namespaces/shop/secrets/s", method: GET, re',
            ),
        ),
        (SHARED, ('globalContextEntries: [{name: "pods", resources: []}]',)),
    ],
)
def test_what_nothing_answers_is_told_with_lines_to_paste(notes, entry, lines):
    told = notes(**entry)
    assert "context entry `got`" in told
    for line in lines:
        assert line in told


@pytest.mark.parametrize("entry", [MAP, CALL, {"globalReference": {"name": "pods"}}, SERVICE])
def test_lines_for_the_values_file_are_taken_as_they_are_printed(notes, entry):
    lines = notes(**entry).rpartition("): " if "globalReference" in entry else "values file: ")[2]
    (document,) = parse_documents(Source("v.yaml", f"{KIND}\n{lines}\n"), STRICT_FLOATS)
    values, problems = load_values(document)
    assert problems == ()
    assert notes(values, **entry) == ""


def test_a_default_that_stands_for_a_service_that_is_not_called_is_told(notes):
    told = notes(**SERVICE)
    assert told.startswith("context entry `got` uses its default: ")
    assert 'apiCallResponses: [{url: "https://x.io", method: POST, response: {body: {}}}]' in told


def test_a_default_for_an_object_that_is_not_there_is_what_a_cluster_would_use(notes):
    assert notes(apiCall={**CALL["apiCall"], "default": "d"}) == ""


@pytest.mark.parametrize("entry", [MAP, CALL])
def test_a_test_without_a_cluster_says_what_to_write(notes, entry):
    told = notes(in_cluster=False, **entry)
    assert told.startswith(
        "missing input: context entry `got` cannot be read without a cluster: add "
    )


@pytest.mark.parametrize("entry", [MAP, CALL, SERVICE, SHARED])
@pytest.mark.parametrize("in_cluster", [True, False])
def test_a_value_needs_no_hint(notes, entry, in_cluster):
    given = Values(global_values={"got": {"data": {}}})
    assert notes(given, in_cluster=in_cluster, **entry) == ""
