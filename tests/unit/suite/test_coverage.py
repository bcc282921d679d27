import os
import textwrap
from pathlib import Path

import pytest
from tracers import ListTracer, trace

from kyvsim.api.suite import Reading, SuiteRun, run_file, run_tests
from kyvsim.kubernetes.objects import path_text
from kyvsim.model.explanation import Step, StepKind
from kyvsim.model.tracing import NO_TRACE, Outcomes, PointKind, counted, traced, with_answer
from kyvsim.suite.row_targets import RowSelector

FIXTURES = Path(__file__).parents[3] / "fixtures/tests"

RESOURCES = """
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: shop, labels: {app: x}}
spec: {containers: [{name: main, image: nginx}]}
---
apiVersion: v1
kind: Pod
metadata: {name: b, namespace: shop}
spec: {containers: []}
---
apiVersion: v1
kind: Pod
metadata: {name: c, namespace: other}
spec: {containers: [{name: main, image: nginx}, {name: side, image: busybox}]}
---
"""
CONFIG_MAP = """
apiVersion: v1
kind: ConfigMap
metadata: {name: cm, namespace: shop}
data: {a: b}
"""
RESOURCES += CONFIG_MAP
EVERY = "policy: p, result: pass, kind: Pod"
PODS = "{any: [{resources: {kinds: [Pod]}}]}"
BARE = "pod-policies.kyverno.io/autogen-controllers: none"
NAME = "{{ request.object.metadata.name }}"


def policy(*rules, kind="ClusterPolicy", name="p", annotation=BARE):
    head = f"""\
        apiVersion: kyverno.io/v1
        kind: {kind}
        metadata: {{name: {name}, annotations: {{{annotation}}}}}
        spec:
          rules:
        """
    return textwrap.dedent(head) + "".join(f"    - {{{rule}}}\n" for rule in rules)


def rule(body, match=PODS, name="r", more=""):
    return f"name: {name}, match: {match}, {more}{body}"


def deny(*conditions):
    listed = ", ".join(conditions)
    return f"validate: {{message: bad, deny: {{conditions: {{any: [{listed}]}}}}}}"


def is_named(name):
    return f'{{key: "{NAME}", operator: Equals, value: {name}}}'


PASS = "validate: {message: bad, pattern: {metadata: {name: '?*'}}}"


@pytest.fixture
def reached(manifest_of):
    """Return the outcomes of each point of one manifest, by kind and path in the document."""

    def run(text, *rows, extra="", lenient=False, **files):
        rows = rows or (EVERY,)
        files = {"policy.yaml": text, "resources.yaml": RESOURCES, **files}
        file = manifest_of(rows, extra, **files)
        (found,) = run_file(file, Reading(coverage=True, lenient=lenient))
        # Exceptions for what is not there are points all the same, and so are objects cut short
        # and constant conditions.
        idle = {"KV071", "KV072", "KV222", "KV233"}
        assert [str(one) for one in found.diagnostics if one.code not in idle] == []
        return {
            (point.kind.value, path_text(point.path)): dict(point.outcomes)
            for point in found.points
        }

    return run


def of_rule(points, kind):
    """Return the points of a kind by the way from the rule on."""
    start = "spec.rules[0]."
    return {path.removeprefix(start): times for (one, path), times in points.items() if one == kind}


def test_a_rule_counts_how_it_ended(reached):
    points = reached(policy(rule(deny(is_named("a")))))
    assert points["rule", "spec.rules[0]"] == {"passed": 2, "failed": 1}


def test_a_mutation_that_changes_nothing_is_not_applied(reached):
    patch = "mutate: {patchStrategicMerge: {metadata: {labels: {app: %s}}}}"
    rules = [
        rule(patch % "x", name="every"),
        rule(patch % "x", "{any: [{resources: {kinds: [Pod], names: [a]}}]}", name="same"),
    ]
    points = reached(policy(*rules))
    assert points["rule", "spec.rules[0]"] == {"applied": 2}
    assert points["rule", "spec.rules[1]"] == {"applied": 0}


def test_a_denial_without_conditions_can_only_fail(reached):
    points = reached(policy(rule("validate: {message: bad, deny: {}}")))
    assert points["rule", "spec.rules[0]"] == {"failed": 3}


def test_filters_of_match_and_exclude_are_points(reached):
    match = "{any: [{resources: {kinds: [Pod]}}, {resources: {kinds: [Service]}}]}"
    exclude = "exclude: {any: [{resources: {names: [b]}}, {resources: {names: [z]}}]}, "
    points = reached(policy(rule(PASS, match, more=exclude)))
    assert of_rule(points, "match") == {
        "match.any[0]": {"matched": 3},
        "match.any[1]": {"matched": 0},
    }
    assert of_rule(points, "exclude") == {
        "exclude.any[0]": {"excluded": 1},
        "exclude.any[1]": {"excluded": 0},
    }


def test_filters_of_all_and_of_the_old_form_are_points(reached):
    both = "{all: [{resources: {kinds: [Pod]}}, {resources: {kinds: [Pod], names: [z]}}]}"
    old = "{resources: {kinds: [Pod]}}"
    points = reached(policy(rule(PASS, both), rule(PASS, old, name="s")))
    assert points["match", "spec.rules[0].match.all[0]"] == {"matched": 3}
    assert points["match", "spec.rules[0].match.all[1]"] == {"matched": 0}
    assert points["match", "spec.rules[1].match"] == {"matched": 3}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (f"{{any: [{is_named('a')}, {is_named('z')}]}}", {".any[0]": (1, 2), ".any[1]": (0, 2)}),
        (f"{{all: [{is_named('a')}, {is_named('z')}]}}", {".all[0]": (1, 2), ".all[1]": (0, 1)}),
        (
            f"{{any: [{is_named('a')}], all: [{is_named('b')}]}}",
            {".any[0]": (1, 2), ".all[0]": (1, 2)},
        ),
        (f"[{is_named('a')}]", {"[0]": (1, 2)}),
    ],
)
def test_each_condition_of_every_form_is_a_point(reached, written, expected):
    points = reached(policy(rule(PASS, more=f"preconditions: {written}, ")))
    assert of_rule(points, "condition") == {
        f"preconditions{path}": {"true": holds, "false": fails}
        for path, (holds, fails) in expected.items()
    }


def test_a_condition_whose_outcome_is_fixed_has_only_that_one(reached):
    fixed = "{all: [{key: 1, operator: Equals, value: 1}, {key: 1, operator: Equals, value: 2}]}"
    points = reached(policy(rule(PASS, more=f"preconditions: {fixed}, ")))
    assert of_rule(points, "condition") == {
        "preconditions.all[0]": {"true": 3},
        "preconditions.all[1]": {"false": 3},
    }


def test_alternatives_are_points_of_what_was_chosen(reached):
    alternatives = "[{metadata: {name: a}}, {metadata: {name: %s}}]"
    fixed = rule(f"validate: {{message: bad, anyPattern: {alternatives % 'z'}}}")
    filled = rule(f"validate: {{message: bad, anyPattern: {alternatives % repr(NAME)}}}", name="s")
    points = reached(policy(fixed, filled))
    assert points["anyPattern", "spec.rules[0].validate.anyPattern[0]"] == {"chosen": 1}
    assert points["anyPattern", "spec.rules[0].validate.anyPattern[1]"] == {"chosen": 0}
    assert points["anyPattern", "spec.rules[1].validate.anyPattern[1]"] == {"chosen": 2}


EACH = {"no element": 1, "one element": 1, "several elements": 1}
LOOP = "list: request.object.spec.containers"


def test_loops_count_their_elements(reached):
    inner = f"{{{LOOP}, deny: {{conditions: {{all: [{is_named('a')}]}}}}}}"
    nested = f"{{{LOOP}, foreach: [{inner}], preconditions: {{all: [{is_named('a')}]}}}}"
    missing = "{list: request.object.spec.missing, pattern: {name: '?*'}}"
    points = reached(policy(rule(f"validate: {{message: bad, foreach: [{nested}, {missing}]}}")))
    assert of_rule(points, "foreach") == {
        "validate.foreach[0]": EACH,
        "validate.foreach[0].foreach[0]": {**EACH, "no element": 0, "several elements": 0},
        "validate.foreach[1]": {"no element": 2, "one element": 0, "several elements": 0},
    }
    assert of_rule(points, "condition") == {
        "validate.foreach[0].preconditions.all[0]": {"true": 1, "false": 2},
        "validate.foreach[0].foreach[0].deny.conditions.all[0]": {"true": 1, "false": 0},
    }


LABELLED = "patchStrategicMerge: {metadata: {labels: {a: b}}}"
MADE = f"apiVersion: v1, kind: ConfigMap, namespace: shop, name: '{NAME}-{{{{ elementIndex }}}}'"


@pytest.mark.parametrize(
    ("body", "way"),
    [
        (f"mutate: {{foreach: [{{{LOOP}, {LABELLED}}}]}}", "mutate"),
        (f"generate: {{foreach: [{{{LOOP}, {MADE}, data: {{data: {{a: b}}}}}}]}}", "generate"),
    ],
)
def test_loops_of_other_rules_count_their_elements(reached, body, way):
    points = reached(policy(rule(body)))
    assert of_rule(points, "foreach") == {f"{way}.foreach[0]": EACH}
    assert points["rule", "spec.rules[0]"] == {"applied": 2}


def test_targets_of_a_mutation_have_conditions(reached):
    only = "{all: [{key: '{{ target.metadata.name }}', operator: Equals, value: z}]}"
    target = f"{{apiVersion: v1, kind: ConfigMap, namespace: shop, preconditions: {only}}}"
    body = f"mutate: {{targets: [{target}], patchStrategicMerge: {{data: {{a: c}}}}}}"
    points = reached(policy(rule(body)), "policy: p, result: skip, kind: Pod")
    way = "mutate.targets[0].preconditions.all[0]"
    assert of_rule(points, "condition") == {way: {"true": 0, "false": 3}}


def test_cel_expressions_are_conditions(reached):
    cel = "validate: {cel: {expressions: [{expression: \"object.metadata.name == 'a'\"}]}}"
    before = 'celPreconditions: [{name: labelled, expression: "has(object.metadata.labels)"}], '
    points = reached(policy(rule(cel, more=before)))
    assert of_rule(points, "condition") == {
        "validate.cel.expressions[0]": {"true": 1, "false": 0},
        "celPreconditions[0]": {"true": 1, "false": 2},
    }


def test_conditions_on_attestations_are_points(reached):
    on = "{all: [{key: '{{ level }}', operator: Equals, value: high}]}"
    denied = f"validate: {{message: bad, deny: {{conditions: {on}}}}}"
    attested = f"attestations: [{{type: a/b, conditions: [{on}]}}]"
    entry = f"{{imageReferences: ['x/*'], mutateDigest: false, {attested}, {denied}}}"
    points = reached(policy(rule(f"verifyImages: [{entry}]")), NAMED % "b")
    never = {"true": 0, "false": 0}
    assert of_rule(points, "condition") == {
        "verifyImages[0].attestations[0].conditions[0].all[0]": never,
        "verifyImages[0].validate.deny.conditions.all[0]": never,
    }
    assert points["rule", "spec.rules[0]"] == {"passed": 0, "failed": 0}


DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec: {template: {metadata: {labels: {app: x}}, spec: {containers: [{name: c, image: x}]}}}
"""


def test_points_of_derived_rules_are_those_of_the_written_one(reached):
    labelled = "validate: {message: bad, pattern: {metadata: {labels: {app: '?*'}}}}"
    app = "{{ request.object.metadata.labels.app }}"
    only = f"preconditions: {{all: [{{key: '{app}', operator: Equals, value: x}}]}}, "
    text = policy(rule(labelled, more=only), annotation="")
    points = reached(text, resources__yaml=DEPLOYMENT)
    assert points["rule", "spec.rules[0]"] == {"passed": 1, "failed": 0}
    assert points["variant", "spec.rules[0]"] == {
        "as written": 0,
        "autogen": 1,
        "autogen-cronjob": 0,
    }
    condition = "preconditions.all[0]"
    assert of_rule(points, "condition") == {condition: {"true": 1, "false": 0}}
    assert len(points) == 4


EXCEPTION = """
apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: e, namespace: shop}
spec:
  exceptions:
    - {policyName: p, ruleNames: ["o*"]}
    - {policyName: p, ruleNames: ["r*", other]}
    - {policyName: gone, ruleNames: ["*"]}
  match: {any: [{resources: {kinds: [Pod], names: [%s]}}]}
%s"""


@pytest.mark.parametrize(
    ("name", "conditions", "times"),
    [
        ("a", "", 1),
        ("z", "", 0),
        ("a", f"  conditions: {{any: [{is_named('a')}]}}\n", 1),
        ("a", f"  conditions: {{any: [{is_named('z')}]}}\n", 0),
    ],
)
def test_entries_of_exceptions_are_points(reached, name, conditions, times):
    points = reached(
        policy(rule(PASS)),
        extra="exceptions: [exception.yaml]\n",
        exception__yaml=EXCEPTION % (name, conditions),
    )
    found = {path: of["applied"] for (kind, path), of in points.items() if kind == "exception"}
    assert found == {
        "spec.exceptions[0]": 0,
        "spec.exceptions[1]": times,
        "spec.exceptions[2]": 0,
    }


CLEANUP = """
apiVersion: kyverno.io/v2
kind: ClusterCleanupPolicy
metadata: {name: p}
spec:
  schedule: "* * * * *"
  match: {any: [{resources: {kinds: [Pod]}}]}
  exclude: {any: [{resources: {names: [c]}}]}
  conditions:
    all: [{key: "{{ target.metadata.name }}", operator: Equals, value: a}]
"""


def test_cleanup_policies_have_points(reached):
    assert reached(CLEANUP) == {
        ("rule", "spec"): {"applied": 1},
        ("match", "spec.match.any[0]"): {"matched": 3},
        ("exclude", "spec.exclude.any[0]"): {"excluded": 1},
        ("condition", "spec.conditions.all[0]"): {"true": 1, "false": 1},
    }


def test_rules_that_no_row_is_about_reach_nothing(reached):
    text = policy(rule(PASS), rule(PASS, name="s")) + "---\n" + policy(rule(PASS), name="q")
    manifest = "policy: p, rule: s, result: pass, kind: Pod"
    points = reached(text, manifest)
    assert points["rule", "spec.rules[1]"] == {"passed": 3, "failed": 0}
    assert points["rule", "spec.rules[0]"] == {"passed": 0, "failed": 0}


NAMED = "policy: p, rule: r, result: pass, kind: Pod, resources: [%s]"


@pytest.mark.parametrize(
    ("row", "lenient", "passed"),
    [
        (NAMED % "a", False, 1),
        (NAMED % "a, shop/b", False, 2),
        (NAMED % "nobody", False, 0),
        (NAMED % "nobody", True, 3),
        (f"{NAMED % 'a'}, operation: UPDATE", False, 1),
    ],
)
def test_only_runs_that_a_row_expects_something_of_count(reached, row, lenient, passed):
    points = reached(policy(rule(PASS)), row, lenient=lenient)
    assert points["rule", "spec.rules[0]"] == {"passed": passed, "failed": 0}


def test_a_row_about_a_target_counts_the_runs_that_patch_it(reached):
    target = "{apiVersion: v1, kind: Secret, name: s, namespace: shop}"
    body = (
        f"mutate: {{targets: [{target}], patchStrategicMerge: {{metadata: {{labels: {{a: b}}}}}}}}"
    )
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: shop}\n"
    row = "policy: p, rule: r, result: pass, kind: Secret, resources: [s]"
    files = {"extra": "targetResources: [target.yaml]\n", "target__yaml": secret}
    points = reached(policy(rule(body)), row, **files)
    assert points["rule", "spec.rules[0]"] == {"applied": 3}


def test_rows_about_a_derived_rule_reach_only_that_one(reached):
    row = "policy: p, rule: autogen-r, result: pass, kind: Deployment"
    labelled = "validate: {message: bad, pattern: {metadata: {labels: {app: x}}}}"
    text = policy(rule(labelled), annotation="")
    points = reached(text, row, resources__yaml=f"{RESOURCES}---{DEPLOYMENT}")
    assert points["variant", "spec.rules[0]"]["as written"] == 0
    assert points["rule", "spec.rules[0]"] == {"passed": 1, "failed": 0}


@pytest.mark.parametrize("row", ["policy: p", "policy: shop/p"])
def test_a_namespaced_policy_is_named_in_two_ways(reached, row):
    text = policy(rule(PASS), kind="Policy", name="p, namespace: shop")
    points = reached(text, f"{row}, rule: r, result: pass, kind: Pod")
    assert points["rule", "spec.rules[0]"] == {"passed": 2, "failed": 0}


@pytest.mark.parametrize("lenient", [False, True])
def test_rows_that_never_ran_reach_nothing(reached, lenient):
    row = "policy: p, rule: r, result: pass, kind: ConfigMap, resources: [cm]"
    points = reached(policy(rule(PASS)), row, lenient=lenient, resources__yaml=CONFIG_MAP)
    assert points["rule", "spec.rules[0]"] == {"passed": 0, "failed": 0}


# ---------------------------------------------------------------------------- several manifests


def covered(*paths, **options):
    run = SuiteRun(paths, options=Reading(coverage=True, **options))
    return run_tests(run).coverage


@pytest.fixture
def suite(tmp_path):
    """Two manifests in folders beside one policy; returns the folder."""
    (tmp_path / "own policies").mkdir()
    text = policy(rule(deny(is_named("a")))) + "---\n" + policy(rule(PASS), name="q")
    (tmp_path / "own policies/p.yaml").write_text(text)
    for name in "ab":
        folder = tmp_path / f"test {name}"
        folder.mkdir()
        row = f"{{policy: p, rule: r, kind: Pod, result: {'fail' if name == 'a' else 'pass'}}}"
        (folder / "kyverno-test.yaml").write_text(
            "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: t}\n"
            "policies: ['../own policies/p.yaml']\nresources: [r.yaml]\n"
            f"results: [{row}]\n"
        )
        pod = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec: {{}}\n"
        (folder / "r.yaml").write_text(pod)
    return tmp_path


def test_several_manifests_reach_a_policy_together(suite):
    (file,) = covered(str(suite)).files
    assert os.path.basename(file.file) == "p.yaml"
    times = {(p.policy, p.kind): dict(p.outcomes) for p in file.points}
    assert times["p", PointKind.RULE] == {"passed": 1, "failed": 1}
    assert times["p", PointKind.CONDITION] == {"true": 1, "false": 1}
    assert times["q", PointKind.RULE] == {"passed": 0, "failed": 0}
    assert file.ratio == (5, 8)


def test_a_file_with_several_names_is_one_file(suite):
    (suite / "link").symlink_to(suite / "own policies")
    manifest = suite / "test b/kyverno-test.yaml"
    manifest.write_text(manifest.read_text().replace("own policies", "link"))
    (file,) = covered(str(suite)).files
    assert file.file == str(suite / "own policies/p.yaml")
    assert file.ratio == (5, 8)


def test_processes_find_the_same(suite):
    outcomes = [
        run_tests(SuiteRun((str(suite),), options=Reading(coverage=True), jobs=jobs))
        for jobs in (1, 2)
    ]
    assert outcomes[0] == outcomes[1]


def test_a_policy_without_rows_is_there_to_be_reached(suite):
    for name in "ab":
        manifest = suite / f"test {name}/kyverno-test.yaml"
        manifest.write_text(manifest.read_text().partition("results:")[0] + "results: []\n")
    assert covered(str(suite)).ratio == (0, 8)


def test_a_manifest_that_the_selector_leaves_out_is_left_out(suite):
    assert covered(str(suite), selector=RowSelector("other", "*", "*")).files == ()


def test_a_manifest_that_cannot_be_run_reaches_nothing(suite):
    manifest = suite / "test b/kyverno-test.yaml"
    manifest.write_text(f"{manifest.read_text()}userinfo: nowhere.yaml\n")
    assert covered(str(suite)).ratio == (3, 8)


def test_points_of_a_list_have_their_own_lines(manifest_of):
    items = "".join(
        f"  - apiVersion: kyverno.io/v1\n    kind: ClusterPolicy\n    metadata: {{name: {name}}}\n"
        f"    spec: {{rules: [{{{rule(PASS, '{any: [{resources: {kinds: [Secret]}}]}')}}}]}}\n"
        for name in "pq"
    )
    text = f"apiVersion: v1\nkind: List\nitems:\n{items}"
    file = manifest_of([EVERY], **{"policy.yaml": text, "resources.yaml": RESOURCES})
    (found,) = covered(file).files
    rules = [one for one in found.points if one.kind is PointKind.RULE]
    assert [(one.policy, one.location.line) for one in rules] == [("p", 7), ("q", 11)]


@pytest.mark.parametrize("lenient", [False, True])
def test_watching_changes_no_outcome(monkeypatch, lenient):
    monkeypatch.chdir(FIXTURES)
    probed, plain = (
        run_tests(SuiteRun((".",), options=Reading(lenient=lenient, coverage=coverage)))
        for coverage in (True, False)
    )
    assert [one._replace(points=()) for one in probed.manifests] == list(plain.manifests)
    assert probed.coverage.ratio.reached > 50


def test_nothing_is_wrapped_where_nobody_listens():
    assert NO_TRACE.at("spec", 0) is NO_TRACE
    outcomes, step = Outcomes(PointKind.MATCH, ("matched",), int), Step(StepKind.MATCH)
    for context in (NO_TRACE, trace(ListTracer(counts=False)).at("match")):
        assert counted(context, bool, outcomes) is bool
        assert traced(context, bool, step, with_answer, outcomes=outcomes) is bool


def test_nothing_is_told_unless_it_is_asked_for(suite):
    found = run_tests(SuiteRun((str(suite),)))
    assert found.coverage is None
    assert [one.points for one in found.manifests] == [(), ()]
