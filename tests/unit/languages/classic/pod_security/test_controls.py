"""Capabilities that containers add and drop."""

import pytest

from kyvsim.languages.classic.pod_security.controls import app_armor, read_pod

# capabilities


ADD, DROP = (f"containers[0].securityContext.capabilities.{action}" for action in ("add", "drop"))
BASELINE, RESTRICTED = "capabilities_baseline", "capabilities_restricted"


def one(capabilities):
    return {"containers": [{"name": "a", "securityContext": {"capabilities": capabilities}}]}


CASES = [
    (BASELINE, {}, None),
    (BASELINE, {"add": ["KILL", "CHOWN"]}, None),
    (
        BASELINE,
        {"add": ["SYS_TIME", "KILL", "NET_RAW", "NET_RAW"]},
        [(ADD, ("NET_RAW", "SYS_TIME"))],
    ),
    (BASELINE, {"add": ["kill"]}, [(ADD, ("kill",))]),
    (RESTRICTED, {"drop": ["ALL"]}, None),
    (RESTRICTED, {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}, None),
    (RESTRICTED, {"drop": ["ALL"], "add": ["KILL"]}, [(ADD, ("KILL",))]),
    (RESTRICTED, {"drop": ["all"]}, [(DROP, ("all",))]),
    (RESTRICTED, {"drop": []}, [(DROP, "required")]),
    (RESTRICTED, {"drop": ["B", "A"], "add": ["KILL"]}, [(DROP, ("A", "B")), (ADD, ("KILL",))]),
    (RESTRICTED, None, [(DROP, "required")]),
]


@pytest.mark.parametrize(("control", "capabilities", "wanted"), CASES)
def test_capabilities(found, control, capabilities, wanted):
    assert found(control, one(capabilities)) == wanted


def test_missing_drops_are_told_before_additions(found):
    adding = {"securityContext": {"capabilities": {"add": ["A"], "drop": ["ALL"]}}}
    fields = [field for field, _ in found(RESTRICTED, {"containers": [adding, {"name": "b"}]})]
    assert fields == [DROP.replace("0", "1"), ADD]


def test_restricted_holds_before_its_first_version(found):
    assert found(RESTRICTED, one(None), version="v1.19") == [(DROP, "required")]


# host


CASES_HOST = [
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


@pytest.mark.parametrize(("control", "spec", "wanted"), CASES_HOST)
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


# privileges


def one_privileges(security, group="containers"):
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
    assert found(control, one_privileges(BAD[control], group)) == [
        (f"{group}[0].securityContext.{field}", value)
    ]


@pytest.mark.parametrize(("control", "security"), [(c, s) for c in GOOD for s in GOOD[c]])
def test_good(found, control, security):
    assert found(control, one_privileges(security)) is None


def test_escalation_must_be_ruled_out(found):
    path = "containers[0].securityContext.allowPrivilegeEscalation"
    assert found("allowPrivilegeEscalation", one_privileges(None)) == [(path, "required")]
    assert found("allowPrivilegeEscalation", one_privileges({})) == [(path, "nil")]


@pytest.mark.parametrize(("version", "passes"), [("v1.24", False), ("v1.25", True)])
def test_windows_is_let_off_from_1_25(found, version, passes):
    spec = {**one_privileges(None), "os": {"name": "windows"}}
    assert (found("allowPrivilegeEscalation", spec, version=version) is None) is passes


def test_host_process_of_the_pod_comes_first(found):
    windows = {"windowsOptions": {"hostProcess": True}}
    fields = [
        field
        for field, _ in found(
            "windowsHostProcess",
            {
                **one_privileges(windows),
                "securityContext": windows,
            },
        )
    ]
    assert fields == [
        "securityContext.windowsOptions.hostProcess",
        "containers[0].securityContext.windowsOptions.hostProcess",
    ]


# profiles


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


CASES_PROFILES = [
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


@pytest.mark.parametrize(("control", "spec", "wanted"), CASES_PROFILES)
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


# sysctls and volumes


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


# users


ROOT, NON_ROOT = "runAsUser", "runAsNonRoot"


def pod_users(own, *of_containers):
    return {
        "securityContext": own,
        "containers": [{"securityContext": one} for one in of_containers],
    }


def at(number, field):
    return f"containers[{number}].securityContext.{field}"


CASES_USERS = [
    (NON_ROOT, pod_users({NON_ROOT: True}, None, {}), None),
    (NON_ROOT, pod_users(None, {NON_ROOT: True}), None),
    (NON_ROOT, pod_users(None, None), [(at(0, NON_ROOT), "required")]),
    (NON_ROOT, pod_users({NON_ROOT: True}, {NON_ROOT: False}), [(at(0, NON_ROOT), False)]),
    (
        NON_ROOT,
        pod_users({NON_ROOT: False}, None, {NON_ROOT: False}),
        [
            ("securityContext.runAsNonRoot", False),
            (at(1, NON_ROOT), False),
            (at(0, NON_ROOT), "required"),
        ],
    ),
    (ROOT, pod_users({ROOT: 1000}, {ROOT: 1}, None), None),
    (ROOT, pod_users({ROOT: 0}, {ROOT: 0}), [("securityContext.runAsUser", 0), (at(0, ROOT), 0)]),
]


@pytest.mark.parametrize(("control", "spec", "wanted"), CASES_USERS)
def test_users(found, control, spec, wanted):
    assert found(control, spec) == wanted
