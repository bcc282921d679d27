import textwrap
from itertools import zip_longest
from pathlib import Path

import pytest

from kyvsim.api import ApplyInputs, open_application
from kyvsim.api.explain import ExplainTarget, NotFoundError, open_explanation
from kyvsim.api.inputs import WhatIf
from kyvsim.load.files import Source
from kyvsim.load.values import named_user
from kyvsim.model.diagnostic import has_errors
from kyvsim.model.explanation import StepKind, deciding, deciding_part, places

ROOT = Path(__file__).parents[3]
POD = """
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop, labels: {app: x}}
spec:
  containers:
  - {name: main, image: nginx:1.25}
  - {name: side, image: busybox}
"""
PODS = "{any: [{resources: {kinds: [Pod]}}]}"
SETS = {
    "policies": ("policies", "fixtures/resources"),
    "menagerie": ("fixtures/menagerie/policies.yaml", "fixtures/menagerie/resources.yaml"),
    "autogen": ("policies/autogen", "fixtures/autogen"),
}


def policy(rule, annotations=""):
    head = f"""\
        apiVersion: kyverno.io/v1
        kind: ClusterPolicy
        metadata: {{name: p, annotations: {{{annotations}}}}}
        spec:
          rules:
        """
    return textwrap.dedent(head) + f"  - {{name: r, {rule}}}\n"


def explained(rule, resource=POD, **more):
    """Return the explanations of a policy with one rule on one object."""
    text = rule if "apiVersion:" in rule else policy(rule)
    given = ApplyInputs((Source("policy.yaml", text),), (Source("pod.yaml", resource),), **more)
    found = open_explanation(given, ExplainTarget())
    assert not has_errors(found.run.diagnostics)
    (one,) = found.objects
    return one.rules


def names(rule):
    """Return the names on the way to what decided."""
    return [one.name for one in deciding(rule.steps)]


def said(response):
    return [
        (answer.policy.key, answer.phase, result.rule.name, result._replace(rule=None))
        for answer in response.responses
        for result in answer.results
    ]


@pytest.mark.parametrize("given", SETS.values(), ids=SETS)
def test_following_changes_no_outcome(given):
    inputs = ApplyInputs(*((str(ROOT / path),) for path in given), exceptions_within_policies=True)
    plain = open_application(inputs).responses
    followed = open_explanation(inputs, ExplainTarget()).objects
    for one, other in zip_longest(plain, followed):
        assert said(one) == said(other.response)
        assert one.object == other.response.object


@pytest.mark.parametrize("given", SETS.values(), ids=SETS)
def test_each_result_has_its_rule_and_each_rule_what_decided(given):
    inputs = ApplyInputs(*((str(ROOT / path),) for path in given), exceptions_within_policies=True)
    for found in open_explanation(inputs, ExplainTarget()).objects:
        results = [one for answer in found.response.responses for one in answer.results]
        told = [one for rule in found.rules for one in rule.results]
        assert sorted(map(id, results)) == sorted(map(id, told))
        for rule in found.rules:
            assert deciding(rule.steps)


DENY = "deny: {conditions: {any: [{key: '{{ request.object.%s }}', operator: %s, value: %s}]}}"
CASES = {
    "another kind": (
        "match: {any: [{resources: {kinds: [Service]}}]}, validate: {pattern: {spec: {a: b}}}",
        ["kinds"],
        ("policy.yaml", 6),
        ("pod.yaml", 3),
    ),
    "a namespace": (
        (
            "match: {any: [{resources: {kinds: [Pod], namespaces: [other]}}]},"
            " validate: {pattern: {spec: {a: b}}}"
        ),
        ["match", "any[0]", "namespaces"],
        ("policy.yaml", 6),
        ("pod.yaml", 4),
    ),
    "excluded by a selector": (
        (
            f"match: {PODS}, exclude: {{any: [{{resources: {{selector: {{matchLabels: {{app: x}}}}"
            "}}]}, validate: {pattern: {spec: {a: b}}}"
        ),
        ["exclude", "any[0]", "selector"],
        ("policy.yaml", 6),
        ("pod.yaml", 4),
    ),
    "a precondition": (
        (
            f"match: {PODS}, preconditions: {{all: [{{key: '{{{{request.object.metadata.name}}}}',"
            " operator: Equals, value: other}]}, validate: {pattern: {spec: {a: b}}}"
        ),
        ["preconditions", "all[0]"],
        ("policy.yaml", 6),
        ("pod.yaml", 4),
    ),
    "a node of a pattern": (
        f"match: {PODS}, validate: {{pattern: {{spec: {{containers: [{{image: '*:*'}}]}}}}}}",
        ["validate.pattern", "pattern", "spec", "containers", "[1]", "image"],
        ("policy.yaml", 6),
        ("pod.yaml", 8),
    ),
    "an anchor that skips": (
        f"match: {PODS}, validate: {{pattern: {{spec: {{(hostNetwork): true, a: b}}}}}}",
        ["validate.pattern", "pattern", "spec", "(hostNetwork)"],
        ("policy.yaml", 6),
        ("pod.yaml", 5),
    ),
    "a deny condition": (
        f"match: {PODS}, validate: {{{DENY % ('metadata.labels.app', 'Equals', 'x')}}}",
        ["validate.deny", "conditions", "any[0]"],
        ("policy.yaml", 6),
        ("pod.yaml", 4),
    ),
    "the object inside a loop": (
        (
            f"match: {PODS}, validate: {{foreach: [{{list: request.object.spec.containers,"
            " elementScope: false, pattern: {metadata: {labels: {app: other}}}}]}"
        ),
        ["validate.foreach", "[0]", "pattern", "metadata", "labels", "app"],
        ("policy.yaml", 6),
        ("pod.yaml", 4),
    ),
    "an element of a loop": (
        (
            f"match: {PODS}, validate: {{foreach: [{{list: request.object.spec.containers,"
            " pattern: {image: '*:*'}}]}"
        ),
        ["validate.foreach", "[1]", "pattern", "image"],
        ("policy.yaml", 6),
        ("pod.yaml", 8),
    ),
}


@pytest.mark.parametrize(("rule", "way", "place", "seen"), CASES.values(), ids=CASES)
def test_what_decided_is_named_with_its_places(rule, way, place, seen):
    text = policy(rule, "pod-policies.kyverno.io/autogen-controllers: none")
    (found,) = explained(text)
    assert names(found) == way
    in_policy, in_manifest = places(deciding(found.steps))
    assert (in_policy[:2], in_manifest[:2]) == (place, seen)


NEARER = "{metadata: {name: web, namespace: other}}"
FARTHER = "{metadata: {name: other}}"


@pytest.mark.parametrize("turn", [(NEARER, FARTHER), (FARTHER, NEARER)])
def test_of_alternatives_the_nearest_decides_wherever_it_stands(turn):
    rule = f"match: {PODS}, validate: {{anyPattern: [{', '.join(turn)}]}}"
    (found,) = explained(policy(rule, "pod-policies.kyverno.io/autogen-controllers: none"))
    assert names(found)[1:] == [f"anyPattern[{turn.index(NEARER)}]", "metadata", "namespace"]


WITH_USERS = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  background: false
  rules:
  - {name: r, match: {any: [{resources: {kinds: [Pod]}, %s}]}, validate: {deny: {}}}
"""
USERS = {
    "subjects": ("subjects: [{kind: User, name: eva}]", "--as"),
    "roles": ("roles: ['shop:editor']", "--userinfo"),
    "clusterRoles": ("clusterRoles: [admin]", "--userinfo"),
}


@pytest.mark.parametrize(("written", "option"), USERS.values(), ids=USERS)
def test_a_criterion_on_the_user_says_that_none_is_given_and_what_gives_one(written, option):
    found = explained(WITH_USERS % written)[0]
    step = found.steps[0].steps[0].steps[-1]
    assert (step.name, step.answer) == (written.partition(":")[0], None)
    assert step.note.startswith("no user is set")
    assert option in step.note


def test_a_criterion_on_a_user_who_is_given_says_who_it_is():
    text = WITH_USERS % USERS["subjects"][0]
    found = explained(text, what_if=WhatIf(named_user("adam", ())))[0]
    step = deciding(found.steps)[-1]
    assert (step.found.data["username"], step.note) == ("adam", "")


def test_a_condition_shows_both_sides():
    rule = f"match: {PODS}, validate: {{{DENY % ('metadata.name', 'Equals', 'web')}}}"
    (found,) = explained(policy(rule, "pod-policies.kyverno.io/autogen-controllers: none"))
    condition = deciding(found.steps)[-1]
    assert [(one.name, one.found.data) for one in condition.steps] == [
        ("key", "web"),
        ("value", "web"),
    ]
    assert condition.steps[0].wanted.data == "{{ request.object.metadata.name }}"


PARTS = {
    # the key of a condition: the part that gave it its value, and its column behind the quote
    "request.object.spec.hostNetwork || 'none'": ("'none'", None),
    "request.object.metadata.name || 'none'": ("request.object.metadata.name", 0),
    "request.object.metadata.name == 'a' || contains(request.object.metadata.name, 'w')": (
        "contains(request.object.metadata.name, 'w')",
        39,
    ),
    "request.object.spec.containers[?name == 'main'] | length(@) > `0`": ("length(@) > `0`", 50),
    "(length(request.object.spec.containers))": ("(length(request.object.spec.containers))", 0),
}


@pytest.mark.parametrize("expression", PARTS)
def test_the_part_of_an_expression_that_decided_has_its_place(expression):
    written = f'{{key: "{{{{ {expression} }}}}", operator: NotEquals, value: never}}'
    rule = f"match: {PODS}, validate: {{message: m, deny: {{conditions: {{any: [{written}]}}}}}}"
    (found,) = explained(rule)
    way = deciding(found.steps)
    part, at = PARTS[expression]
    place, _ = places(way)
    line = policy(rule).splitlines()[place.line - 1]
    if at is None:
        part, at = expression, 0  # a literal has no step: the whole gave it
    assert deciding_part(way[-1]).text == part
    assert place.column == line.index(expression) + 1 + at
    assert line[place.column - 1 :].startswith(part)


def test_a_key_that_only_leads_somewhere_decides_whatever_its_value_is_made_of():
    key = "{{ request.object.metadata.name }}"
    value = "{{ to_upper(request.object.metadata.namespace) }}"
    written = f'{{key: "{key}", operator: NotEquals, value: "{value}"}}'
    (found,) = explained(f"match: {PODS}, preconditions: {{all: [{written}]}}, {DENIES_NOTHING}")
    (block,) = (one for one in found.steps if one.kind is StepKind.CONDITIONS)
    way = deciding((block,))
    assert deciding_part(way[-1]) is None
    assert str(places(way)[1]) == "pod.yaml:4:12"


def test_parts_of_an_expression_are_told_once_and_not_for_each_element():
    key = "request.object.spec.containers[?contains(image, ':')].name | [0]"
    written = f'{{key: "{{{{ {key} }}}}", operator: Equals, value: main}}'
    (found,) = explained(f"match: {PODS}, preconditions: {{all: [{written}]}}, {DENIES_NOTHING}")
    (block,) = (one for one in found.steps if one.kind is StepKind.CONDITIONS)
    told = [one.text for one in every_step(block.steps) if one.kind is StepKind.EXPRESSION]
    assert told == [
        key,
        "request.object.spec.containers[?contains(image, ':')].name",
        "request.object.spec.containers",
        "[0]",
    ]


DENIES_NOTHING = (
    "validate: {message: m, deny: {conditions: {any: [{key: a, operator: Equals, value: b}]}}}"
)


def every_step(steps):
    for one in steps:
        yield one
        yield from every_step(one.steps)


def test_entries_of_the_context_are_told_once_with_their_values():
    rule = (
        f"match: {PODS}, context: [{{name: three, variable: {{value: 3}}}}],"
        f" validate: {{{DENY.replace('request.object.%s', 'three') % ('Equals', '3')}}}"
    )
    (found,) = explained(policy(rule, "pod-policies.kyverno.io/autogen-controllers: none"))
    entries = [one for one in found.steps if one.kind is StepKind.CONTEXT]
    assert [(one.name, one.found.data) for one in entries] == [("three", 3)]


DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      containers:
      - {name: side, image: busybox}
"""


def test_steps_of_derived_rules_stand_where_they_are_written():
    text = policy(
        f"match: {PODS}, validate: {{pattern: {{spec: {{containers: [{{image: '*:*'}}]}}}}}}"
    )
    (found,) = explained(text, DEPLOYMENT)
    assert found.rule.name == "autogen-r"
    step = deciding(found.steps)[-1]
    assert text.splitlines()[step.place.line - 1][step.place.column - 1 :].startswith("image:")
    assert step.path == ("spec", "template", "spec", "containers", 0, "image")
    assert step.seen_at.line == 11


def test_a_rule_or_an_object_that_is_not_there_is_told_with_the_nearest_name():
    given = ApplyInputs((str(ROOT / "policies/autogen"),), (Source("pod.yaml", POD),))
    with pytest.raises(NotFoundError, match="did you mean `no-latest`"):
        open_explanation(given, ExplainTarget(rule="no-lates"))
    with pytest.raises(NotFoundError, match="did you mean `shop/Pod/web`"):
        open_explanation(given, ExplainTarget(object="shop/Pod/wep"))
