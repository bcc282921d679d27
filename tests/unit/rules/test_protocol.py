import pytest

from kyvsim.rules import RULE_TYPES
from kyvsim.rules.protocol import errored


def field_of(rule):
    return next((one.field for one in RULE_TYPES if one.takes(rule)), None)


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
