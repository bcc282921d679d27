"""Lookups: objects of the cluster, global context entries, services; generated objects."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from kyvsim.cel.environment import FunctionDecl, Library, method
from kyvsim.cel.errors import CelError
from kyvsim.cel.kyverno.encodings import struct_value
from kyvsim.cel.types import CelType, opaque
from kyvsim.kubernetes.objects import Json, KubernetesObject

# Objects of the cluster.
#
# Source of the rules: upstream kyverno/sdk extensions/cel/libs/resource. In a namespaced policy
# the functions have no namespace argument and use that of the policy.

_RESOURCES = opaque("resource.Context")
_RESOURCE = opaque("schema.GroupVersionResource")
_NOT_OFFLINE = "internal error: not implemented"


class GroupVersionResource(NamedTuple):
    """A resource by its plural name."""

    api_version: str
    resource: str
    cel_type: CelType = _RESOURCE


class ResourceAccess(NamedTuple):
    """The value of the variable `resource`."""

    get: Callable[[str, str, str, str], KubernetesObject | None]
    """Takes apiVersion, plural, namespace and name; returns None if there is no such object."""
    list: Callable[[str, str, str, Mapping[str, str]], Sequence[KubernetesObject]]
    """Takes apiVersion, plural, namespace and labels; both raise LookupError with the reason."""
    namespace: str = ""
    """The namespace of a namespaced policy."""
    plural_of: Callable[[str, str], str] | None = None
    """Takes apiVersion and kind, returns the plural; raises LookupError with the reason.

    None without a cluster: upstream's fake cluster panics then (fake_context.go).
    """
    cel_type: CelType = _RESOURCES


def _resources_get(
    access: ResourceAccess, api_version: str, resource: str, *place: str
) -> KubernetesObject | None:
    within = place[0] if len(place) > 1 else access.namespace
    try:
        return access.get(api_version, resource, within, place[-1])
    except LookupError as error:
        raise CelError(f"failed to get resource: {error}") from None


def _list(access: ResourceAccess, api_version: str, resource: str, *place: Any) -> object:
    labels = place[-1] if place and isinstance(place[-1], dict) else {}
    namespace = place[0] if place and place[0] is not labels else access.namespace
    try:
        return {"items": [*access.list(api_version, resource, namespace, labels)]}
    except LookupError as error:
        raise CelError(f"failed to list resource: {error}") from None


def _cluster_post(*_: object) -> NoReturn:
    raise CelError(_NOT_OFFLINE)


def _to_resource(access: ResourceAccess, api_version: str, kind: str) -> GroupVersionResource:
    if access.plural_of is None:
        raise CelError(_NOT_OFFLINE)
    try:
        return GroupVersionResource(api_version, access.plural_of(api_version, kind))
    except LookupError as error:
        raise CelError(f"failed to map kind to resource: {error}") from None


_TEXTS = "map<string, string>"
_OBJECT = "map<string, any>"


def _by_kind(run: Callable[..., object]) -> Callable[..., object]:
    return lambda access, kind, *rest: run(access, kind.api_version, kind.resource, *rest)


def _in_both_spellings(signature: str, run: Callable[..., object]) -> Iterator[FunctionDecl]:
    """Yield a method whose name begins with a capital letter, and the same in lower case."""
    receiver, _, rest = signature.partition(".Context.")
    for spelled in (rest, f"{rest[0].lower()}{rest[1:]}"):
        yield method(f"{receiver}.Context.{spelled}", run)


def _resources_library(place: str) -> Library:
    """Return the functions on resources; `place` is the argument for a namespace, or ""."""
    name, kind = f"string, string{place}", f"{_RESOURCE}{place}"
    declared: tuple[tuple[str, Callable[..., object]], ...] = (
        (f"Get({name}, string) -> {_OBJECT}", _resources_get),
        (f"Get({kind}, string) -> {_OBJECT}", _by_kind(_resources_get)),
        (f"List({name}) -> {_OBJECT}", _list),
        (f"List({name}, {_TEXTS}) -> {_OBJECT}", _list),
        (f"List({kind}) -> {_OBJECT}", _by_kind(_list)),
        (f"List({kind}, {_TEXTS}) -> {_OBJECT}", _by_kind(_list)),
        *(
            (f"Post(string, string{within}, {_OBJECT}) -> {_OBJECT}", _cluster_post)
            for within in dict.fromkeys((place, ""))
        ),
        (f"ToGVR(string, string) -> {_RESOURCE}", _to_resource),
    )
    return Library(
        "resources",
        tuple(
            one
            for signature, run in declared
            for one in _in_both_spellings(f"{_RESOURCES}.{signature}", run)
        ),
        types=((ResourceAccess, _RESOURCES), (GroupVersionResource, _RESOURCE)),
        variables=(("resource", _RESOURCES),),
    )


CLUSTER_RESOURCES = _resources_library(", string")
NAMESPACED_RESOURCES = _resources_library("")

# Data of GlobalContextEntries.
#
# Source of the rules: upstream kyverno/sdk extensions/cel/libs/globalcontext.

_GLOBAL_CONTEXT = opaque("globalcontext.Context")


class GlobalContextAccess(NamedTuple):
    """The value of the variable `globalContext`."""

    data_of: Callable[[str, str], Json]
    """Takes the name of an entry and of a projection, "" for none; raises LookupError with the
    reason if a known entry has an error; returns None for an unknown entry."""
    cel_type: CelType = _GLOBAL_CONTEXT


def _global_context_get(access: GlobalContextAccess, name: str, projection: str = "") -> object:
    try:
        return access.data_of(name, projection)
    except LookupError as error:
        raise CelError(f"failed to get global reference: {error}") from None


GLOBAL_CONTEXT = Library(
    "global context",
    tuple(
        one
        for given in ("string", "string, string")
        for one in _in_both_spellings(f"{_GLOBAL_CONTEXT}.Get({given}) -> dyn", _global_context_get)
    ),
    types=((GlobalContextAccess, _GLOBAL_CONTEXT),),
    variables=(("globalContext", _GLOBAL_CONTEXT),),
)

# Objects that a policy generates.
#
# Source of the rules: upstream kyverno/sdk extensions/cel/libs/generator. In a namespaced policy
# the function has no namespace argument.

_GENERATOR = opaque("generator.Context")


class Generator(NamedTuple):
    """The value of the variable `generator`."""

    apply: Callable[[str, list[Json]], None]
    """Takes a namespace and objects as plain data; raises ValueError with the reason."""
    namespace: str = ""
    """The namespace of a namespaced policy."""
    cel_type: CelType = _GENERATOR


def _apply(
    generator: Generator, namespace: str, objects: list[object], *, argument: int = 2
) -> bool:
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
    signature = f"{_GENERATOR}.Apply({arguments}list<map<string, any>>) -> bool"
    return Library(
        "generator",
        tuple(_in_both_spellings(signature, run)),
        types=((Generator, _GENERATOR),),
        variables=(("generator", _GENERATOR),),
    )


CLUSTER_GENERATOR = _generator_library("string, ", _apply)
NAMESPACED_GENERATOR = _generator_library(
    "", lambda generator, objects: _apply(generator, generator.namespace, objects, argument=1)
)

# Calls of services.
#
# Source of the rules: upstream kyverno/sdk extensions/cel/libs/http. kyvsim never calls services:
# responses are mocked, or the call is an error.

_HTTP = opaque("http.Context")


class HttpAccess(NamedTuple):
    """The value of the variable `http`."""

    answer_of: Callable[[str, str], Json]
    """Takes method and URL; raises LookupError with the reason if there is no mock."""
    cel_type: CelType = _HTTP


def _answers(method: str) -> Callable[..., object]:
    """Return the function of a method; mocks are found by method and URL, not by headers."""

    def answer(access: HttpAccess, url: str, *_: object) -> object:
        try:
            return access.answer_of(method, url)
        except LookupError as error:
            raise CelError(f"request failed: {error}") from None

    return answer


def _client(access: HttpAccess, bundle: str) -> HttpAccess:
    """Return an access that trusts the certificates of a PEM bundle."""
    if bundle and "-----BEGIN CERTIFICATE-----" not in bundle:
        raise CelError("request failed: failed to parse PEM CA bundle for APICall")
    return access


HTTP = Library(
    "http",
    tuple(
        one
        for signature, run in (
            ("Get(string) -> any", _answers("GET")),
            (f"Get(string, {_TEXTS}) -> any", _answers("GET")),
            ("Post(string, any) -> any", _answers("POST")),
            (f"Post(string, any, {_TEXTS}) -> any", _answers("POST")),
            (f"Client(string) -> {_HTTP}", _client),
        )
        for one in _in_both_spellings(f"{_HTTP}.{signature}", run)
    ),
    types=((HttpAccess, _HTTP),),
    variables=(("http", _HTTP),),
)
