"""Kernel parameters and kinds of volumes."""

import pytest

PARAMETERS = [
    ("kernel.shm_rmid_forced", "v1.0"),
    ("net.ipv4.ip_local_reserved_ports", "v1.27"),
    ("net.ipv4.tcp_fin_timeout", "v1.29"),
    ("net.ipv4.tcp_rmem", "v1.32"),
]


def sysctl(name):
    return {"securityContext": {"sysctls": [{"name": name, "value": "1"}]}}


@pytest.mark.parametrize(("name", "since"), PARAMETERS)
def test_parameters_are_safe_since(found, name, since):
    minor = int(since[3:])
    assert found("sysctls", sysctl(name), version=since) is None
    assert found("sysctls", sysctl(name)) is None
    if minor:
        bad = [("securityContext.sysctls[0].name", name)]
        assert found("sysctls", sysctl(name), version=f"v1.{minor - 1}") == bad


def test_unnamed_parameter(found):
    spec = {"securityContext": {"sysctls": [None]}}
    assert found("sysctls", spec) == [("securityContext.sysctls[0].name", "")]


KINDS = ["configMap", "csi", "emptyDir", "ephemeral", "image", "projected", "secret"]


@pytest.mark.parametrize("kind", KINDS)
def test_allowed_volumes(found, kind):
    assert found("restrictedVolumes", {"volumes": [{"name": "a", kind: {}}]}) is None


@pytest.mark.parametrize(
    ("volume", "told"),
    [
        ({"hostPath": {}}, "hostPath"),
        ({"nfs": {}}, "nfs"),
        ({"rbd": {}, "iscsi": {}}, "iscsi"),
        ({"emptyDir": None}, "unknown"),
        ({"newKind": {}}, "unknown"),
    ],
)
def test_other_volumes(found, volume, told):
    spec = {"volumes": [{"name": "a", "emptyDir": {}}, volume]}
    assert found("restrictedVolumes", spec) == [(f"volumes[1].{told}", "")]
