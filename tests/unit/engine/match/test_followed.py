"""What match blocks tell who follows them: each criterion, what was wanted and what was found."""

import pytest
from match_blocks import rule_match
from tracers import ListTracer, trace

from kyvsim.model.explanation import StepKind


def told(facts, match, exclude=None, namespace=""):
    """Return whether a rule applies, and the steps that it told, by kind and name."""
    tracer = ListTracer(takes_steps=True)
    applies = rule_match(match, exclude, namespace, trace(tracer))(facts)
    return applies, {(step.kind, step.name): step for step in tracer.steps}


@pytest.mark.parametrize(
    ("name", "wanted", "found", "path"),
    [
        ("operations", ["CREATE"], "CREATE", None),
        ("kinds", ["Deployment"], "apps/v1/Deployment", ("kind",)),
        ("name", "web", "web", ("metadata", "name")),
        ("names", ["w*"], "web", ("metadata", "name")),
        ("namespaces", ["shop"], "shop", ("metadata", "namespace")),
        ("annotations", {"c": "d"}, {"c": "d"}, ("metadata", "annotations")),
        ("selector", {"matchLabels": {"a": "b"}}, {"a": "b"}, ("metadata", "labels")),
        ("namespaceSelector", {"matchLabels": {"e": "f"}}, {"e": "f"}, None),
    ],
)
def test_criteria_on_the_object(facts, name, wanted, found, path):
    seen = facts(
        "Deployment",
        api_version="apps/v1",
        labels={"a": "b"},
        metadata={"annotations": {"c": "d"}},
        given={"e": "f"},
    )
    applies, steps = told(seen, {"resources": {"kinds": ["Deployment"], name: wanted}})
    step = steps[StepKind.CRITERION, name]
    assert (applies, step.answer, step.note) == (True, True, "")
    assert (step.wanted.data, step.found.data) == (wanted, found)
    assert (step.path, step.rooted) == (path, path is not None)
    assert step.located().line == 4


SUBJECTS = [{"kind": "User", "name": "alice"}]
ON_USERS = [
    ("roles", ["shop:edit"], ["shop:edit"], "with roles in a --userinfo file"),
    ("clusterRoles", ["edit"], ["view"], "with clusterRoles in a --userinfo file"),
    (
        "subjects",
        SUBJECTS,
        {"username": "alice", "groups": ["dev", "ops"]},
        "with --as and --as-group, or in a --userinfo file",
    ),
]


@pytest.mark.parametrize(("name", "wanted", "found", "_"), ON_USERS)
def test_criteria_on_the_user(facts, alice, name, wanted, found, _):
    applies, steps = told(facts(user=alice), {"resources": {"kinds": ["Pod"]}, name: wanted})
    step = steps[StepKind.CRITERION, name]
    assert applies is step.answer is (name != "clusterRoles")
    assert (step.wanted.data, step.found.data, step.note) == (wanted, found, "")
    assert (step.path, step.rooted) == (None, False)


@pytest.mark.parametrize(("name", "wanted", "_", "how"), ON_USERS)
@pytest.mark.parametrize("kinds", [["Pod"], []])
def test_criteria_on_the_user_where_nobody_asks(facts, name, wanted, _, how, kinds):
    applies, steps = told(facts(), {"resources": {"kinds": kinds}, name: wanted})
    step = steps[StepKind.CRITERION, name]
    assert applies is bool(kinds)
    assert step.answer is (None if kinds else False)
    assert (step.wanted.data, step.found) == (wanted, None)
    assert step.note == f"no user is set: pass one {how}"


@pytest.mark.parametrize(("name", "wanted", "_", "how"), ON_USERS)
def test_excluded_users_where_nobody_asks(facts, name, wanted, _, how):
    pods = {"resources": {"kinds": ["Pod"]}}
    applies, steps = told(facts(), pods, {name: wanted})
    step = steps[StepKind.CRITERION, name]
    assert (applies, step.answer, step.note) == (True, False, f"no user is set: pass one {how}")


def test_a_scan_has_no_user_to_name(facts):
    scanned = facts()._replace(operation="")
    _, steps = told(scanned, {"resources": {"kinds": ["Pod"]}, "subjects": SUBJECTS})
    assert steps[StepKind.CRITERION, "subjects"].note == "there is no request, so there is no user"


def test_blocks_and_their_filters(facts):
    pods, jobs = ({"resources": {"kinds": [kind]}} for kind in ("Pod", "Job"))
    applies, steps = told(facts(), {"any": [jobs, pods]}, {"all": [pods, jobs]})
    assert applies is True
    assert {name: step.answer for name, step in steps.items() if name[0] != "criterion"} == {
        (StepKind.MATCH, "match"): True,
        (StepKind.FILTER, "any[0]"): False,
        (StepKind.FILTER, "any[1]"): True,
        (StepKind.EXCLUDE, "exclude"): False,
        (StepKind.FILTER, "all[0]"): True,
        (StepKind.FILTER, "all[1]"): False,
    }


def test_a_block_that_is_its_own_filter_is_told_once(facts):
    _, steps = told(facts(), {"resources": {"kinds": ["Pod"]}})
    assert list(steps) == [(StepKind.CRITERION, "kinds"), (StepKind.MATCH, "match")]


@pytest.mark.parametrize("namespace", ["shop", "lab"])
def test_the_namespace_of_a_policy(facts, namespace):
    applies, steps = told(facts(), {"resources": {"kinds": ["Pod"]}}, None, namespace)
    step = steps[StepKind.MATCH, "namespace of the policy"]
    assert applies is step.answer is (namespace == "shop")
    assert (step.wanted.data, step.found.data) == (namespace, "shop")
    assert (step.path, step.rooted) == (("metadata", "namespace"), True)
