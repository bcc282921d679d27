from kyvsim.report.run import ResultCounts
from kyvsim.report.style import RenderOptions, layout_of
from kyvsim.report.text import by_rule_lines

PLACE = ("spec", "rules", 0)


def table(make, *counts, policies=()):
    result_counts = ResultCounts()
    for rule, status, number in counts:
        result_counts.count(rule, status, number)
    run = make.run([], result_counts=result_counts, policies=policies)
    return "".join(by_rule_lines(run, layout_of(RenderOptions())))


def test_rules_that_found_fault_stand_above_all(make):
    bad, good = ("ClusterPolicy", "a", "r", PLACE), ("ClusterPolicy", "b", "r", PLACE)
    lines = table(make, (bad, "fail", 2), (bad, "pass", 1), (good, "pass", 5)).splitlines()
    assert [line.split() for line in lines[1:]] == [
        ["a", "/", "r", "2", "-", "-", "1", "-"],
        ["all", "2", "rules", "that", "applied", "2", "-", "-", "6", "-"],
        [],
    ]
    assert {len(line) for line in lines[:-1]} == {80}


def test_derived_rules_count_as_the_written_one(make):
    policy = make.policy("checks", "image")
    written = ("ClusterPolicy", "checks", "image", PLACE)
    derived = ("ClusterPolicy", "checks", "autogen-image", PLACE)
    lines = table(make, (written, "fail", 1), (derived, "fail", 2), policies=(policy,)).splitlines()
    assert lines[1].split() == ["checks", "/", "image", "3", "-", "-", "-", "-"]
    assert len(lines) == 3


def test_nothing_is_shown_where_no_rule_found_fault(make):
    assert table(make, (("ClusterPolicy", "a", "r", PLACE), "pass", 3)) == ""


def test_a_long_name_has_lines_of_its_own(make):
    key = ("ClusterPolicy", "a-policy-with-a-name", "and-a-rule-with-a-name-that-is-longer", PLACE)
    lines = table(make, (key, "error", 1)).splitlines()
    assert [len(line) <= 80 for line in lines] == [True] * len(lines)
    assert lines[2].split()[0] == "and-a-rule-with-a-name-that-is-longer"
