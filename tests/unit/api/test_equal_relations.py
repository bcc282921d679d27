"""Pairs of policies that compare places with each other: a plain search knows if they differ."""

import itertools
import random

import pytest

from kyvsim.api.equal import EqualInputs, compare
from kyvsim.api.inputs import ApplyInputs
from kyvsim.load.files import Source
from kyvsim.model.comparison import Answer, SearchBudget

LABELS = ("a", "b", "c")
VALUES = ("x", "y", "z")
DOMAIN = ("", *VALUES, "w")
"""The values of a label: none, those in the policies, and another one."""

RULE = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {{name: p}}
spec:
  validationFailureAction: Enforce
  rules:
  - name: r
    match: {{any: [{{resources: {{kinds: [ConfigMap], operations: [CREATE]}}}}]}}
    validate:
      deny: {{conditions: {{any: [{{key: "{{{{ {} }}}}", operator: Equals, value: false}}]}}}}
"""
CEL = """\
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {{name: p}}
spec:
  validationActions: [Deny]
  matchConstraints:
    resourceRules:
    - {{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}}
  validations:
  - expression: "{}"
"""


def holds(test, labels):
    """Return whether a test holds for the values of labels: its plain meaning."""
    sort, *parts = test
    if sort == "same":
        return labels[parts[0]] == labels[parts[1]]
    if sort == "in":
        return labels[parts[0]] in parts[1]
    if sort == "not":
        return not holds(parts[0], labels)
    return (all if sort == "and" else any)(holds(one, labels) for one in parts)


def written(test, label, contains, sign):
    """Return a test as an expression of either language."""
    sort, *parts = test
    if sort == "same":
        return f"{label(parts[0])} == {label(parts[1])}"
    if sort == "in":
        return contains(label(parts[0]), ", ".join(f"'{one}'" for one in parts[1]))
    inner = [written(one, label, contains, sign) for one in parts]
    return f"!({inner[0]})" if sort == "not" else f"({f' {sign[sort]} '.join(inner)})"


def rule(test):
    return RULE.format(
        written(
            test,
            lambda name: f"(request.object.metadata.labels.{name} || '')",
            lambda text, values: f"contains([{values}], {text})",
            {"and": "&&", "or": "||"},
        )
    )


def cel(test):
    return CEL.format(
        written(
            test,
            lambda name: f"object.metadata.?labels[?'{name}'].orValue('')",
            lambda text, values: f"{text} in [{values}]",
            {"and": "&&", "or": "||"},
        )
    )


def pair(chance):
    """Return two tests that differ in one value of a list, for places that must be equal."""
    first, second, third = chance.sample(LABELS, 3)
    listed = tuple(chance.sample(VALUES, chance.choice((2, 3))))
    value, of = chance.choice(listed), chance.choice((first, second))
    others = [
        (),
        (("same", first, third),),
        (("in", third, (chance.choice(VALUES),)),),
        (("not", ("in", third, ("x",))),),
        (("or", ("same", second, third), ("in", third, ("x",))),),
    ]
    same, rest = ("same", first, second), chance.choice(others)
    whole = ("and", same, ("in", of, listed), *rest)
    changed = [
        ("and", same, ("in", of, tuple(one for one in listed if one != value)), *rest),
        (*whole, ("not", ("in", first, (value,)))),
        ("or", whole, ("and", ("in", first, (value,)), ("in", second, ("w",)))),
    ]
    both = [whole, chance.choice(changed)]
    chance.shuffle(both)
    return both


@pytest.mark.parametrize(
    "seed", [pytest.param(one, marks=() if one < 4 else pytest.mark.slow) for one in range(40)]
)
def test_a_value_that_both_places_must_have_is_tried(seed):
    chance = random.Random(seed)
    old, new = pair(chance)
    forms = chance.choice(((rule, rule), (rule, cel), (cel, rule), (cel, cel)))
    sides = ((Source("side", form(test)),) for form, test in zip(forms, (old, new), strict=True))
    found = compare(EqualInputs(*sides, ApplyInputs(policies=()), SearchBudget(first_only=True)))
    assert found.evidence is not None, found.diagnostics
    objects = (dict(zip(LABELS, some, strict=True)) for some in itertools.product(DOMAIN, repeat=3))
    differs = any(holds(old, labels) != holds(new, labels) for labels in objects)
    answers = {Answer.COUNTEREXAMPLE} if differs else {Answer.EQUAL, Answer.NOT_COVERED}
    assert found.evidence.answer in answers


USER, LABEL = "request.userInfo.username", "object.metadata.?labels[?'a'].orValue('')"
OF_NAMESPACE = "namespaceObject.metadata.?labels[?'a'].orValue('')"
FORMER = "oldObject.metadata.?labels[?'a'].orValue('')"


@pytest.mark.parametrize(
    ("place", "operation"), [(USER, "CREATE"), (OF_NAMESPACE, "CREATE"), (FORMER, "UPDATE")]
)
def test_a_label_that_must_equal_another_part_of_the_request_is_tried(place, operation):
    texts = (f"{place} == {LABEL} && {place} in {some}" for some in (["x", "y", "z"], ["x", "y"]))
    sides = (
        (Source("side", CEL.format(text).replace("[CREATE]", f"[{operation}]")),) for text in texts
    )
    found = compare(EqualInputs(*sides, ApplyInputs(policies=())))
    assert found.evidence.answer is Answer.COUNTEREXAMPLE
