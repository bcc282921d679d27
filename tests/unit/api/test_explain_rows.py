"""Why results failed: for each kind of rule what is said, and where it stands."""

import textwrap

import pytest

from kyvsim.api import ApplyInputs, open_application
from kyvsim.cel import Program
from kyvsim.load.files import Source
from kyvsim.model.diagnostic import has_errors
from kyvsim.model.result import RuleStatus
from kyvsim.report.results import compile_rows

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop, labels: {app: x}}
spec:
  hostNetwork: true
  containers:
  - name: main
    image: nginx:1.25
  - name: side
    image: busybox
"""
PODS = "match: {any: [{resources: {kinds: [Pod]}}]}"
IN_CEL = """
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  validations:
  - {expression: "%s"}
"""
IMAGES = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [Pod]}}]}
    verifyImages:
    - imageReferences: ["docker.io/busybox*"]
      mutateDigest: false
      attestors: [{entries: [{keys: {publicKeys: "key"}}]}]
"""


def policy(rule):
    head = """\
        apiVersion: kyverno.io/v1
        kind: ClusterPolicy
        metadata: {name: p}
        spec:
          rules:
        """
    return textwrap.dedent(head) + f"  - {{name: r, {PODS}, {rule}}}\n"


def failures(*policies, resource=POD, **more):
    """Yield the rows that find fault, each with its reasons."""
    text = "---\n".join(policies)
    given = ApplyInputs((Source("policy.yaml", text),), (Source("pod.yaml", resource),), **more)
    run = open_application(given)
    assert not has_errors(run.diagnostics)
    rows_of = compile_rows(audit_warn=False, hidden=frozenset({"pass", "skip"}))
    for response in run.responses:
        for row in rows_of(response):
            yield row, run.explain(response, row) or None


def placed(reasons):
    return [
        (one.text, (one.seen_at.line, one.seen_at.column) if one.seen_at else None)
        for one in reasons
    ]


DENY = "validate: {deny: {conditions: {%s: [%s]}}}"
HOST = "{key: '{{ request.object.spec.hostNetwork }}', operator: Equals, value: true}"
NAME = "{key: '{{ request.object.metadata.name }}', operator: AnyIn, value: [web, db]}"
IS_SIDE = "{key: '{{ element.name }}', operator: Equals, value: side}"
SIZE = "`object.spec.containers.size() < 2` is false; `object.spec.containers.size()` is 2"
NO_REGISTRY = (
    "failed to verify image docker.io/busybox:latest: kyvsim is offline: add image metadata under"
    ' `images:` in the values file, for example images: {"docker.io/busybox:latest":'
    ' {"signatures": []}}'
)
UNKNOWN = (
    "failed to resolve request.object.spec.hostPID at path : JMESPath query failed:"
    ' Unknown key "hostPID" in path'
)
CASES = {
    "a missing field": (
        policy("validate: {pattern: {metadata: {labels: {team: '?*'}}}}"),
        [('no `team`; expected "?*"', (3, 40))],
    ),
    "a wrong value": (
        policy("validate: {pattern: {spec: {containers: [{image: '*:*'}]}}}"),
        [('found "busybox"; expected "*:*"', (10, 5))],
    ),
    "the nearest alternative": (
        policy(
            "validate: {anyPattern: [{spec: {a: b}}, {metadata: {labels: {app: x, b: why}}},"
            " {metadata: {labels: {c: z}}}]}"
        ),
        [('closest of 3 alternatives, anyPattern[1]: no `b`; expected "why"', (3, 40))],
    ),
    "a deny condition of some": (
        policy(DENY % ("any", HOST)),
        [("any[0]: true Equals true", (5, 3))],
    ),
    "deny conditions of which all hold": (
        policy(DENY % ("all", f"{HOST}, {NAME}")),
        [
            ("all[0]: true Equals true", (5, 3)),
            ('all[1]: "web" AnyIn ["web", "db"]', (3, 12)),
        ],
    ),
    "an element of a loop": (
        policy(
            "validate: {foreach: [{list: request.object.spec.containers,"
            f" deny: {{conditions: {{any: [{IS_SIDE}]}}}}}}]}}"
        ),
        [('element [1] `side`: any[0]: "side" Equals "side"', (9, 5))],
    ),
    "controls of Pod security": (
        policy("validate: {podSecurity: {level: baseline, version: latest}}"),
        [("host namespaces: spec.hostNetwork is true", (5, 3))],
    ),
    "an expression in CEL": (
        IN_CEL % "object.metadata.name != 'a' && object.spec.containers.size() < 2",
        [
            (
                SIZE,
                (6, 3),
            )
        ],
    ),
    "an image": (
        IMAGES,
        [
            (
                NO_REGISTRY,
                (10, 5),
            )
        ],
    ),
    "a value that is not there": (
        policy(DENY % ("any", HOST.replace("hostNetwork", "hostPID"))),
        [
            (
                UNKNOWN,
                (4, 1),
            )
        ],
    ),
}


@pytest.mark.parametrize("given", CASES.values(), ids=CASES)
def test_each_kind_of_rule_has_its_reasons_and_places(given):
    text, wanted = given
    ((row, reasons), *_) = failures(text)
    assert row.status in {"fail", "error"}
    assert placed(reasons) == wanted
    assert all(one.place and one.place.file == "policy.yaml" for one in reasons)


def test_controls_are_told_one_by_one():
    text = policy("validate: {podSecurity: {level: restricted, version: latest}}")
    ((_, reasons),) = failures(text)
    assert [one.text.partition(":")[0] for one in reasons] == [
        "allowPrivilegeEscalation != false",
        "unrestricted capabilities",
        "host namespaces",
        "runAsNonRoot != true",
        "seccompProfile",
    ]


def test_rules_see_the_object_as_mutation_left_it():
    mutate = policy("mutate: {patchStrategicMerge: {metadata: {labels: {+(team): none}}}}").replace(
        "name: p}", "name: m}"
    )
    check = policy("validate: {pattern: {metadata: {labels: {team: a}}}}")
    ((_, reasons),) = failures(mutate, check)
    assert [text for text, _ in placed(reasons)] == ['found "none"; expected "a"']


def test_a_rule_that_changes_is_explained_after_those_before_it():
    first = policy("mutate: {patchStrategicMerge: {metadata: {labels: {team: shop}}}}")
    labels = 'labels: {of: "{{ request.object.metadata.none }}"}'
    broken = f"mutate: {{patchStrategicMerge: {{metadata: {{{labels}}}}}}}"
    only_then = (
        "preconditions: {all: [{key: '{{ request.object.metadata.labels.team }}', "
        "operator: Equals, value: shop}]}"
    )
    second = f"  - {{name: s, {PODS}, {only_then}, {broken}}}\n"
    ((row, reasons),) = failures(first + second)
    assert (row.result.rule.name, row.status) == ("s", "error")
    assert [one.place.line for one in reasons] == [7]


def test_a_derived_rule_is_explained_where_it_is_written():
    deployment = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n"
        "spec:\n  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n"
        "    spec:\n      containers:\n      - {name: c, image: a}\n"
    )
    text = policy("validate: {pattern: {spec: {containers: [{image: '*:*'}]}}}")
    ((row, (reason,)),) = failures(text, resource=deployment)
    assert row.result.rule.name == "autogen-r"
    assert (reason.seen_at.line, reason.place.line) == (10, 6)


def test_what_says_something_else_the_second_time_has_no_reason(monkeypatch):
    from kyvsim.engine import explain  # noqa: PLC0415 — patched below

    real = explain.evaluate

    def otherwise(*given, **named):
        response = real(*given, **named)
        changed = [
            answer._replace(
                results=tuple(one._replace(status=RuleStatus.PASS) for one in answer.results)
            )
            for answer in response.responses
        ]
        return response._replace(answers=tuple(changed))

    monkeypatch.setattr(explain, "evaluate", otherwise)
    ((_, reasons),) = failures(policy("validate: {deny: {}}"))
    assert reasons is None


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (policy("validate: {deny: {}}"), "r"),
        (
            (IN_CEL % "true").replace(
                "    resourceRules:",
                "    namespaceSelector: {matchExpressions: [{key: a, operator: Inn}]}\n"
                "    resourceRules:",
            ),
            "match",
        ),
    ],
    ids=["classic", "told-by-another-name"],
)
def test_a_rule_is_compiled_again_once_for_all_its_failures(monkeypatch, text, rule):
    from kyvsim.api import explain_rows  # noqa: PLC0415 — patched below

    compiled = []
    real = explain_rows.compile_policies
    monkeypatch.setattr(
        explain_rows,
        "compile_policies",
        lambda policies, options: compiled.append(options.only) or real(policies, options),
    )
    pods = f"{POD}---\n{POD.replace('web', 'db')}"
    found = [*failures(text, resource=pods)]
    assert [row.result.rule.name for row, _ in found] == [rule] * 2
    assert len(compiled) == 1


def test_rules_of_two_policies_that_are_written_alike_are_explained_where_they_stand():
    one = policy("validate: {deny: {}}")
    found = failures(one, f"# a line\n{one.replace('name: p}', 'name: q}')}")
    assert [[reason.place.line for reason in reasons] for _, reasons in found] == [[6], [14]]


def test_only_rules_that_may_not_have_applied_are_asked_whether_they_do(monkeypatch):
    """A rule that failed applied: of one whose preconditions err these are the reason."""
    from kyvsim.engine import explain  # noqa: PLC0415 — patched below

    steps = []
    real = explain.explained_rules

    def noted(told, response):
        steps[:] = [step for one in told for step in one.steps]
        return real(told, response)

    monkeypatch.setattr(explain, "explained_rules", noted)
    fails = (
        "preconditions: {all: [{key: '{{ request.operation }}', operator: Equals, "
        "value: CREATE}]}, validate: {message: m, pattern: {spec: {hostNetwork: false}}}"
    )
    errs = (
        "preconditions: {all: [{key: '{{ request.object.spec.nodeName }}', operator: Equals, "
        "value: x}]}, validate: {message: m, deny: {}}"
    )
    kinds = {}
    for rule in (fails, errs):
        text = policy(rule)
        given = ApplyInputs((Source("policy.yaml", text),), (Source("pod.yaml", POD),))
        run = open_application(given)
        rows_of = compile_rows(audit_warn=False, hidden=frozenset({"pass", "skip"}))
        for response in run.responses:
            for row in rows_of(response):
                assert run.explain(response, row)
                kinds[row.result.status] = [one.kind.name for one in steps]
    assert kinds == {
        RuleStatus.FAIL: ["BODY"],
        RuleStatus.ERROR: ["MATCH", "CONDITIONS"],
    }


def test_failures_of_one_object_share_what_is_worked_out_about_it(monkeypatch):
    """Its request is opened once, and its parts are gone through once, however many rules fail."""
    from kyvsim.api import explain_rows  # noqa: PLC0415 — patched below
    from kyvsim.engine import explain  # noqa: PLC0415 — as above

    calls = []
    for module, name in ((explain_rows, "open_request"), (explain, "Parts")):
        real = getattr(module, name)
        monkeypatch.setattr(
            module, name, lambda *given, real=real, name=name: calls.append(name) or real(*given)
        )
    loop = "validate: {foreach: [{list: request.object.spec.containers, deny: {conditions: %s}}]}"
    rules = [
        policy(loop % f"{{all: [{IS_SIDE}]}}").replace("{name: p}", f"{{name: p{n}}}")
        for n in "abc"
    ]
    resources = POD + "---\n" + POD.replace("web", "other")
    found = [reasons[0].seen_at.line for _, reasons in failures(*rules, resource=resources)]
    assert found == [9, 9, 9, 20, 20, 20]
    assert sorted(calls) == ["Parts", "Parts", "open_request", "open_request"]


def test_formats_without_reasons_work_out_no_texts(monkeypatch):
    """A location needs the steps that decided, not the words about them."""
    from kyvsim.report import diagnostics  # noqa: PLC0415 — patched below
    from kyvsim.report.finding import finding_of  # noqa: PLC0415 — as above

    monkeypatch.setattr(diagnostics, "_words", lambda _: pytest.fail("a text was worked out"))
    given = (Source("policy.yaml", policy(DENY % ("all", HOST))),), (Source("pod.yaml", POD),)
    run = open_application(ApplyInputs(*given))
    (response,) = run.responses
    (row,) = compile_rows(audit_warn=False)(response)
    assert finding_of(row, response, run.explain).location.line == 5


DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: x}}
  template:
    metadata: {labels: {app: x}}
    spec: {hostNetwork: true, containers: [{name: main, image: nginx}]}
"""


def test_only_the_expressions_that_a_failure_evaluates_are_compiled_again(monkeypatch):
    compiled = []
    real = Program.with_hook
    monkeypatch.setattr(
        Program, "with_hook", lambda self, hook: (compiled.append(self.text), real(self, hook))[1]
    )
    expression = "!object.spec.?hostNetwork.orValue(false)"
    never = '\n  - {expression: "size(object.spec.containers) > 0"}\n'
    ((row, reasons),) = failures(IN_CEL % expression + never, resource=DEPLOYMENT)
    assert (row.result.status, bool(reasons)) == (RuleStatus.FAIL, True)
    assert compiled == [expression.replace("object.spec", "object.spec.template.spec")]
