"""Exclusions: which findings they take away."""

import pytest

from kyvsim.languages.classic.pod_security import active_checks
from kyvsim.languages.classic.pod_security.exclusions import compile_exclusions, without_excluded
from kyvsim.languages.classic.pod_security.pod import read_pod

ADD = "spec.containers[*].securityContext.capabilities.add"


def adding(name, image, *capabilities):
    security = {"capabilities": {"add": list(capabilities), "drop": ["ALL"]}}
    return {"name": name, "image": image, "securityContext": security}


TWO = {"containers": [adding("a", "nginx:1", "NET_RAW"), adding("b", "busybox", "SYS_TIME")]}
CAPABILITIES = {"controlName": "Capabilities", "images": ["*"]}
HOST = {"hostNetwork": True, "hostPID": True}
NAMESPACES = {"controlName": "Host Namespaces"}
NON_ROOT = {"controlName": "Running as Non-root"}


def left(spec, *entries):
    """Return the fields that are still objected to."""
    checks = active_checks("baseline", "latest") + active_checks("restricted", "latest")
    checks = tuple({one.id: one for one in checks}.values())
    checks = tuple(
        one for one in checks if one.control in {entry["controlName"] for entry in entries}
    )
    pod = read_pod({}, spec)
    found = {one.id: violation for one in checks if (violation := one.check(pod))}
    rest = without_excluded(found, compile_exclusions(entries), checks, pod)
    return sorted(finding.field for violation in rest.values() for finding in violation.findings)


def field(number):
    return ADD.replace("*", str(number))


CASES = [
    (TWO, [CAPABILITIES], []),
    (TWO, [{**CAPABILITIES, "images": ["nginx*"]}], [field(1)] * 2),
    (TWO, [{**CAPABILITIES, "images": ["nginx*", "busybox"]}], []),
    (TWO, [{**CAPABILITIES, "restrictedField": ADD, "values": ["NET_RAW"]}], [field(1)] * 2),
    (TWO, [{**CAPABILITIES, "restrictedField": ADD, "values": ["NET_*", "SYS_*"]}], []),
    (
        TWO,
        [{**CAPABILITIES, "restrictedField": field(0), "values": ["*"]}],
        [field(0), field(0), field(1), field(1)],
    ),
    (HOST, [NAMESPACES], []),
    (
        HOST,
        [{**NAMESPACES, "restrictedField": "spec.hostPID", "values": ["true"]}],
        ["spec.hostNetwork"],
    ),
    (
        HOST,
        [{**NAMESPACES, "restrictedField": "spec.hostPID", "values": ["false"]}],
        ["spec.hostNetwork", "spec.hostPID"],
    ),
]


@pytest.mark.parametrize(("spec", "entries", "wanted"), CASES)
def test_what_is_left(spec, entries, wanted):
    assert left(spec, *entries) == wanted


def test_an_exclusion_without_images_takes_one_container_away():
    spec = {"containers": [{"name": "a"}, {"name": "b"}]}
    assert left(spec, NON_ROOT) == ["spec.containers[1].securityContext.runAsNonRoot"]
    assert left(spec, NON_ROOT, NON_ROOT) == []


def test_an_exclusion_with_images_leaves_the_pod_itself():
    spec = {"securityContext": {"runAsNonRoot": False}, "containers": [{"name": "a", "image": "x"}]}
    rest = left(spec, {**NON_ROOT, "images": ["*"]})
    assert rest == ["spec.securityContext.runAsNonRoot"]
