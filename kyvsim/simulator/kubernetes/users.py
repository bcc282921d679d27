"""The identities under which Kubernetes' own controllers work.

Source of the names: k8s.io/kubernetes plugin/pkg/auth/authorizer/rbac/bootstrappolicy.
"""

from kyvsim.model.request import UserInfo


def _controller(name: str) -> UserInfo:
    groups = ("system:serviceaccounts", "system:serviceaccounts:kube-system")
    return UserInfo(
        f"system:serviceaccount:kube-system:{name}", groups=(*groups, "system:authenticated")
    )


CLUSTER_ROLE_AGGREGATION = _controller("clusterrole-aggregation-controller")
CRON_JOB = _controller("cronjob-controller")
DAEMON_SET = _controller("daemon-set-controller")
DEPLOYMENT = _controller("deployment-controller")
GARBAGE_COLLECTOR = _controller("generic-garbage-collector")
JOB = _controller("job-controller")
NAMESPACE = _controller("namespace-controller")
REPLICA_SET = _controller("replicaset-controller")
ROOT_CA = _controller("root-ca-cert-publisher")
SERVICE_ACCOUNT = _controller("service-account-controller")
STATEFUL_SET = _controller("statefulset-controller")
TTL_AFTER_FINISHED = _controller("ttl-after-finished-controller")
SCHEDULER = UserInfo("system:kube-scheduler", groups=("system:authenticated",))


def node(name: str) -> UserInfo:
    """Return the identity of the kubelet on a node."""
    return UserInfo(f"system:node:{name}", groups=("system:nodes", "system:authenticated"))
