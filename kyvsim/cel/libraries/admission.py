"""Libraries of admission policies: the authorizer, and objects and JSON patches to construct."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from kyvsim.cel.environment import Library, StructType, function, method
from kyvsim.cel.errors import CelError
from kyvsim.cel.types import DYN, STRING, CelType, struct
from kyvsim.cel.values import MadeList, MadeMap, UInt
from kyvsim.kubernetes.labels import is_label, is_subdomain

# Authorization checks. Without an authorizer nothing is allowed.
#
# Source of the rules: upstream k8s.io/apiserver pkg/cel/library/authz.go; results without roles
# are those of Kyverno's command line, pkg/engine/internal/authorizer.go.

AUTHORIZER = struct("kubernetes.authorization.Authorizer")
PATH_CHECK = struct("kubernetes.authorization.PathCheck")
GROUP_CHECK = struct("kubernetes.authorization.GroupCheck")
RESOURCE_CHECK = struct("kubernetes.authorization.ResourceCheck")
DECISION = struct("kubernetes.authorization.Decision")
_CHECK_COST = 350_000
_NOTHING: Mapping[str, str] = MappingProxyType({})

Answer = tuple[bool, str]
"""Whether an action is allowed, and the reason."""
Ask = Callable[[str, tuple[str, ...], Mapping[str, str]], Answer | None]
"""Returns whether a user in some groups may do the action in the attributes; None if unknown."""


class AccessQuery(NamedTuple):
    """The user whose access is checked, and the function that decides."""

    user: str = ""
    groups: tuple[str, ...] = ()
    ask: Ask = lambda *_: None


class Authorizer(NamedTuple):
    """Decides on the access of a user."""

    query: AccessQuery = AccessQuery()
    cel_type: CelType = AUTHORIZER


class PathCheck(NamedTuple):
    """An access check for a path of the API."""

    query: AccessQuery
    attributes: Mapping[str, str] = _NOTHING
    cel_type: CelType = PATH_CHECK


class GroupCheck(NamedTuple):
    """An access check for a group of the API."""

    query: AccessQuery
    group: str = ""
    cel_type: CelType = GROUP_CHECK


class ResourceCheck(NamedTuple):
    """An access check for resources."""

    query: AccessQuery
    attributes: Mapping[str, str] = _NOTHING
    cel_type: CelType = RESOURCE_CHECK


class AccessDecision(NamedTuple):
    """The result of an access check."""

    error: str = ""
    allowed: bool = False
    reason: str = ""
    cel_type: CelType = DECISION


def _path(authorizer: Authorizer, path: str) -> PathCheck:
    if not path.strip():
        raise CelError("path must not be empty")
    return PathCheck(authorizer.query, {"path": path})


def _service_account(authorizer: Authorizer, namespace: str, name: str) -> Authorizer:
    if not is_subdomain(name):
        raise CelError("Invalid service account name")
    if not is_label(namespace):
        raise CelError("Invalid service account namespace")
    group = "system:serviceaccounts"
    user = f"system:serviceaccount:{namespace}:{name}"
    groups = (group, f"{group}:{namespace}", "system:authenticated")
    return Authorizer(authorizer.query._replace(user=user, groups=groups))


def _resource(check: GroupCheck, resource: str) -> ResourceCheck:
    if not resource.strip():
        raise CelError("resource must not be empty")
    return ResourceCheck(check.query, {"group": check.group, "resource": resource})


def _narrowed(field: str) -> Callable[[ResourceCheck, str], ResourceCheck]:
    return lambda check, value: check._replace(attributes={**check.attributes, field: value})


def _decide(check: PathCheck | ResourceCheck, verb: str) -> AccessDecision:
    query = check.query
    answer = query.ask(query.user, query.groups, {**check.attributes, "verb": verb})
    if answer is None:
        return AccessDecision("" if query.user else "no service account provided")
    allowed, reason = answer
    return AccessDecision(allowed=allowed, reason=reason)


AUTHORIZATION = Library(
    "authorizer",
    (
        method(f"{AUTHORIZER}.path(string) -> {PATH_CHECK}", _path),
        method(
            f"{AUTHORIZER}.group(string) -> {GROUP_CHECK}",
            lambda authorizer, group: GroupCheck(authorizer.query, group),
        ),
        method(f"{AUTHORIZER}.serviceAccount(string, string) -> {AUTHORIZER}", _service_account),
        method(f"{GROUP_CHECK}.resource(string) -> {RESOURCE_CHECK}", _resource),
        *(
            method(f"{RESOURCE_CHECK}.{name}(string) -> {RESOURCE_CHECK}", _narrowed(name))
            for name in ("subresource", "namespace", "name")
        ),
        # RBAC ignores selectors: what may be listed at all may be listed with them.
        *(
            method(f"{RESOURCE_CHECK}.{name}(string) -> {RESOURCE_CHECK}", lambda check, _: check)
            for name in ("fieldSelector", "labelSelector")
        ),
        method(f"{PATH_CHECK}.check(string) -> {DECISION}", _decide, _CHECK_COST),
        method(f"{RESOURCE_CHECK}.check(string) -> {DECISION}", _decide, _CHECK_COST),
        method(f"{DECISION}.errored() -> bool", lambda decision: bool(decision.error)),
        method(f"{DECISION}.error() -> string", lambda decision: decision.error),
        method(f"{DECISION}.allowed() -> bool", lambda decision: decision.allowed),
        method(f"{DECISION}.reason() -> string", lambda decision: decision.reason),
    ),
    types=(
        (Authorizer, AUTHORIZER),
        (PathCheck, PATH_CHECK),
        (GroupCheck, GROUP_CHECK),
        (ResourceCheck, RESOURCE_CHECK),
        (AccessDecision, DECISION),
    ),
)

# Objects and JSON patches that expressions construct: `Object.spec{…}`, `JSONPatch{…}`.
#
# An object may have any field. Whether the name of its type is the path of its field is checked
# when the object is used, see `type_mismatches`.
#
# Source of the rules: upstream k8s.io/apiserver pkg/cel/mutation, pkg/cel/library/jsonpatch.go.

OBJECT = struct("Object")
JSON_PATCH = struct("JSONPatch")
_NO_TYPE = CelType("none", "")
_TEXTS = ("op", "path", "from")
_PATCH_FIELDS: Mapping[str, CelType] = {**dict.fromkeys(_TEXTS, STRING), "value": DYN}
_GO_TYPES: Mapping[type, str] = {
    bool: "bool",
    int: "int64",
    UInt: "uint64",
    float: "float64",
    bytes: "[]uint8",
}


class ObjectValue(dict[str, object]):
    """An object in expressions: its fields, and the name of its type."""

    def __init__(self, type_name: str, fields: dict[str, object]) -> None:
        super().__init__(fields)
        self.type_name = type_name

    @property
    def cel_type(self) -> CelType:
        """Its type in expressions."""
        return struct(self.type_name)


class JsonPatchOperation(dict[str, Any]):
    """One operation of a JSON patch in expressions; `value` is optional."""

    cel_type = JSON_PATCH


def type_mismatches(value: object, expected: str) -> Iterator[str]:
    """Yield mismatches of type names inside a value that is below the type `expected`.

    Lists and maps between two objects are not part of the name.
    """
    if isinstance(value, ObjectValue):
        if value.type_name != expected:
            yield (
                f'unexpected type name "{value.type_name}", expected "{expected}", which matches '
                "field name path from root Object type"
            )
        for name, field in value.items():
            yield from type_mismatches(field, f"{expected}.{name}")
    elif value.__class__ is MadeList:
        for one in value:
            yield from type_mismatches(one, expected)
    elif value.__class__ is MadeMap:
        for one in value.values():
            yield from type_mismatches(one, expected)


def _patch(fields: dict[str, object]) -> JsonPatchOperation:
    for name, value in fields.items():
        if name in _TEXTS and value.__class__ is not str:
            found = _GO_TYPES.get(value.__class__, value.__class__.__name__)
            raise CelError(f"unexpected type {found} for JSONPatchType '{name}' field")
        if name not in _PATCH_FIELDS:
            raise CelError(f"unexpected JSONPatchType field: {name}")
    return JsonPatchOperation({**dict.fromkeys(_TEXTS, ""), **fields})


def _object_type(name: str) -> StructType | None:
    if name == "Object" or name.startswith("Object."):
        return StructType(lambda _: DYN, lambda fields: ObjectValue(name, fields))
    return (
        StructType(lambda field: _PATCH_FIELDS.get(field, _NO_TYPE), _patch)
        if name == "JSONPatch"
        else None
    )


OBJECTS = Library("objects", (), struct_of=_object_type)
"""The types that expressions can construct."""

ESCAPES = Library(
    "jsonpatch",
    (
        function(
            "jsonpatch.escapeKey(string) -> string",
            lambda key: key.replace("~", "~0").replace("/", "~1"),
        ),
    ),
)
