"""Why policies did something to an object of a simulated cluster, or nothing."""

from pathlib import Path

import pytest

from kyvsim.api.explain import NotFoundError
from kyvsim.api.simulate import SimulateInputs, simulate
from kyvsim.report.decisions import decision
from kyvsim.report.timeline_formats import ending_word, rendered_evaluations

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
SCENARIOS = sorted((ROOT / "fixtures/scenarios").glob("*.yaml"))
HEAD = "apiVersion: kyvsim/v1\nkind: Scenario\npolicies: policies.yaml\n"
MAP = "{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: shop}}"
POLICY = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: make}
spec:
%s
  rules:
  - name: copies
    match: {any: [{resources: {kinds: [%s]%s}}]}
    exclude: {any: [{resources: {names: [copy]}}]}
    generate: {apiVersion: v1, kind: ConfigMap, name: copy, namespace: shop, data: {data: {}}}
"""
VALIDATES = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: named}
spec:
  admission: false
  rules:
  - name: named
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate: {pattern: {metadata: {name: "?*"}}}
"""
IN_CEL = """
apiVersion: policies.kyverno.io/v1
kind: %s
metadata: {name: in-cel}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [%s], resources: [configmaps]}
  matchConditions:
  - {name: there, expression: "true"}
  - {name: named, expression: "object.metadata.name.startsWith('%s')"}
  %s
"""
MADE = "[{'apiVersion': dyn('v1'), 'kind': dyn('Secret'), 'metadata': dyn({'name': 'made'})}]"
GENERATES = "GeneratingPolicy", f"""generate: [{{expression: "generator.Apply('shop', {MADE})"}}]"""
LABELS = "Object{metadata: Object.metadata{labels: Object.metadata.labels{a: string(1)}}}"
CHANGES = f"applyConfiguration: {{expression: '{LABELS}'}}"
MUTATES = "MutatingPolicy", f"mutations: [{{patchType: ApplyConfiguration, {CHANGES}}}]"
EXCEPTION = """{apiVersion: kyverno.io/v2, kind: PolicyException,
  metadata: {name: spared, namespace: shop}, spec: {
  exceptions: [{policyName: make, ruleNames: [copies]}],
  match: {any: [{resources: {kinds: [ConfigMap], names: [free]}}]}}}"""


@pytest.fixture
def told(tmp_path):
    """Return what tells of each time that policies were asked: who, rules, words, reasons."""

    def run(policy, story, name):
        (tmp_path / "policies.yaml").write_text(policy)
        (tmp_path / "story.yaml").write_text(HEAD + story)
        done = simulate(SimulateInputs((str(tmp_path / "story.yaml"),), explain=name))
        assert not done.diagnostics
        return [
            (
                one.inquiry.actor,
                [(rule.rule.name, ending_word(rule)) for rule in (*one.applied, *one.others)],
                " ".join(
                    (*one.notes, *(decision(rule, one.found).text for rule in one.found.rules))
                ),
            )
            for one in rendered_evaluations(done.simulation, every=False)
        ]

    return run


def policy(spec="  background: true", kinds="ConfigMap", more=""):
    return POLICY % (spec, kinds, more)


NEW = f"steps:\n- create: {MAP % 'web'}\n"
REASONS = {
    "another kind": (policy(kinds="Secret"), NEW, "unconcerned", 'expected ["Secret"]'),
    "a match": (
        policy(more=", names: [x]"),
        NEW,
        "unconcerned",
        'names expected ["x"], found "web"',
    ),
    "admission is off": (
        VALIDATES,
        NEW,
        "not evaluated",
        "admission: false",
    ),
    "another operation": (policy(more=", operations: [DELETE]"), NEW, "unconcerned", '["DELETE"]'),
    "it is taken up": (policy(), NEW, "met", ""),
    "the reported reading": (
        policy("  background: false"),
        f"settings: {{model: background-gates-generate}}\n{NEW}",
        "not evaluated",
        "background: false",
    ),
    **{
        f"a condition in CEL of a {kind}": (
            IN_CEL % (kind, "CREATE", "x", does),
            NEW,
            "not evaluated",
            'object.metadata.name found "web"',
        )
        for kind, does in (GENERATES, MUTATES)
    },
    "another operation in CEL": (
        IN_CEL % (MUTATES[0], "UPDATE", "w", MUTATES[1]),
        NEW,
        "not evaluated",
        "not registered for such requests",
    ),
    "it is generated for in CEL": (
        IN_CEL % (GENERATES[0], "CREATE", "w", GENERATES[1]),
        NEW,
        "met",
        "",
    ),
    "the conditions of a webhook": (
        VALIDATES.replace(
            "admission: false",
            "webhookConfiguration: {matchConditions: [{name: never, expression: 'false'}]}",
        ),
        NEW,
        "not evaluated",
        "conditions of its webhook",
    ),
}


@pytest.mark.parametrize(("text", "story", "word", "reason"), REASONS.values(), ids=REASONS)
def test_it_is_told_why_a_rule_does_or_does_nothing(told, text, story, word, reason):
    actor, rules, why = told(text, story, "shop/ConfigMap/web")[0]
    assert actor == "admission"
    assert [one[1] for one in rules] == [word]
    assert reason in why


def test_the_condition_of_a_webhook_that_does_not_hold_has_its_place(told, tmp_path):
    text = IN_CEL % (MUTATES[0], "CREATE", "x", MUTATES[1])
    told(text, NEW, "shop/ConfigMap/web")
    inputs = SimulateInputs((str(tmp_path / "story.yaml"),), explain="shop/ConfigMap/web")
    one = next(rendered_evaluations(simulate(inputs).simulation, every=False))
    decided = decision(one.applied[0], one.found)
    assert decided.text.startswith("matchConditions[1] object.metadata.name.startsWith")
    line = text.splitlines()[decided.place.line - 1]
    assert line[decided.place.column - 1 :].startswith('expression: "object.metadata.name')


def test_an_exception_is_told_where_the_background_is_asked(told):
    story = f"""settings: {{exceptions: true}}
steps:
- create: {EXCEPTION}
- create: {MAP % "free"}
"""
    ((_, rules, why),) = told(policy(), story, "ConfigMap/free")
    assert rules == [("copies", "skip")]
    assert 'shop/spared / any[0] / names expected ["free"], found "free"' in why


def test_an_object_that_an_exception_does_not_cover_is_taken_up(told):
    story = f"""settings: {{exceptions: true}}
steps:
- create: {EXCEPTION}
- create: {MAP % "bound"}
"""
    assert [one[1] for one in told(policy(), story, "bound")] == [[("copies", "met")]] * 2


def test_objects_that_are_older_than_a_policy_are_told_of(told):
    story = f"objects: [{MAP % 'old'}]\nsteps: [{{wait: 1s}}]\n"
    before, (actor, rules, why) = told(policy(), story, "ConfigMap/old")
    assert before == ("admission", [], "there were no policies")
    assert (actor, rules) == ("policy", [("copies", "not evaluated")])
    assert "`generateExisting` is not true" in why


def test_what_the_background_controller_makes_is_not_heard_of(told):
    ((_, rules, why),) = told(policy(), NEW, "ConfigMap/copy")
    assert rules == [("copies", "not evaluated")]
    assert "skipBackgroundRequests" in why


def test_requests_that_kyverno_leaves_out_are_told(told):
    story = "steps:\n- create: {apiVersion: v1, kind: ConfigMap, metadata: {name: own,"
    ((_, rules, why),) = told(policy(), f"{story} namespace: kube-system}}}}\n", "ConfigMap/own")
    assert rules == []
    assert "no policy was evaluated: Kyverno's webhooks do not select the object" in why


def test_an_object_that_is_not_there_is_told_with_the_nearest_name(told):
    with pytest.raises(NotFoundError, match="did you mean `ConfigMap/web`"):
        told(policy(), NEW, "ConfigMap/wep")


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_listening_changes_nothing_that_happens(path, monkeypatch):
    monkeypatch.chdir(ROOT)
    usual = simulate(SimulateInputs((str(path),)))
    brought = [one.object for one in usual.simulation.events if one.actor == "user"]
    heard = simulate(SimulateInputs((str(path),), explain=brought[-1].name))
    assert heard.simulation.inquiries
    assert heard.simulation._replace(explained="", inquiries=()) == usual.simulation
    assert heard.diagnostics == usual.diagnostics
