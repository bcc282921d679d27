"""`configMap` entries: found among the given objects, or left to given values."""

import pytest

from kyvsim.engine.context import JSONContext, compile_entries
from kyvsim.engine.world import GivenObjects
from kyvsim.jmespath import QueryError
from kyvsim.model.ports import ExternalData
from kyvsim.model.values import Values
from kyvsim.policy.read import read_context


@pytest.fixture
def ask(system, thing):
    given = GivenObjects(
        [
            thing("ConfigMap", "c", "shop", data={"a": "1"}),
            thing("ConfigMap", "c", "default", data={"a": "2"}),
        ]
    )

    def run(spec, confined="", **data):
        scope = JSONContext(dict(data), ExternalData(given), deleting=False).confined(confined)
        entries = compile_entries(read_context([{"name": "v", "configMap": spec}], ()), system)
        return scope.layer({}, entries).root(frozenset({"v"})).get("v")

    return run


def test_data_and_metadata_of_the_map_are_there(ask):
    assert ask({"name": "c", "namespace": "shop"}) == {
        "data": {"a": "1"},
        "metadata": {"name": "c", "namespace": "shop"},
    }


@pytest.mark.parametrize(
    ("spec", "confined", "value"),
    [
        ({"name": "c"}, "", "2"),
        ({"name": "c", "namespace": "{{ where }}"}, "", "1"),
        ({"name": "c"}, "shop", "1"),
        ({"name": "c", "namespace": "shop"}, "shop", "1"),
    ],
)
def test_the_namespace_is_the_one_that_is_named_or_the_policy_s_or_default(
    ask, spec, confined, value
):
    assert ask(spec, confined, where="shop")["data"] == {"a": value}


def test_a_map_that_is_not_given_is_left_to_values(ask):
    assert ask({"name": "d"}) is None
    assert ask({"name": "d"}, v={"data": {"a": "3"}}) == {"data": {"a": "3"}}


def test_a_value_that_a_user_wrote_wins(rule, run, verdicts, pod, thing):
    body = rule(configMap={"name": "m", "namespace": "{{ request.namespace }}"})
    body["validate"]["deny"]["conditions"]["all"][0]["key"] = "{{ got.data.k }}"
    body["validate"]["message"] = "got {{ got.data.k }}"
    given = [thing("ConfigMap", "m", data={"k": "stored"})]

    def asked(values):
        ((_, _, message),) = verdicts(run(body, pod(), given=given, values=values))
        return message

    assert asked(None) == "got stored"
    assert asked(Values(global_values={"got.data.k": "written"})) == "got written"
    assert asked(Values(rule_values={("p", "r"): {"got.data": {"k": "mine"}}})) == "got mine"


@pytest.mark.parametrize(
    ("spec", "confined", "message"),
    [
        (
            {"name": "{{ nope }}"},
            "",
            (
                "failed to retrieve config map for context entry v: "
                "failed to substitute variables in context v configMap: "
            ),
        ),
        ({"name": "c", "namespace": "shop"}, "other", 'different from policy namespace "other"'),
    ],
)
def test_what_cannot_be_asked_for_is_told(ask, spec, confined, message):
    with pytest.raises(QueryError) as caught:
        ask(spec, confined)
    assert message in caught.value.message


def test_config_maps_of_namespaced_policies(rule, run, verdicts, policy, pod, thing):
    def asked(**fields):
        body = rule(configMap={"name": "m", **fields})
        condition = body["validate"]["deny"]["conditions"]["all"][0]
        condition["key"] = "{{ got.data.k }}"
        body["validate"]["message"] = "got {{ got.data.k }}"
        maps = [
            thing("ConfigMap", "m", "shop", data={"k": "mine"}),
            thing("ConfigMap", "m", "default", data={"k": "theirs"}),
        ]
        ((_, _, message),) = verdicts(run([policy(body, namespace="shop")], pod(), given=maps))
        return message

    assert asked(namespace="shop") == "got mine"
    assert asked(namespace="default").endswith(
        'configMap namespace "default" is different from policy namespace "shop"'
    )
