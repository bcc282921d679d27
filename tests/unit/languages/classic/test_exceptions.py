"""Which rules an exception names."""

import pytest

DENY = {"validate": {"message": "no", "deny": {}}}


def keys(compiled, policy, exceptions):
    (found,) = compiled(policy, exceptions=exceptions).policies
    return {one.rule.name: [given.key for given in one.exceptions] for one in found.rules}


@pytest.mark.parametrize(
    ("named", "covered"),
    [
        ("r", ["r"]),
        ("*", ["r", "autogen-r", "autogen-cronjob-r"]),
        ("*r", ["r", "autogen-r", "autogen-cronjob-r"]),
        ("autogen-?", ["autogen-r"]),
        ("R", []),
        ("s", []),
    ],
)
def test_rules_are_named_by_wildcards_and_derived_ones_by_their_own_names(
    compiled, policy, exception, named, covered
):
    found = keys(compiled, policy(DENY), [exception("p", named)])
    assert [name for name, given in found.items() if given] == covered


@pytest.mark.parametrize(
    ("namespace", "named", "attached"),
    [
        ("", "p", True),
        ("", "q", False),
        ("", "p*", False),
        ("ns", "ns/p", True),
        ("ns", "p", False),
    ],
)
def test_a_policy_is_named_by_its_whole_key(
    compiled, policy, exception, namespace, named, attached
):
    found = keys(compiled, policy(DENY, namespace=namespace), [exception(named, "r")])
    assert bool(found["r"]) is attached


def test_exceptions_keep_the_order_in_which_they_were_given(compiled, policy, exception):
    given = [exception("p", "r", name=name) for name in ("b", "a", "c")]
    assert keys(compiled, policy(DENY), given)["r"] == ["ex/b", "ex/a", "ex/c"]


def test_an_exception_to_controls_lets_only_them_pass(run, pod, exception, verdicts):
    rule = {"validate": {"podSecurity": {"level": "baseline", "version": "latest"}}}
    hosts = exception("p", "r", podSecurity=[{"controlName": "Host Namespaces"}])
    statuses = [
        [status for _, status, _ in verdicts(run(rule, pod(**spec), exceptions=[hosts]))]
        for spec in ({"hostPID": True}, {"hostPID": True, "volumes": [{"hostPath": {"path": "/"}}]})
    ]
    assert statuses == [["skip"], ["fail"]]


def test_entries_are_found_by_the_key_of_their_policy(exception):
    given = exception("p", "r")
    entries = (given.exceptions[0], given.exceptions[0]._replace(policy="ns/q")) * 2
    assert given._replace(exceptions=entries).entries == {"p": (0, 2), "ns/q": (1, 3)}


@pytest.mark.parametrize(
    ("body", "attached"),
    [(DENY, []), ({"validate": {"podSecurity": {"level": "baseline"}}}, ["ex/x"])],
)
def test_a_rule_that_is_known_to_apply_has_only_exceptions_that_its_body_reads(
    compiled, policy, exception, body, attached
):
    written = policy(body)
    given = [exception("p", "r", podSecurity=[{"controlName": "Host Namespaces"}])]
    found = compiled(written, exceptions=given, only=written.rules[0], settled=True)
    assert [one.key for rule in found.policies[0].rules for one in rule.exceptions] == attached
