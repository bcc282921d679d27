"""`validate.podSecurity`: levels and versions, kinds, messages, exceptions."""

import pytest

from kyvsim.engine.compile.compiled import Evaluation, MatchedException
from kyvsim.languages.classic.pod_security import active_checks
from kyvsim.languages.classic.pod_security.exclusions import compile_exclusions
from kyvsim.languages.classic.rule_type import RuleContext
from kyvsim.languages.classic.rules.validate_pod_security import RULE_TYPE
from kyvsim.model.policy import Rule, RuleFacts
from kyvsim.model.result import RuleStatus

HOST = {"hostPID": True, "containers": []}
NAMESPACES = compile_exclusions([{"controlName": "Host Namespaces"}])
PORTS = compile_exclusions([{"controlName": "Host Ports", "images": ["*"]}])


def run(obj, *exceptions, **rule):
    data = {"validate": {"podSecurity": {"level": "baseline", **rule}}}
    body = RULE_TYPE.compile(RuleContext(None, Rule("r", data, (), RuleFacts()), None))
    return body(Evaluation(None, None, obj, exceptions=exceptions))


def told(obj, **rule):
    outcome = run(obj, **rule)
    return outcome.status, outcome.message


def pod(**spec):
    return {"kind": "Pod", "spec": spec}


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
