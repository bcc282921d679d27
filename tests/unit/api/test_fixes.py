import json
import re

import pytest

from kyvsim.api import ApplyInputs, open_application
from kyvsim.api.lint import fixed_files, lint, plan_fixes
from kyvsim.load.edits import with_edits
from kyvsim.load.files import Source
from kyvsim.model.diagnostic import Diagnostic, Edit, Fix, Severity
from kyvsim.model.source import Location

HEAD = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: p
spec:
"""
RULE = """\
  rules:
  - name: a
    match:
      any:
      - resources:
          kinds: [Pod]
    validate:
      message: m
      pattern:
        metadata:
          labels:
            team: "?*"
"""
DENY = """\
  rules:
  - name: a
    match:
      any:
      - resources:
          kinds: [Pod]
    validate:
      deny:
        conditions:
          all:
          - key: "{{ request.name }}"
            operator: OPERATOR
            value: [one, "t*"]
"""
OLD = {
    "action": "  validationFailureAction: enforce # now\n" + RULE,
    "action of two rules": "  validationFailureAction: Audit\n"
    + RULE
    + RULE.replace("  rules:\n", "").replace("name: a", "name: b").replace("team", "owner"),
    "webhook": "  failurePolicy: Ignore\n  webhookTimeoutSeconds: 5\n" + RULE,
    "schemaValidation": "  schemaValidation: false\n" + RULE,
    "match": RULE.replace("any:\n      - resources", "# what\n      resources").replace(
        "          kinds", "        kinds"
    ),
    "exclude": RULE.replace(
        "    validate", "    exclude:\n      resources:\n        names: [one]\n    validate"
    ),
    "name": RULE.replace("kinds: [Pod]", 'kinds: [Pod]\n          name: "t*"'),
    "In": DENY.replace("OPERATOR", "In"),
    "NotIn": DENY.replace("OPERATOR", "NotIn"),
    "Equal": DENY.replace("OPERATOR", "Equal").replace('[one, "t*"]', "one"),
    "NotEqual": DENY.replace("OPERATOR", '"NotEqual"').replace('[one, "t*"]', "one"),
}
PODS = [
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": {}}
    for name in ("one", "two", "other")
    for labels in ({}, {"team": "x"})
]


def written(path, text):
    path.write_text(text, encoding="utf-8")
    return str(path)


def verdicts(policy, pods, *, audit_warn):
    run = open_application(ApplyInputs((policy,), (pods,), audit_warn=audit_warn))
    said = [
        (one.object["metadata"], answer.policy.key, result.rule.name, result.status, result.message)
        for one in run.responses
        for answer in one.responses
        for result in answer.results
    ]
    return said, run.result_counts.summary()


@pytest.mark.parametrize("spec", OLD.values(), ids=OLD)
def test_what_is_fixed_says_the_same_and_nothing_is_left_to_fix(tmp_path, spec):
    old = written(tmp_path / "old.yaml", HEAD + spec)
    (file,) = plan_fixes(lint([old]))
    new = written(tmp_path / "new.yaml", file.text)
    pods = written(tmp_path / "pods.yaml", "\n---\n".join(map(json.dumps, PODS)))
    for audit_warn in (False, True):
        before, after = (verdicts(one, pods, audit_warn=audit_warn) for one in (old, new))
        assert before == after
        assert before[0]
    assert lint([new]).diagnostics == ()
    assert file.text != file.source.text


def test_keeps_comments_and_formatting(tmp_path):
    old = written(tmp_path / "p.yaml", "# top\n" + HEAD + OLD["action"])
    (file,) = plan_fixes(lint([old]))
    expected = "# top\n" + HEAD + "  # now\n" + RULE
    assert file.text == expected.replace(
        "    validate:\n", "    validate:\n      failureAction: Enforce\n"
    )


LEFT_ALONE = {
    "a rule has an action": "  validationFailureAction: Audit\n"
    + RULE.replace("      message", "      failureAction: Enforce\n      message"),
    "overrides": "  validationFailureAction: Audit\n  validationFailureActionOverrides:\n"
    "  - action: Enforce\n    namespaces: [x]\n" + RULE,
    "a key that may be a list": DENY.replace("OPERATOR", "In").replace(
        "request.name", "request.object.spec.containers[].image"
    ),
    "a value that is computed": DENY.replace("OPERATOR", "In").replace(
        '[one, "t*"]', '"{{ request.object.metadata.labels.x }}"'
    ),
    "name beside names": RULE.replace(
        "kinds: [Pod]", "kinds: [Pod]\n          name: a\n          names: [b]"
    ),
}


@pytest.mark.parametrize("spec", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_leaves_alone_what_may_mean_something_else(tmp_path, spec):
    old = written(tmp_path / "p.yaml", HEAD + spec)
    assert lint([old]).diagnostics
    assert plan_fixes(lint([old])) == ()


TEST = """\
name: demo  # its name
policies: [p.yaml]
resources: [r.yaml]
results:
# the first
- policy: p
  rule: a
  resource: one
  kind: Pod
  status: pass
- {policy: p, rule: a, resources: [two], kind: Pod, status: fail}
- policy: p
  rule: a
  namespace: shop
  resources: [two, other/three]
  kind: Pod
  status: fail
- policy: p
  rule: a
  resource: four
  namespace: shop
  kind: Pod
  status: pass
"""
TODAY = """\
apiVersion: cli.kyverno.io/v1alpha1
kind: Test
metadata:
  name: demo  # its name
policies: [p.yaml]
resources: [r.yaml]
results:
# the first
- policy: p
  rule: a
  resources:
  - one
  kind: Pod
  result: pass
- {policy: p, rule: a, resources: [two], kind: Pod, result: fail}
- policy: p
  rule: a
  resources:
  - shop/two
  - other/three
  kind: Pod
  result: fail
- policy: p
  rule: a
  resources:
  - shop/four
  kind: Pod
  result: pass
"""


def test_gives_an_old_test_todays_form(tmp_path):
    found = lint([written(tmp_path / "kyverno-test.yaml", TEST)])
    assert [one.code for one in found.diagnostics] == ["KV031"]
    (file,) = plan_fixes(found)
    assert file.text == TODAY
    assert lint([written(tmp_path / "kyverno-test.yaml", TODAY)]).diagnostics == ()


def test_old_fields_of_a_test_with_a_kind_are_told_one_by_one(tmp_path):
    text = TODAY.replace("result: pass", "status: pass").replace("result: fail", "status: fail")
    found = lint([written(tmp_path / "kyverno-test.yaml", text)])
    assert [one.code for one in found.diagnostics] == ["KV040"] * 4
    (file,) = plan_fixes(found)
    assert file.text == TODAY


def test_findings_tell_the_edits_of_their_fixes_and_where_they_end(tmp_path):
    path = written(tmp_path / "p.yaml", HEAD + OLD["Equal"])
    found = lint([path])
    (one,) = found.diagnostics
    assert one.fix.title == "use Equals"
    assert with_edits(found.texts[path], one.fix.edits) == plan_fixes(found)[0].text
    assert found.end_of(one) == (one.location.line, one.location.column + len("operator: Equal"))


WORD = re.compile(r"\b(bad|stuck)\b")
GOOD = {"bad": "good", "stuck": "stuck "}


@pytest.fixture
def checked():
    """How often texts were checked, by a check of words of which `stuck` stays."""
    asked = []

    def check(source):
        asked.append(source.text)
        found = []
        for number, line in enumerate(source.text.split("\n"), 1):
            for word in WORD.finditer(line):
                edit = Edit(number, word.start() + 1, number, word.end() + 1, GOOD[word[0]])
                place = Location("a.txt", number, word.start() + 1)
                fix = Fix("", (), (edit,))
                found.append(Diagnostic(word[0], Severity.WARNING, "", place, fix=fix))
        return tuple(found)

    return check, asked


def mended(text, check):
    source = Source("a.txt", text)
    return [(one.text, len(one.fixed)) for one in fixed_files(check(source), [source], check)]


def test_what_fits_together_is_tried_together(checked):
    check, asked = checked
    text = "bad bad\n" * 500
    assert mended(text, check) == [(text.replace("bad", "good"), 1000)]
    assert len(asked) < 6


@pytest.mark.parametrize("text", ["stuck bad\nbad stuck", "stuck\nstuck", "bad stuck bad", "bad"])
def test_what_fixes_nothing_keeps_nothing_else_from_it(checked, text):
    count = text.count("bad")
    assert mended(text, checked[0]) == ([(text.replace("bad", "good"), count)] if count else [])
