"""What `lint --fix` writes for mistakes of which only one correction can be meant."""

import pytest

from kyvsim.api.lint import lint, plan_fixes

RULE = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: p
spec:
  rules:
  - name: a
    match:
      any:
      - resources:
          kinds: [KIND]
"""
CEL = """\
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata:
  name: p
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [GROUPS], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [services]}
  validations:
"""


def pattern(line, kind="Service"):
    head = RULE.replace("KIND", kind)
    return f"{head}    validate:\n      message: No.\n      pattern:\n        {line}\n"


def deny(key, operations=""):
    head = RULE.replace("[KIND]", f"[Service]{operations}")
    return (
        f"{head}    validate:\n      message: No.\n      deny:\n        conditions:\n"
        f"          any:\n          - key: {key}\n            operator: Equals\n"
        '            value: "x"\n'
    )


def patch(lines, kind="Service"):
    return f"{RULE.replace('KIND', kind)}    mutate:\n{lines}"


def validation(expression, groups='""'):
    return f"{CEL.replace('GROUPS', groups)}  - expression: {expression}\n    message: No.\n"


TTL = "cleanup.kyverno.io/ttl"
AT_DELETION = "\n          operations: [DELETE]"
CLAIM = "spec: {resources: {requests: {storage: '%s'}}}"
FIXED = {
    "switch": (
        deny('"{{ request.object.spec.hostNetwork || `true` }}"').replace("Service", "Pod"),
        "spec.hostNetwork || `true`",
        "spec.hostNetwork != `false`",
    ),
    "decimal unit": (pattern(CLAIM % "<=512mb", "PersistentVolumeClaim"), "512mb", "512M"),
    "days": (pattern(CLAIM % "<=1Gib", "PersistentVolumeClaim"), "1Gib", "1Gi"),
    "spaces in a range": (
        pattern("spec: {ports: [{port: 80 - 90}]}"),
        "port: 80 - 90",
        "port: 80-90",
    ),
    "slash in a patch": (
        patch(
            "      patchesJson6902: |-  # one\n"
            "        - op: add\n"
            "          path: /metadata/labels/a.b/c  # two\n"
            "          value: x\n"
        ),
        "a.b/c",
        "a.b~1c",
    ),
    "index in brackets": (
        patch(
            '      patchesJson6902: "[{\\"op\\": \\"remove\\", '
            '\\"path\\": \\"/spec/ports[0]/name\\"}]"\n'
        ),
        "ports[0]",
        "ports/0",
    ),
    "swapped arguments": (
        deny("\"{{ starts_with('web-', request.object.metadata.name) }}\""),
        "('web-', request.object.metadata.name)",
        "(request.object.metadata.name, 'web-')",
    ),
    "deleted object": (
        deny(r'"{{ request.object.metadata.labels.\"a.b/c\" }}"', AT_DELETION),
        "request.object",
        "request.oldObject",
    ),
    "number for a text": (
        validation(">-\n      object.spec.externalName\n      == 1"),
        "== 1",
        '== "1"',
    ),
    "text for a number": (
        validation("object.spec.healthCheckNodePort < '30000'"),
        "'30000'",
        "30000",
    ),
    "text as a key": (
        validation('"\'a\' in object.metadata.name"'),
        "'a' in object.metadata.name",
        "object.metadata.name.contains('a')",
    ),
    "text for a default": (
        validation("object.spec.?healthCheckNodePort.orValue(1) >= '2'"),
        "'2'",
        "2",
    ),
    "time as a text": (
        validation("object.metadata.creationTimestamp < time.now() - duration('72h')"),
        "object.metadata.creationTimestamp <",
        "timestamp(object.metadata.creationTimestamp) <",
    ),
    "version as a group": (
        validation("object.spec.type != 'NodePort'", "v1"),
        "[v1], api",
        '[""], api',
    ),
    "boolean for a text": (
        pattern("spec: {externalName: true}"),
        "true",
        '"true"',
    ),
    "lone annotation": (
        patch(f"      patchStrategicMerge:\n        metadata:\n          annotations:\n"
              f"            {TTL}: 1h  # soon\n"),
        "annotations:",
        "labels:",
    ),
    "annotation beside labels": (
        patch(f"      patchStrategicMerge:\n        metadata:\n          annotations:\n"
              f"            {TTL}: 1h\n          labels:\n            a: b\n"),
        f"          annotations:\n            {TTL}: 1h\n          labels:\n",
        f'          labels:\n            {TTL}: "1h"\n',
    ),
    "annotation beside others": (
        patch(f"      patchStrategicMerge:\n        metadata:\n          annotations:\n"
              f"            {TTL}: 1h\n            a: b\n"),
        f"          annotations:\n            {TTL}: 1h\n",
        f'          labels:\n            {TTL}: "1h"\n          annotations:\n',
    ),
    "element of a list": (
        patch("      patchStrategicMerge:\n        spec:\n          containers:\n"
              "          # each\n          - imagePullPolicy: Always\n", "Pod"),
        "- imagePullPolicy",
        '- (name): "*"\n            imagePullPolicy',
    ),
    "controllers": (
        pattern("spec: {hostNetwork: false}", "Pod").replace(
            "  name: p\n",
            "  name: p\n  annotations:\n"
            "    pod-policies.kyverno.io/autogen-controllers: deployment, Job\n",
        ),
        "deployment, Job",
        "Deployment,Job",
    ),
    "alternatives": (
        deny('"{{ request.name }}"').replace("Equals", "NotEquals")
        + '          - key: "{{ request.name }}"\n            operator: NotEquals\n'
        '            value: "y"\n',
        "any:\n          - key",
        "all:\n          - key",
    ),
    "keys": (
        deny("\"{{ request.object.metadata.labels.a.b/c || 'labels.d/e' }}: labels.f/g\""),
        "labels.a.b/c",
        r"labels.\"a.b/c\"",
    ),
    "operator of CEL": (
        validation("size(object.spec.ports) => 1 && object.spec.type != 'NodePort'"),
        "=>",
        ">=",
    ),
    "word of CEL": (
        validation("size(object.spec.ports) > 1 and object.spec.type != 'NodePort'"),
        "and",
        "&&",
    ),
    "function of CEL": (
        validation("object.spec.type.startWith('Node')"),
        "startWith",
        "startsWith",
    ),
    "operator": (deny('"{{ request.name }}"').replace("Equals", "equals"), "equals", "Equals"),
    "error that hides warnings": (
        pattern("tpye: {}").replace("pattern", "patern"),
        "patern",
        "pattern",
    ),
    "anchor": (
        pattern("spec: {^(ports): [{port: 80}]}").replace("No.", "All ports are 80."),
        "^(ports)",
        "ports",
    ),
}  # fmt: skip
LEFT_ALONE = {
    "label without a value": patch(
        "      patchStrategicMerge:\n        metadata:\n          labels:\n            a: null\n"
    ),
    "anchor without an end": pattern("spec: {=ports: []}"),
    "key of a map": patch(
        "      patchStrategicMerge:\n        metadata:\n          labels:\n"
        '            "{{ request.object.metadata.labels.a.b/c }}": x\n'
    ),
    "comparison": deny("\"{{ request.object.spec.type == 'x' || `true` }}\""),
    "no boolean": deny('"{{ request.object.spec.type || `true` }}"'),
    "twice": deny(
        "\"{{ join('', [request.object.spec.type, request.object.spec.type]) }}\"", AT_DELETION
    ),
    "one letter": pattern(CLAIM % "<=1g", "PersistentVolumeClaim"),
    "amount of CPU": pattern("spec: {containers: [{resources: {limits: {cpu: '500Mi'}}}]}", "Pod"),
    "other version": validation("object.spec.type != 'NodePort'", "v2"),
    "word for a number": validation("object.spec.healthCheckNodePort != 'x'"),
    "alternative of three": deny('"{{ request.name }}"').replace("Equals", "NotEquals")
    + "".join(
        f'          - key: "{{{{ request.{key} }}}}"\n            operator: NotEquals\n'
        f'            value: "y"\n'
        for key in ("name", "namespace")
    ),
    "operator with several meanings": deny('"{{ request.name }}"').replace("Equals", "Contains"),
    "order of a text": validation("object.metadata.?labels[?'a'].orValue('') > 3"),
    "selector": pattern("metadata: {name: x}", "Namespace").replace(
        "kinds: [Namespace]",
        "kinds: [Namespace]\n          selector: {matchLabels: {a: b}}\n"
        "          namespaceSelector: {matchLabels: {a: b}}",
    ),
    "removed version": pattern("metadata: {name: x}", "batch/v1beta1/CronJob"),
    "number that may be a text": patch(
        "      patchStrategicMerge:\n        spec:\n          healthCheckNodePort: '007'\n"
    ),
    "variable in JSON": patch(
        "      patchesJson6902: \"[{op: add, path: /metadata/labels/a, value: '{{ x }}'}]\"\n"
    ).replace("    mutate", "    context:\n    - name: x\n      variable: {value: a}\n    mutate"),
}


def checked(tmp_path, text):
    path = tmp_path / "p.yaml"
    path.write_text(text, encoding="utf-8")
    return lint([str(path)])


@pytest.mark.parametrize(("text", "old", "new"), FIXED.values(), ids=FIXED)
def test_writes_what_is_meant(tmp_path, text, old, new):
    assert text.count(old) == 1
    (file,) = plan_fixes(checked(tmp_path, text))
    assert file.text == text.replace(old, new)
    assert len(file.fixed) == 1
    assert plan_fixes(checked(tmp_path, file.text)) == ()


@pytest.mark.parametrize("text", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_leaves_alone_what_may_be_meant_otherwise(tmp_path, text):
    found = checked(tmp_path, text)
    assert found.diagnostics
    assert "KV190" not in {one.code for one in found.diagnostics}
    assert [one.fix for one in found.diagnostics if one.fix] == []


def test_a_fix_keeps_comments_between_the_values_of_a_list(tmp_path):
    binding = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: b
spec:
  policyName: p
  validationActions:
  - Deny  # one
  - Warn
"""
    found = checked(tmp_path, binding)
    assert [one.code for one in found.diagnostics if one.code == "KV266"] == ["KV266"]
    assert plan_fixes(found) == ()
