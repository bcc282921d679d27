"""What rules may have is converted, or the rule is refused: nothing is silently left out."""

from functools import reduce
from types import MappingProxyType

import pytest

from kyvsim.engine.conditions.operators import operators
from kyvsim.engine.match import CRITERIA
from kyvsim.kubernetes import wildcard
from kyvsim.languages.classic.rule_type import rule_of, rule_types
from kyvsim.migrate import scalars
from kyvsim.migrate.conditions import OPERATORS
from kyvsim.migrate.context import NotConvertible
from kyvsim.migrate.rules import converter_of
from kyvsim.policy.anchors import ANCHORS
from kyvsim.policy.rule import NO_POLICY

VALUES = MappingProxyType(
    {
        "kinds": ["Pod"],
        "operations": ["CREATE"],
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
)
OF_USERS = frozenset({"roles", "clusterRoles", "subjects"})


def rule(excluded=None, **pattern):
    every_pod = {"match": {"any": [{"resources": {"kinds": ["Pod"]}}]}}
    exclude = {"exclude": {"any": [excluded]}} if excluded else {}
    body = {"message": "m", "pattern": pattern or {"metadata": {"name": "a"}}}
    return {"name": "r", **every_pod, **exclude, "validate": body}


def test_operators_of_conditions_have_a_row():
    assert OPERATORS.keys() == operators.keys()


@pytest.mark.parametrize("field", [one.field for one in CRITERIA])
def test_criteria_of_match_blocks_are_converted(converted, field):
    value = {field: VALUES[field]}
    excluded = value if field in OF_USERS else {"resources": {"kinds": ["Pod"], **value}}
    outcome, made = converted(rule(excluded))
    assert made != converted(rule())[1] or outcome.reason


@pytest.mark.parametrize("sign", [one for one in wildcard.OPERATORS if one])
def test_operators_of_patterns_are_converted(converted, sign):
    outcome, made = converted(rule(metadata={"name": f"{sign}10"}))
    assert made != converted(rule(metadata={"name": "10"}))[1] or outcome.reason


def test_an_operator_of_patterns_without_conversion_is_refused(converted, monkeypatch):
    prefix = wildcard.Operator(str.startswith, matches_text=True)
    monkeypatch.setattr(wildcard, "OPERATORS", {"~>": prefix, **wildcard.OPERATORS})
    monkeypatch.setattr(scalars, "OPERATORS", wildcard.OPERATORS)
    outcome, _ = converted(rule(metadata={"name": "~>web*x"}))
    assert "the pattern operator `~>` cannot be converted" in outcome.reason


@pytest.mark.parametrize("sign", ANCHORS)
def test_anchors_are_converted(converted, sign):
    outcome, made = converted(rule(spec={f"{sign}(hostname)": "a"}))
    assert made != converted(rule(spec={"hostname": "a"}))[1] or outcome.reason


def _path_of_conversion(data):
    """Return the path of the body that is converted or refused, () if there is none."""
    rule = rule_of(data, (), NO_POLICY)
    try:
        return converter_of(rule, rule.tree).path
    except NotConvertible as refusal:
        return refusal.path


@pytest.mark.parametrize("field", [one.field for one in rule_types()], ids=".".join)
def test_a_rule_type_is_converted_or_refused_by_its_name(field):
    path = _path_of_conversion(reduce(lambda body, name: {name: body}, reversed(field), {}))
    assert path in {field, ("mutate",)}
