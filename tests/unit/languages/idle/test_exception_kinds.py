"""Exceptions for kinds that the rules they name never match."""

from kyvsim.languages.idle.names import powerless_exceptions


def test_rules_are_derived_once_for_each_policy(policy, exception):
    """Their number grows with the policies, not with the exceptions that name them."""
    derived = []
    named = policy({"validate": {"message": "no", "deny": {}}})
    exceptions = [exception(named.key, "r", name=f"e{n}") for n in range(5)]
    assert [*powerless_exceptions(exceptions, [named], lambda one: derived.append(one) or ())] == []
    assert derived == [named]
