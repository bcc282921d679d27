import pytest

from kyvsim.schema.node import NamedSchemas, SchemaNode
from kyvsim.schema.rules import broken_rules


def of(*rules):
    spec = {"type": "object", "x-kubernetes-validations": list(rules)}
    return NamedSchemas().node({"type": "object", "properties": {"spec": spec}})


def told(spec, before, *rules):
    old = {"spec": before} if before is not None else None
    return [(one.path, one.message) for one in broken_rules({"spec": spec}, old, of(*rules))]


@pytest.mark.parametrize(("old", "times"), [(None, 0), ({"a": 2}, 1), ({"a": 0}, 0)])
def test_rules_see_the_object_before(old, times):
    rule = {"rule": "self.a >= oldSelf.a", "message": "only upwards"}
    assert told({"a": 1}, old, rule) == [(("spec",), "only upwards")] * times


def test_a_rule_without_a_message_is_told_itself():
    assert told({"a": 1}, None, {"rule": "self.a > 1"}) == [(("spec",), "failed rule: self.a > 1")]


def test_a_rule_without_an_answer_is_broken():
    ((_, message),) = told({}, None, {"rule": "self.a > 1", "message": "more"})
    assert message.startswith("rule evaluation error: ")


def test_rules_behind_names_are_found_and_parts_without_any_are_passed_by(monkeypatch):
    ruled = {"type": "object", "x-kubernetes-validations": [{"rule": "false", "message": "never"}]}
    # Both name each other: that a schema has a rule somewhere must not get lost in the circle.
    table = {
        "one": {"type": "object", "properties": {"two": "two"}},
        "two": {"type": "object", "properties": {"one": "one", "ruled": "ruled"}},
        "ruled": ruled,
        "bare": {"type": "object", "properties": {"deep": {"type": "object"}}},
    }
    root = NamedSchemas(table).node({"properties": {"spec": "one", "other": "bare"}})
    obj = {"spec": {"two": {"one": {"two": {"ruled": {}}}}}, "other": {"deep": {}}}
    asked = []
    real = SchemaNode.child
    monkeypatch.setattr(
        SchemaNode, "child", lambda self, name: asked.append(name) or real(self, name)
    )
    assert [one.path for one in broken_rules(obj, None, root)] == [
        ("spec", "two", "one", "two", "ruled")
    ]
    assert "deep" not in asked
