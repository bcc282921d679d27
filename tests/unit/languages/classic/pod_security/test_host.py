"""What the node shares with a Pod."""

import pytest

CASES = [
    ("hostNamespaces", {"hostNetwork": False}, None),
    (
        "hostNamespaces",
        {"hostNetwork": True, "hostIPC": True},
        [("hostNetwork", True), ("hostIPC", True)],
    ),
    ("hostNamespaces", {"hostnetwork": True}, [("hostNetwork", True)]),
    ("hostPathVolumes", {"volumes": [{"name": "a", "emptyDir": {}}]}, None),
    ("hostPathVolumes", {"volumes": [{"hostPath": None}]}, None),
    (
        "hostPathVolumes",
        {"volumes": [{}, {"hostPath": {"path": "/x"}}]},
        [("volumes[1].hostPath", "/x")],
    ),
    ("hostPathVolumes", {"volumes": [{"hostPath": {}}]}, [("volumes[0].hostPath", "")]),
    ("hostPorts", {"containers": [{"ports": [{"containerPort": 80, "hostPort": 0}]}]}, None),
    (
        "hostPorts",
        {"containers": [{}, {"ports": [{"hostPort": 80}, {"hostPort": 81}]}]},
        [("containers[1].ports[0].hostPort", 80), ("containers[1].ports[1].hostPort", 81)],
    ),
]


@pytest.mark.parametrize(("control", "spec", "wanted"), CASES)
def test_host(found, control, spec, wanted):
    assert found(control, spec) == wanted


HANDLERS = [
    {"livenessProbe": {"httpGet": {"port": 80, "host": "x"}}},
    {"startupProbe": {"tcpSocket": {"port": 80, "host": "127.0.0.1"}}},
    {"lifecycle": {"preStop": {"httpGet": {"port": "http", "host": "x"}}}},
]


@pytest.mark.parametrize("handler", HANDLERS)
def test_hosts_of_probes_are_told_without_fields_from_1_34(found, handler):
    assert found("hostProbesAndHostLifecycle", {"containers": [handler]}) == []


def test_probes_without_host(found):
    spec = {"containers": [{"readinessProbe": {"httpGet": {"port": 80, "host": ""}}}]}
    assert found("hostProbesAndHostLifecycle", spec) is None
