"""Policies and dumps for runs that are spread, over processes here or over workers elsewhere."""

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
      pattern: {spec: {containers: [{image: "*:* & !*:latest"}]}}
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


STREAM = stream(*pods(60))
ODD_STREAMS = {
    "plain": STREAM,
    "begins with a separator": "---\n" + STREAM + "---\n",
    "windows": STREAM.replace("\n", "\r\n"),
    "mark": "\ufeff" + STREAM,
    "comments": STREAM.replace("---\n", "---  # next\n# a Pod\n"),
    "malformed": stream(*pods(20), "a: [\n", *pods(12, 20)),
    "no object": stream(*pods(20), "kind: Pod\n", "a\n", *pods(12, 20)),
    "twice": stream(*pods(20), "apiVersion: v1\nkind: Pod\nkind: Pod\n", *pods(12, 20)),
    "bad separator": stream(*pods(20)) + "--- what\n" + stream(*pods(40)),
    "nothing in it": "---\n" * 400 + "# nothing\n---\n" * 40,
    "empty": "",
    "text after the end": stream(*pods(20), pod(1) + "...\nmore\n", *pods(12, 20)),
    "template": stream(*pods(20), "a: {{ .Values.a }}\n", *pods(12, 20)),
    "a long one": stream(*pods(20), pod(1) + "#\n" * 4000, *pods(12, 20)),
    "list": stream(
        *pods(20), "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod}\n- 1\n"
    ),
    "unknown kind": STREAM.replace("kind: Pod", "kind: Pot"),
    "without names": STREAM.replace("  name: p", "  generateName: p"),
    "definition": STREAM
    + "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
    "metadata: {name: a.b.c}\nspec: {group: b.c, names: {kind: A, plural: a}, scope: Cluster}\n",
    "namespace": stream(STREAM, NAMESPACE),
}
