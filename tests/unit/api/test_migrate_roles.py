"""Roles that match blocks name: what becomes of them asks the bindings, and decides the same."""

import json

import pytest

from kyvsim.api import ApplyInputs, open_application
from kyvsim.api.migrate import migrate, with_evidence
from kyvsim.equivalence.objects import bindings, with_roles
from kyvsim.load.files import Source
from kyvsim.model.comparison import Answer, SearchBudget
from kyvsim.model.request import UserInfo

pytestmark = pytest.mark.slow

DENY = {"conditions": {"any": [{"key": "{{ request.operation }}", "operator": "Equals"}]}}
DENY["conditions"]["any"][0]["value"] = "CREATE"
RBAC = "rbac.authorization.k8s.io"
BOB = {"kind": "User", "name": "bob"}
SOMEBODY = {"kind": "User", "name": "somebody"}


def policy(field="exclude", **filters):
    rule = {
        "name": "guard",
        "match": {"any": [{"resources": {"kinds": ["ConfigMap"]}}]},
        "validate": {"failureAction": "Enforce", "message": "guarded", "deny": DENY},
    }
    if field == "match":
        rule["match"]["any"][0] |= filters
    else:
        rule["exclude"] = {"any": [filters]}
    return {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "guard"},
        "spec": {"background": False, "rules": [rule]},
    }


def converted(one):
    return migrate((Source("policy.yaml", json.dumps(one)),))


@pytest.mark.parametrize("field", ["match", "exclude"])
@pytest.mark.parametrize(
    "filters",
    [
        {"clusterRoles": ["cluster-admin"]},
        {"clusterRoles": ["admin", "edit"]},
        {"roles": ["default:keeper"]},
        {"roles": ["default:keeper", "ops:keeper"]},
    ],
    ids=str,
)
def test_both_decide_the_same(field, filters):
    found = with_evidence(converted(policy(field, **filters)), (), SearchBudget())
    assert [one.answer for one in found.evidence] == [Answer.EQUAL]


@pytest.mark.parametrize("filters", [{"clusterRoles": ["admin"]}, {"roles": ["default:admin"]}])
def test_a_wrong_conversion_is_shown(filters):
    migration = converted(policy(**filters))
    (text,) = migration.texts
    wrong = text.replace("['admin']", "['viewer']")
    assert wrong != text
    found = with_evidence(migration._replace(texts=(wrong,)), (), SearchBudget())
    assert [one.answer for one in found.evidence] == [Answer.COUNTEREXAMPLE]


def binding(role, subject, namespace=""):
    kind = "RoleBinding" if namespace else "ClusterRoleBinding"
    of, _, name = role.partition("/")
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": kind,
        "metadata": {"name": "x", **({"namespace": namespace} if namespace else {})},
        "roleRef": {"apiGroup": RBAC, "kind": of, "name": name},
        "subjects": [subject],
    }


@pytest.mark.parametrize(
    ("bound", "username", "let_off"),
    [
        (binding("ClusterRole/admin", BOB), "bob", {"here", "there"}),
        (binding("ClusterRole/admin", BOB), "ann", set()),
        (binding("ClusterRole/view", BOB), "bob", set()),
        (binding("ClusterRole/admin", {"kind": "Group", "name": "devs"}), "bob", {"here", "there"}),
        (binding("ClusterRole/admin", BOB, "default"), "bob", {"here"}),
        (binding("Role/admin", BOB, "default"), "bob", set()),
        (
            binding("ClusterRole/admin", {"kind": "ServiceAccount", "name": "s"}, "default"),
            "system:serviceaccount:default:s",
            {"here"},
        ),
    ],
)
def test_bindings_tell_who_is_let_off(bound, username, let_off, tmp_path):
    """The reference says the same, with the bindings as context."""
    others = [binding("ClusterRole/others", SOMEBODY), binding("Role/others", SOMEBODY, "default")]
    others[0]["metadata"]["name"] = others[1]["metadata"]["name"] = "others"
    context = {
        "apiVersion": "cli.kyverno.io/v1alpha1",
        "kind": "Context",
        "metadata": {"name": "c"},
        "spec": {"resources": [bound, *others]},
    }
    user = {"username": username, "groups": ["devs"] if username == "bob" else []}
    files = {
        "context": context,
        "user": {"apiVersion": "cli.kyverno.io/v1alpha1", "kind": "UserInfo", "userInfo": user},
    }
    paths = {name: tmp_path / f"{name}.yaml" for name in files}
    for name, path in paths.items():
        path.write_text(json.dumps(files[name]))
    objects = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": namespace},
        }
        for name, namespace in (("here", "default"), ("there", "other"))
    ]
    inputs = ApplyInputs(
        policies=(Source("new", converted(policy(clusterRoles=["admin"])).texts[0]),),
        resources=(Source("o", "\n---\n".join(map(json.dumps, objects))),),
        context_file=str(paths["context"]),
        userinfo=str(paths["user"]),
    )
    denied = {
        response.trigger["metadata"]["name"]
        for response in open_application(inputs).responses
        for one in response.responses
        for row in one.results
        if row.status.value == "fail"
    }
    assert {"here", "there"} - denied == let_off


@pytest.mark.parametrize("username", ["bob", "system:serviceaccount:ops:s"])
def test_a_user_has_the_roles_that_are_bound_for_it(username):
    user = UserInfo(username, roles=("ops:keeper",), cluster_roles=("admin",))
    there = bindings(user, ["default"])
    assert with_roles(user, there, "default") == user
    assert with_roles(UserInfo("ann"), there, "default") == UserInfo("ann")
