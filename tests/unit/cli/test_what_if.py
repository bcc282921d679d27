"""Options that suppose something of requests, as they are typed."""

import pytest

from kyvsim.model.request import Operation

BASIC = ("apply", "p.yaml", "-r", "r.yaml")


def test_options_say_who_asks_for_what_and_where(engine, calls, kyvsim):
    del engine
    status, _, _ = kyvsim(
        *BASIC, "--as", "jane", "--as-group", "a", "--as-group", "b", "--operation", "UPDATE",
        "--old-resource", "x,y", "--namespace-labels", "shop:env=prod,tier=gold",
        "--namespace-labels", "shop:team=t", "--without-exception", "e,f",
    )  # fmt: skip
    assert status == 0
    what_if = calls[0][0].what_if
    assert what_if.user.username == "jane"
    assert what_if.user.groups == ("a", "b", "system:authenticated")
    assert what_if.operation is Operation.UPDATE
    assert what_if.old_resources == ("x", "y")
    assert what_if.namespace_labels == (
        ("shop", "env", "prod"),
        ("shop", "tier", "gold"),
        ("shop", "team", "t"),
    )
    assert what_if.without_exceptions == ("e", "f")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--as-group", "g"], "add --as USER"),
        (["--operation", "DELETE", "--old-resource", "o"], "cannot be combined with --operation"),
        (["--operation", "UPDATE", "-s", "request.operation=DELETE"], "not both"),
        (["--operation", "PATCH"], "'PATCH' is not one of"),
        (["--namespace-labels", "env=prod"], "NAMESPACE:KEY=VALUE"),
        (["--namespace-labels", "shop:env"], "NAMESPACE:KEY=VALUE"),
        (["--namespace-labels", "shop:"], "NAMESPACE:KEY=VALUE"),
        (
            ["--old-resource", "o", "--engine", "processes"],
            "--old-resource cannot be combined with",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(engine, kyvsim, arguments, message):
    del engine
    status, out, err = kyvsim(*BASIC, *arguments)
    assert (status, out) == (2, "")
    assert message in err
