"""Rules for pod controllers: pairs of policies before and rules after, and when there are none."""

from copy import deepcopy
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kyvsim.languages.classic.autogen import ANNOTATION, compute_rules
from kyvsim.languages.classic.compile import read
from kyvsim.model.source import Document, Location
from kyvsim.policy.tree import ResourceFilter

PAIRS = sorted((Path(__file__).parent / "autogen").glob("*.yaml"))
CONTROLLERS = (
    *("DaemonSet", "Deployment", "Job"),
    *("ReplicaSet", "ReplicationController", "StatefulSet"),
)
DENY = {"validate": {"message": "no", "deny": {}}}
NEVER = {"key": "1", "operator": "Equals", "value": "2"}


def policy_of(rules, annotations=None):
    """A policy as written, without the defaults that loading fills in."""
    data = {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "p", "annotations": annotations or {}},
        "spec": {"rules": rules},
    }
    return read(data, Document(data, "p.yaml", 0, lambda _: Location("p.yaml")))[0]


def asking(wanted, *rules):
    return compute_rules(policy_of(rules, {ANNOTATION: wanted}))


def matching(*kinds, name="r", exclude=None, **criteria):
    rule = {"name": name, "match": {"any": [{"resources": {"kinds": list(kinds), **criteria}}]}}
    return {**rule, **({"exclude": exclude} if exclude else {}), **DENY}


def names(rules):
    return [rule.name for rule in rules]


@pytest.mark.parametrize("path", PAIRS, ids=lambda path: path.stem)
def test_a_policy_before_and_its_derived_rules_after(path):
    before, after = yaml.safe_load_all(path.read_text())
    kept = deepcopy(before)
    computed = compute_rules(policy_of(**before))
    assert [one.rule.data for one in computed.derived] == after
    assert names(one.rule for one in computed.derived) == [rule["name"] for rule in after]
    assert before == kept


@pytest.mark.parametrize(
    "rule",
    [
        matching("Service"),
        matching("v1/Pod"),
        matching("P*"),
        matching("Pod", "Service"),
        matching("Pod", "Deployment"),
        matching("Pod", name="autogen-own"),
        matching("Deployment"),
        matching("Pod", names=["a*"]),
        matching("Pod", name="r") | {"match": {"resources": {"kinds": ["Pod"], "name": "a"}}},
        matching("Pod", selector={"matchLabels": {"a": "b"}}),
        matching("Pod", selector={}),
        matching("Pod", annotations={"a": "b"}),
        matching("Pod", exclude={"any": [{"resources": {"kinds": ["Pod"], "names": ["a"]}}]}),
        matching("Pod", exclude={"resources": {"selector": {"matchLabels": {"a": "b"}}}}),
        matching("Pod", exclude={"all": [{"resources": {"kinds": ["Pod", "Job"]}}]}),
        matching("Pod", exclude={"any": [{"resources": {"kinds": ["Job"]}}]}),
        matching("Pod") | {"validate": None, "generate": {"kind": "ConfigMap"}},
        matching("Pod") | {"validate": None, "mutate": {"patchesJson6902": "[]"}},
        matching("Pod")
        | {"validate": None, "mutate": {"foreach": [{"list": "a", "patchesJson6902": "[]"}]}},
        matching("Pod") | {"validate": {"manifests": {}}},
    ],
)
def test_rules_that_give_no_others(rule):
    assert asking("Deployment,CronJob", rule).derived == ()


SELECTOR = {"matchLabels": {"a": "b"}}
BLOCKING = {
    "name": {"name": "a"},
    "names": {"names": ["a"]},
    "annotations": {"annotations": {"a": "b"}},
    "selector": {"selector": SELECTOR},
}
"""Criteria of Pods that do not hold for their controllers."""
KEPT = {
    "operations": {"operations": ["CREATE"]},
    "kinds": {"kinds": ["Pod"]},
    "namespaces": {"namespaces": ["a"]},
    "namespace_selector": {"namespaceSelector": SELECTOR},
}
OF_USERS = {
    "roles": {"roles": ["a:r"]},
    "cluster_roles": {"clusterRoles": ["r"]},
    "subjects": {"subjects": [{"kind": "User", "name": "u"}]},
}


@pytest.mark.parametrize("block", ["match", "exclude"])
@pytest.mark.parametrize("field", ResourceFilter._fields[2:])
def test_a_criterion_is_kept_or_switches_derivation_off(field, block):
    of_user = OF_USERS.get(field, {})
    criterion = {} if of_user else {**BLOCKING, **KEPT}[field]
    one = {"resources": {"kinds": ["Pod"], **criterion}, **of_user}
    derived = asking("Job", matching("Pod") | {block: {"any": [one]}}).derived
    if field in BLOCKING:
        assert derived == ()
    else:
        resources = {**one["resources"], "kinds": ["batch/v1/Job"]}
        assert derived[0].rule.data[block] == {"any": [{**one, "resources": resources}]}


def test_one_rule_that_names_objects_switches_all_off():
    computed = asking("Deployment", matching("Pod"), matching("Service", name="s", names=["a"]))
    assert computed.derived == ()
    assert computed.for_kind("Deployment") == computed.written == computed.every


@pytest.mark.parametrize(
    ("wanted", "derived", "selectors"),
    [
        ("none", [], []),
        ("", [], []),
        ("Deployment", ["autogen-r"], ["apps/v1/Deployment"]),
        ("Job,DaemonSet", ["autogen-r"], ["apps/v1/DaemonSet", "batch/v1/Job"]),
        ("CronJob", ["autogen-cronjob-r"], ["batch/v1/CronJob"]),
    ],
)
def test_an_annotation_says_for_which_controllers(wanted, derived, selectors):
    computed = asking(wanted, matching("Pod"))
    assert names(one.rule for one in computed.derived) == derived
    matched = [one.rule.data["match"]["any"][0]["resources"]["kinds"] for one in computed.derived]
    assert matched == ([selectors] if derived else [])


def test_without_the_annotation_there_are_rules_for_all_controllers():
    computed = compute_rules(policy_of([matching("Pod")]))
    assert names(computed.every) == ["r", "autogen-r", "autogen-cronjob-r"]
    for kind in CONTROLLERS:
        assert names(computed.for_kind(kind)) == ["r", "autogen-r"]
    assert names(computed.for_kind("CronJob")) == ["r", "autogen-cronjob-r"]
    assert names(computed.for_kind("Pod")) == ["r"]


@pytest.mark.parametrize("wanted", ["Job,Pod", "Pod", "CronJob,Pod,Job", "Pod,Widget"])
def test_a_name_beside_controllers_has_rules_of_its_own_where_objects_are_validated(wanted):
    """Recorded: with `Job,Pod` the reference judges each Pod twice, also by a Pod template."""
    computed = asking(wanted, matching("Pod"))
    assert names(computed.for_kind("Pod")) == ["r", "autogen-r"]
    selectors = computed.for_kind("Pod")[1].data["match"]["any"][0]["resources"]["kinds"]
    assert selectors == ["v1/Pod"]
    if "Job" in wanted:
        selectors = computed.for_kind("Job")[1].data["match"]["any"][0]["resources"]["kinds"]
        assert selectors == ["batch/v1/Job"]


def test_all_beside_names_derives_the_rule_for_cron_jobs_where_objects_are_changed():
    computed = asking("Deployment,all", matching("Pod"))
    assert names(computed.every) == ["r", "autogen-r", "autogen-cronjob-r"]
    assert names(computed.for_kind("CronJob")) == ["r"]


def test_derived_rules_stand_behind_all_written_ones_rule_by_rule():
    computed = asking("Deployment,CronJob", matching("Pod", name="a"), matching("Pod", name="b"))
    derived = ["autogen-a", "autogen-cronjob-a", "autogen-b", "autogen-cronjob-b"]
    assert names(computed.every) == ["a", "b", *derived]


def test_written_rules_with_a_derived_name_give_way_where_there_are_derived_ones():
    written = [matching("Pod"), matching("Deployment", name="autogen-mine")]
    computed = asking("Deployment", *written)
    assert names(computed.every) == ["r", "autogen-r"]
    assert names(computed.for_kind("Service")) == ["r", "autogen-mine"]


def test_a_derived_rule_points_to_where_its_origin_stands():
    computed = asking("Deployment", matching("Service", name="s"), matching("Pod"))
    assert [one.rule.path for one in computed.derived] == [("spec", "rules", 1)]


KINDS = st.lists(
    st.sampled_from(["Service", "*", "ConfigMap", *CONTROLLERS]), min_size=1, max_size=3
)


@given(st.lists(KINDS, max_size=3))
def test_a_policy_without_pods_stays_as_it_is(rules):
    written = [matching(*kinds, name=f"r{index}") for index, kinds in enumerate(rules)]
    policy = policy_of(written)
    computed = compute_rules(policy)
    assert computed.every == policy.rules
    assert all(computed.for_kind(kind) == policy.rules for kind in (*CONTROLLERS, "CronJob", "Pod"))


@pytest.mark.parametrize(
    ("conditions", "derived"),
    [
        ({"any": []}, {}),
        ({"any": [], "all": [NEVER]}, {"all": [NEVER]}),
        ({"any": [NEVER], "all": []}, {"any": [NEVER]}),
        ([], []),
        ([NEVER], [NEVER]),
    ],
)
def test_empty_lists_of_conditions_are_not_carried(conditions, derived):
    """Upstream writes rules down as JSON, which leaves them out; loops keep their preconditions."""
    loop = {"list": "a", "preconditions": conditions, "deny": {"conditions": conditions}}
    loops = [{"list": "a", "foreach": [loop]}]
    rules = [
        matching("Pod") | {"preconditions": conditions},
        matching("Pod") | {"validate": {"deny": {"conditions": conditions}}},
        matching("Pod") | {"validate": {"foreach": loops}},
    ]
    before = deepcopy(rules)
    found = [one.rule.data for one in asking("Deployment", *rules).derived]
    assert found[0].get("preconditions", derived) == derived
    assert found[1]["validate"]["deny"] == {"conditions": derived}
    (carried,) = found[2]["validate"]["foreach"][0]["foreach"]
    assert carried == {**loop, "deny": {"conditions": derived}}
    assert rules == before
