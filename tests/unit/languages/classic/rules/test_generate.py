"""`generate`: what is made of data, of a source, of many sources, of a list."""

import pytest

from kyvsim.engine.context import request_context
from kyvsim.engine.world import GivenObjects, World
from kyvsim.kubernetes.objects import ObjectKey as Target
from kyvsim.languages.classic.rule_type import RuleContext
from kyvsim.languages.classic.rules.generate import (
    GenerateError,
    compile_generated,
    from_data,
    from_source,
)
from kyvsim.languages.classic.rules.generate import downstream_of as target_of

# generate


TARGET = {"apiVersion": "v1", "kind": "ConfigMap", "name": "made", "namespace": "other"}
NAME = "{{ request.object.metadata.name }}"
MISSING = "{{ request.object.spec.missing }}"


def generating(**spec):
    return {"generate": {**TARGET, **spec}}


def result_of(response):
    ((result,),) = [one.results for one in response.responses]
    return result


def key(obj):
    meta = obj["metadata"]
    return f"{obj['apiVersion']}/{obj['kind']}/{meta.get('namespace', '')}/{meta['name']}"


def own_labels(obj):
    return {
        name: value
        for name, value in obj["metadata"]["labels"].items()
        if "kyverno" not in name and value != "kyverno"
    }


@pytest.fixture
def sources(thing):
    return [
        thing("ConfigMap", "a", "src", labels={"copy": "me"}, data={"k": "1"}),
        thing("ConfigMap", "b", "src", data={"k": "2"}),
        thing("Secret", "s", "src", labels={"copy": "me"}),
        thing("ConfigMap", "there", "other", data={"k": "3"}),
    ]


def test_data_is_named_as_the_target_is(run, pod):
    rule = generating(
        name=f"{NAME}-c", data={"data": {"k": NAME}, "metadata": {"labels": {"a": "b"}}}
    )
    found = result_of(run(rule, pod()))
    (made,) = found.generated
    assert (found.status.value, found.message, found.note) == ("pass", "", "")
    assert key(made) == "v1/ConfigMap/other/web-c"
    assert made["data"] == {"k": "web"}
    assert own_labels(made) == {"a": "b"}


def test_without_data_a_bare_object_is_made(run, pod):
    (made,) = result_of(run(generating(data={}), pod())).generated
    assert sorted(made) == ["apiVersion", "kind", "metadata"]


def test_labels_tell_whose_object_it_is(run, pod):
    (made,) = result_of(run(generating(data={}), pod())).generated
    assert made["metadata"]["labels"] == {
        "app.kubernetes.io/managed-by": "kyverno",
        "generate.kyverno.io/policy-name": "p",
        "generate.kyverno.io/policy-namespace": "",
        "generate.kyverno.io/rule-name": "r",
        "generate.kyverno.io/trigger-version": "v1",
        "generate.kyverno.io/trigger-group": "",
        "generate.kyverno.io/trigger-kind": "Pod",
        "generate.kyverno.io/trigger-namespace": "shop",
        "generate.kyverno.io/trigger-uid": "",
    }


def test_a_clone_carries_the_source_s_content_and_labels(run, pod, sources):
    rule = generating(clone={"namespace": "src", "name": "a"})
    (made,) = result_of(run(rule, pod(), given=sources)).generated
    assert key(made) == "v1/ConfigMap/other/made"
    assert made["data"] == {"k": "1"}
    assert own_labels(made) == {"copy": "me"}
    assert made["metadata"]["labels"]["generate.kyverno.io/source-namespace"] == "src"


def test_a_clone_leaves_behind_what_the_server_wrote(run, pod, thing):
    source = thing("ConfigMap", "a", "src")
    source["metadata"] |= {
        "uid": "u",
        "resourceVersion": "7",
        "ownerReferences": [{"name": "o"}],
        "annotations": {"x": "y"},
    }
    rule = generating(clone={"namespace": "src", "name": "a"})
    (made,) = result_of(run(rule, pod(), given=[source])).generated
    assert sorted(made["metadata"]) == ["annotations", "labels", "name", "namespace"]
    assert made["metadata"]["labels"]["generate.kyverno.io/source-uid"] == "u"


ADD_SOURCE = "missing input: add the source to the resources, in tests as `cloneSourceResource`"


def test_a_clone_without_a_source_is_told_in_a_note(run, pod):
    found = result_of(run(generating(clone={"namespace": "src", "name": "a"}), pod()))
    assert (found.status.value, found.generated) == ("pass", ())
    problem = "nothing is generated: source resource v1/ConfigMap/src/a not found"
    assert found.note == f"{problem}; {ADD_SOURCE}"


def test_an_object_is_no_clone_of_itself(run, pod, thing):
    rule = generating(clone={"namespace": "other", "name": "made"})
    found = result_of(run(rule, pod(), given=[thing("ConfigMap", "made", "other")]))
    assert (found.generated, found.note) == ((), "")


@pytest.mark.parametrize(
    ("clone", "made"),
    [
        ({"kinds": ["v1/ConfigMap"]}, ["v1/ConfigMap/other/a", "v1/ConfigMap/other/b"]),
        (
            {"kinds": ["v1/Secret", "v1/ConfigMap"], "selector": {"matchLabels": {"copy": "me"}}},
            ["v1/Secret/other/s", "v1/ConfigMap/other/a"],
        ),
        ({"kinds": ["v1/ConfigMap"], "namespace": "other"}, []),
    ],
)
def test_a_list_of_clones_keeps_the_names_of_its_sources(run, pod, sources, clone, made):
    rule = {"generate": {"namespace": "other", "cloneList": {"namespace": "src", **clone}}}
    found = result_of(run(rule, pod(), given=sources))
    assert list(map(key, found.generated)) == made


def test_a_loop_makes_one_object_for_each_element(run, pod):
    loop = {
        "list": "request.object.spec.names",
        "preconditions": {"all": [{"key": "{{ element }}", "operator": "NotEquals", "value": "b"}]},
        **TARGET,
        "name": "{{ element }}-{{ elementIndex }}",
        "data": {},
    }
    found = result_of(run({"generate": {"foreach": [loop]}}, pod(names=["a", "b", "c"])))
    assert list(map(key, found.generated)) == ["v1/ConfigMap/other/a-0", "v1/ConfigMap/other/c-2"]


@pytest.mark.parametrize(
    ("spec", "note"),
    [
        ({"name": MISSING, "data": {}}, 'Unknown key "missing" in path'),
        ({"name": "{{ request.object.spec }}", "data": {}}, "must be strings"),
        ({"data": "{{ request.object.metadata.name }}"}, "is not a mapping"),
    ],
)
def test_what_hinders_an_object_is_told_in_a_note(run, pod, spec, note):
    found = result_of(run(generating(**spec), pod(a="b")))
    assert (found.status.value, found.message, found.generated) == ("pass", "", ())
    assert found.note.startswith("nothing is generated: ")
    assert note in found.note


def test_a_problem_with_one_element_ends_no_loop(policy, pod, request_for, system):
    loop = {
        "list": "[`null`, `{}`, {n: 'b'}]",
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "{{ element.n }}",
        "namespace": "shop",
        "data": {},
    }
    own = policy({"generate": {"foreach": [loop]}})
    external = World(GivenObjects(())).external
    scope = request_context(request_for(pod()), external, {})
    first, second = compile_generated(RuleContext(own, own.rules[0], system))(scope)
    assert first.objects == ()
    assert first.problem
    assert first.place == "failed to process 0 foreach in rule r: failed to process 1 element"
    assert [one["metadata"]["name"] for one in second.objects] == ["b"]
    assert second.problem == ""


def test_a_list_of_clones_that_finds_no_source_says_so(run, pod):
    rule = {
        "generate": {"namespace": "own", "cloneList": {"namespace": "src", "kinds": ["v1/Secret"]}}
    }
    what = "no object has the namespace, kinds and labels that `cloneList` selects"
    problem = f"nothing is generated: {what}"
    assert result_of(run(rule, pod())).note == f"{problem}; {ADD_SOURCE}"


def test_a_rule_generates_whatever_hinders_another_of_its_policy(run, policy, pod):
    good = {**generating(data={}), "name": "good"}
    sourceless = {**generating(clone={"name": "none", "namespace": "n"}), "name": "sourceless"}
    (response,) = run([policy(good, sourceless)], pod()).responses
    assert [len(one.generated) for one in response.results] == [1, 0]


def test_a_rule_with_loops_whose_preconditions_are_not_met_generates_nothing(run, pod):
    loop = {**TARGET, "list": "`[1]`", "data": {}}
    unmet = {"all": [{"key": "a", "operator": "Equals", "value": "b"}]}
    found = result_of(run({"generate": {"foreach": [loop]}, "preconditions": unmet}, pod()))
    assert (found.status.value, found.generated) == ("skip", ())


@pytest.mark.parametrize(("synchronize", "kept"), [(True, "b"), (False, "a")])
def test_elements_that_generate_one_object_leave_one(run, pod, synchronize, kept):
    loop = {**TARGET, "list": '`["a", "b"]`', "data": {"data": {"k": "{{ element }}"}}}
    found = result_of(run({"generate": {"synchronize": synchronize, "foreach": [loop]}}, pod()))
    assert [one["data"]["k"] for one in found.generated] == [kept]
    which = "last" if synchronize else "first"
    assert found.note == (
        "ConfigMap other/made is generated more than once by this rule: "
        f"the {which} one takes effect"
    )


@pytest.mark.slow
def test_what_is_generated_counts_against_the_budget(run, pod, thing):
    """A loop over a list of copies makes one for each pair."""
    loop = {
        "list": "request.object.spec.names",
        "namespace": "n{{ elementIndex }}",
        "cloneList": {"namespace": "src", "kinds": ["v1/ConfigMap"]},
    }
    given = [thing("ConfigMap", f"c{n}", "src") for n in range(200)]

    def made(elements):
        rule = {"generate": {"foreach": [loop]}}
        return result_of(run(rule, pod(names=[f"e{n}" for n in range(elements)]), given=given))

    assert len(made(50).generated) == 50 * 200
    several = made(150)
    assert (several.status.value, several.generated) == ("error", ())
    assert "the budget of 1,000,000 steps for a rule is spent" in several.message


# downstream


TARGET_DOWNSTREAM = Target("v1", "ConfigMap", "ns", "made")
OWNED = {"name": "a", "namespace": "ns", "ownerReferences": [{"name": "o"}]}


def test_what_a_pattern_does_not_name_is_empty():
    assert target_of({"kind": "Namespace"}) == Target("", "Namespace", "", "")


@pytest.mark.parametrize("field", ["apiVersion", "kind", "namespace", "name"])
def test_a_name_that_is_no_text_is_refused(field):
    with pytest.raises(GenerateError):
        target_of({field: ["a"]})


def test_a_target_without_a_namespace_takes_away_that_of_the_data():
    made = from_data({"metadata": {"namespace": "x"}}, TARGET_DOWNSTREAM._replace(namespace=""))
    assert made == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "made"}}


def test_data_may_name_a_kind_of_its_own():
    assert from_data({"kind": "Secret"}, TARGET_DOWNSTREAM)["kind"] == "Secret"


def test_owners_are_kept_within_a_namespace_only():
    source = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": OWNED}
    assert "ownerReferences" in from_source(source, TARGET_DOWNSTREAM)["metadata"]
    elsewhere = from_source(source, TARGET_DOWNSTREAM._replace(namespace="other"))
    assert "ownerReferences" not in elsewhere["metadata"]
    assert source["metadata"] == OWNED
