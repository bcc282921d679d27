"""Objects read as Go reads them: nulls, misspelt case, and Go's messages for what does not fit."""

import pytest

from kyvsim.kubernetes.quantities import with_floats
from kyvsim.languages.classic.pod_security.go_structs import MisfitError, read_object

START = "json: cannot unmarshal "
FIELD = "into Go struct field "

PROBED = "HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet"

MISFITS = [
    ("x", f"string {FIELD}Pod.spec of type v1.PodSpec"),
    ({"containers": "x"}, f"string {FIELD}PodSpec.spec.containers of type []v1.Container"),
    ({"containers": ["x"]}, f"string {FIELD}PodSpec.spec.containers of type v1.Container"),
    ({"hostPID": "true"}, f"string {FIELD}PodSpec.spec.hostPID of type bool"),
    ({"hostPID": 1}, f"number {FIELD}PodSpec.spec.hostPID of type bool"),
    ({"priority": 1.5}, f"number 1.5 {FIELD}PodSpec.spec.priority of type int32"),
    ({"priority": 2**31}, f"number 2147483648 {FIELD}PodSpec.spec.priority of type int32"),
    ({"nodeSelector": {"a": True}}, f"bool {FIELD}PodSpec.spec.nodeSelector of type string"),
    ({"dnsPolicy": []}, f"array {FIELD}PodSpec.spec.dnsPolicy of type v1.DNSPolicy"),
    (
        {"volumes": [{"secret": {"optional": {}}}]},
        f"object {FIELD}SecretVolumeSource.spec.volumes.VolumeSource.secret.optional of type bool",
    ),
    (
        {"containers": [{"livenessProbe": {"httpGet": {"port": True}}}]},
        f"bool {FIELD}{PROBED}.port of type int32",
    ),
    (
        {"hostPID": 1, "containers": 1},
        f"number {FIELD}PodSpec.spec.containers of type []v1.Container",
    ),
    ({"HOSTPID": "x"}, f"string {FIELD}PodSpec.spec.hostPID of type bool"),
    ({"hostPID": True, "HOSTPID": "x"}, f"string {FIELD}PodSpec.spec.hostPID of type bool"),
]


@pytest.mark.parametrize(("spec", "message"), MISFITS)
def test_misfits(spec, message):
    with pytest.raises(MisfitError) as raised:
        read_object(with_floats({"spec": spec}), "v1.Pod")
    assert str(raised.value) == START + message


QUANTITIES = [
    ("1Gi", ""),
    ("1X", "quantities must match the regular expression"),
    ("1ee", "unable to parse quantity's suffix"),
    ("", "quantities must match"),
    ({}, "quantities must match"),
]


@pytest.mark.parametrize(("quantity", "message"), QUANTITIES)
def test_types_that_read_themselves_end_the_reading(quantity, message):
    pod = {"spec": {"hostPID": True, "overhead": {"cpu": quantity}}}
    if not message:
        assert read_object(pod, "v1.Pod") is pod
        return
    with pytest.raises(MisfitError, match=message):
        read_object({"spec": {**pod["spec"], "containers": 1.0}}, "v1.Pod")


READ = [
    ({"hostPID": True, "unknown": [1]}, {"hostPID": True, "unknown": [1]}),
    ({"hostPID": None}, {}),
    ({"HostPid": True}, {"hostPID": True}),
    ({"HostPid": True, "hostPID": False}, {"hostPID": False}),
    ({"HostPid": True, "hostPID": None}, {"hostPID": True}),
    ({"containers": [None, {"name": None}]}, {"containers": [{}, {}]}),
    ({"nodeSelector": {"a": None}}, {"nodeSelector": {"a": ""}}),
    (
        {"SecurityContext": {"a": 1}, "securityContext": {"b": 2}},
        {"securityContext": {"a": 1, "b": 2}},
    ),
]


@pytest.mark.parametrize(("spec", "read"), READ)
def test_what_is_read(spec, read):
    given = {"spec": spec}
    assert read_object(given, "v1.Pod") == {"spec": read}
    assert (read_object(given, "v1.Pod") is given) is (spec == read)
