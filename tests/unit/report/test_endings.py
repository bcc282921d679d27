"""What one end of a scenario has otherwise than another."""

import pytest

from kyvsim.model.simulation import (
    Expectation,
    Hazard,
    HazardLevel,
    Interleavings,
    ScenarioEnding,
    Simulation,
)
from kyvsim.report.ending import ending_line
from kyvsim.report.timeline_rows import (
    EndDifference,
    SimulationTerms,
    differences,
    orders_text,
    simulation_ending,
)

UNCOUNTED = "3 hazards not counted (1 error, 1 warning, 1 info)"


def config_map(name, **data):
    meta = {"name": name, "namespace": "shop", "uid": "u", "resourceVersion": "1"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


def ended(*objects, met=True, hazards=()):
    expected = (Expectation("it comes", met, 0.0),)
    found = tuple(Hazard(code, HazardLevel.ERROR, "why") for code in hazards)
    return Simulation("s", (), objects, found, expected)


def told(usual, other):
    return [tuple(one) for one in differences(usual, other)]


def test_objects_are_missing_further_or_different():
    usual = ended(config_map("a"), config_map("b", key="1"))
    other = ended(config_map("b", key="2"), config_map("c"))
    assert told(usual, other) == [
        ("missing", "ConfigMap shop/a"),
        ("further", "ConfigMap shop/c"),
        ("differs", "ConfigMap shop/b: data.key `2`, not `1`"),
    ]


def test_values_are_written_as_in_yaml():
    usual = ended(config_map("a", on=True, size=None, list=[1]))
    other = ended(config_map("a", on=False, size=1.5, list=[]))
    fields = (
        "data.on `false`, not `true`; data.size `1.5`, not absent; data.list 0 entries, not 1 entry"
    )
    assert told(usual, other) == [("differs", f"ConfigMap shop/a: {fields}")]


def test_what_a_server_writes_anew_is_no_difference():
    first, second = config_map("a"), config_map("a")
    second["metadata"] |= {"uid": "v", "resourceVersion": "9"}
    assert told(ended(first), ended(second)) == []


def test_fields_that_come_and_go_are_told_and_not_all_of_them():
    before = config_map("a", **dict.fromkeys("abcdef", "x"))
    (found,) = told(ended(before), ended(config_map("a")))
    assert found[1].startswith("ConfigMap shop/a: data.a absent, not `x`; ")
    assert found[1].endswith(" and 2 more")


def test_generated_names_are_alike_whatever_chance_gave():
    def pod(suffix):
        meta = {"name": f"a-{suffix}", "generateName": "a-", "namespace": "shop"}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": meta}

    assert told(ended(pod("x")), ended(pod("y"))) == []


def test_expectations_and_hazards_are_compared():
    found = differences(ended(hazards=["KH001"]), ended(met=False, hazards=["KH005"]))
    assert list(found) == [
        EndDifference("not met", "it comes"),
        EndDifference("hazard", "KH005: why"),
        EndDifference("no hazard", "KH001"),
    ]


def test_the_extent_of_the_search_is_told():
    one = ScenarioEnding(ended(), 0, 3)
    whole = Interleavings(3, complete=True, most_changes=2, endings=(one,))
    assert orders_text(whole) == (
        "3 orders of steps tried (all with up to 2 changes of order): 1 ending"
    )
    assert "there are more" in orders_text(whole._replace(complete=False))


@pytest.mark.parametrize(
    ("least", "line"),
    [
        ("error", "FAILED: 1 hazard of level error · 2 further hazards · 0 events · exit status 1"),
        (
            "none",
            f"NOTHING CHECKED: no rule matched · {UNCOUNTED} · 0 events · exit status 0",
        ),
    ],
)
def test_hazards_that_do_not_count_are_not_called_lesser_where_they_are_errors(least, line):
    levels = (HazardLevel.ERROR, HazardLevel.WARNING, HazardLevel.INFO)
    hazards = tuple(Hazard("KH001", level, "x") for level in levels)
    found = simulation_ending(Simulation("x", (), (), hazards), SimulationTerms(least=least))
    assert ending_line(found) == line
    none = simulation_ending(Simulation("x", (), (), hazards[1:]), SimulationTerms(least=least))
    assert "2 lesser hazards" in ending_line(none)
