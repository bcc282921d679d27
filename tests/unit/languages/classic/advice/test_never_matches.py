import pytest

from kyvsim.languages.classic.advice.never_matches import never_matches


def some(*filters):
    return {"any": [{"resources": one} for one in filters]}


def every(*filters):
    return {"all": [{"resources": one} for one in filters]}


POD, JOB = {"kinds": ["Pod"]}, {"kinds": ["Job"]}
SMALL = {"kinds": ["Pod"], "names": ["a", "b"], "namespaces": ["x"]}
COVERED = "its exclude block covers all"
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
def test_fires(remarks, rule, part):
    ((code, path, message),) = remarks(never_matches, rule)
    assert code == "KV206"
    assert path.startswith("spec/rules/0/")
    assert part in message


@pytest.mark.parametrize("rule", PASSES)
def test_leaves_alone(remarks, rule):
    assert remarks(never_matches, rule) == []


def test_leaves_alone_what_is_refused(remarks):
    assert remarks(never_matches, {"match": some(POD), "exclude": some(POD)}) == []
