import pytest

from kyvsim.engine.match import CRITERIA
from kyvsim.languages.classic.autogen import ANNOTATION
from kyvsim.linting.rules import (
    autogen_off,
    denials_without_admission,
    empty_conditions,
    loops_without_element,
    never_matches,
)

# never matches


def some(*filters):
    return {"any": [{"resources": one} for one in filters]}


def every(*filters):
    return {"all": [{"resources": one} for one in filters]}


POD, JOB = {"kinds": ["Pod"]}, {"kinds": ["Job"]}
SMALL = {"kinds": ["Pod"], "names": ["a", "b"], "namespaces": ["x"]}
COVERED = "its exclude block covers everything"
FIRES = [
    ({"match": some(SMALL), "exclude": some(POD)}, COVERED),
    ({"match": some(SMALL), "exclude": some({"kinds": ["*"]})}, COVERED),
    ({"match": some(SMALL), "exclude": some(JOB, {"names": ["?"]})}, COVERED),
    ({"match": some(SMALL, JOB), "exclude": some(POD, JOB | {"operations": []})}, COVERED),
    ({"match": every(POD, {"names": ["a"]}), "exclude": some({"names": ["a", "b"]})}, COVERED),
    ({"match": some(SMALL), "exclude": every(POD)}, COVERED),
    ({"match": every(POD, JOB)}, "no kind in common"),
    (
        {"match": every({**POD, "operations": ["CREATE"]}, {"operations": ["DELETE"], **POD})},
        "no operation in common",
    ),
]
USERS = {"roles", "clusterRoles", "subjects"}
USER = {"any": [{"resources": POD, "clusterRoles": ["admin"]}]}
PASSES = [
    {"match": some(POD)},
    {"match": some(POD), "exclude": some(SMALL)},
    {"match": some(POD, JOB), "exclude": some(POD | {"names": ["a"]}, JOB)},
    {"match": some(SMALL), "exclude": USER},
    {"match": some({"kinds": ["v1/Pod"]}), "exclude": some({"kinds": ["v2/Pod"]})},
    {"match": some({"kinds": ["Pod/exec"]}), "exclude": some(POD)},
    {"match": some({"names": ["a*"], **POD}), "exclude": some({"names": ["ab*"]})},
    {"match": some(SMALL), "exclude": every(POD, JOB)},
    {"match": some(SMALL), "exclude": some({"selector": {"matchLabels": {"a": "b"}}})},
    {"match": every(POD, {"names": ["a"]}, {"kinds": ["*/Pod", "Job"]})},
    {"match": every({**POD, "operations": ["CREATE", "UPDATE"]}, {"operations": ["UPDATE"]})},
]


@pytest.mark.parametrize(("rule", "part"), FIRES)
def test_never_matches_fires(remarks, rule, part):
    ((code, path, message),) = remarks(never_matches, rule)
    assert code == "KV206"
    assert path.startswith("spec/rules/0/")
    assert part in message


CRITERION_VALUES = {
    "operations": ["CREATE"],
    "kinds": ["Job"],
    "name": "n",
    "names": ["n"],
    "namespaces": ["n"],
    "annotations": {"a": "b"},
    "selector": {"matchLabels": {"a": "b"}},
    "namespaceSelector": {"matchLabels": {"a": "b"}},
    "roles": ["a:b"],
    "clusterRoles": ["r"],
    "subjects": [{"kind": "User", "name": "u"}],
}


@pytest.mark.parametrize("field", [one.field for one in CRITERIA])
def test_a_criterion_restricts_what_an_exclude_block_covers(remarks, field):
    """Without it, the block would exclude every Pod."""
    value = {field: CRITERION_VALUES[field]}
    one = {"resources": POD, **value} if field in USERS else {"resources": {**POD, **value}}
    rule = {"match": some(POD), "exclude": {"any": [one]}}
    assert remarks(never_matches, rule) == []


@pytest.mark.parametrize("rule", PASSES)
def test_never_matches_leaves_alone(remarks, rule):
    assert remarks(never_matches, rule) == []


def test_leaves_alone_what_is_refused(remarks):
    assert remarks(never_matches, {"match": some(POD), "exclude": some(POD)}) == []


# autogen off


FOR_PODS = {"validate": {"pattern": {"spec": {"hostNetwork": "false"}}}}
MADE = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "namespace": "b", "data": {}}


def matching(**resources):
    return {"match": {"any": [{"resources": {"kinds": ["Pod"], **resources}}]}, **FOR_PODS}


FIRES_AUTOGEN_OFF = [
    ({"generate": MADE}, "it generates objects"),
    ({"mutate": {"patchesJson6902": "[]"}}, "it has a JSON patch"),
    (matching(names=["a"]), "it selects by name, labels or annotations"),
    (matching(kinds=["Pod", "Service"]), "it matches other kinds besides Pod"),
]
SERVICES = {"match": {"any": [{"resources": {"kinds": ["Service"], "names": ["a"]}}]}, **FOR_PODS}


@pytest.mark.parametrize(("rule", "part"), FIRES_AUTOGEN_OFF)
def test_autogen_off_fires(remarks, rule, part):
    ((code, path, message),) = remarks(autogen_off, FOR_PODS, rule)
    assert (code, path) == ("KV207", "spec/rules/1")
    assert f"because {part}, so `r0` is not applied to Pod controllers" in message


@pytest.mark.parametrize(
    "rules",
    [
        [FOR_PODS, FOR_PODS],
        [{"generate": MADE}],
        [matching(names=["a"]), matching(names=["b"])],
        [SERVICES, {"generate": MADE}],
    ],
)
def test_autogen_off_leaves_alone(remarks, rules):
    assert remarks(autogen_off, *rules) == []


def test_leaves_alone_a_policy_that_wants_none(remarks):
    wanted = {ANNOTATION: "none"}
    assert remarks(autogen_off, FOR_PODS, {"generate": MADE}, annotations=wanted) == []


def test_fires_for_a_policy_that_wants_some(remarks):
    wanted = {ANNOTATION: "Deployment"}
    assert len(remarks(autogen_off, FOR_PODS, {"generate": MADE}, annotations=wanted)) == 1


def denies(*conditions):
    return {"validate": {"deny": dict(zip(("conditions",), conditions, strict=False))}}


@pytest.mark.parametrize("conditions", [None, [], {}, {"all": []}])
def test_conditions_without_a_condition(remarks, conditions):
    ((code, path, _),) = remarks(empty_conditions, denies(conditions))
    assert (code, path) == ("KV347", "spec/rules/0/validate/deny/conditions")


@pytest.mark.parametrize("conditions", [{"any": []}, {"all": [{"key": "a", "operator": "Equals"}]}])
def test_conditions_that_do_not_deny_everything(remarks, conditions):
    assert remarks(empty_conditions, denies(conditions)) == []
    assert remarks(empty_conditions, denies()) == []


def each_denies(key, **more):
    conditions = {"any": [{"key": f"{{{{ {key} }}}}", "operator": "Equals", "value": "a"}]}
    loop = {"list": "request.object.spec.containers", "deny": {"conditions": conditions}, **more}
    return {"validate": {"message": "m", "foreach": [loop]}}


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        (each_denies("request.object.spec.containers[0].image"), ["KV358"]),
        (each_denies("element.image"), []),
        (each_denies("length(element0.ports)"), []),
        (each_denies("a", context=[{"name": "a", "variable": {"value": "{{ element.a }}"}}]), []),
    ],
)
def test_loops_that_do_not_use_their_elements(remarks, rule, found):
    assert [code for code, *_ in remarks(loops_without_element, rule)] == found


@pytest.mark.parametrize(
    ("spec", "reported"),
    [
        ({"admission": False}, True),
        ({"admission": True}, False),
        ({"admission": False, "validationFailureAction": "Audit"}, False),
    ],
)
def test_what_is_not_evaluated_for_requests_denies_none(remarks, spec, reported):
    spec = {"validationFailureAction": "Enforce", **spec}
    found = remarks(denials_without_admission, {}, **spec)
    assert [code for code, _, _ in found] == ["KV392"] * reported
