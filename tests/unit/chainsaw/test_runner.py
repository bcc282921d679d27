"""Tests from their namespace to their clean-up, on a simulated cluster."""

import pytest

from kyvsim.simulator.api_server import Client

CM = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: '1'}\n"
POLICY = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: need-team}
spec:
  rules:
  - name: team
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate:
      failureAction: Enforce
      message: a team is required
      pattern: {metadata: {labels: {team: "?*"}}}
"""
HOOKS = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: mine}
"""
READY = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: need-team}
status:
  (conditions[?type == 'Ready']):
  - status: "True"
"""


def test_object_gets_the_namespace_of_the_test(steps):
    outcome = steps("- create: {file: a.yaml}\n- assert: {file: a.yaml}", a=CM)
    assert outcome.result == "pass", outcome.reason
    created = {one.object.kind: one.object for one in outcome.events if one.action == "create"}
    assert created["ConfigMap"].namespace == created["Namespace"].name


def test_what_a_test_created_is_deleted_in_reverse_and_its_namespace_last(steps, cluster):
    other = CM.replace("name: a", "name: b")
    outcome = steps("- create: {file: a.yaml}\n- create: {file: b.yaml}", a=CM, b=other)
    deleted = [one.object.name for one in outcome.events if one.action == "delete"]
    assert deleted[:2] == ["b", "a"]
    assert [one.object.kind for one in outcome.events if one.action == "delete"][2] == "Namespace"
    assert cluster.sim.store.get("v1", "ConfigMap", deleted[2], "a") is None


def test_denial_is_the_error_that_expect_sees(steps):
    outcome = steps(
        """
- create: {file: policy.yaml}
- assert: {file: ready.yaml}
- create:
    file: a.yaml
    bindings:
    - name: denial
      value: 'admission webhook "validate.kyverno.svc-fail" denied the request: '
    expect:
    - check:
        (starts_with($error, $denial)): true
        (contains($error, 'a team is required')): true
""",
        policy=POLICY,
        ready=READY,
        a=CM,
    )
    assert outcome.result == "pass", outcome.reason


@pytest.mark.parametrize(
    ("expected", "result"), [("($error != null)", "fail"), ("($error == null)", "pass")]
)
def test_expect_decides_in_place_of_the_error(steps, expected, result):
    operation = f"- apply: {{file: a.yaml, expect: [{{check: {{{expected}: true}}}}]}}"
    assert steps(operation, a=CM).result == result


def test_expectation_whose_match_does_not_fit_is_left_out(steps):
    outcome = steps(
        """
- apply:
    file: a.yaml
    expect:
    - {match: {kind: Secret}, check: {($error != null): true}}
    - {match: {kind: ConfigMap}, check: {($error == null): true}}
""",
        a=CM,
    )
    assert outcome.result == "pass", outcome.reason


def test_create_fails_where_the_object_is_there(steps):
    outcome = steps("- create: {file: a.yaml}\n- create: {file: a.yaml}", a=CM)
    assert outcome.result == "fail"
    assert outcome.reason == "one: create: the resource already exists in the cluster"


def test_apply_keeps_what_the_manifest_does_not_name(steps):
    changed = CM.replace("{x: '1'}", "{y: '2'}")
    both = CM.replace("{x: '1'}", "{x: '1', y: '2'}")
    operations = "- apply: {file: a.yaml}\n- apply: {file: b.yaml}\n- assert: {file: c.yaml}"
    assert steps(operations, a=CM, b=changed, c=both).result == "pass"


def test_update_replaces_the_object(steps):
    changed = CM.replace("{x: '1'}", "{y: '2'}")
    operations = "- create: {file: a.yaml}\n- update: {file: b.yaml}\n- error: {file: a.yaml}"
    assert steps(operations, a=CM, b=changed).result == "pass"


def test_patch_needs_an_object(steps):
    operation = "- patch: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}"
    outcome = steps(operation)
    assert outcome.result == "fail"
    assert 'configmaps "a" not found' in outcome.reason


def test_delete_by_reference_and_by_labels(steps):
    labelled = CM.replace("{name: a}", "{name: a, labels: {app: web}}")
    for ref in ("name: a", "labels: {app: web}"):
        operations = f"""
- create: {{file: a.yaml}}
- delete: {{ref: {{apiVersion: v1, kind: ConfigMap, {ref}}}}}
- error: {{resource: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: a}}}}}}
"""
        assert steps(operations, a=labelled).result == "pass"


def test_what_is_not_there_is_deleted_already(steps):
    assert steps("- delete: {ref: {apiVersion: v1, kind: Secret, name: s}}").result == "pass"


def test_assert_waits_in_virtual_time_and_says_what_is_missing(steps):
    outcome = steps("- assert: {file: a.yaml, timeout: 7s}", a=CM)
    assert outcome.result == "fail"
    assert outcome.reason.endswith("actual resource not found")
    assert 7 <= outcome.seconds < 7.1


def test_assert_without_a_name_looks_at_all_objects(steps):
    some = "{apiVersion: v1, kind: ConfigMap, data: {x: '1'}}"
    operations = f"- create: {{file: a.yaml}}\n- assert: {{resource: {some}}}"
    assert steps(operations, a=CM).result == "pass"


def test_error_fails_where_an_object_stays_as_it_should_not_be(steps):
    outcome = steps("- create: {file: a.yaml}\n- error: {file: a.yaml, timeout: 1s}", a=CM)
    assert (outcome.result, outcome.location.line) == ("fail", 9)
    assert "the resource matches, but should not" in outcome.reason


def test_error_fails_where_an_object_comes_and_is_changed_before_the_end(steps):
    came = """
apiVersion: wgpolicyk8s.io/v1alpha2
kind: PolicyReport
metadata: {generation: 1}
scope: {kind: Pod, name: p}
"""
    pod = """
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: c, image: nginx}]}
"""
    before = (
        "- create: {file: policy.yaml}\n- assert: {file: ready.yaml}\n- create: {file: pod.yaml}\n"
    )
    policy = POLICY.replace("ConfigMap", "Pod").replace("Enforce", "Audit")
    outcome = steps(
        f"{before}- error: {{file: came.yaml, timeout: 120s}}",
        policy=policy,
        ready=READY,
        pod=pod,
        came=came,
    )
    assert outcome.result == "fail", outcome.reason
    assert "the resource matches, but should not" in outcome.reason


SHORT_LIVED = """
apiVersion: v1
kind: Pod
metadata: {name: p, labels: {cleanup.kyverno.io/ttl: 20s}}
spec: {containers: [{name: c, image: nginx}]}
"""


def test_what_a_cleanup_deletes_soon_is_not_there_at_the_end(steps):
    outcome = steps("- create: {file: p.yaml}\n- assert: {file: p.yaml}", p=SHORT_LIVED)
    assert outcome.result == "fail"
    assert "v1/Pod/chainsaw-" in outcome.reason
    assert "was deleted before the timeout of the assertion by cleanup at 61." in outcome.reason
    assert outcome.seconds < 1


def test_a_report_that_kyverno_deletes_soon_was_there(steps):
    report = """
apiVersion: reports.kyverno.io/v1
kind: EphemeralReport
metadata: {labels: {audit.kyverno.io/source: admission}}
spec: {summary: {%s: 1}}
"""
    policy = POLICY.replace("Enforce", "Audit")
    begin = (
        "- create: {file: policy.yaml}\n- assert: {file: ready.yaml}\n- create: {file: a.yaml}\n"
    )
    files = {"policy": policy, "ready": READY, "a": CM}
    end = "- assert: {file: report.yaml, timeout: 120s}"
    assert steps(f"{begin}{end}", **files, report=report % "fail").result == "pass"
    assert steps(f"{begin}{end}", **files, report=report % "pass").result == "fail"


@pytest.mark.parametrize(
    "end",
    [
        "- assert: {file: p.yaml, timeout: 5s}",
        "- assert: {file: p.yaml}\n- sleep: {duration: 1s}",
        "- assert: {file: p.yaml}\n- delete: {file: p.yaml}",
        "- assert: {file: p.yaml}\n- script: {content: kubectl get pod}",
    ],
    ids=["in its time", "before a pause", "before it ended", "before a look"],
)
def test_what_goes_later_or_is_followed_by_more_was_there(end, steps):
    assert steps(f"- create: {{file: p.yaml}}\n{end}", p=SHORT_LIVED).result == "pass"


def test_one_of_several_that_stays_is_enough(steps):
    lasting = SHORT_LIVED.replace("name: p, labels: {cleanup.kyverno.io/ttl: 20s}", "name: q")
    look = "- assert: {resource: {apiVersion: v1, kind: Pod}}"
    operations = f"- create: {{file: p.yaml}}\n- create: {{file: q.yaml}}\n{look}"
    assert steps(operations, p=SHORT_LIVED, q=lasting).result == "pass"


def test_what_cannot_be_compared_ends_an_assert_at_once(steps):
    odd = CM.replace("'1'", "1")
    outcome = steps("- create: {file: a.yaml}\n- assert: {file: b.yaml}", a=CM, b=odd)
    assert outcome.result == "fail"
    assert outcome.seconds < 1


def test_sleep_lets_virtual_time_pass(steps):
    outcome = steps("- sleep: {duration: 1m5s}")
    assert (outcome.result, outcome.seconds) == ("pass", 65)


def test_steps_after_a_failure_do_not_run_but_catch_and_finally_do(run):
    outcome = run("""
steps:
- try: [{sleep: {duration: 1s}}, {assert: {resource: {"(`false`)": true}, timeout: 1s}}]
  catch: [{sleep: {duration: 10s}}]
  finally: [{sleep: {duration: 100s}}]
- try: [{sleep: {duration: 1000s}}]
""")
    assert outcome.result == "fail"
    assert outcome.seconds == pytest.approx(112, abs=0.2)


def test_operation_that_may_fail_lets_the_block_go_on_and_the_test_fail(run):
    outcome = run("""
steps:
- try:
  - {continueOnError: true, assert: {resource: {"(`false`)": true}, timeout: 1s}}
  - sleep: {duration: 10s}
""")
    assert outcome.result == "fail"
    assert outcome.seconds > 10


def test_bindings_and_outputs_reach_later_operations(run):
    outcome = run(
        """
bindings: [{name: base, value: cm}]
steps:
- bindings: [{name: full, value: "(join('-', [$base, 'one']))"}]
  try:
  - create:
      resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: ($full)}, data: {x: seen}}
      outputs: [{name: found, value: (data.x)}]
  - assert:
      resource:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: cm-one}
        data: {x: ($found)}
"""
    )
    assert outcome.result == "pass", outcome.reason


def test_without_templating_scalars_stay_as_written(run):
    outcome = run("""
template: false
steps:
- try:
  - create: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: (y)}}}
  - assert:
      resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {(x == '(y)'): true}}
""")
    assert outcome.result == "pass", outcome.reason


def test_text_that_was_not_meant_as_an_expression_is_told_how_to_stay_text(steps):
    odd = CM.replace("'1'", '("a" in b)')
    outcome = steps("- create: {file: a.yaml, template: true}", a=odd)
    assert outcome.result == "fail"
    assert "text in parentheses is an expression unless `template: false`" in outcome.reason


@pytest.mark.parametrize(
    ("operation", "told"),
    [
        ("- proxy: {apiVersion: v1, kind: Pod}", "this operation is not simulated"),
        ("- script: {content: curl http://x}", "`curl http://x`"),
        (
            "- create: {file: hooks.yaml}",
            "webhook configurations other than Kyverno's own",
        ),
    ],
)
def test_what_is_not_simulated_is_no_pass_and_no_failure(steps, operation, told):
    outcome = steps(operation, hooks=HOOKS)
    assert outcome.result == "unsupported"
    assert told in outcome.reason


def test_failure_before_something_unsupported_counts(steps):
    operations = "- assert: {resource: {'(`false`)': true}, timeout: 1s}\n"
    operations += "- proxy: {apiVersion: v1, kind: Pod}"
    assert steps(operations).result == "fail"


def test_policy_that_asks_a_registry_makes_a_test_unsupported(steps):
    policy = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: signed}
spec:
  rules:
  - name: signed
    match: {any: [{resources: {kinds: [Pod]}}]}
    verifyImages:
    - imageReferences: ["*"]
      failureAction: Enforce
      attestors: [{entries: [{keyless: {subject: a, issuer: b, rekor: {url: https://r}}}]}]
"""
    pod = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [%s]}}"
    outcome = steps(
        """
- create: {file: policy.yaml}
- sleep: {duration: 1s}
- create: {file: pod.yaml, expect: [{check: {($error != null): true}}]}
""",
        policy=policy,
        pod=pod % "{name: c, image: nginx}",
    )
    assert outcome.result == "unsupported", outcome.reason
    assert "kyvsim is offline" in outcome.reason


def test_file_that_is_missing_fails_the_operation(steps):
    outcome = steps("- apply: {file: none.yaml}")
    assert (outcome.result, outcome.reason) == ("fail", "one: apply: none.yaml: no such file")


def test_test_that_is_to_be_skipped_is_no_pass(run):
    assert run("skip: true\nsteps: [{try: [{events: {}}]}]").result == "unsupported"


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ("cluster: far", "the cluster `far`, which is not the test's own"),
        ("compiler: cel", "expressions of the language `cel`"),
        ("bindings: [{name: a, value: b, compiler: cel}]", "expressions in the language `cel`"),
    ],
)
def test_what_a_test_wants_of_elsewhere_is_not_simulated(settings, told, run):
    outcome = run(f"{settings}\nsteps: [{{try: [{{sleep: {{duration: 1s}}}}]}}]")
    assert outcome.result == "unsupported"
    assert told in outcome.reason


def test_binding_that_cannot_be_evaluated_fails_the_test(run):
    outcome = run("bindings: [{name: a, value: (x.)}]\nsteps: [{try: [{sleep: {duration: 1s}}]}]")
    assert outcome.result == "fail"
    assert outcome.reason.startswith("the start of the test: `x.`")


JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec:
  ttlSecondsAfterFinished: 0
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox}]}}
"""


def test_create_is_tried_again_until_time_is_up(steps):
    outcome = steps("- create: {file: j.yaml}\n- create: {file: j.yaml}", j=JOB)
    assert outcome.result == "pass", outcome.reason
    assert 5 < outcome.seconds < 10


def test_object_that_is_there_fails_create_whatever_was_expected(steps):
    outcome = steps(
        """
- create: {file: a.yaml}
- create: {file: a.yaml, timeout: 2s, expect: [{check: {($error != null): true}}]}
""",
        a=CM,
    )
    assert outcome.result == "fail"
    assert outcome.reason == "one: create: the resource already exists in the cluster"
    assert outcome.seconds >= 2


def test_clean_up_that_is_refused_fails_the_test(steps):
    finalized = CM.replace("{name: a}", "{name: a, finalizers: [x/y]}")
    outcome = steps("- create: {file: a.yaml}", a=finalized)
    assert outcome.result == "fail"
    assert outcome.reason == "cleanup: ConfigMap `a` still exists after 30 s"


@pytest.mark.parametrize("where", ["test", "step"])
def test_what_is_to_be_kept_is_not_cleaned_up(where, run):
    keeps = "skipDelete: true"
    outcome = run(
        f"""
{keeps if where == "test" else "description: none"}
steps:
- name: one
  {keeps if where == "step" else "description: none"}
  try: [{{create: {{file: a.yaml}}}}]
""",
        a=CM.replace("{name: a}", "{name: a, finalizers: [x/y]}"),
    )
    assert outcome.result == "pass", outcome.reason
    assert not any(
        one.action == "delete" and one.object.kind == "ConfigMap" for one in outcome.events
    )


def test_script_that_takes_longer_than_it_may_is_killed(steps):
    outcome = steps("- script: {content: sleep 10, timeout: 5s}")
    assert (outcome.result, outcome.reason) == ("fail", "one: script: signal: killed")
    assert steps("- script: {content: sleep 10, timeout: 15s}").result == "pass"


def test_wait_for_a_condition_needs_an_object(steps):
    wait = "{apiVersion: v1, kind: Pod, name: p, for: {condition: {name: Ready}}}"
    outcome = steps(f"- wait: {wait}")
    assert (outcome.result, outcome.reason) == ("fail", "one: wait: no matching resources found")


def test_namespace_has_what_its_template_says(run):
    outcome = run(
        """
namespaceTemplate: {metadata: {labels: {team: "(join('-', ['a', 'b']))"}}}
steps:
- try:
  - assert: {resource: {apiVersion: v1, kind: Namespace, metadata: {labels: {team: a-b}}}}
"""
    )
    assert outcome.result == "pass", outcome.reason


def test_grace_period_is_set_in_what_a_test_writes(run):
    pod = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [%s]}}"
    outcome = run(
        """
forceTerminationGracePeriod: 7s
steps:
- try:
  - create: {file: pod.yaml}
  - assert:
      resource:
        {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {terminationGracePeriodSeconds: 7}}
""",
        pod=pod % "{name: c, image: nginx}",
    )
    assert outcome.result == "pass", outcome.reason


@pytest.mark.parametrize("kind", ["get", "describe", "podLogs"])
def test_what_is_to_be_shown_must_be_there(kind, steps):
    about = "{apiVersion: v1, kind: Pod, name: p%s}"
    if kind == "podLogs":
        about = "{name: p%s}"
    outcome = steps(f"- {kind}: {about % ''}")
    assert (outcome.result, outcome.reason) == ("fail", f"one: {kind}: Pod `p` does not exist")
    assert steps(f"- {kind}: {about % ', namespace: kyverno'}").result == "pass"


def test_updated_in_a_dry_run_is_not_updated(steps):
    changed = CM.replace("{x: '1'}", "{y: '2'}")
    outcome = steps(
        "- create: {file: a.yaml}\n"
        "- update: {file: b.yaml, dryRun: true}\n"
        "- assert: {file: a.yaml}",
        a=CM,
        b=changed,
    )
    assert outcome.result == "pass", outcome.reason


def test_a_document_with_items_stands_for_them(steps):
    items = f"{CONFIG_MAP % 'a'}, {CONFIG_MAP % 'b'}"
    both = f"{{apiVersion: v1, items: [{items}]}}"
    operations = "- create: {file: both.yaml}\n- assert: {file: both.yaml}\n- error: {file: c.yaml}"
    assert steps(operations, both=both, c=CONFIG_MAP % "c").result == "pass"


CONFIG_MAP = "{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}}"


@pytest.mark.parametrize(
    "operation",
    [
        "assert: {resource: {apiVersion: ($v), kind: ($k), metadata: {name: ($id)}}}",
        "assert: {resource: {apiVersion: ($v), kind: ($k), metadata: {labels: {app: ($l)}}}}",
        "error: {resource: {apiVersion: ($v), kind: ($k), metadata: {name: other}}}",
        "error: {resource: {apiVersion: ($v), kind: ($k), metadata: {name: ($id), namespace: x}}}",
        "apply: {resource: {apiVersion: ($v), kind: ($k), metadata: {name: ($id)}, data: {a: b}}}",
        "create: {resource: {apiVersion: ($v), kind: ($k), metadata: {name: b}}}",
        "patch: {resource: {apiVersion: ($v), kind: ($k), metadata: {name: ($id)}, data: {a: c}}}",
        "delete: {ref: {apiVersion: ($v), kind: ($k), name: ($id)}}",
        "delete: {ref: {apiVersion: ($v), kind: ($k), labels: {app: ($l)}}}",
        "get: {apiVersion: ($v), kind: ($k), name: ($id)}",
        "describe: {apiVersion: ($v), kind: ($k), name: ($id)}",
        "wait: {apiVersion: ($v), kind: ($k), name: ($other), for: {deletion: {}}}",
    ],
)
def test_bindings_say_which_object_is_meant(run, operation):
    outcome = run(
        "bindings: [{name: v, value: v1}, {name: k, value: ConfigMap}, {name: id, value: a}, "
        "{name: other, value: z}, {name: l, value: web}]\n"
        "steps:\n- try:\n  - create: {resource: {apiVersion: v1, kind: ConfigMap, "
        "metadata: {name: a, labels: {app: web}}, data: {x: '1'}}}\n"
        f"  - {operation}\n"
    )
    assert outcome.result == "pass", outcome.reason


@pytest.mark.parametrize(
    ("operation", "told"),
    [
        (
            "error: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: ($id)}}}",
            "matches",
        ),
        ("assert: {resource: {apiVersion: v1, kind: ($s), metadata: {name: ($id)}}}", "not found"),
        ("assert: {resource: {apiVersion: v1, kind: ($five), metadata: {name: a}}}", "`kind` must"),
        (
            "error: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: ($five)}}}",
            "`name`",
        ),
        ("delete: {ref: {apiVersion: v1, kind: ConfigMap, labels: {a: ($five)}}}", "`labels` must"),
        (
            "create: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: ($five)}}}",
            "`name`",
        ),
        ("error: {resource: {apiVersion: v1, metadata: {name: gone}}}", "needs `kind`"),
        ("error: {resource: {metadata: {name: gone}}}", "needs `kind`"),
    ],
)
def test_bindings_that_name_no_object_pass_nothing(run, operation, told):
    outcome = run(
        "bindings: [{name: id, value: a}, {name: s, value: Secret}, {name: five, value: 5}]\n"
        "timeouts: {assert: 1s, error: 1s}\n"
        "steps:\n- try:\n  - create: {resource: {apiVersion: v1, kind: ConfigMap, "
        f"metadata: {{name: a}}}}}}\n  - {operation}\n"
    )
    assert outcome.result == "fail"
    assert told in outcome.reason


def test_a_kind_from_a_binding_is_simulated_or_not_as_if_it_were_written(run):
    text = (
        "bindings: [{{name: k, value: {}}}]\nsteps:\n- try:\n"
        "  - error: {{resource: {{apiVersion: {}, kind: ($k), metadata: {{name: a}}}}}}\n"
    )
    assert run(text.format("ValidatingPolicy", "policies.kyverno.io/v1")).result == "pass"
    hooks = text.format("ValidatingWebhookConfiguration", "admissionregistration.k8s.io/v1")
    assert run(hooks).result == "unsupported"


@pytest.mark.parametrize(
    ("operation", "told"),
    [
        ("sleep: {duration: 99999h}", "more than 366 days of virtual time"),
        (
            "script: {content: kubectl create deployment a --image=b --replicas=99999; sleep 9}",
            "99,999 Pods for Deployment",
        ),
    ],
)
def test_a_cluster_is_simulated_within_limits(steps, operation, told):
    outcome = steps(f"- {operation}\n- sleep: {{duration: 1s}}")
    assert outcome.result == "unsupported"
    assert told in outcome.reason


@pytest.mark.parametrize("check", ["", ", check: {($error != null): true}"])
def test_a_script_beyond_its_limits_fails_whatever_is_checked(steps, check):
    outcome = steps(f"- script: {{content: 'a=x; while :; do a=$a$a; done'{check}}}")
    assert outcome.result == "fail"
    assert "the limit of 8,388,608 characters for the scripts of a test" in outcome.reason


def test_long_output_is_shortened_in_the_reason(steps):
    outcome = steps("- script: {content: seq 9999; exit 3}")
    assert "exit status 3: 1\n2\n" in outcome.reason
    assert "characters omitted" in outcome.reason
    assert outcome.reason.endswith("9999")
    assert len(outcome.reason) < 5_000


def test_variables_of_commands_are_counted(steps):
    outcome = steps(
        "- command: {entrypoint: echo, args: ['" + "$A" * 2000 + "'], "
        "env: [{name: A, value: " + "x" * 9000 + "}]}"
    )
    assert outcome.result == "fail"
    assert "characters" in outcome.reason


def test_expressions_of_a_test_have_a_budget(run):
    bindings = ["{name: a0, value: '([`1`,`2`,`3`,`4`,`5`,`6`,`7`,`8`])'}"]
    for number in range(9):
        several = ",".join([f"$a{number}"] * 8)
        bindings.append(f"{{name: a{number + 1}, value: '([{several}][])'}}")
    outcome = run(
        f"bindings: [{', '.join(bindings)}]\nsteps: [{{try: [{{sleep: {{duration: 1s}}}}]}}]"
    )
    assert outcome.result == "fail"
    assert "the step limit for the expressions of a test is exceeded" in outcome.reason


def test_an_operation_with_a_timeout_of_weeks_is_not_tried_every_second(steps, monkeypatch):
    tries = []
    sent = Client.create
    monkeypatch.setattr(
        Client, "create", lambda *args, **more: tries.append(1) or sent(*args, **more)
    )
    outcome = steps(
        "- create: {file: a.yaml, timeout: 1000h}", a=CM.replace("name: a", "name: A B")
    )
    assert outcome.result == "fail"
    assert len(tries) < 3_000


HEAVY = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: heavy}
spec:
  rules:
  - name: pairs
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    context:
    - name: many
      variable:
        jmesPath: "join(request.object.data.x, split(request.object.data.x, ''))"
    validate:
      failureAction: Enforce
      message: refused
      deny: {conditions: {all: [{key: "{{ many }}", operator: Equals, value: x}]}}
"""


def test_a_rule_whose_budget_is_spent_decides_no_test(steps):
    outcome = steps(
        "- create: {file: policy.yaml}\n- assert: {file: ready.yaml}\n"
        "- create: {file: a.yaml, expect: [{check: {($error != null): true}}]}",
        policy=HEAVY,
        ready=READY.replace("need-team", "heavy"),
        a=CM.replace("'1'", f"'{'x' * 40_000}'"),
    )
    assert outcome.result == "unsupported", outcome.reason
    assert "steps for a rule is spent" in outcome.reason
    assert "--budget" not in outcome.reason
