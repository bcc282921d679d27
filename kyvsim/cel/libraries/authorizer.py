"""What a user may do. Who answers comes from outside; where nobody does, nothing is allowed.

Source of the rules: upstream k8s.io/apiserver pkg/cel/library/authz.go.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

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


class Question(NamedTuple):
    """What is asked: whether a user may do something; of a path, or of resources."""

    user: str = ""
    verb: str = ""
    path: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""


class Decision(NamedTuple):
    """The answer to a question."""

    error: str = ""
    allowed: bool = False
    reason: str = ""

    @property
    def cel_type(self) -> CelType:
        """Its type in expressions."""
        return DECISION


Ask: TypeAlias = Callable[[Question], Decision]
"""Who answers questions."""


def nobody(question: Question) -> Decision:
    """Return the answer where nobody can be asked: no."""
    return Decision("" if question.user else "no service account provided")


class Authorizer(NamedTuple):
    """Whom it is asked about, and who answers."""

    user: str = ""
    ask: Ask = nobody

    @property
    def cel_type(self) -> CelType:
        """Its type in expressions."""
        return AUTHORIZER


class PathCheck(NamedTuple):
    """A question about a path of the API."""

    question: Question
    ask: Ask = nobody

    @property
    def cel_type(self) -> CelType:
        """Its type in expressions."""
        return PATH_CHECK


class GroupCheck(NamedTuple):
    """A question about a group of the API."""

    question: Question
    ask: Ask = nobody

    @property
    def cel_type(self) -> CelType:
        """Its type in expressions."""
        return GROUP_CHECK


class ResourceCheck(NamedTuple):
    """A question about resources."""

    question: Question
    ask: Ask = nobody

    @property
    def cel_type(self) -> CelType:
        """Its type in expressions."""
        return RESOURCE_CHECK


def _path(asked: Authorizer, path: str) -> PathCheck:
    if not path.strip():
        raise CelError("path must not be empty")
    return PathCheck(Question(asked.user, path=path), asked.ask)


def _service_account(asked: Authorizer, namespace: str, name: str) -> Authorizer:
    from kyvsim.cel.libraries.formats import is_label, is_subdomain  # noqa: PLC0415 — rarely needed

    if not is_subdomain(name):
        raise CelError("Invalid service account name")
    if not is_label(namespace):
        raise CelError("Invalid service account namespace")
    return asked._replace(user=f"system:serviceaccount:{namespace}:{name}")


def _group(asked: Authorizer, group: str) -> GroupCheck:
    return GroupCheck(Question(asked.user, group=group), asked.ask)


def _resource(check: GroupCheck, resource: str) -> ResourceCheck:
    if not resource.strip():
        raise CelError("resource must not be empty")
    return ResourceCheck(check.question._replace(resource=resource), check.ask)


def _narrowing(field: str) -> Callable[[ResourceCheck, str], ResourceCheck]:
    def narrowed(check: ResourceCheck, value: str) -> ResourceCheck:
        return check._replace(question=check.question._replace(**{field: value}))

    return narrowed


def _selecting(check: ResourceCheck, _: str) -> ResourceCheck:
    # upstream asks without selectors.
    return check


def _decide(check: PathCheck | ResourceCheck, verb: str) -> Decision:
    return check.ask(check.question._replace(verb=verb))


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
            function(name, way(_NARROW, _narrowing(name)))
            for name in ("subresource", "namespace", "name")
        ),
        *(function(name, way(_NARROW, _selecting)) for name in ("fieldSelector", "labelSelector")),
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
