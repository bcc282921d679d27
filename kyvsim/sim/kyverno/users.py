"""The identities under which Kyverno's controllers work.

Source of the names: upstream charts/kyverno.
"""

from kyvsim.model.request import UserInfo

NAMESPACE = "kyverno"


def _service_account(name: str) -> UserInfo:
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{NAMESPACE}")
    return UserInfo(
        f"system:serviceaccount:{NAMESPACE}:{name}", groups=(*groups, "system:authenticated")
    )


ADMISSION = _service_account("kyverno-admission-controller")
BACKGROUND = _service_account("kyverno-background-controller")
CLEANUP = _service_account("kyverno-cleanup-controller")
REPORTS = _service_account("kyverno-reports-controller")
