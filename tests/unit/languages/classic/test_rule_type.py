import pytest

from kyvsim.engine.compile.compiled import errored, failed, passed
from kyvsim.languages.classic.rule_type import PodTemplate, RuleType, rewrite_references
from kyvsim.languages.classic.rules import SECTIONS, rule_types, rule_types_of
from kyvsim.load.recognise import RULE_BODIES
from kyvsim.model.result import Phase

# rule type


def field_of(rule):
    return next((one.field for one in rule_types_of(rule)), None)


@pytest.mark.parametrize(
    ("rule", "field"),
    [
        ({"validate": {"pattern": {}}}, ("validate", "pattern")),
        ({"validate": {"anyPattern": []}}, ("validate", "anyPattern")),
        ({"validate": {"deny": {}, "pattern": {}}}, ("validate", "deny")),
        ({"validate": {"foreach": [], "pattern": {}}}, ("validate", "pattern")),
        ({"mutate": {"patchesJson6902": "[]"}}, ("mutate", "patchesJson6902")),
        ({"mutate": {"targets": [], "patchStrategicMerge": {}}}, ("mutate", "targets")),
        ({"generate": {}}, ("generate",)),
        ({"validate": {"pattern": None}}, None),
        ({"validate": None}, None),
        ({"validate": "text"}, None),
        ({}, None),
    ],
)
def test_the_first_type_whose_field_is_there_takes_a_rule(rule, field):
    assert field_of(rule) == field


def test_an_error_names_its_cause_if_there_is_one():
    assert errored("no way").message == "no way"
    assert errored("no way", ValueError("why")).message == "no way: why"


def test_a_rule_type_says_what_autogen_makes_of_it():
    """Without it no such type can be made: its rules would say nothing of Deployments."""
    with pytest.raises(TypeError, match="autogen"):
        RuleType(("validate", "assert"), Phase.VALIDATE, lambda _: None)


BODIES = {
    "pattern": ({"pattern": {"a": 1}}, {"pattern": {"spec": {"template": {"a": 1}}}}),
    "anyPattern": ({"anyPattern": [{}]}, {"anyPattern": [{"spec": {"template": {}}}]}),
    "deny": ({"deny": {}}, {"deny": {}}),
    "podSecurity": ({"podSecurity": {}}, {"podSecurity": {}}),
    "foreach": ({"foreach": [{"list": "x"}]}, {"foreach": [{"list": "x"}]}),
    "cel": ({"cel": {"expressions": []}}, {"cel": {"expressions": []}}),
    "manifests": ({"manifests": {}}, None),
}


@pytest.mark.parametrize(
    "name", [one.field[1] for one in rule_types() if one.section == "validate"]
)
def test_bodies_of_validate_rules_are_carried_over(name):
    section, carried = BODIES[name]
    (one,) = rule_types_of({"validate": section})
    assert one.autogen.rewrite(section, PodTemplate("template", "spec/template")) == carried


def test_what_comes_of_a_rule():
    def ends(rule):
        return next(rule_types_of(rule)).ends_of(rule)

    assert ends({"validate": {"pattern": {}}}).names == ("passed", "failed")
    assert ends({"verifyImages": []}).names == ("passed", "failed")
    assert ends({"validate": {"deny": {}}}).names == ("failed",)
    assert ends({"mutate": {"foreach": []}}).names == ("applied",)
    made = ends({"generate": {}})
    assert made.of(passed("")) is None
    assert made.of(passed("")._replace(generated=({},))) == "applied"
    assert made.of(failed("")) is None


def test_what_looks_like_a_rule_has_a_section_of_one():
    """Loading knows no rule types, and recognises rules by these names."""
    assert set(SECTIONS) == RULE_BODIES


# rule type autogen


@pytest.mark.parametrize(
    ("message", "pivot", "shifted"),
    [
        ("no reference", "pattern", "no reference"),
        ("$(../../pattern/spec/a)", "pattern", "$(../../pattern/T/spec/a)"),
        ("see $(../../pattern/spec/a) here", "pattern", "see $(../../pattern/T/spec/a) here"),
        ("$(../pattern/a) $(../pattern/b)", "pattern", "$(../pattern/T/a) $(../pattern/T/b)"),
        (r"\$(../pattern/a)", "pattern", r"\$(../pattern/a)"),
        ("$(../other/a)", "pattern", "$(../other/a)"),
        ("$(../anyPattern/1/a)", "anyPattern", "$(../anyPattern/1/T/a)"),
        ("$(../other/a)", "anyPattern", "$(../other/a)"),
        ("$()", "pattern", "$()"),
    ],
)
def test_references_get_the_way_behind_their_pivot(message, pivot, shifted):
    assert rewrite_references(message, "T", pivot) == shifted
