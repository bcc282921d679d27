"""`validate.podSecurity`: levels and versions, kinds, messages, exceptions."""

import pytest

from kyvsim.engine.compile.compiled import Evaluation, MatchedException
from kyvsim.equivalence.policy_runner import StepCounter
from kyvsim.languages.classic.pod_security.controls import active_checks, read_pod
from kyvsim.languages.classic.rule_type import RuleContext
from kyvsim.languages.classic.rules import validate_pod_security
from kyvsim.languages.classic.rules.validate_pod_security import (
    RULE_TYPE,
    compile_exclusions,
    without_excluded,
)
from kyvsim.model.explanation import Step, StepKind
from kyvsim.model.policy import Rule, RuleFacts
from kyvsim.model.result import RuleStatus
from kyvsim.model.tracing import NO_TRACE, TraceContext
from kyvsim.policy.read import read_pod_security_exclusions
from kyvsim.policy.rule import read_rule

# validate pod security


HOST = {"hostPID": True, "containers": []}


def exclusions(*entries):
    return compile_exclusions(read_pod_security_exclusions([*entries], ()))


NAMESPACES = exclusions({"controlName": "Host Namespaces"})
PORTS = exclusions({"controlName": "Host Ports", "images": ["*"]})


def compiled(trace=NO_TRACE, **rule):
    data = {"validate": {"podSecurity": {"level": "baseline", **rule}}}
    written = Rule("r", data, (), RuleFacts(), read_rule(data, ()))
    return RULE_TYPE.compile(RuleContext(None, written, None, trace=trace))


def run(obj, *exceptions, **rule):
    return compiled(**rule)(Evaluation(None, None, obj, exceptions=exceptions))


def told(obj, **rule):
    outcome = run(obj, **rule)
    return outcome.status, outcome.message


def pod(**spec):
    return {"kind": "Pod", "spec": spec}


def test_a_tracer_that_counts_results_gets_the_controls_of_the_first_of_each_kind(monkeypatch):
    """Of two Pods that fail, only one has its findings described."""
    described = []
    monkeypatch.setattr(
        validate_pod_security,
        "_finding_step",
        lambda finding, _: described.append(finding.field) or Step(StepKind.FINDING, ""),
    )
    tracer = StepCounter()
    body = compiled(TraceContext(tracer=tracer))
    for spec in ({}, HOST, {"hostNetwork": True}):
        body(Evaluation(None, None, pod(**spec)))
    assert (described, tracer.answers) == (["spec.hostPID"], 2)


def test_pass():
    assert told(pod(), level="restricted") == (RuleStatus.PASS, "Validation rule 'r' passed.")


@pytest.mark.parametrize("version", ["latest", "v1.24"])
def test_failure(version):
    message = (
        f"Validation rule 'r' failed. It violates PodSecurity \"baseline:{version}\": "
        "(Forbidden reason: host namespaces, field error list:"
        " [spec.hostPID is forbidden, forbidden values found: true])"
    )
    assert told(pod(**HOST), version=version) == (RuleStatus.FAIL, message)


def test_values_in_messages():
    security = {"capabilities": {"add": ["B", "A"]}}
    volumes = [{"hostPath": {"path": ""}}, {"hostPath": {"path": "/x"}}]
    _, message = told(pod(containers=[{"securityContext": security}], volumes=volumes))
    assert message.endswith(
        "(Forbidden reason: non-default capabilities, field error list:"
        " [spec.containers[0].securityContext.capabilities.add is forbidden,"
        " forbidden values found: [A B]])"
        "(Forbidden reason: hostPath volumes, field error list: [spec.volumes[0].hostPath:"
        " Forbidden, spec.volumes[1].hostPath is forbidden, forbidden values found: /x])"
    )


@pytest.mark.parametrize(
    ("kind", "spec", "field"),
    [
        ("Deployment", {"template": {"spec": HOST}}, "spec.template.spec"),
        ("ReplicationController", {"template": {"spec": HOST}}, "spec.template.spec"),
        (
            "CronJob",
            {"jobTemplate": {"spec": {"template": {"spec": HOST}}}},
            "spec.jobTemplate.spec.template.spec",
        ),
    ],
)
def test_controllers(kind, spec, field):
    _, message = told({"kind": kind, "spec": spec})
    assert f"[{field}.hostPID is forbidden" in message


def test_annotations_of_a_pod_are_said_to_be_a_templates():
    key = "container.apparmor.security.beta.kubernetes.io/a"
    _, message = told({"kind": "Pod", "metadata": {"annotations": {key: "x"}}})
    assert f"[spec.template.metadata.annotations[{key}] is forbidden" in message


@pytest.mark.parametrize(
    ("obj", "rule", "message"),
    [
        (
            {"kind": "ConfigMap"},
            {},
            "Error while getting new resource: could not find correct resource type",
        ),
        (
            pod(),
            {"version": "1.25"},
            'failed to parse pod security api version: must be "latest" or "v1.x"',
        ),
    ],
)
def test_errors(obj, rule, message):
    assert told(obj, **rule) == (RuleStatus.ERROR, message)


def test_deleted_objects_are_not_looked_at():
    assert run(None) is None


EXCEPTIONS = [
    ([("a", ())], "rule is skipped due to policy exception a"),
    ([("a", NAMESPACES), ("b", ())], "rule is skipped due to policy exception b"),
    ([("a", PORTS), ("b", NAMESPACES)], "rule is skipped due to policy exceptions a, b"),
    ([("a", PORTS)], None),
]


@pytest.mark.parametrize(("exceptions", "skip"), EXCEPTIONS)
def test_exceptions(exceptions, skip):
    outcome = run(pod(**HOST), *(MatchedException(*one) for one in exceptions))
    if skip is None:
        assert outcome.status is RuleStatus.FAIL
    else:
        assert (outcome.status, outcome.message) == (RuleStatus.SKIP, skip)


def test_an_exception_to_controls_leaves_a_pass():
    assert run(pod(), MatchedException("a", NAMESPACES)).status is RuleStatus.PASS


@pytest.mark.parametrize(
    ("level", "count"), [("baseline", 12), ("restricted", 18), ("privileged", 18)]
)
def test_levels(level, count):
    assert len(active_checks(level, "latest")) == count


@pytest.mark.parametrize("version", ["v1", "v2.1", "v1.025", "1.25", "v1.x", "v1.25\n"])
def test_unknown_versions(version):
    assert active_checks("baseline", version) is None


# exclusions


ADD = "spec.containers[*].securityContext.capabilities.add"


def adding(name, image, *capabilities):
    security = {"capabilities": {"add": list(capabilities), "drop": ["ALL"]}}
    return {"name": name, "image": image, "securityContext": security}


TWO = {"containers": [adding("a", "nginx:1", "NET_RAW"), adding("b", "busybox", "SYS_TIME")]}
CAPABILITIES = {"controlName": "Capabilities", "images": ["*"]}
HOST_EXCLUSIONS = {"hostNetwork": True, "hostPID": True}
NAMESPACES_EXCLUSIONS = {"controlName": "Host Namespaces"}
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
    rest = without_excluded(found, exclusions(*entries), checks, pod)
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
    (HOST_EXCLUSIONS, [NAMESPACES_EXCLUSIONS], []),
    (
        HOST_EXCLUSIONS,
        [{**NAMESPACES_EXCLUSIONS, "restrictedField": "spec.hostPID", "values": ["true"]}],
        ["spec.hostNetwork"],
    ),
    (
        HOST_EXCLUSIONS,
        [{**NAMESPACES_EXCLUSIONS, "restrictedField": "spec.hostPID", "values": ["false"]}],
        ["spec.hostNetwork", "spec.hostPID"],
    ),
]


@pytest.mark.parametrize(("spec", "entries", "wanted"), CASES)
def test_what_is_left(spec, entries, wanted):
    assert left(spec, *entries) == wanted


@pytest.mark.parametrize(
    ("spec", "entry", "why"),
    [
        (TWO, {**CAPABILITIES, "images": ["nginx"]}, "image, such as `*nginx*`"),
        (TWO, {**CAPABILITIES, "images": ["a/b", "inx:*"]}, "(`a/b`, `inx:*`) are not `nginx:1`"),
        (TWO, {**CAPABILITIES, "images": ["ghcr.io/*"]}, ""),
        (
            TWO,
            {**CAPABILITIES, "restrictedField": ADD, "values": ["NET_ADMIN"]},
            "its values are only `NET_ADMIN`",
        ),
        (
            TWO,
            {**CAPABILITIES, "restrictedField": field(0), "values": ["*"]},
            f"it is only for `{field(0)}`, and not for `{ADD}`",
        ),
        (HOST_EXCLUSIONS, {**NAMESPACES_EXCLUSIONS, "images": ["*"]}, "a field of the Pod: remove"),
        (TWO, NAMESPACES_EXCLUSIONS, ""),
    ],
)
def test_a_failure_says_why_an_exclusion_does_not_exempt_it(spec, entry, why):
    outcome = run(pod(**spec), version="latest", exclude=[entry])
    assert outcome.status.value == "fail"
    assert why in "".join(outcome.hints)
    assert bool(outcome.hints) is bool(why)


def test_an_exclusion_without_images_takes_one_container_away():
    spec = {"containers": [{"name": "a"}, {"name": "b"}]}
    assert left(spec, NON_ROOT) == ["spec.containers[1].securityContext.runAsNonRoot"]
    assert left(spec, NON_ROOT, NON_ROOT) == []


def test_an_exclusion_with_images_leaves_the_pod_itself():
    spec = {"securityContext": {"runAsNonRoot": False}, "containers": [{"name": "a", "image": "x"}]}
    rest = left(spec, {**NON_ROOT, "images": ["*"]})
    assert rest == ["spec.securityContext.runAsNonRoot"]
