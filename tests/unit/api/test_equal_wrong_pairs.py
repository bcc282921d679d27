"""Pairs that look alike and are not: for each of them a case must show the difference."""

import pytest

from kyvsim.api.equal import EqualInputs, compare
from kyvsim.api.inputs import ApplyInputs
from kyvsim.load.files import Source
from kyvsim.model.comparison import Answer, SearchBudget

_BARE = "annotations: {pod-policies.kyverno.io/autogen-controllers: none}"


def rule(body, kinds="Pod", match="", bare=True, spec=""):
    """Return a ClusterPolicy of one rule; `match` goes on in the resource filter."""
    more = f", {match}" if match else ""
    return f"""\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {{name: p{", " + _BARE if bare else ""}}}
spec:
  background: false
  {spec}
  rules:
  - name: r
    match: {{any: [{{resources: {{kinds: [{kinds}]{more}}}}}]}}
{_indented(body, 4)}
"""


def pattern(body, message="m"):
    return (
        "validate:\n  failureAction: Enforce\n  allowExistingViolations: false\n"
        f"  message: {message}\n  pattern:\n{_indented(body, 4)}"
    )


def deny(*conditions, how="any", more=""):
    listed = "\n".join(f"      - {one}" for one in conditions)
    return (
        "validate:\n  failureAction: Enforce\n  allowExistingViolations: false\n  message: m\n"
        f"{_indented(more, 2)}  deny:\n    conditions:\n      {how}:\n{listed}"
    )


def cel(expression, *, group="", resources="pods", operations="CREATE, UPDATE", more="", bare=True):
    autogen = "autogen: {podControllers: {controllers: []}}" if bare else ""
    return f"""\
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {{name: p}}
spec:
  {autogen}
{_indented(more, 2)}
  matchConstraints:
    resourceRules:
    - apiGroups: ["{group}"]
      apiVersions: ["*"]
      operations: [{operations}]
      resources: [{resources}]
  validations:
  - expression: >-
      {expression}
    message: m
"""


def mutating(expression, **some):
    policy = cel("x", **some).replace("ValidatingPolicy", "MutatingPolicy")
    return policy[: policy.index("  validations:")] + (
        "  mutations:\n  - patchType: ApplyConfiguration\n    applyConfiguration:\n"
        f"      expression: >-\n        {expression}\n"
    )


def cleaning(expression, resources="deployments"):
    policy = cel("x", group="apps", resources=resources, operations='"*"', bare=True)
    policy = policy.replace("ValidatingPolicy", "DeletingPolicy")
    policy = policy.replace("  autogen: {podControllers: {controllers: []}}\n", "")
    return policy[: policy.index("  validations:")] + (
        f"  schedule: '0 0 * * *'\n  conditions:\n  - name: a\n    expression: >-\n"
        f"      {expression}\n"
    )


def _indented(text, size):
    return "".join(f"{' ' * size}{line}\n" for line in text.splitlines())


def condition(key, operator, value):
    return f'{{key: "{{{{ {key} }}}}", operator: {operator}, value: {value}}}'


CU = "operations: [CREATE, UPDATE]"
HOST = pattern("spec:\n  =(hostNetwork): false")
HOST_CEL = "!object.spec.?hostNetwork.orValue(false)"
RBAC = "rbac.authorization.k8s.io"
ROLES = "roles, clusterroles"
LABEL = "has(object.metadata.labels) && 'team' in object.metadata.labels"
LABEL_A = condition("request.object.metadata.labels.a || ''", "Equals", "sure")
LABEL_B = condition("request.object.metadata.labels.b || ''", "Equals", "sure")

PAIRS = {
    "a kind is dropped": (
        rule(pattern("metadata:\n  labels:\n    team: '?*'"), "ConfigMap, Secret", CU),
        cel(f"{LABEL} && object.metadata.labels.team != ''", resources="configmaps"),
    ),
    "a cluster-wide kind is dropped": (
        rule(pattern("metadata:\n  labels:\n    team: '?*'"), "Role, ClusterRole", CU),
        cel(f"{LABEL} && object.metadata.labels.team != ''", group=RBAC, resources="roles"),
    ),
    "UPDATE is dropped": (rule(HOST, match=CU), cel(HOST_CEL, operations="CREATE")),
    "CREATE is dropped": (rule(HOST, match=CU), cel(HOST_CEL, operations="UPDATE")),
    "DELETE is dropped": (
        rule(
            deny(condition("request.oldObject.metadata.labels.keep || ''", "Equals", '"yes"')),
            "ConfigMap",
            "operations: [DELETE]",
        ),
        cel(
            "oldObject == null || oldObject.?metadata.?labels.?keep.orValue('') != 'yes'",
            resources="configmaps",
        ),
    ),
    "CONNECT is dropped": (
        rule(
            deny(condition("request.object.stdin || `false`", "Equals", "true")),
            "Pod/exec",
        ),
        cel("!object.?stdin.orValue(false)", resources="pods/exec", operations="CREATE, UPDATE"),
    ),
    "the container of an exec is dropped": (
        rule(
            deny(
                "{key: \"{{ request.object.container || '' }}\", operator: Equals, value: vault*}"
            ),
            "Pod/exec",
        ),
        cel(
            "object.?container.orValue('') != 'vault'", resources="pods/exec", operations="CONNECT"
        ),
    ),
    "a bound is taken for a strict one": (
        rule(pattern("spec:\n  replicas: '>=3'"), "Deployment", CU),
        cel("object.spec.?replicas.orValue(0) > 3", group="apps", resources="deployments"),
    ),
    "a bound is one too low": (
        rule(pattern("spec:\n  =(terminationGracePeriodSeconds): '<=30'"), match=CU),
        cel("object.spec.?terminationGracePeriodSeconds.orValue(0) < 30"),
    ),
    "a has() is missing": (
        rule(pattern("spec:\n  =(hostNetwork): false"), match=CU),
        cel("object.spec.hostNetwork == false"),
    ),
    "an optional label is required": (
        rule(pattern("metadata:\n  =(labels):\n    =(tier): 'web | db'"), match=CU),
        cel(
            "has(object.metadata.labels) && "
            "object.metadata.labels.?tier.orValue('') in ['web', 'db']"
        ),
    ),
    "a required label is optional": (
        rule(pattern("metadata:\n  labels:\n    tier: 'web | db'"), match=CU),
        cel("object.metadata.?labels.?tier.orValue('web') in ['web', 'db']"),
    ),
    "init containers are forgotten": (
        rule(
            pattern(
                "spec:\n  =(initContainers):\n  - image: 'reg.io/*'\n  containers:\n  "
                "- image: 'reg.io/*'"
            ),
            match=CU,
        ),
        cel("object.spec.containers.all(c, c.image.startsWith('reg.io/'))"),
    ),
    "ephemeral containers are forgotten": (
        rule(
            pattern(
                "spec:\n  =(ephemeralContainers):\n  - image: 'reg.io/*'\n"
                "  =(initContainers):\n  - image: 'reg.io/*'\n  containers:\n  - image: 'reg.io/*'"
            ),
            match=CU,
        ),
        cel(
            "(object.spec.containers + "
            "object.spec.?initContainers.orValue([])).all(c, "
            "c.image.startsWith('reg.io/'))"
        ),
    ),
    "a wildcard in the middle is taken for a prefix": (
        rule(pattern("metadata:\n  name: 'a*z'"), "ConfigMap", CU),
        cel("object.metadata.name.startsWith('a')", resources="configmaps"),
    ),
    "a question mark is taken for a star": (
        rule(pattern("metadata:\n  name: 'app-?'"), "ConfigMap", CU),
        cel("object.metadata.name.startsWith('app-')", resources="configmaps"),
    ),
    "a namespace selector is dropped": (
        rule(HOST, match=CU + ", namespaceSelector: {matchLabels: {env: prod}}"),
        cel(HOST_CEL),
    ),
    "a namespace selector has another value": (
        rule(
            HOST,
            match=CU
            + (
                ", namespaceSelector: {matchExpressions: [{key: env, operator: In, "
                "values: [prod, stage]}]}"
            ),
        ),
        cel(HOST_CEL).replace(
            "matchConstraints:\n",
            "matchConstraints:\n    namespaceSelector: {matchLabels: {env: prod}}\n",
        ),
    ),
    "an exclude is dropped": (
        rule(f"exclude: {{any: [{{resources: {{namespaces: [kube-system]}}}}]}}\n{HOST}", match=CU),
        cel(HOST_CEL),
    ),
    "an excluded user is dropped": (
        rule(f"exclude: {{any: [{{clusterRoles: [cluster-admin]}}]}}\n{HOST}", match=CU),
        cel(HOST_CEL),
    ),
    "an excluded label is dropped": (
        rule(
            "exclude: {any: [{resources: {selector: {matchLabels: {skip: 'true'}}}}]}\n" + HOST,
            match=CU,
        ),
        cel(HOST_CEL),
    ),
    "a quantity is compared as a text": (
        rule(
            pattern("spec:\n  containers:\n  - resources:\n      limits:\n        memory: '<=1Gi'"),
            match=CU,
        ),
        cel(
            "object.spec.containers.all(c, "
            "c.?resources.?limits.?memory.orValue('') in ['1Gi', '1024Mi'])"
        ),
    ),
    "a quantity has another unit": (
        rule(
            pattern(
                "spec:\n  containers:\n  - =(resources):\n      =(limits):\n        "
                "=(memory): '<=1Gi'"
            ),
            match=CU,
        ),
        cel(
            "object.spec.containers.all(c, !has(c.resources) || !has(c.resources.limits)"
            " || !('memory' in c.resources.limits)"
            " || quantity(c.resources.limits['memory']).compareTo(quantity('1G')) <= 0)"
        ),
    ),
    "a duration has another unit": (
        rule(
            deny(
                (
                    "{key: \"{{ request.object.metadata.annotations.ttl || '0s' }}\", "
                    "operator: DurationGreaterThan, value: 1h}"
                ).replace("DurationGreaterThan", "GreaterThan")
            ),
            "ConfigMap",
            CU,
        ),
        cel(
            "duration(object.metadata.?annotations.?ttl.orValue('0s')) <= duration('1m')",
            resources="configmaps",
        ),
    ),
    "all in is taken for any in": (
        rule(
            deny(condition("request.object.rules[].verbs[] || `[]`", "AllIn", "[get, list]")),
            "ClusterRole",
            CU,
        ),
        cel(
            "!object.?rules.orValue([]).exists(r, r.verbs.exists(v, v in ['get', 'list']))",
            group=RBAC,
            resources="clusterroles",
        ),
    ),
    "any not in is taken for all not in": (
        rule(
            deny(
                condition(
                    "request.object.spec.accessModes", "AnyNotIn", "[ReadWriteOnce, ReadOnlyMany]"
                )
            ),
            "PersistentVolumeClaim",
            CU,
        ),
        cel(
            "object.spec.accessModes.exists(m, m in ['ReadWriteOnce', 'ReadOnlyMany'])",
            resources="persistentvolumeclaims",
        ),
    ),
    "a star in a list of the object counts": (
        rule(
            deny(
                "key: [get, list]\n        operator: AnyIn\n"
                '        value: "{{ request.object.rules'
                "[?resources.contains(@, 'secrets')].verbs[] || `[]` }}\""
            ),
            "Role",
            CU,
        ),
        cel(
            (
                "!object.?rules.orValue([]).exists(r, 'secrets' in "
                "r.?resources.orValue([]) && r.verbs.exists(v, v in ['get', "
                "'list']))"
            ),
            group=RBAC,
            resources="roles",
        ),
    ),
    "a partial wildcard in a list of the object counts": (
        rule(
            deny(
                'key: pods/exec\n        operator: AnyIn\n        value: "{{ '
                'request.object.rules[].resources[] || `[]` }}"'
            ),
            "ClusterRole",
            CU,
        ),
        cel(
            (
                "!object.?rules.orValue([]).exists(r, "
                "r.?resources.orValue([]).exists(one, one in ['pods/exec', '*']))"
            ),
            group=RBAC,
            resources="clusterroles",
        ),
    ),
    "a partial wildcard before the end counts": (
        rule(
            deny(
                'key: pods/exec\n        operator: AnyIn\n        value: "{{ '
                'request.object.rules[].resources[] || `[]` }}"'
            ),
            "ClusterRole",
            CU,
        ),
        cel(
            (
                "!object.?rules.orValue([]).exists(r, "
                "r.?resources.orValue([]).exists(one, one in ['pods/exec', '*', "
                "'pods/*']))"
            ),
            group=RBAC,
            resources="clusterroles",
        ),
    ),
    "an update that removes a label": (
        rule(
            (
                'preconditions:\n  all:\n  - {key: "{{ request.operation }}", '
                "operator: Equals, value: UPDATE}\n"
            )
            + deny(
                condition(
                    "request.oldObject.metadata.labels.owner || ''",
                    "NotEquals",
                    "\"{{ request.object.metadata.labels.owner || '' }}\"",
                )
            ),
            "Namespace",
        ),
        cel(
            (
                "object.metadata.?labels.?owner.orValue('') == '' || "
                "object.metadata.?labels.?owner == "
                "oldObject.metadata.?labels.?owner"
            ),
            resources="namespaces",
            operations="UPDATE",
        ),
    ),
    "an update that adds a label": (
        rule(
            (
                'preconditions:\n  all:\n  - {key: "{{ request.operation }}", '
                "operator: Equals, value: UPDATE}\n"
            )
            + deny(
                condition(
                    "request.oldObject.metadata.labels.owner || ''",
                    "NotEquals",
                    "\"{{ request.object.metadata.labels.owner || '' }}\"",
                )
            ),
            "Namespace",
        ),
        cel(
            (
                "oldObject.metadata.?labels.?owner.orValue('') == '' || "
                "object.metadata.?labels.?owner == "
                "oldObject.metadata.?labels.?owner"
            ),
            resources="namespaces",
            operations="UPDATE",
        ),
    ),
    "an update that removes a field": (
        rule(
            deny(
                condition(
                    "request.oldObject.spec.minReadySeconds || `0`",
                    "GreaterThan",
                    '"{{ request.object.spec.minReadySeconds || `0` }}"',
                )
            ),
            "Deployment",
            "operations: [UPDATE]",
        ),
        cel(
            "!has(object.spec.minReadySeconds) || !has(oldObject.spec.minReadySeconds)"
            " || object.spec.minReadySeconds >= oldObject.spec.minReadySeconds",
            group="apps",
            resources="deployments",
            operations="UPDATE",
        ),
    ),
    "an old violation is let pass": (
        rule(HOST, match=CU),
        cel(
            "!object.spec.?hostNetwork.orValue(false) || (request.operation == "
            "'UPDATE' && oldObject.spec.?hostNetwork.orValue(false))"
        ),
    ),
    "a kind of controllers is dropped": (
        rule(HOST, match=CU, bare=False),
        cel(
            HOST_CEL,
            bare=False,
            more=(
                "autogen: {podControllers: {controllers: [deployments, daemonsets, "
                "statefulsets, jobs, cronjobs]}}"
            ),
        ).replace("  \n", "", 1),
    ),
    "a list of two is only read at its beginning": (
        rule(
            deny(
                condition("request.object.spec.volumes[].hostPath.path || `[]`", "AnyIn", "[/etc]")
            ),
            match=CU,
        ),
        cel(
            "object.spec.?volumes.orValue([]).size() == 0 || "
            "object.spec.volumes[0].?hostPath.?path.orValue('') != '/etc'"
        ),
    ),
    "an annotation's key is another one": (
        rule(pattern("metadata:\n  =(annotations):\n    X(a.io/unsafe): ''"), "ConfigMap", CU),
        cel("!object.metadata.?annotations.?unsafe.hasValue()", resources="configmaps"),
    ),
    "a wildcard key is one key": (
        rule(pattern("metadata:\n  =(annotations):\n    =(a.io/*): 'yes'"), "ConfigMap", CU),
        cel(
            "object.metadata.?annotations[?'a.io/b'].orValue('yes') == 'yes'",
            resources="configmaps",
        ),
    ),
    "a negation is lost": (
        rule(pattern("spec:\n  =(priorityClassName): '!system-*'"), match=CU),
        cel("object.spec.?priorityClassName.orValue('') != 'system-'"),
    ),
    "a range leaves out its end": (
        rule(pattern("spec:\n  ports:\n  - port: 80-90"), "Service", CU),
        cel("object.spec.ports.all(one, one.port >= 80 && one.port < 90)", resources="services"),
    ),
    "one condition of two is enough": (
        rule(
            deny(
                condition("request.object.spec.hostPID || `false`", "Equals", "true"),
                condition("request.object.spec.hostIPC || `false`", "Equals", "true"),
                how="all",
            ),
            match=CU,
        ),
        cel("!object.spec.?hostPID.orValue(false) && !object.spec.?hostIPC.orValue(false)"),
    ),
    "a version of the kind is dropped": (
        rule(pattern("metadata:\n  labels:\n    team: '?*'"), "'*/CronJob'", CU),
        cel(
            f"{LABEL} && object.metadata.labels.team != ''", group="batch", resources="cronjobs"
        ).replace('["*"]', '["v1beta1"]'),
    ),
    "a name is compared by its beginning": (
        rule(HOST, match=CU + ", names: ['web-*']"),
        cel(
            HOST_CEL,
            more=(
                "matchConditions: [{name: a, expression: "
                "\"object.metadata.name.startsWith('web')\"}]"
            ),
        ),
    ),
    "a user is compared by the whole name": (
        rule(
            deny(condition("request.userInfo.username", "Equals", '"system:serviceaccount:ci:*"')),
            "ConfigMap",
            CU,
        ),
        cel(
            "request.userInfo.username != 'system:serviceaccount:ci:default'",
            resources="configmaps",
        ),
    ),
    "a group is forgotten": (
        rule(
            deny(condition("request.userInfo.groups", "AnyIn", "[dev, ops]")),
            "ConfigMap",
            CU,
        ),
        cel("!('dev' in request.userInfo.groups)", resources="configmaps"),
    ),
    "init containers are not mutated": (
        rule(
            "mutate:\n  foreach:\n  - list: request.object.spec.[containers, initContainers][]\n"
            "    patchStrategicMerge:\n      spec:\n        containers:\n"
            "        - (name): '{{ element.name }}'\n          imagePullPolicy: Always\n"
            "        initContainers:\n        - (name): '{{ element.name }}'\n"
            "          imagePullPolicy: Always",
            match=CU,
        ),
        mutating(
            "Object{spec: Object.spec{containers: object.spec.containers.map(c, "
            "Object.spec.containers{name: c.name, imagePullPolicy: 'Always'})}}"
        ),
    ),
    "a label is added where there is one": (
        rule(
            "mutate:\n  patchStrategicMerge:\n    metadata:\n      labels:\n        +(team): core",
            "ConfigMap",
            CU,
        ),
        mutating(
            "Object{metadata: Object.metadata{labels: Object.metadata.labels{team: 'core'}}}",
            resources="configmaps",
        ),
    ),
    "a field is only set at CREATE": (
        rule(
            "mutate:\n  patchStrategicMerge:\n    spec:\n      minReadySeconds: 5", "Deployment", CU
        ),
        mutating(
            "Object{spec: Object.spec{minReadySeconds: 5}}",
            group="apps",
            resources="deployments",
            operations="CREATE",
        ),
    ),
    "one kind of two is mutated": (
        rule(
            "mutate:\n  patchStrategicMerge:\n    spec:\n      revisionHistoryLimit: 10",
            "Deployment, StatefulSet",
            CU,
        ),
        mutating(
            "Object{spec: Object.spec{revisionHistoryLimit: 10}}",
            group="apps",
            resources="deployments",
        ),
    ),
    "a controller is left out of a mutation that is the default": (
        rule(
            "mutate:\n  patchStrategicMerge:\n    spec:\n      dnsPolicy: ClusterFirst",
            match=CU,
            bare=False,
        ),
        mutating(
            "Object{spec: Object.spec{dnsPolicy: 'ClusterFirst'}}",
            bare=False,
            more="autogen: {podControllers: {controllers: [deployments, jobs, cronjobs]}}",
        ),
    ),
    "a generated object has other data": (
        rule(
            "generate:\n  apiVersion: v1\n  kind: ConfigMap\n  name: a\n"
            "  namespace: '{{ request.object.metadata.name }}'\n  synchronize: false\n"
            "  data: {data: {zone: \"{{ request.object.metadata.labels.zone || 'none' }}\"}}",
            "Namespace",
            "operations: [CREATE]",
        ),
        rule(
            "generate:\n  apiVersion: v1\n  kind: ConfigMap\n  name: a\n"
            "  namespace: '{{ request.object.metadata.name }}'\n  synchronize: false\n"
            "  data: {data: {zone: none}}",
            "Namespace",
            "operations: [CREATE]",
        ),
    ),
    "something is generated without the label": (
        rule(
            "generate:\n  apiVersion: v1\n  kind: ConfigMap\n  name: a\n"
            "  namespace: '{{ request.object.metadata.name }}'\n  synchronize: false\n"
            "  data: {data: {a: b}}",
            "Namespace",
            "operations: [CREATE], selector: {matchLabels: {quota: 'yes'}}",
        ),
        rule(
            "generate:\n  apiVersion: v1\n  kind: ConfigMap\n  name: a\n"
            "  namespace: '{{ request.object.metadata.name }}'\n  synchronize: false\n"
            "  data: {data: {a: b}}",
            "Namespace",
            "operations: [CREATE]",
        ),
    ),
    "one pattern of two is dropped": (
        rule(
            "validate:\n  failureAction: Enforce\n  allowExistingViolations: false\n  message: m\n"
            "  anyPattern:\n  - {spec: {securityContext: {runAsNonRoot: true}}}\n"
            "  - {spec: {containers: [{securityContext: {runAsNonRoot: true}}]}}",
            match=CU,
        ),
        rule(pattern("spec:\n  securityContext:\n    runAsNonRoot: true"), match=CU),
    ),
    "only the first element of a loop counts": (
        rule(
            "validate:\n  failureAction: Enforce\n  allowExistingViolations: false\n  message: m\n"
            "  foreach:\n  - list: request.object.spec.containers\n    deny:\n      conditions:\n"
            "        any:\n        - " + condition("element.image", "Equals", "'*:latest'"),
            match=CU,
        ),
        rule(
            deny(condition("request.object.spec.containers[0].image", "Equals", "'*:latest'")),
            match=CU,
        ),
    ),
    "preconditions are joined in another way": (
        rule(f"preconditions:\n  any:\n  - {LABEL_A}\n  - {LABEL_B}\n{HOST}", match=CU),
        rule(f"preconditions:\n  all:\n  - {LABEL_A}\n  - {LABEL_B}\n{HOST}", match=CU),
    ),
    "an equality anchor is lost": (
        rule(pattern("=(automountServiceAccountToken): false"), "ServiceAccount", CU),
        rule(pattern("automountServiceAccountToken: false"), "ServiceAccount", CU),
    ),
    "a condition of all containers becomes one of some": (
        rule(
            pattern("spec:\n  containers:\n  - securityContext:\n      privileged: false"), match=CU
        ),
        rule(
            pattern("spec:\n  ^(containers):\n  - securityContext:\n      privileged: false"),
            match=CU,
        ),
    ),
    "what is deleted has another age": (
        cleaning("object.spec.?minReadySeconds.orValue(5) < 5"),
        cleaning("object.spec.?minReadySeconds.orValue(0) < 5"),
    ),
    "what is deleted is of one more kind": (
        cleaning("true"),
        cleaning("true", "deployments, replicasets"),
    ),
    "an eviction is let pass": (
        rule(deny(condition("request.userInfo.username", "Equals", "bot")), "Pod/eviction"),
        cel("request.userInfo.username != 'bot'"),
    ),
    "a scale has another bound": (
        rule(
            deny(condition("request.object.spec.replicas", "GreaterThan", "10")), "Deployment/scale"
        ),
        cel(
            "object.spec.replicas < 10",
            group="apps",
            resources="deployments/scale",
            operations="UPDATE",
        ),
    ),
    "a wildcard in the host of an Ingress counts": (
        rule(
            deny(condition("request.object.spec.rules[].host || `[]`", "AnyIn", "[a.example.com]")),
            "Ingress",
            CU,
        ),
        cel(
            "!object.spec.?rules.orValue([]).exists(r, r.?host.orValue('') == 'a.example.com')",
            group="networking.k8s.io",
            resources="ingresses",
        ),
    ),
}


QUICK = frozenset(
    {
        "CONNECT is dropped",
        "a kind of controllers is dropped",
        "a star in a list of the object counts",
        "a partial wildcard before the end counts",
        "an update that removes a label",
        "an update that removes a field",
        "a controller is left out of a mutation that is the default",
    }
)
"""One of each sort that was called equal once."""


def answer(old, new, cases=8000):
    inputs = EqualInputs(
        (Source("old.yaml", old),),
        (Source("new.yaml", new),),
        ApplyInputs(policies=()),
        SearchBudget(cases, first_only=True),
    )
    found = compare(inputs)
    assert found.evidence is not None, found.diagnostics
    return found.evidence


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=() if one in QUICK else pytest.mark.slow) for one in PAIRS]
)
def test_a_wrong_pair_is_not_called_equal(name):
    found = answer(*PAIRS[name])
    assert found.answer is Answer.COUNTEREXAMPLE, (found.reasons, found.limited)
