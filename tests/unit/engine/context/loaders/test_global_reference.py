"""`globalReference` entries: what GlobalContextEntries keep, or what is given in their place."""

import pytest

from kyvsim.model.values import GlobalData, Values

BAD = [{"name": "n", "jmesPath": "to_number(@, @)"}]
HINT = 'apiCallResponses: [{url: "https://x.io", method: GET, response: {body: {}}}]'


@pytest.fixture
def refer(ask, thing):
    def kept(name, **spec):
        return thing("GlobalContextEntry", name, "", api_version="kyverno.io/v2", spec=spec)

    wanted = {"version": "v1", "resource": "configmaps", "namespace": "shop"}
    given = [
        kept(
            "maps", kubernetesResource=wanted, projections=[{"name": "n", "jmesPath": "length(@)"}]
        ),
        kept("call", apiCall={"urlPath": "/api/v1/configmaps"}),
        kept("service", apiCall={"service": {"url": "https://x.io"}}),
        kept("gone", apiCall={"urlPath": "/api/v1/namespaces/shop/configmaps/gone"}),
        kept("spoilt", apiCall={"urlPath": "/api/v1/configmaps"}, projections=BAD),
        kept("bad", kubernetesResource=wanted, projections=BAD),
        thing("ConfigMap", "m", data={"k": "v"}),
    ]

    def asked(values=None, given=given, **fields):
        return ask(values, given, globalReference=fields)

    return asked


def test_global_references(refer):
    assert refer(name="maps", jmesPath="[].data.k") == ["v"]
    assert refer(name="maps.n") == "1"
    assert refer(name="call", jmesPath="kind") == "ConfigMapList"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": "no"}, "failed to fetch entry key=no"),
        (
            {"name": "service"},
            (
                "failed to execute HTTP request for APICall globalcontext: GET https://x.io: "
                f"kyvsim is offline: add the response to the values file: {HINT}"
            ),
        ),
        (
            {"name": "gone"},
            (
                "failed to GET resource with raw url: /api/v1/namespaces/shop/configmaps/gone: "
                'failed to get resource v1/ConfigMap/gone: configmaps "gone" not found'
            ),
        ),
        ({"name": "call.no"}, "no data available"),
        ({"name": "spoilt"}, "incorrect number of args"),
        ({"name": "bad.n"}, 'projection "n" not found'),
        ({"name": "maps.no"}, 'projection "no" not found'),
        (
            {"name": "maps", "jmesPath": "no(@)"},
            "failed to apply JMESPath no(@) for context entry got: unknown function: no",
        ),
    ],
)
def test_global_references_without_an_answer(refer, fields, message):
    start = "failed to marshal APICall data for context entry got: "
    assert refer(**fields) == start + message


def test_values_and_mocks_stand_in_for_global_data(refer, mocked):
    valued = Values(global_values={"got": {"v": "w"}})
    assert refer(valued, name="no") == {"v": "w"}
    assert refer(valued, given=[], name="no") == {"v": "w"}
    assert refer(valued, name="maps") == {"v": "w"}
    assert refer(valued, name="gone") == {"v": "w"}
    data = GlobalData({"a": {"b": [1.0]}}, "a", (("first", "b[0]"),))
    mocks = mocked((("", "https://x.io"), 200, {"s": "t"}), no=data, plain=GlobalData([{"p": "q"}]))
    assert refer(mocks, name="no") == {"first": 1}
    assert refer(mocks, name="no.first") == "1"
    assert refer(mocks, name="plain", jmesPath="[0].p") == "q"
    assert refer(mocks, name="plain.x").endswith(
        'global context mock: projection "x" requested but value is not an object'
    )
    assert refer(mocks, name="no.x").endswith('global context mock: projection "x" not found')
    assert refer(mocks, name="service") == {"s": "t"}


def test_no_global_data_leaves_the_entry_undefined(rule, run, verdicts, pod):
    body = rule(globalReference={"name": "no"})
    body["validate"]["deny"]["conditions"]["all"][0]["key"] = "{{ got }}"
    ((_, status, message),) = verdicts(run(body, pod()))
    assert (status, message.rpartition(": ")[2]) == ("error", 'Unknown key "got" in path')
