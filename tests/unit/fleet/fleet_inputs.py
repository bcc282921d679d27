"""Policies and dumps for runs that are spread."""

POLICY = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: small-names}
spec:
  rules:
  - name: no-latest
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate:
      message: "a tag, please: {{ request.object.metadata.name }}"
      pattern: {spec: {containers: [{image: "!*:latest"}]}}
---
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: owner}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}
  validations:
  - {expression: "object.metadata.name != 'p7'", message: not seven}
"""
READS = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: few}
spec:
  rules:
  - name: few
    match: {any: [{resources: {kinds: [Pod]}}]}
    context:
    - name: count
      apiCall: {urlPath: /api/v1/pods, jmesPath: length(items)}
    validate:
      message: "there are {{ count }}"
      deny: {conditions: {all: [{key: "{{ count }}", operator: GreaterThan, value: 3}]}}
"""
TEAM = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: team}
spec:
  rules:
  - name: team
    match:
      any: [{resources: {kinds: [Pod], namespaceSelector: {matchLabels: {team: a}}}}]
    validate: {message: refused, deny: {}}
"""
NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, labels: {team: a}}\n"


def pod(name, tag="1"):
    return (
        f"apiVersion: v1\nkind: Pod\nmetadata:\n  name: p{name}\n  namespace: a\nspec:\n"
        f"  containers:\n  - name: c\n    image: nginx:{tag}\n"
    )


def pods(count, start=0):
    return [pod(one, "latest" if one % 3 else "1") for one in range(start, start + count)]


def stream(*documents):
    return "---\n".join(documents)
