"""What a simulated cluster lacks, and how a test reports that."""

import pytest

HOOKS = "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, %s}"
LEASE = "{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: %s}}"
SERVICE = "{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {ports: [{port: 80}]}}"


@pytest.mark.parametrize("kind", ["assert", "error"])
@pytest.mark.parametrize(
    ("resource", "told"),
    [
        (HOOKS % "metadata: {name: kyverno-ttl-validating-webhook-cfg}", "webhook config"),
        (LEASE % "kyverno", "Lease `kyverno`: in a cluster nodes and controllers"),
        (
            "{apiVersion: openreports.io/v1alpha1, kind: Report}",
            "objects of kind Report: in a cluster Kyverno, if it is installed",
        ),
        (
            "{apiVersion: apps/v1, kind: Deployment, metadata: {name: x, namespace: kyverno}}",
            "the components installed there are not simulated",
        ),
    ],
)
def test_what_only_a_cluster_writes_settles_nothing(kind, resource, told, steps):
    outcome = steps(f"- {kind}: {{timeout: 1s, resource: {resource}}}")
    assert outcome.result == "unsupported"
    assert told in outcome.reason


def test_object_that_the_test_wrote_is_what_it_is(steps):
    lease = LEASE % "mine"
    outcome = steps(f"- create: {{resource: {lease}}}\n- assert: {{resource: {lease}}}")
    assert outcome.result == "pass", outcome.reason


def test_object_that_should_not_be_there_is_no_pass_where_only_a_cluster_writes_it(steps):
    gone = SERVICE.replace("name: s", "name: s, namespace: kyverno")
    assert steps(f"- error: {{resource: {gone}}}").result == "unsupported"
    assert steps(f"- error: {{resource: {SERVICE}}}").result == "pass"


@pytest.mark.parametrize("kind", ["assert", "error"])
@pytest.mark.parametrize(("version", "name"), [("v1", "Podd"), ("apps/v1beta1", "Deployment")])
def test_kind_that_no_cluster_serves_fails_at_once(kind, version, name, steps):
    outcome = steps(f"- {kind}: {{resource: {{apiVersion: {version}, kind: {name}}}}}")
    assert outcome.result == "fail"
    assert f'no matches for kind "{name}" in version "{version}"' in outcome.reason
    assert outcome.seconds < 1


@pytest.mark.parametrize(
    "step",
    [
        "assert: {resource: {RULE}}",
        "error: {resource: {RULE}}",
        "delete: {ref: {RULE, name: r}}",
        "delete: {ref: {RULE, labels: {a: b}}}",
    ],
)
def test_kind_of_a_later_release_settles_nothing(step, steps):
    rule = "apiVersion: resource.k8s.io/v1, kind: DeviceTaintRule"
    outcome = steps(f"- {step.replace('RULE', rule)}")
    assert outcome.result == "unsupported", outcome.reason
    assert "DeviceTaintRule of resource.k8s.io/v1 is only served by later" in outcome.reason


def test_status_that_nobody_writes_here_settles_nothing(steps):
    wanted = "{apiVersion: v1, kind: Service, metadata: {name: s}, status: {loadBalancer: {x: y}}}"
    outcome = steps(
        f"- create: {{resource: {SERVICE}}}\n- assert: {{timeout: 1s, resource: {wanted}}}"
    )
    assert outcome.result == "unsupported"
    assert "the status of a Service, which is not simulated" in outcome.reason


@pytest.mark.parametrize(
    ("obj", "told"),
    [
        (
            "{apiVersion: v1, kind: LimitRange, metadata: {name: l}, spec: {limits: []}}",
            "LimitRange `l` of the namespace",
        ),
        (
            "{apiVersion: v1, kind: ResourceQuota, metadata: {name: q}, spec: {hard: {pods: 0}}}",
            "ResourceQuota `q` of the namespace",
        ),
    ],
)
def test_pod_that_a_cluster_would_change_or_deny_settles_nothing(obj, told, steps):
    pod = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [%s]}}"
    pod %= "{name: c, image: nginx}"
    outcome = steps(f"- create: {{resource: {obj}}}\n- create: {{resource: {pod}}}")
    assert outcome.result == "unsupported"
    assert told in outcome.reason
    assert steps(f"- create: {{resource: {obj}}}").result == "pass"


def test_pod_that_the_standards_would_deny_settles_nothing(run):
    outcome = run(
        """
namespaceTemplate: {metadata: {labels: {pod-security.kubernetes.io/enforce: restricted}}}
steps:
- try:
  - create:
      resource:
        {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}
"""
    )
    assert outcome.result == "unsupported"
    assert "pod-security.kubernetes.io/enforce: restricted" in outcome.reason


CONDITIONED = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: some}
spec:
  webhookConfiguration:
    matchConditions: [{name: a, expression: "(%s)"}]
  rules:
  - name: never
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate: {failureAction: Enforce, message: none, pattern: {data: {x: "?*"}}}
"""


@pytest.mark.parametrize(
    "condition",
    [
        # A boolean in place of a text, and no JMESPath at all.
        "object.metadata.name == 'a'",
        "'a' in object.metadata.labels",
    ],
)
def test_text_in_brackets_that_nobody_calls_an_expression_settles_nothing(condition, steps):
    create = "- create: {timeout: 1s, file: policy.yaml%s}"
    policy = CONDITIONED % condition
    outcome = steps(create % "", policy=policy)
    assert outcome.result == "unsupported"
    assert "no suite configuration says whether it is one" in outcome.reason
    assert steps(create % ", template: false", policy=policy).result == "pass"
    assert steps(create % ", template: true", policy=policy).result == "fail"


def test_registry_that_a_background_scan_asks_settles_nothing(steps):
    policy = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: signed}
spec:
  background: true
  rules:
  - name: signed
    match: {any: [{resources: {kinds: [Pod]}}]}
    verifyImages:
    - imageReferences: ["*"]
      failureAction: Audit
      mutateDigest: false
      attestors: [{entries: [{keyless: {subject: a, issuer: b, rekor: {url: https://r}}}]}]
"""
    pod = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [%s]}}"
    pod %= "{name: c, image: nginx}"
    outcome = steps(
        f"- create: {{resource: {pod}}}\n"
        "- create: {file: policy.yaml}\n- sleep: {duration: 2m}",
        policy=policy,
    )
    assert outcome.result == "unsupported", outcome.reason
    assert "kyvsim is offline" in outcome.reason


def test_webhooks_of_another_installation_settle_nothing(steps):
    wanted = HOOKS % (
        "metadata: {name: kyverno-resource-validating-webhook-cfg}, webhooks: [{failurePolicy: %s}]"
    )
    policy = CONDITIONED % "true"
    create = "- create: {file: policy.yaml, template: false}\n"
    check = f"- assert: {{timeout: 1s, resource: {wanted}}}"
    forced = steps(create + check % "Ignore", policy=policy)
    assert (forced.result, "forceFailurePolicyIgnore" in forced.reason) == ("unsupported", True)
    assert steps(create + check % "Fail", policy=policy).result == "pass"


SERVED_ELSEWHERE = """
- create:
    resource:
      apiVersion: apiregistration.k8s.io/v1
      kind: APIService
      metadata: {name: v1.metrics.example.com}
      spec:
        group: metrics.example.com
        version: v1
        groupPriorityMinimum: 100
        versionPriority: 100
        service: {name: metrics, namespace: default}
- %s: {resource: {apiVersion: %s/v1, kind: Load, metadata: {name: a}}}
"""


@pytest.mark.parametrize("kind", ["assert", "create", "error"])
def test_kinds_of_another_api_server_are_unsupported(kind, steps):
    outcome = steps(SERVED_ELSEWHERE % (kind, "metrics.example.com"))
    assert outcome.result == "unsupported"
    assert "the server of APIService `v1.metrics.example.com`" in outcome.reason
    assert steps(SERVED_ELSEWHERE % (kind, "other.example.com")).result == "fail"
