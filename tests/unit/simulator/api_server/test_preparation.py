import pytest

from kyvsim.simulator.api_server.server import qos_class


def test_services_have_addresses_of_their_own(admin, obj):
    def made(name, **spec):
        sent = obj("Service", name, "default", spec={"ports": [{"port": 80}], **spec})
        return admin.create(sent).object["spec"]

    first, second = made("a"), made("b", type="NodePort")
    assert first["clusterIP"] != second["clusterIP"]
    assert second["clusterIPs"] == [second["clusterIP"]]
    assert second["ports"][0]["nodePort"] == 30000
    assert made("c", clusterIP="None")["clusterIPs"] == ["None"]
    assert "clusterIP" not in made("d", type="ExternalName", externalName="example.com")


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
        ({"limits": {"cpu": "1"}}, "Burstable"),
    ],
)
def test_a_pod_is_treated_as_it_asks(resources, expected):
    assert qos_class({"containers": [{"name": "c", "resources": resources}]}) == expected
