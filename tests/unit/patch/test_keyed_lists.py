"""Lists with keys."""

from itertools import product

import pytest

from kyvsim.patch.keyed_lists import NOTHING_MERGES, Joined, _merge_untidy, find_type, merge_keyed
from kyvsim.patch.nodes import ABSENT, PatchError


def join(dest, origin):
    if dest is ABSENT or origin is ABSENT:
        return Joined(origin if dest is ABSENT else dest, True)
    return Joined({**dest, **origin} if dest.__class__ is dict else dest, True)


def elements(text):
    return [{"name": name, "from": text, "at": at} for at, name in enumerate(text)]


def test_the_short_way_equals_the_long_one():
    texts = ("", "a", "b", "ab", "ba", "abc", "cad", "aa", "aba", "bab", "abcabc")
    for dest, origin in product(texts, texts):
        one = merge_keyed(elements(dest), elements(origin), ("name",), join)
        other = _merge_untidy(elements(dest), elements(origin), ("name",), join)
        assert one == other, (dest, origin)


def replace(dest, origin):
    if dest is ABSENT:
        return Joined(origin, False)
    if origin is ABSENT:
        return Joined(dest, True)
    return Joined(ABSENT if origin["from"] == "b" else origin, False)


def test_the_short_way_equals_the_long_one_where_elements_are_replaced_or_deleted():
    for dest, origin, keys in product(
        ("ab", "aba", "bb"), ("a", "ab"), (("name",), ("name", "at"))
    ):
        patch = [{**item, "from": dest} for item in elements(origin)]
        one = merge_keyed(elements(dest), patch, keys, replace)
        assert one == _merge_untidy(elements(dest), patch, keys, replace)


def test_the_short_way_equals_the_long_one_within_a_list():
    for text in ("a", "ab", "aa", "aba"):
        one, other = elements(text), elements(text)
        assert merge_keyed(one, one, ("name",), join) == _merge_untidy(
            other, other, ("name",), join
        )


def test_a_list_that_stays_comes_back_itself():
    dest = elements("abc")
    assert merge_keyed(dest, ABSENT, ("name",), join) is dest


def test_nulls_and_empty_maps_go():
    dest = [{"name": "a"}, None, {}]
    assert merge_keyed(dest, ABSENT, ("name",), join) == [{"name": "a"}]
    assert merge_keyed([{}], [{"name": "a"}], ("name",), join) == [{"name": "a"}]


def test_an_element_without_its_key_takes_away_what_comes_later():
    patch = [{"name": "a"}, {"x": 1}]
    assert merge_keyed([{"name": "b"}], patch, ("name",), join) == [{"name": "a"}]
    assert merge_keyed([{"x": 1}, {"name": "b"}], ABSENT, ("name",), join) == [{"x": 1}]


def test_with_several_keys_merged_elements_stay_where_they_are():
    keys = ("name", "from")
    texts = ("", "a", "ab", "ba", "abc", "cad", "aa", "aba", "abcab")
    for dest, origin in product(texts, texts):
        patch = [{**item, "from": dest} for item in elements(origin)]
        one = merge_keyed(elements(dest), patch, keys, join)
        assert one == _merge_untidy(elements(dest), patch, keys, join), (dest, origin)


def test_a_missing_second_key_leaves_the_element_where_it_is():
    dest = [{"p": 80.0}, {"p": 443.0, "q": "TCP"}]
    assert merge_keyed(dest, [{"p": 443, "q": "TCP"}], ("p", "q"), join) == dest
    assert merge_keyed(dest, [{"p": 80, "q": "TCP", "x": 1}], ("p", "q"), join) == [
        {"p": 80.0},
        {"p": 443.0, "q": "TCP"},
    ]


def test_scalars():
    assert merge_keyed(["a", "b"], ["b", "c"], (), join) == ["b", "c", "a"]
    assert merge_keyed(["a", "a", None], ABSENT, (), join) == ["a"]


def test_elements_of_the_wrong_kind():
    with pytest.raises(PatchError, match="expected MappingNode but got ScalarNode"):
        merge_keyed(["a"], [{"name": "b"}], ("name",), join)


def field(version, kind, *path):
    found = find_type(version, kind)
    for name in path:
        found = found.fields.get(name, NOTHING_MERGES)
    return found


def test_pod_lists_have_their_keys():
    container = ("spec", "containers")
    assert field("v1", "Pod", *container).keys == ("name",)
    assert field("v1", "Pod", *container, "env").keys == ("name",)
    assert field("v1", "Pod", *container, "ports").keys == ("containerPort", "protocol")
    assert field("v1", "Pod", *container, "volumeMounts").keys == ("mountPath",)
    assert field("v1", "Pod", "spec", "hostAliases").keys == ("ip",)


def test_lists_without_keys_are_replaced():
    for name in ("tolerations", "containers/args"):
        assert field("v1", "Pod", "spec", *name.split("/")).keys is None


def test_sets_of_scalars_have_no_key():
    assert field("v1", "ConfigMap", "metadata", "finalizers").keys == ()
    assert field("v1", "Node", "spec", "podCIDRs").keys == ()


def test_the_way_leads_through_templates():
    way = ("spec", "jobTemplate", "spec", "template", "spec", "initContainers")
    assert field("batch/v1", "CronJob", *way).keys == ("name",)
    assert field("apps/v1", "StatefulSet", "spec", "volumeClaimTemplates").keys is None


def test_the_schema_is_an_old_one():
    assert find_type("autoscaling/v2beta2", "HorizontalPodAutoscaler") is not None
    assert find_type("autoscaling/v2", "HorizontalPodAutoscaler") is None
    assert field("v1", "Pod", "spec", "resourceClaims").keys is None


def test_unknown_kinds():
    assert find_type("example.com/v1", "Pod") is None
    assert find_type("v1", "Widget") is None
