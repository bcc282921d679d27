"""Controls of Pod security become expressions that deny the same Pods."""

import pytest
from ways import way_text

from kyvsim.languages.classic.field_references import pod_security_fields
from kyvsim.languages.classic.pod_security.controls import CONTROLS, active_checks
from kyvsim.migrate.pod_security import CONTROLS as EMITTED
from kyvsim.model.migration import ConversionOutcome
from kyvsim.policy.rule import read_rule

APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/a"
KEPT = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}
"""The least that a container needs at the restricted level."""


def rule(level="restricted", *exclude, version="latest"):
    block = {"level": level, "version": version}
    return {"validate": {"podSecurity": {**block, "exclude": list(exclude)} if exclude else block}}


def fields(*level, **version):
    return pod_security_fields(read_rule(rule(*level, **version), ()).validate.pod_security)


def container(security=KEPT, name="a", image="i:1", **fields):
    return {"name": name, "image": image, "securityContext": security, **fields}


def without(*names):
    return {key: value for key, value in KEPT.items() if key not in names}


HELD = {
    "nothing": {},
    "a port": {"containers": [container(ports=[{"containerPort": 80}])]},
    "a probe": {"containers": [container(livenessProbe={"httpGet": {"port": 80}})]},
    "a bound low port": {
        "containers": [
            container({**KEPT, "capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}})
        ]
    },
    "settings of the Pod": {
        "containers": [container(without("runAsNonRoot", "seccompProfile"))],
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "Localhost"}},
    },
    "windows": {
        "containers": [container({})],
        "os": {"name": "windows"},
        "securityContext": {"runAsNonRoot": True},
    },
    "a safe sysctl": {
        "securityContext": {"sysctls": [{"name": "net.ipv4.tcp_syncookies", "value": "1"}]}
    },
    "an empty volume": {"volumes": [{"name": "v", "emptyDir": {}}]},
    "a type": {"securityContext": {"seLinuxOptions": {"type": "container_t"}}},
}
BROKEN = {
    "escalation": {"containers": [container(without("allowPrivilegeEscalation"))]},
    "an init container": {"initContainers": [container({}, "b")]},
    "an ephemeral container": {"ephemeralContainers": [container({}, "b")]},
    "AppArmor": {"securityContext": {"appArmorProfile": {"type": "Unconfined"}}},
    "a capability": {
        "containers": [container({**KEPT, "capabilities": {"drop": ["ALL"], "add": ["CHOWN"]}})]
    },
    "capabilities kept": {"containers": [container(without("capabilities"))]},
    "the host's network": {"hostNetwork": True},
    "the host's processes": {"hostPID": True},
    "a path of the host": {"volumes": [{"name": "v", "hostPath": {"path": "/x"}}]},
    "a port of the host": {
        "containers": [container(ports=[{"containerPort": 80, "hostPort": 80}])]
    },
    "a host for a probe": {
        "containers": [container(startupProbe={"tcpSocket": {"port": 80, "host": "h"}})]
    },
    "a host for an end": {
        "containers": [container(lifecycle={"preStop": {"httpGet": {"port": 80, "host": "h"}}})]
    },
    "privileged": {"containers": [container({**KEPT, "privileged": True})]},
    "masks": {"containers": [container({**KEPT, "procMount": "Unmasked"})]},
    "a volume": {"volumes": [{"name": "v", "nfs": {"server": "s", "path": "/x"}}]},
    "root allowed by the Pod": {"securityContext": {"runAsNonRoot": False}},
    "root not ruled out": {"containers": [container(without("runAsNonRoot"))]},
    "the user 0": {"securityContext": {"runAsUser": 0}},
    "the user 0 of one": {"containers": [container({**KEPT, "runAsUser": 0})]},
    "a role": {"containers": [container({**KEPT, "seLinuxOptions": {"role": "r"}})]},
    "a profile": {"securityContext": {"seccompProfile": {"type": "Unconfined"}}},
    "no profile": {"containers": [container(without("seccompProfile"))]},
    "a sysctl": {"securityContext": {"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}},
    "a process of the host": {"securityContext": {"windowsOptions": {"hostProcess": True}}},
}


@pytest.fixture
def pods(pod):
    """Return what makes Pods of specifications by their names; containers keep all controls."""

    def make(specs):
        usual = {"containers": [container()]}
        return [pod(name, **{**usual, **spec}) for name, spec in specs.items()]

    return make


@pytest.mark.slow
def test_controls_that_are_kept_and_broken(denials, pods):
    assert denials(rule(), pods({**HELD, **BROKEN})) == list(BROKEN)


@pytest.mark.slow
def test_the_baseline_asks_less(denials, pods):
    denied = denials(rule("baseline"), pods({**HELD, **BROKEN}))
    assert "escalation" not in denied
    assert "a volume" not in denied
    assert "privileged" in denied


@pytest.mark.slow
def test_versions(denials, pods):
    later = {"name": "net.ipv4.tcp_rmem", "value": "1"}
    specs = {
        "windows": HELD["windows"],
        "sysctl": {"securityContext": {"sysctls": [later]}},
        "engine": {"securityContext": {"seLinuxOptions": {"type": "container_engine_t"}}},
    }
    assert denials(rule(version="v1.24"), pods(specs)) == ["windows", "sysctl", "engine"]
    assert denials(rule(version="v1.31"), pods(specs)) == ["sysctl"]
    assert denials(rule(version="v1.32"), pods(specs)) == []


def test_annotations(denials, pod):
    found = [pod(name, containers=[container()]) for name in ("usual", "local", "none")]
    values = ("runtime/default", "localhost/x", "unconfined")
    for one, value in zip(found, values, strict=True):
        one["metadata"]["annotations"] = {APP_ARMOR: value}
    assert denials(rule("baseline"), found) == ["none"]


def test_annotations_of_controllers(denials):
    bad = {"annotations": {APP_ARMOR: "unconfined"}}
    template = {"spec": {"containers": [container()]}}
    job = {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": template}}}

    def cron_job(name, job):
        return {
            "apiVersion": "batch/v1",
            "kind": "CronJob",
            "metadata": {"name": name, "namespace": "x"},
            "spec": job,
        }

    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "deployment", "namespace": "x"},
        "spec": {"template": {**template, "metadata": bad}},
    }
    of_pods = {**job["jobTemplate"]["spec"], "template": {**template, "metadata": bad}}
    found = [
        deployment,
        cron_job("of-job", {**job, "jobTemplate": {**job["jobTemplate"], "metadata": bad}}),
        cron_job("of-pods", {**job, "jobTemplate": {"spec": of_pods}}),
    ]
    assert denials(rule("baseline"), found) == ["deployment", "of-job"]


EXCLUDED = [
    ({"controlName": "Host Namespaces"}, "the host's network", "a port of the host"),
    (
        {
            "controlName": "Host Namespaces",
            "restrictedField": "spec.hostNetwork",
            "values": ["true"],
        },
        "the host's network",
        "the host's processes",
    ),
    (
        {"controlName": "Host Ports", "images": ["i:*"]},
        "a port of the host",
        "a host for a probe",
    ),
    (
        {
            "controlName": "Capabilities",
            "images": ["i:*"],
            "restrictedField": "spec.containers[*].securityContext.capabilities.add",
            "values": ["CH*"],
        },
        "a capability",
        "capabilities kept",
    ),
    (
        {
            "controlName": "Sysctls",
            "restrictedField": "spec.securityContext.sysctls[*].name",
            "values": ["kernel.msg*"],
        },
        "a sysctl",
        "the user 0",
    ),
    (
        {
            "controlName": "Volume Types",
            "restrictedField": "spec.volumes[*].nfs",
            "values": ["false"],
        },
        "a volume",
        "a path of the host",
    ),
    (
        {
            "controlName": "Seccomp",
            "restrictedField": "spec.securityContext.seccompProfile.type",
            "values": ["Unconfined"],
        },
        "a profile",
        "no profile",
    ),
    ({"controlName": "Running as Non-root"}, "root allowed by the Pod", "the user 0"),
    (
        {"controlName": "Privilege Escalation", "images": ["*"]},
        "escalation",
        "an init container",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("exclude", "passing", "denied"), EXCLUDED, ids=str)
def test_exclusions(exclude, passing, denied, denials, pods):
    specs = {name: BROKEN[name] for name in (passing, denied)}
    assert denials(rule("restricted", exclude), pods(specs)) == [denied]


def test_exclusions_are_of_images(denials, pods):
    bad = {**KEPT, "privileged": True}
    specs = {
        "excluded": {"containers": [container(bad, image="trusted/a")]},
        "other": {"containers": [container(bad), container(name="b", image="trusted/a")]},
        "both": {
            "containers": [container(bad, image="trusted/a")],
            "initContainers": [container(bad, "b")],
        },
    }
    exclude = {"controlName": "Privileged Containers", "images": ["trusted/*"]}
    assert denials(rule("baseline", exclude), pods(specs)) == ["other", "both"]


def test_an_exclusion_without_images_lets_one_silent_container_pass(denials, pods):
    silent = without("seccompProfile")
    specs = {
        "one": {"containers": [container(silent)]},
        "two": {"containers": [container(silent), container(silent, "b")]},
    }
    assert denials(rule("restricted", {"controlName": "Seccomp"}), pods(specs)) == ["two"]


def test_an_excluded_profile_hides_that_others_have_none(denials, pods):
    loose = {**KEPT, "seccompProfile": {"type": "Unconfined"}}
    bare = container(without("seccompProfile"), "b")
    specs = {
        "hidden": {"containers": [container(loose, image="trusted/a"), bare]},
        "seen": {"containers": [container(image="trusted/a"), bare]},
    }
    exclude = {"controlName": "Seccomp", "images": ["trusted/*"]}
    assert denials(rule("restricted", exclude), pods(specs)) == ["seen"]


def test_validations_are_what_a_person_would_write(converted):
    told, (made,) = converted(rule("baseline", {"controlName": "Host Namespaces"}))
    assert told.outcome is ConversionOutcome.CONDITIONAL
    assert {one.name for one in told.conditions} == {"message", "ReplicationControllers"}
    messages = [one["message"] for one in made["spec"]["validations"]]
    assert not any("Host Namespaces" in one for one in messages)
    assert messages[0] == (
        "Validation rule 'r' failed. It violates PodSecurity \"baseline:latest\": AppArmor"
    )
    assert {
        "expression": (
            "variables.allContainers.all(container,\n"
            "  !container.?securityContext.?privileged.orValue(false)\n"
            ")"
        ),
        "message": messages[0].replace("AppArmor", "Privileged Containers"),
    } in made["spec"]["validations"]


def test_a_single_annotation_cannot_be_excluded(converted):
    field = f"metadata.annotations[{APP_ARMOR}]"
    exclude = {"controlName": "AppArmor", "restrictedField": field, "values": ["unconfined"]}
    told, made = converted(rule("baseline", {"controlName": "Sysctls"}, exclude))
    assert made == []
    assert told.path == "spec.rules[0].validate.podSecurity.exclude[1].restrictedField"


def test_pods_of_several_levels_are_refused(converted):
    kinds = {"any": [{"resources": {"kinds": ["Pod", "Deployment"]}}]}
    told, made = converted({**rule(), "match": kinds})
    assert made == []
    assert "Pod, Deployment" in told.reason


def test_controllers_that_are_named(denials, pods):
    (pod,) = pods({"bad": BROKEN["privileged"]})
    kinds = {"any": [{"resources": {"kinds": ["Deployment"]}}]}
    found = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "bad", "namespace": "x"},
        "spec": {"template": {"spec": pod["spec"]}},
    }
    assert denials({**rule("baseline"), "match": kinds}, [found]) == ["bad"]


def test_every_control_has_an_emitter_and_is_pod_security_fields():
    assert list(EMITTED) == [one.id for one in CONTROLS]
    for version in ("v1.19", "latest"):
        for check in active_checks("restricted", version):
            assert check.id in EMITTED
        ways = {way_text(way) for way, _ in fields("restricted", version=version)}
        assert "spec.initContainers[].securityContext.capabilities.drop[]" in ways
        assert "spec.securityContext.sysctls[].name" in ways


def test_exclusions_are_pod_security_fields():
    exclude = [
        {
            "controlName": "Host Ports",
            "images": ["x/*"],
            "restrictedField": "spec.containers[*].ports[*].hostPort",
            "values": ["10"],
        }
    ]
    told = list(fields("baseline", *exclude, version=""))
    ways = {way_text(way): values for way, values in told[-4:]}
    assert ways["spec.ephemeralContainers[].image"] == ("x/*",)
    assert ways["spec.containers[].ports[].hostPort"] == ("10",)
