import pytest

from kyvsim.engine.compile.compiled import errored, failed, passed
from kyvsim.languages.classic.rule_type import SECTIONS, rule_types, rule_types_of
from kyvsim.load.recognise import RULE_BODIES
from kyvsim.policy.autogen import NOT_DERIVED, REWRITES, TEMPLATE, rewrite_references
from kyvsim.policy.rule import read_rule

# rule type


def types_of(rule):
    return rule_types_of(read_rule(rule, ()))


def field_of(rule):
    return next((one.field for one in types_of(rule)), None)


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
        ({}, None),
    ],
)
def test_the_first_type_whose_field_is_there_takes_a_rule(rule, field):
    assert field_of(rule) == field


def test_an_error_names_its_cause_if_there_is_one():
    assert errored("no way").message == "no way"
    assert errored("no way", ValueError("why")).message == "no way: why"


def test_autogen_knows_the_body_of_each_type():
    """Without that such a rule would silently not apply to Deployments."""
    assert {one.field for one in rule_types()} == {*REWRITES} | NOT_DERIVED
    assert NOT_DERIVED.isdisjoint(REWRITES)


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
    (one,) = types_of({"validate": section})
    rewrite = REWRITES.get(one.field, lambda _section, _template: None)
    assert rewrite(section, TEMPLATE) == carried


def test_what_comes_of_a_rule():
    def ends(rule):
        tree = read_rule(rule, ())
        return next(rule_types_of(tree)).ends_of(tree)

    assert ends({"validate": {"pattern": {}}}).names == ("passed", "failed")
    assert ends({"verifyImages": []}).names == ("passed", "failed")
    assert ends({"validate": {"deny": {}}}).names == ("failed",)
    assert ends({"mutate": {"foreach": []}}).names == ("applied",)
    made = ends({"generate": {}})
    assert made.number_of(passed("")) is None
    assert made.number_of(passed("")._replace(generated=({},))) == made.names.index("applied")
    assert made.number_of(failed("")) is None


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
