"""The Kubernetes API over the given objects: what a GET of a path answers.

upstream: `rawAbsPathForFakeClient` in pkg/clients/dclient/client.go, which reads no options and no
paths of Namespaces, and dies on lists of kinds that nobody gave.
"""

from typing import NamedTuple

from kyvsim.engine.context.access_review import allows
from kyvsim.engine.context.list_options import OptionsError, parse_options
from kyvsim.kubernetes.discovery import split_api_version
from kyvsim.kubernetes.objects import Json, ObjectKey
from kyvsim.model.ports import ClusterView
from kyvsim.model.request import UserInfo

_PARTS_OF_NAMESPACES = frozenset({"status", "finalize"})
_WHOLE_OBJECT = frozenset({"", "status"})


class CallError(Exception):
    """A call that cannot be answered."""


class NotThereError(CallError):
    """A call for an object that is not there: the answer that a cluster gives too."""

    def __init__(self, message: str, missing: ObjectKey) -> None:
        super().__init__(message)
        self.missing = missing


class NoRightError(CallError):
    """A call that an API server refuses to who makes it; raw calls show nothing of the reason."""

    def __init__(self, reason: str) -> None:
        super().__init__("permission denied: unknown")
        self.reason = reason


class ApiPath(NamedTuple):
    """What a path of the API names; empty texts where it names nothing."""

    api_version: str
    namespace: str
    resource: str
    """The plural name of a kind."""
    name: str
    part: str
    """The subresource."""


def parse_path(path: str) -> ApiPath | None:
    """Return what a path without its query names, or None where it names no resource.

    An empty namespace stands for all of them, as it does upstream.
    """
    root, *parts = path.removeprefix("/").split("/")
    if root == "api" and len(parts) > 1:
        api_version, rest = parts[0], parts[1:]
    elif root == "apis" and len(parts) > 2:
        api_version, rest = "/".join(parts[:2]), parts[2:]
    else:
        return None
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in _PARTS_OF_NAMESPACES:
        namespace, rest = rest[1], rest[2:]
    elif rest[0] == "namespaces" and root == "apis":
        return None
    resource, name, part, *further = [*rest, "", ""]
    return (
        ApiPath(api_version, namespace, resource, name, part)
        if resource and not any(further)
        else None
    )


def answer_get(url: str, cluster: ClusterView, account: UserInfo | None = None) -> Json:
    """Return what a GET of a URL path with its query is answered with; raise `CallError`.

    An API server first asks whether the account that calls may.
    """
    path, _, query = url.partition("?")
    wanted = parse_path(path)
    if wanted is None:
        raise CallError(f"failed to parse path: {path.removeprefix('/')}")
    if account is not None:
        require_right(wanted, "get" if wanted.name else "list", cluster, account)
    kind = cluster.kind_of(wanted.api_version, wanted.resource)
    if not kind:
        raise CallError("the server could not find the requested resource")
    return _get(wanted, kind, cluster) if wanted.name else _list(wanted, kind, query, cluster)


def require_right(wanted: ApiPath, verb: str, cluster: ClusterView, account: UserInfo) -> None:
    """Raise `NoRightError` where an account may not do something to what a path names."""
    attributes = {
        "verb": verb,
        "group": split_api_version(wanted.api_version)[0],
        "resource": wanted.resource,
        "subresource": wanted.part,
        "namespace": wanted.namespace,
        "name": wanted.name,
    }
    if not allows(attributes, account, cluster):
        group = attributes["group"]
        resource = f"{wanted.resource}.{group}" if group else wanted.resource
        raise NoRightError(f"`{account.username}` has no right to {verb} {resource}")


def _get(wanted: ApiPath, kind: str, cluster: ClusterView) -> Json:
    what = f"failed to get resource {wanted.api_version}/{kind}/{wanted.name}"
    if wanted.part not in _WHOLE_OBJECT:
        raise CallError(f'{what}: its subresource "{wanted.part}" is not among the objects given')
    found = cluster.get(wanted.api_version, kind, wanted.namespace, wanted.name)
    if found is None:
        group = split_api_version(wanted.api_version)[0]
        resource = ".".join(filter(None, (wanted.resource, group)))
        missing = ObjectKey(wanted.api_version, kind, wanted.namespace, wanted.name)
        raise NotThereError(f'{what}: {resource} "{wanted.name}" not found', missing)
    return found


def _list(wanted: ApiPath, kind: str, query: str, cluster: ClusterView) -> Json:
    revision = len(cluster.list(wanted.api_version, kind, "")) + 1
    items = list(cluster.list(wanted.api_version, kind, wanted.namespace))
    metadata: dict[str, Json] = {"continue": "", "resourceVersion": str(revision)}
    if query:
        try:
            options = parse_options(query, kind)
        except OptionsError as error:
            raise CallError(
                f"failed to list resources {wanted.api_version}/{kind}: {error}"
            ) from error
        items = [item for item in items if options.fits(item)]
        if options.limit and len(items) > options.limit:
            metadata["continue"] = "more"
            metadata["remainingItemCount"] = float(len(items) - options.limit)
            items = items[: options.limit]
    return {
        "apiVersion": wanted.api_version,
        "kind": f"{kind}List",
        "metadata": metadata,
        "items": items,
    }


def list_of(api_version: str, resource: str, namespace: str, cluster: ClusterView) -> list[Json]:
    """Return the objects of a resource in a namespace, "" for all of them."""
    kind = cluster.kind_of(api_version, resource)
    return list(cluster.list(api_version, kind, namespace))
