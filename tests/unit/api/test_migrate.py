"""`migrate` as a library: what is read, what is printed, and the evidence on it."""

from kyvsim.api.migrate import migrate, with_evidence
from kyvsim.model.comparison import Answer, Limit, SearchBudget
from kyvsim.model.diagnostic import Severity
from kyvsim.model.migration import ConversionOutcome
from kyvsim.report.migrate import render_text as render

POLICY = """\
# Above all.
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: owned
spec:
  rules:
    # Everybody has a team.
    - name: team
      match:
        any:
          - resources:
              kinds: [ConfigMap]
      validate:
        message: A team is needed.
        pattern:
          metadata:
            labels:
              team: "?*"
"""


def test_comments_stay_with_what_they_stand_at():
    (text,) = migrate(["-"], POLICY.encode()).texts
    lines = text.splitlines()
    assert lines[0] == "# Above all."
    place = lines.index("  # Everybody has a team.")
    assert lines[place - 1] == "  validations:"


def test_comments_stay_with_patches():
    patch = "mutate: {patchStrategicMerge: {metadata: {labels: {team: a}}}}"
    validate = POLICY[POLICY.index("      validate:") :]
    policy = POLICY.replace(validate, f"      # for the bill\n      {patch}\n")
    (text,) = migrate(["-"], policy.encode()).texts
    assert "mutations:\n  # Everybody has a team.\n  # for the bill\n  - patchType" in text


def test_what_looks_like_a_comment_in_a_text_is_none():
    policy = POLICY.replace("message: A team is needed.", "message: |\n          # no comment")
    (text,) = migrate(["-"], policy.encode()).texts
    assert [line for line in text.splitlines() if line.startswith("#")] == ["# Above all."]


def test_a_policy_that_cannot_be_used_is_an_error_and_others_go_on():
    broken = POLICY.replace("owned", "broken").replace("pattern:", "patern:")
    found = migrate(["-"], f"{broken}---\n{POLICY}".encode())
    assert [one.policy.name for one in found.conversions] == ["owned"]
    assert any(one.severity is Severity.ERROR for one in found.diagnostics)


def test_an_expression_that_does_not_compile_is_not_printed():
    rule = "\"{{ max([to_number('1'), 'x']) }}\""
    policy = POLICY.replace(
        """        pattern:
          metadata:
            labels:
              team: "?*"
""",
        f"""        deny:
          conditions:
            all:
              - key: {rule}
                operator: Equals
                value: 2
""",
    )
    found = migrate(["-"], policy.encode())
    (told,) = found.conversions[0].rules
    assert told.outcome is ConversionOutcome.REFUSED
    assert "does not compile" in told.reason
    assert found.texts == ("",)


def test_evidence():
    found = with_evidence(migrate(["-"], POLICY.encode()), (), SearchBudget())
    (evidence,) = found.evidence
    assert evidence.answer is Answer.EQUAL
    assert 0 < evidence.denied < evidence.cases


def test_what_was_not_tried_is_shown_of_equal_policies():
    found = with_evidence(migrate(["-"], POLICY.encode()), (), SearchBudget())
    (evidence,) = found.evidence
    partly = evidence._replace(untried=("requests to the subresource `nodes/proxy`",))
    shown = "".join(render(found._replace(evidence=(partly,))))
    assert "  not tried: requests to the subresource `nodes/proxy`\n" in shown


def test_what_is_not_converted_as_a_whole_is_not_compared():
    policy = POLICY.replace(
        '              team: "?*"', "              team: '{{ request.namespace }}*'"
    )
    found = with_evidence(migrate(["-"], policy.encode()), (), SearchBudget())
    assert found.evidence == (None,)


LENGTH = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: few
  annotations:
    pod-policies.kyverno.io/autogen-controllers: none
spec:
  background: false
  rules:
    - name: few
      match:
        any:
          - resources:
              kinds: [Pod]
      preconditions:
        all:
          - key: "{{ request.object.spec.volumes[?hostPath] | length(@) }}"
            operator: GreaterThan
            value: 0
          - key: "{{ request.operation }}"
            operator: NotEquals
            value: DELETE
      validate:
        message: No host paths for strangers.
        pattern:
          spec:
            serviceAccountName: "?*"
"""


def test_what_a_named_condition_is_about_does_not_count():
    found = with_evidence(migrate(["-"], LENGTH.encode()), (), SearchBudget())
    (evidence,) = found.evidence
    assert evidence is not None
    assert evidence.answer is Answer.EQUAL
    assert Limit.OTHER_OPERATIONS in {one.limit for one in evidence.limited}
    assert ", if the conditions of the conversion hold: " in "".join(render(found))


CEL_RULE = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: counted
spec:
  rules:
    - name: counted
      match:
        any:
          - resources:
              kinds: [Deployment]
      validate:
        cel:
          expressions:
            - expression: object.spec.replicas <= 5
              message: Five at most.
"""


def test_a_deletion_does_not_count_where_its_condition_is_named():
    found = with_evidence(migrate(["-"], CEL_RULE.encode()), (), SearchBudget())
    (evidence,) = found.evidence
    assert evidence is not None
    assert evidence.answer is Answer.EQUAL
    assert Limit.DELETIONS in {one.limit for one in evidence.limited}
