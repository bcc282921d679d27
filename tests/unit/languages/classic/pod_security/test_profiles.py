"""Profiles: AppArmor, seccomp, SELinux."""

import pytest

from kyvsim.languages.classic.pod_security.app_armor import app_armor
from kyvsim.languages.classic.pod_security.pod import read_pod

POD = "securityContext."
FIRST = f"containers[0].{POD}"


def pod(own, of_container=None):
    container = {"name": "a", "securityContext": of_container}
    return {"securityContext": own, "containers": [container]}


def seccomp(kind):
    return {"seccompProfile": {"type": kind}}


def app(kind):
    return {"appArmorProfile": {"type": kind}}


def selinux(**options):
    return {"seLinuxOptions": options}


CASES = [
    ("seccompProfile_baseline", pod({}), None),
    ("seccompProfile_baseline", pod(seccomp("Localhost")), None),
    (
        "seccompProfile_baseline",
        pod(seccomp("Unconfined"), seccomp("")),
        [(f"{POD}seccompProfile.type", "Unconfined"), (f"{FIRST}seccompProfile.type", "")],
    ),
    ("seccompProfile_restricted", pod(seccomp("RuntimeDefault")), None),
    ("seccompProfile_restricted", pod({}, seccomp("RuntimeDefault")), None),
    ("seccompProfile_restricted", pod({}), [(f"{FIRST}seccompProfile.type", "required")]),
    (
        "seccompProfile_restricted",
        pod(seccomp("Unconfined")),
        [(f"{POD}seccompProfile.type", "Unconfined")],
    ),
    ("appArmorProfile", pod(app("RuntimeDefault"), app("Localhost")), None),
    (
        "appArmorProfile",
        pod({}, app("Unconfined")),
        [(f"{FIRST}appArmorProfile.type", "Unconfined")],
    ),
    ("seLinuxOptions", pod(selinux(type="container_t", level="s0")), None),
    ("seLinuxOptions", pod(selinux(type="container_engine_t")), None),
    (
        "seLinuxOptions",
        pod({}, selinux(type="spc_t", user="u", role="r")),
        [
            (f"{FIRST}seLinuxOptions.type", "spc_t"),
            (f"{FIRST}seLinuxOptions.user", "u"),
            (f"{FIRST}seLinuxOptions.role", "r"),
        ],
    ),
]


@pytest.mark.parametrize(("control", "spec", "wanted"), CASES)
def test_profiles(found, control, spec, wanted):
    assert found(control, spec) == wanted


def test_engine_type_of_selinux_is_allowed_from_1_31(found):
    spec = pod(selinux(type="container_engine_t"))
    assert found("seLinuxOptions", spec, version="v1.30") is not None


@pytest.mark.parametrize(
    ("value", "bad"),
    [("runtime/default", False), ("docker/default", False), ("localhost/x", False), ("", True)],
)
def test_seccomp_annotations_before_1_19(found, value, bad):
    key = "container.seccomp.security.alpha.kubernetes.io/a"
    wanted = [(f"metadata.annotations[{key}]", value)] if bad else None
    found_there = found("seccompProfile_baseline", pod({}), {key: value}, version="v1.18")
    assert found_there == wanted
    assert found("seccompProfile_baseline", pod({}), {key: "unconfined"}, version="v1.19") is None


KEY = "container.apparmor.security.beta.kubernetes.io/"


@pytest.mark.parametrize(
    ("value", "bad"),
    [("runtime/default", False), ("localhost/x", False), ("", False), ("unconfined", True)],
)
def test_app_armor_annotations(found, value, bad):
    wanted = [(f"metadata.annotations[{KEY}a]", value)] if bad else None
    assert found("appArmorProfile", pod({}), {f"{KEY}a": value, "other": "x"}) == wanted


@pytest.mark.parametrize(
    ("annotations", "own", "reason"),
    [
        ({}, "Unconfined", "forbidden AppArmor profile"),
        ({f"{KEY}a": "x"}, "Unconfined", "forbidden AppArmor profiles"),
        ({f"{KEY}a": "x", f"{KEY}b": "x"}, "Localhost", "forbidden AppArmor profiles"),
    ],
)
def test_reason_counts_profiles(annotations, own, reason):
    assert app_armor(read_pod(annotations, {"securityContext": app(own)})).reason == reason
