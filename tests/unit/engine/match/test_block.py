"""Whole blocks: how filters join, what an exclude takes away, and whom empty ones concern."""

import pytest
from match_blocks import block, exception_match, rule_match
from tracers import ListTracer, trace

from kyvsim.engine.match import compile_match, matches_by_kind
from kyvsim.model.tracing import PointKind


def of(*kinds, **more):
    return {"resources": {"kinds": list(kinds), **more}}


IN_SHOP = {"resources": {"namespaces": ["shop"]}}
BY_ALICE = {"subjects": [{"kind": "User", "name": "alice"}]}
BY_ANYONE = {"subjects": [{"kind": "User", "name": "*"}]}

TABLE = [
    ({"any": [of("Service"), of("Pod")]}, None, True),
    ({"any": [of("Service"), of("Job")]}, None, False),
    ({"all": [of("Pod"), IN_SHOP]}, None, True),
    ({"all": [of("Pod"), of("Service")]}, None, False),
    (of("Pod"), None, True),
    (of("Service"), None, False),
    ({}, None, False),
    ({"any": [{}]}, None, False),
    ({"any": [{"resources": {}}]}, None, False),
    ({"any": [], "all": [of("Pod")]}, None, True),
    (of("Pod"), {"any": [of("Service"), IN_SHOP]}, False),
    (of("Pod"), {"any": [of("Service"), of("Job")]}, True),
    (of("Pod"), {"all": [of("Pod"), IN_SHOP]}, False),
    (of("Pod"), {"all": [of("Service"), IN_SHOP]}, True),
    (of("Pod"), of("Pod", namespaces=["shop"]), False),
    (of("Pod"), of("Pod", namespaces=["other"]), True),
    (of("Pod"), {"any": [{}]}, True),
    (of("Pod"), {}, True),
]


@pytest.mark.parametrize(("match", "exclude", "applies"), TABLE)
def test_a_rule_applies_where_its_match_holds_and_its_exclude_does_not(
    facts, match, exclude, applies
):
    assert rule_match(match, exclude)(facts()) is applies


@pytest.mark.parametrize(
    ("match", "exclude", "anonymous", "by_alice"),
    [
        ({**of("Pod"), **BY_ALICE}, None, True, True),
        ({**of("Pod"), "subjects": [{"kind": "User", "name": "bob"}]}, None, True, False),
        (BY_ALICE, None, False, True),
        (of("Pod"), {"any": [BY_ALICE]}, True, False),
        (of("Pod"), {"any": [BY_ANYONE]}, False, False),
        (of("Pod"), {"any": [{"clusterRoles": ["view"]}]}, True, False),
        (of("Pod"), {"any": [{**of("Pod"), **BY_ALICE}]}, True, False),
        (of("Pod"), {"any": [{**of("Service"), **BY_ALICE}]}, True, True),
    ],
)
def test_without_a_user_match_forgets_users_but_exclude_asks_on(
    facts, alice, match, exclude, anonymous, by_alice
):
    applies = rule_match(match, exclude)
    assert (applies(facts()), applies(facts(user=alice))) == (anonymous, by_alice)


def test_a_namespaced_policy_sees_its_own_namespace_only(facts):
    applies = rule_match(of("*"), None, "shop")
    assert applies(facts())
    assert not applies(facts(namespace="other"))
    assert not applies(facts("Namespace", "shop", ""))


def test_a_match_block_alone_is_a_predicate(facts):
    assert compile_match(block(of("Pod")))(facts())
    assert not compile_match(block(of("Pod")))(facts("Service"))


def test_an_exception_knows_no_operations_and_asks_for_the_user(facts, alice):
    on_delete = exception_match({"any": [of("Pod", operations=["DELETE"])]})
    assert on_delete(facts())
    by_alice = exception_match({"any": [{**of("Pod"), **BY_ALICE}]})
    assert (by_alice(facts()), by_alice(facts(user=alice))) == (False, True)
    assert not exception_match({"any": [{"resources": {"operations": ["CREATE"]}}]})(facts())


@pytest.mark.parametrize(
    ("match", "is_told_by_kind"),
    [
        (of("Pod"), True),
        (of("Pod", operations=["CREATE"], names=None), True),
        ({"any": [of("Pod"), of("Job")]}, True),
        ({"all": [of("Pod"), of("Job", names=["a"])]}, False),
        ({"any": [of("Pod"), IN_SHOP]}, False),
        ({**of("Pod"), **BY_ALICE}, False),
        (of(), False),
        ({}, False),
        (None, False),
    ],
)
def test_whether_kind_and_operation_are_all_that_a_block_looks_at(match, is_told_by_kind):
    assert matches_by_kind(block(match)) is is_told_by_kind


def test_who_counts_what_is_reached_hears_of_each_filter(facts):
    tracer = ListTracer()
    match, exclude = {"any": [of("Job"), of("Pod")]}, {"all": [of("Pod"), of("Job")]}
    assert rule_match(match, exclude, "", trace(tracer))(facts())
    assert tracer.points == [
        (("match", "any", 0), PointKind.MATCH, ("matched",)),
        (("match", "any", 1), PointKind.MATCH, ("matched",)),
        (("exclude", "all", 0), PointKind.EXCLUDE, ("excluded",)),
        (("exclude", "all", 1), PointKind.EXCLUDE, ("excluded",)),
    ]
    assert tracer.reached == [(("match", "any", 1), 0), (("exclude", "all", 0), 0)]
