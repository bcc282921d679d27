"""Who sends the requests: user info files, and users that are named."""

from collections.abc import Sequence

from kyvsim.kube.objects import text_field
from kyvsim.load.values import check_cli_document
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.request import UserInfo
from kyvsim.model.source import Document

_SERVICE_ACCOUNT = "system:serviceaccount:"


def load_userinfo(document: Document) -> tuple[UserInfo | None, tuple[Diagnostic, ...]]:
    """Return the user that a UserInfo file describes, or None and what is wrong with it.

    upstream: cmd/cli/kubectl-kyverno/userinfo
    """
    data, remarks = check_cli_document(document, "UserInfo")
    if remarks:
        return None, remarks
    user = data.get("userInfo", {})
    found = UserInfo(
        username=text_field(user, "username"),
        uid=text_field(user, "uid"),
        groups=tuple(user.get("groups", ())),
        extra=user.get("extra"),
        roles=tuple(data.get("roles", ())),
        cluster_roles=tuple(data.get("clusterRoles", ())),
    )
    return found, ()


def named_user(name: str, groups: Sequence[str] = ()) -> UserInfo:
    """Return the user of a name, a service account with the groups that it always has."""
    own: tuple[str, ...] = ()
    if name.startswith(_SERVICE_ACCOUNT):
        namespace = name.removeprefix(_SERVICE_ACCOUNT).partition(":")[0]
        own = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    return UserInfo(name, groups=(*groups, *own, "system:authenticated"))
