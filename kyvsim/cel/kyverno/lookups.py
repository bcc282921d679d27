"""Lookups: objects of the cluster, global context entries, services; generated objects."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from kyvsim.cel.environment import FunctionDecl, Library, Overload, function, overload
from kyvsim.cel.errors import CelError
from kyvsim.cel.kyverno.encodings import struct_value
from kyvsim.cel.types import CelType, opaque

# Objects of the cluster, global context entries, and objects that a policy generates.

# Objects of the cluster.
#
# Source of the rules: upstream kyverno/sdk extensions/cel/libs/resource. In a namespaced policy
# the functions take no namespace and look into that of the policy.

_RESOURCES_TYPE = opaque("resource.Context")
_RESOURCE = opaque("schema.GroupVersionResource")
_CLUSTER_T = _RESOURCES_TYPE.name
_NOT_OFFLINE = "internal error: not implemented"


class GroupVersionResource(NamedTuple):
    """A kind by its plural name."""

    api_version: str
    resource: str
    cel_type: CelType = _RESOURCE


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
    cel_type: CelType = _RESOURCES_TYPE


def _resources_get(access: ResourceAccess, api_version: str, resource: str, *place: str) -> Any:
    within = place[0] if len(place) > 1 else access.namespace
    try:
        return access.get(api_version, resource, within, place[-1])
    except LookupError as error:
        raise CelError(f"failed to get resource: {error}") from None


def _list(access: ResourceAccess, api_version: str, resource: str, *place: Any) -> Any:
    labels = place[-1] if place and isinstance(place[-1], dict) else {}
    namespace = place[0] if place and place[0] is not labels else access.namespace
    try:
        return {"items": [*access.list(api_version, resource, namespace, labels)]}
    except LookupError as error:
        raise CelError(f"failed to list resource: {error}") from None


def _cluster_post(*_: Any) -> Any:
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


def _ways(place: str, run: Callable[..., Any], last: tuple[str, ...]) -> tuple[Overload, ...]:
    """Return the overloads with apiVersion and plural as texts, and with both in one value."""

    def run_kind(access: ResourceAccess, kind: GroupVersionResource, *rest: Any) -> Any:
        return run(access, kind.api_version, kind.resource, *rest)

    return tuple(
        overload(f"{_CLUSTER_T}.({', '.join(filter(None, (kind, place, more)))}) -> {_OBJECT}", one)
        for kind, one in (("string, string", run), (_RESOURCE.name, run_kind))
        for more in last
    )


def _functions(place: str) -> tuple[FunctionDecl, ...]:
    named = (
        ("Get", _ways(place, _resources_get, ("string",))),
        ("List", _ways(place, _list, ("", _LABELS))),
        (
            "Post",
            tuple(
                overload(
                    f"{_CLUSTER_T}.({', '.join(('string, string', *more, _OBJECT))}) -> {_OBJECT}",
                    _cluster_post,
                )
                for more in (((place,), ()) if place else ((),))
            ),
        ),
        ("ToGVR", (overload(f"{_CLUSTER_T}.(string, string) -> {_RESOURCE.name}", _to_resource),)),
    )
    return tuple(
        function(spelled, *overloads)
        for name, overloads in named
        for spelled in (name, f"{name[0].lower()}{name[1:]}")
    )


def _resources_library(place: str) -> Library:
    return Library(
        "resources",
        _functions(place),
        types=((ResourceAccess, _RESOURCES_TYPE), (GroupVersionResource, _RESOURCE)),
        variables=(("resource", _RESOURCES_TYPE),),
    )


CLUSTER_RESOURCES = _resources_library("string")
NAMESPACED_RESOURCES = _resources_library("")

# Data of GlobalContextEntries.
#
# Source of the rules: upstream kyverno/sdk extensions/cel/libs/globalcontext.

_GLOBAL_CONTEXT_TYPE = opaque("globalcontext.Context")


class GlobalContextAccess(NamedTuple):
    """The value of the variable `globalContext`."""

    data_of: Callable[[str, str], Any]
    """Takes the name of an entry and of a projection, "" for none; raises LookupError with the
    reason where a known entry cannot answer; of an unknown one nothing is known (None)."""
    cel_type: CelType = _GLOBAL_CONTEXT_TYPE


def _global_context_get(access: GlobalContextAccess, name: str, projection: str = "") -> Any:
    try:
        return access.data_of(name, projection)
    except LookupError as error:
        raise CelError(f"failed to get global reference: {error}") from None


GLOBAL_CONTEXT = Library(
    "global context",
    tuple(
        function(
            name,
            overload(f"{_GLOBAL_CONTEXT_TYPE.name}.(string) -> dyn", _global_context_get),
            overload(f"{_GLOBAL_CONTEXT_TYPE.name}.(string, string) -> dyn", _global_context_get),
        )
        for name in ("Get", "get")
    ),
    types=((GlobalContextAccess, _GLOBAL_CONTEXT_TYPE),),
    variables=(("globalContext", _GLOBAL_CONTEXT_TYPE),),
)

# Objects that a policy makes.
#
# Source of the rules: upstream kyverno/sdk extensions/cel/libs/generator. In a namespaced policy
# the function takes no namespace.

_GENERATOR_TYPE = opaque("generator.Context")


class Generator(NamedTuple):
    """The value of the variable `generator`."""

    apply: Callable[[str, list[Any]], None]
    """Takes a namespace and objects as plain data; raises ValueError with the reason."""
    namespace: str = ""
    """Of the policy, where it is namespaced."""
    cel_type: CelType = _GENERATOR_TYPE


def _apply(generator: Generator, namespace: str, objects: list[Any], *, argument: int = 2) -> bool:
    try:
        made = struct_value(objects)
    except CelError as error:
        raise CelError(f"invalid arg {argument}: {error}") from None
    try:
        generator.apply(namespace, made)
    except ValueError as error:
        raise CelError(f"failed to generate resources: {error}") from None
    return True


def _generator_library(arguments: str, run: Callable[..., bool]) -> Library:
    signature = f"{_GENERATOR_TYPE.name}.({arguments}list<map<string, any>>) -> bool"
    return Library(
        "generator",
        tuple(function(name, overload(signature, run)) for name in ("Apply", "apply")),
        types=((Generator, _GENERATOR_TYPE),),
        variables=(("generator", _GENERATOR_TYPE),),
    )


CLUSTER_GENERATOR = _generator_library("string, ", _apply)
NAMESPACED_GENERATOR = _generator_library(
    "", lambda generator, objects: _apply(generator, generator.namespace, objects, argument=1)
)

# Calls of services.
#
# Source of the rules: upstream kyverno/sdk extensions/cel/libs/http. kyvsim never calls: answers
# are given, or the call is an error.

_TYPE = opaque("http.Context")
_HTTP_T = _TYPE.name


class HttpAccess(NamedTuple):
    """The value of the variable `http`."""

    answer_of: Callable[[str, str], Any]
    """Takes method and URL; raises LookupError with the reason where no answer is given."""
    cel_type: CelType = _TYPE


def _answer(access: HttpAccess, method: str, url: str) -> Any:
    try:
        return access.answer_of(method, url)
    except LookupError as error:
        raise CelError(f"request failed: {error}") from None


def _get(access: HttpAccess, url: str, headers: Mapping[str, str] | None = None) -> Any:
    del headers  # answers are given by method and URL
    return _answer(access, "GET", url)


def _http_post(
    access: HttpAccess, url: str, body: Any, headers: Mapping[str, str] | None = None
) -> Any:
    del body, headers
    return _answer(access, "POST", url)


def _client(access: HttpAccess, bundle: str) -> HttpAccess:
    """Return an access that trusts the certificates of a PEM bundle."""
    if bundle and "-----BEGIN CERTIFICATE-----" not in bundle:
        raise CelError("request failed: failed to parse PEM CA bundle for APICall")
    return access


HTTP = Library(
    "http",
    tuple(
        function(spelled, *overloads)
        for name, overloads in (
            (
                "get",
                (
                    overload(f"{_HTTP_T}.(string) -> any", _get),
                    overload(f"{_HTTP_T}.(string, map<string, string>) -> any", _get),
                ),
            ),
            (
                "post",
                (
                    overload(f"{_HTTP_T}.(string, any) -> any", _http_post),
                    overload(f"{_HTTP_T}.(string, any, map<string, string>) -> any", _http_post),
                ),
            ),
            ("client", (overload(f"{_HTTP_T}.(string) -> {_HTTP_T}", _client),)),
        )
        for spelled in (name, name.capitalize())
    ),
    types=((HttpAccess, _TYPE),),
    variables=(("http", _TYPE),),
)
