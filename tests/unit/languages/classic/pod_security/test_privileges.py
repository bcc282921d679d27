"""Privileges of containers."""

import pytest


def one(security, group="containers"):
    return {group: [{"name": "a", "securityContext": security}]}


CONTROLS = {
    "privileged": ("privileged", True),
    "procMount": ("procMount", "Unmasked"),
    "windowsHostProcess": ("windowsOptions.hostProcess", True),
    "allowPrivilegeEscalation": ("allowPrivilegeEscalation", True),
}
BAD = {
    "privileged": {"privileged": True},
    "procMount": {"procMount": "Unmasked"},
    "windowsHostProcess": {"windowsOptions": {"hostProcess": True}},
    "allowPrivilegeEscalation": {"allowPrivilegeEscalation": True},
}
GOOD = {
    "privileged": [None, {}, {"privileged": False}],
    "procMount": [None, {}, {"procMount": "Default"}],
    "windowsHostProcess": [None, {}, {"windowsOptions": {}}],
    "allowPrivilegeEscalation": [{"allowPrivilegeEscalation": False}],
}


@pytest.mark.parametrize("group", ["containers", "initContainers", "ephemeralContainers"])
@pytest.mark.parametrize("control", BAD)
def test_bad_in_every_group(found, control, group):
    field, value = CONTROLS[control]
    assert found(control, one(BAD[control], group)) == [
        (f"{group}[0].securityContext.{field}", value)
    ]


@pytest.mark.parametrize(("control", "security"), [(c, s) for c in GOOD for s in GOOD[c]])
def test_good(found, control, security):
    assert found(control, one(security)) is None


def test_escalation_must_be_ruled_out(found):
    path = "containers[0].securityContext.allowPrivilegeEscalation"
    assert found("allowPrivilegeEscalation", one(None)) == [(path, "required")]
    assert found("allowPrivilegeEscalation", one({})) == [(path, "nil")]


@pytest.mark.parametrize(("version", "passes"), [("v1.24", False), ("v1.25", True)])
def test_windows_is_let_off_from_1_25(found, version, passes):
    spec = {**one(None), "os": {"name": "windows"}}
    assert (found("allowPrivilegeEscalation", spec, version=version) is None) is passes


def test_host_process_of_the_pod_comes_first(found):
    windows = {"windowsOptions": {"hostProcess": True}}
    fields = [
        field
        for field, _ in found(
            "windowsHostProcess",
            {
                **one(windows),
                "securityContext": windows,
            },
        )
    ]
    assert fields == [
        "securityContext.windowsOptions.hostProcess",
        "containers[0].securityContext.windowsOptions.hostProcess",
    ]
