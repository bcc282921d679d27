"""What CEL of a policy sees in a cluster."""

import pytest

from kyvsim.model.request import UserInfo

MASTER = UserInfo("root", groups=("system:masters",))


@pytest.mark.parametrize(
    ("expression", "granted"),
    [
        ("namespaceObject.metadata.labels.tier == 'prod'", True),
        ("namespaceObject.metadata.labels['kubernetes.io/metadata.name'] == 'shop'", True),
        ("authorizer.requestResource.check('create').allowed()", False),
    ],
)
def test_the_namespace_and_the_roles_are_those_of_the_cluster(
    cluster, put, obj, pod, cluster_policy, expression, granted
):
    put(obj("Namespace", "shop", metadata={"labels": {"tier": "prod"}}))
    cel = {"expressions": [{"expression": expression, "message": "no"}]}
    put(cluster_policy("p", {"validate": {"failureAction": "Enforce", "cel": cel}}))
    # Kyverno asks without groups, so what a group may counts for nothing.
    assert cluster.parts.client(MASTER).create(pod("a", "shop")).ok is granted
