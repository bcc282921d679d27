"""What a user may do. Where nobody can be asked, nothing is allowed.

Source of the rules: upstream k8s.io/apiserver pkg/cel/library/authz.go; what is answered without
roles is what Kyverno's command line answers, pkg/engine/internal/authorizer.go.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.cel.environment import Library, function, way
from kyvsim.cel.errors import CelError
from kyvsim.cel.types import CelType, struct
from kyvsim.kubernetes.formats import is_label, is_subdomain

AUTHORIZER = struct("kubernetes.authorization.Authorizer")
PATH_CHECK = struct("kubernetes.authorization.PathCheck")
GROUP_CHECK = struct("kubernetes.authorization.GroupCheck")
RESOURCE_CHECK = struct("kubernetes.authorization.ResourceCheck")
DECISION = struct("kubernetes.authorization.Decision")
_CHECK_COST = 350_000
_NOTHING: Mapping[str, str] = MappingProxyType({})


Answer = tuple[bool, str]
"""Whether something is allowed, and why."""
Ask = Callable[[str, tuple[str, ...], Mapping[str, str]], Answer | None]
"""Answers whether a user of some groups may do what attributes tell; None where nobody knows."""


def _nobody(user: str, groups: tuple[str, ...], wanted: Mapping[str, str]) -> None:
    del user, groups, wanted


class Asked(NamedTuple):
    """Who is asked about, and who answers."""

    user: str = ""
    groups: tuple[str, ...] = ()
    ask: Ask = _nobody


class Authorizer(NamedTuple):
    """Who is asked."""

    asked: Asked = Asked()

    @property
    def cel_type(self) -> CelType:
        """Its type in expressions."""
        return AUTHORIZER


class PathCheck(NamedTuple):
    """A question about a path of the API."""

    asked: Asked
    attributes: Mapping[str, str] = _NOTHING

    @property
    def cel_type(self) -> CelType:
        """Its type in expressions."""
        return PATH_CHECK


class GroupCheck(NamedTuple):
    """A question about a group of the API."""

    asked: Asked
    group: str = ""

    @property
    def cel_type(self) -> CelType:
        """Its type in expressions."""
        return GROUP_CHECK


class ResourceCheck(NamedTuple):
    """A question about resources."""

    asked: Asked
    attributes: Mapping[str, str] = _NOTHING

    @property
    def cel_type(self) -> CelType:
        """Its type in expressions."""
        return RESOURCE_CHECK


class Decision(NamedTuple):
    """The answer."""

    error: str = ""
    allowed: bool = False
    reason: str = ""

    @property
    def cel_type(self) -> CelType:
        """Its type in expressions."""
        return DECISION


def _path(asking: Authorizer, path: str) -> PathCheck:
    if not path.strip():
        raise CelError("path must not be empty")
    return PathCheck(asking.asked, {"path": path})


def _service_account(asking: Authorizer, namespace: str, name: str) -> Authorizer:
    if not is_subdomain(name):
        raise CelError("Invalid service account name")
    if not is_label(namespace):
        raise CelError("Invalid service account namespace")
    group = "system:serviceaccounts"
    user = f"system:serviceaccount:{namespace}:{name}"
    groups = (group, f"{group}:{namespace}", "system:authenticated")
    return Authorizer(asking.asked._replace(user=user, groups=groups))


def _resource(check: GroupCheck, resource: str) -> ResourceCheck:
    if not resource.strip():
        raise CelError("resource must not be empty")
    return ResourceCheck(check.asked, {"group": check.group, "resource": resource})


def _narrowed(field: str) -> Callable[[ResourceCheck, str], ResourceCheck]:
    def narrow(check: ResourceCheck, value: str) -> ResourceCheck:
        return check._replace(attributes={**check.attributes, field: value})

    return narrow


def _unchanged(check: ResourceCheck, _: str) -> ResourceCheck:
    # RBAC knows no selectors: what may be listed at all may be listed with them.
    return check


def _group(asking: Authorizer, group: str) -> GroupCheck:
    return GroupCheck(asking.asked, group)


def _decide(check: PathCheck | ResourceCheck, verb: str) -> Decision:
    asked = check.asked
    answer = asked.ask(asked.user, asked.groups, {**check.attributes, "verb": verb})
    if answer is None:
        return Decision("" if asked.user else "no service account provided")
    allowed, reason = answer
    return Decision(allowed=allowed, reason=reason)


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
            function(name, way(_NARROW, _narrowed(name)))
            for name in ("subresource", "namespace", "name")
        ),
        *(function(name, way(_NARROW, _unchanged)) for name in ("fieldSelector", "labelSelector")),
        function(
            "check",
            way(_a("{PathCheck}.(string) -> {Decision}"), _decide, _CHECK_COST),
            way(_a("{ResourceCheck}.(string) -> {Decision}"), _decide, _CHECK_COST),
        ),
        function(
            "errored", way(_a("{Decision}.() -> bool"), lambda decision: bool(decision.error))
        ),
        function("error", way(_a("{Decision}.() -> string"), lambda decision: decision.error)),
        function("allowed", way(_a("{Decision}.() -> bool"), lambda decision: decision.allowed)),
        function("reason", way(_a("{Decision}.() -> string"), lambda decision: decision.reason)),
    ),
    types=(
        (Authorizer, AUTHORIZER),
        (PathCheck, PATH_CHECK),
        (GroupCheck, GROUP_CHECK),
        (ResourceCheck, RESOURCE_CHECK),
        (Decision, DECISION),
    ),
)
