"""What a user may do. Offline nobody is asked, and nothing is allowed.

Source of the rules: upstream k8s.io/apiserver pkg/cel/library/authz.go; the answers are those of
Kyverno's command line, pkg/engine/internal/authorizer.go.
"""

from typing import NamedTuple

from kyvsim.cel.environment import Library
from kyvsim.cel.errors import CelError
from kyvsim.cel.signature import function, way
from kyvsim.cel.types import CelType, struct

AUTHORIZER = struct("kubernetes.authorization.Authorizer")
PATH_CHECK = struct("kubernetes.authorization.PathCheck")
GROUP_CHECK = struct("kubernetes.authorization.GroupCheck")
RESOURCE_CHECK = struct("kubernetes.authorization.ResourceCheck")
DECISION = struct("kubernetes.authorization.Decision")
_CHECK_COST = 350_000


class Authorizer(NamedTuple):
    """Who is asked."""

    user: str = ""

    @property
    def cel_type(self) -> CelType:
        """Its type in expressions."""
        return AUTHORIZER


class PathCheck(NamedTuple):
    """A question about a path of the API."""

    user: str = ""

    @property
    def cel_type(self) -> CelType:
        """Its type in expressions."""
        return PATH_CHECK


class GroupCheck(NamedTuple):
    """A question about a group of the API."""

    user: str = ""

    @property
    def cel_type(self) -> CelType:
        """Its type in expressions."""
        return GROUP_CHECK


class ResourceCheck(NamedTuple):
    """A question about resources."""

    user: str = ""

    @property
    def cel_type(self) -> CelType:
        """Its type in expressions."""
        return RESOURCE_CHECK


class Decision(NamedTuple):
    """The answer: always no."""

    error: str = ""

    @property
    def cel_type(self) -> CelType:
        """Its type in expressions."""
        return DECISION


def _path(asked: Authorizer, path: str) -> PathCheck:
    if not path.strip():
        raise CelError("path must not be empty")
    return PathCheck(asked.user)


def _service_account(asked: Authorizer, namespace: str, name: str) -> Authorizer:
    from kyvsim.cel.libraries.formats import is_label, is_subdomain  # noqa: PLC0415 — rarely needed

    if not is_subdomain(name):
        raise CelError("Invalid service account name")
    if not is_label(namespace):
        raise CelError("Invalid service account namespace")
    return asked._replace(user=f"system:serviceaccount:{namespace}:{name}")


def _resource(check: GroupCheck, resource: str) -> ResourceCheck:
    if not resource.strip():
        raise CelError("resource must not be empty")
    return ResourceCheck(check.user)


def _narrowed(check: ResourceCheck, _: str) -> ResourceCheck:
    return check


def _group(asked: Authorizer, _: str) -> GroupCheck:
    return GroupCheck(asked.user)


def _decide(check: PathCheck | ResourceCheck, _: str) -> Decision:
    return Decision("" if check.user else "no service account provided")


_NAMES = (AUTHORIZER, PATH_CHECK, GROUP_CHECK, RESOURCE_CHECK, DECISION)


def _a(signature: str) -> str:
    for kind in _NAMES:
        signature = signature.replace(f"{{{kind.name.rpartition('.')[2]}}}", kind.name)
    return signature


_NARROW = _a("{ResourceCheck}.(string) -> {ResourceCheck}")

AUTHORIZATION = Library(
    "authorizer",
    (
        function("path", way(_a("{Authorizer}.(string) -> {PathCheck}"), _path)),
        function("group", way(_a("{Authorizer}.(string) -> {GroupCheck}"), _group)),
        function(
            "serviceAccount",
            way(_a("{Authorizer}.(string, string) -> {Authorizer}"), _service_account),
        ),
        function("resource", way(_a("{GroupCheck}.(string) -> {ResourceCheck}"), _resource)),
        *(
            function(name, way(_NARROW, _narrowed))
            for name in ("subresource", "namespace", "name", "fieldSelector", "labelSelector")
        ),
        function(
            "check",
            way(_a("{PathCheck}.(string) -> {Decision}"), _decide, _CHECK_COST),
            way(_a("{ResourceCheck}.(string) -> {Decision}"), _decide, _CHECK_COST),
        ),
        function(
            "errored", way(_a("{Decision}.() -> bool"), lambda decision: bool(decision.error))
        ),
        function("error", way(_a("{Decision}.() -> string"), lambda decision: decision.error)),
        function("allowed", way(_a("{Decision}.() -> bool"), lambda _: False)),
        function("reason", way(_a("{Decision}.() -> string"), lambda _: "")),
    ),
    types=(
        (Authorizer, AUTHORIZER),
        (PathCheck, PATH_CHECK),
        (GroupCheck, GROUP_CHECK),
        (ResourceCheck, RESOURCE_CHECK),
        (Decision, DECISION),
    ),
)
