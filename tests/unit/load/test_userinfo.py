from kyvsim.load.values import load_userinfo, named_user
from kyvsim.model.request import UserInfo
from kyvsim.model.source import Document, Location

HEAD = {"apiVersion": "cli.kyverno.io/v1alpha1", "kind": "UserInfo"}


def load(data):
    return load_userinfo(Document(data, "u.yaml", 0, lambda _: Location("u.yaml", 1, 1)))


def test_a_user_with_everything():
    found, remarks = load(
        {
            **HEAD,
            "roles": ["ns:dev"],
            "clusterRoles": ["admin"],
            "userInfo": {
                "username": "system:serviceaccount:ns:sa",
                "uid": "u",
                "groups": ["g"],
                "extra": {"scopes": ["a"]},
            },
        }
    )
    assert remarks == ()
    assert found == UserInfo(
        username="system:serviceaccount:ns:sa",
        uid="u",
        groups=("g",),
        extra={"scopes": ["a"]},
        roles=("ns:dev",),
        cluster_roles=("admin",),
    )


def test_an_empty_user():
    assert load(HEAD) == (UserInfo(), ())


def test_unknown_fields_and_the_old_layout_are_errors():
    found, remarks = load({**HEAD, "userInfo": {"name": "x"}})
    assert found is None
    assert "unknown field `userInfo.name`" in remarks[0].message
    found, remarks = load({"clusterRoles": ["admin"]})
    assert found is None
    assert remarks[0].code == "KV031"


def test_a_file_of_another_kind_is_called_what_it_is():
    found, remarks = load({"apiVersion": "cli.kyverno.io/v1alpha1", "kind": "Values", "spec": {}})
    assert (found, [one.code for one in remarks]) == (None, ["KV079"])
    assert remarks[0].message == (
        "a file of kind UserInfo is wanted here, and this is Values (cli.kyverno.io/v1alpha1): "
        "give it with --values-file"
    )


def test_service_accounts_have_their_groups():
    groups = named_user("system:serviceaccount:ci:bot").groups
    assert groups == (
        "system:serviceaccounts",
        "system:serviceaccounts:ci",
        "system:authenticated",
    )
