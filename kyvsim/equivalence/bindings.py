"""Who has which roles in a case: bindings, from which both sides read it.

Rules are told the roles of who asks, policies in CEL list the bindings.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from kyvsim.engine.context.cluster_api import bound_to, roles_given
from kyvsim.engine.given_objects import GivenObjects
from kyvsim.equivalence.seeds import NAMESPACE
from kyvsim.kubernetes.objects import Json
from kyvsim.model.request import UserInfo

_GROUP = "rbac.authorization.k8s.io"
_API_VERSION = f"{_GROUP}/v1"
_KINDS = ("RoleBinding", "ClusterRoleBinding")
_ACCOUNT = "system:serviceaccount:"
_NOBODY: Mapping[str, Json] = MappingProxyType({"kind": "Group", "name": "nobody"})


def bindings(user: UserInfo, places: Iterable[str]) -> list[Json]:
    """Return what binds its roles to a user, and bindings of others, as there are anywhere.

    `places` are namespaces, "" for the usual one.
    """
    found = [_binding("others", "others", dict(_NOBODY)), *_of(user)]
    namespaces = dict.fromkeys(one or NAMESPACE for one in places)
    return found + [_binding("others", "others", dict(_NOBODY), one) for one in namespaces]


def with_roles(user: UserInfo, there: Sequence[Json], namespace: str) -> UserInfo:
    """Return a user with the roles that bindings give for requests in a namespace."""
    cluster = GivenObjects([one for one in there if one.get("kind") in _KINDS])
    found = (bound_to(cluster, (kind, ""), user.username, user.groups) for kind in _KINDS)
    roles, cluster_roles = roles_given((one for some in found for _, one in some), namespace)
    return user._replace(roles=roles, cluster_roles=cluster_roles)


def _of(user: UserInfo) -> Iterator[Json]:
    subject = _subject(user.username)
    for name in user.cluster_roles:
        yield _binding("own", name, subject)
    for one in user.roles:
        namespace, sign, name = one.partition(":")
        if sign:
            yield _binding("own", name, subject, namespace)


def _subject(username: str) -> Json:
    if username.startswith(_ACCOUNT):
        namespace, _, name = username.removeprefix(_ACCOUNT).partition(":")
        return {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    return {"kind": "User", "name": username, "apiGroup": _GROUP}


def _binding(name: str, role: str, subject: Json, namespace: str = "") -> Json:
    """Return a binding of a Role in a namespace, or of a ClusterRole in all of them."""
    place = {"namespace": namespace} if namespace else {}
    kind = "Role" if namespace else "ClusterRole"
    return {
        "apiVersion": _API_VERSION,
        "kind": f"{kind}Binding",
        "metadata": {"name": name, **place},
        "roleRef": {"apiGroup": _GROUP, "kind": kind, "name": role},
        "subjects": [subject],
    }
