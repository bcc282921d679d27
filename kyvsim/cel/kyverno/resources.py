"""Objects of the cluster.

Source of the rules: upstream kyverno/sdk extensions/cel/libs/resource. In a namespaced policy the
functions take no namespace and look into that of the policy.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from kyvsim.cel.environment import Function, Library, Overload, function, way
from kyvsim.cel.errors import CelError
from kyvsim.cel.types import CelType, opaque

_TYPE = opaque("resource.Context")
_RESOURCE = opaque("schema.GroupVersionResource")
_T = _TYPE.name
_NOT_OFFLINE = "internal error: not implemented"


class GroupVersionResource(NamedTuple):
    """A kind by its plural name."""

    api_version: str
    resource: str

    @property
    def cel_type(self) -> CelType:
        """Its type in expressions."""
        return _RESOURCE


class ResourceAccess(NamedTuple):
    """The value of the variable `resource`."""

    get: Callable[[str, str, str, str], Any]
    """Takes apiVersion, plural, namespace and name; returns None where nothing is there."""
    list: Callable[[str, str, str, Mapping[str, str]], Sequence[Any]]
    """Takes apiVersion, plural, namespace and labels; both raise LookupError with the reason."""
    namespace: str = ""
    """Of the policy, where it is namespaced."""
    plural_of: Callable[[str, str], str] | None = None
    """Takes apiVersion and kind, returns the plural; raises LookupError with the reason.

    None where there is no cluster: upstream's stand-in for one panics then (fake_context.go).
    """

    @property
    def cel_type(self) -> CelType:
        """Its type in expressions."""
        return _TYPE


def _get(access: ResourceAccess, api_version: str, resource: str, *place: str) -> Any:
    within = place[0] if len(place) > 1 else access.namespace
    try:
        return access.get(api_version, resource, within, place[-1])
    except LookupError as error:
        raise CelError(f"failed to get resource: {error}") from None


def _get_kind(access: ResourceAccess, kind: GroupVersionResource, *place: str) -> Any:
    return _get(access, kind.api_version, kind.resource, *place)


def _list(access: ResourceAccess, api_version: str, resource: str, *place: Any) -> Any:
    labels = place[-1] if place and isinstance(place[-1], dict) else {}
    namespace = place[0] if place and place[0] is not labels else access.namespace
    try:
        return {"items": [*access.list(api_version, resource, namespace, labels)]}
    except LookupError as error:
        raise CelError(f"failed to list resource: {error}") from None


def _list_kind(access: ResourceAccess, kind: GroupVersionResource, *place: Any) -> Any:
    return _list(access, kind.api_version, kind.resource, *place)


def _post(*_: Any) -> Any:
    raise CelError(_NOT_OFFLINE)


def _to_resource(access: ResourceAccess, api_version: str, kind: str) -> Any:
    if access.plural_of is None:
        raise CelError(_NOT_OFFLINE)
    try:
        return GroupVersionResource(api_version, access.plural_of(api_version, kind))
    except LookupError as error:
        raise CelError(f"failed to map kind to resource: {error}") from None


_LABELS = "map<string, string>"
_OBJECT = "map<string, any>"


def _ways(place: str, run: Any, run_kind: Any, last: tuple[str, ...]) -> tuple[Overload, ...]:
    """Return the ways with apiVersion and plural as texts, and with both in one value."""
    return tuple(
        way(f"{_T}.({', '.join(filter(None, (kind, place, more)))}) -> {_OBJECT}", one)
        for kind, one in (("string, string", run), (_RESOURCE.name, run_kind))
        for more in last
    )


def _functions(place: str) -> tuple[Function, ...]:
    named = (
        ("Get", _ways(place, _get, _get_kind, ("string",))),
        ("List", _ways(place, _list, _list_kind, ("", _LABELS))),
        (
            "Post",
            tuple(
                way(f"{_T}.({', '.join(('string, string', *more, _OBJECT))}) -> {_OBJECT}", _post)
                for more in (((place,), ()) if place else ((),))
            ),
        ),
        ("ToGVR", (way(f"{_T}.(string, string) -> {_RESOURCE.name}", _to_resource),)),
    )
    return tuple(
        function(spelled, *ways)
        for name, ways in named
        for spelled in (name, f"{name[0].lower()}{name[1:]}")
    )


def _library(place: str) -> Library:
    return Library(
        "resources",
        _functions(place),
        types=((ResourceAccess, _TYPE), (GroupVersionResource, _RESOURCE)),
        variables=(("resource", _TYPE),),
    )


CLUSTER_RESOURCES = _library("string")
NAMESPACED_RESOURCES = _library("")
