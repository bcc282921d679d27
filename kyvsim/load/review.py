"""AdmissionReviews: what an API server sends to a webhook.

Codes: KV097 an AdmissionReview that is of no use, KV098 one that contradicts its object.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import MappingProxyType

from kyvsim.kube.discovery import is_builtin, kind_of_plural, plural
from kyvsim.kube.gvk import split_api_version
from kyvsim.kube.objects import Json, metadata, text_field
from kyvsim.load.structure import check, diagnostics, load_schemas
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.source import Document, Path
from kyvsim.schema.node import Node

_NEEDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "CREATE": ("object",),
        "UPDATE": ("object", "oldObject"),
        "DELETE": ("oldObject",),
        "CONNECT": ("object",),
    }
)
"""What an API server sends with each operation: the object that the request is about first."""
_OBJECTS = ("object", "oldObject")


@cache
def _schema() -> Node:
    return load_schemas("admission-review.json")["admission.k8s.io/AdmissionReview"]


def reviewed(
    document: Document, holds_others: Callable[[Json], bool]
) -> tuple[Document | None, tuple[Diagnostic, ...]]:
    """Return the object that a review is about, with its request, or None and what is wrong.

    `holds_others` tells of what is no object by itself, such as a list.
    upstream: k8s.io/api admission/v1 `AdmissionRequest`
    """
    review, problems = check(_schema(), document.data)
    if problems:
        return None, diagnostics(document, problems)
    request = review["request"]
    operation = request["operation"]
    needed = _NEEDS[operation]
    missing = next((name for name in needed if not request.get(name)), None)
    if missing:
        text = f"the review of a request to {operation} needs `request.{missing}`"
        return None, (_unusable(document, ("request",), text),)
    several = next((name for name in needed if holds_others(request[name])), None)
    if several:
        kind = request[several]["kind"]
        text = f"a review is about one object: `request.{several}` is of kind {kind}"
        return None, (_unusable(document, ("request", several), text),)
    placed = {**request, **{name: _placed(request, name) for name in _OBJECTS if request.get(name)}}
    own = document.within(("request", needed[0]), placed[needed[0]])
    contradictions = (
        Diagnostic("KV098", Severity.WARNING, text, document.locate(("request", *path)))
        for name in _OBJECTS
        if request.get(name)
        for path, text in _contradictions(request, name)
    )
    return own._replace(review=placed), tuple(contradictions)


def _contradictions(request: Json, name: str) -> Iterator[tuple[Path, str]]:
    """Yield what a request says of an object that the object says differently, and where.

    An API server sends no such request: it takes kind and resource from the object that it decoded,
    and refuses another name or namespace than that of the address.
    upstream: k8s.io/apiserver pkg/endpoints/handlers/rest.go `checkName`,
    pkg/registry/rest/create.go `EnsureObjectNamespaceMatchesRequestNamespace`
    """
    obj = request[name]
    group, version = split_api_version(text_field(obj, "apiVersion"))
    kind = text_field(obj, "kind")
    if not kind:
        return
    its_kind = f"`request.{name}` is of kind `{_named(group, version, kind)}`"
    stated = request.get("kind")
    if stated and _texts(stated, "group", "version", "kind") != (group, version, kind):
        shown = _named(*_texts(stated, "group", "version", "kind"))
        yield ("kind",), f"`request.kind` is `{shown}`, but {its_kind}, which is what counts here"
    resource = request.get("resource")
    if resource and not request.get("subResource"):
        place, plural_name = _texts(resource, "group", "resource")
        known = kind_of_plural(place, plural_name)
        differs = known != kind if known else is_builtin(group, kind)
        if differs or place != group or text_field(resource, "version") != version:
            shown = _named(*_texts(resource, "group", "version", "resource"))
            wanted = _named(group, version, plural(group, kind))
            text = f"`request.resource` is `{shown}`, but {its_kind}"
            yield ("resource",), f"{text}, which is served as `{wanted}`"
    for field in ("name", "namespace"):
        said, own = text_field(request, field), text_field(metadata(obj), field)
        if said and own and said != own:
            text = f"`request.{field}` is `{said}`, but `request.{name}` has the {field} `{own}`"
            yield (field,), f"{text}: an API server refuses such a request"


def _texts(data: Json, *names: str) -> tuple[str, ...]:
    return tuple(text_field(data, name) for name in names)


def _named(group: str, version: str, name: str) -> str:
    return "/".join(filter(None, (group, version, name)))


def _placed(request: Json, name: str) -> Json:
    """Return an object of a request in the request's namespace.

    Options of a connection have no metadata, and a Pod of a controller no namespace yet.
    upstream: pkg/utils/admission/resource.go `ConvertResource`
    """
    obj, namespace = request[name], text_field(request, "namespace")
    if not namespace or text_field(obj, "kind") == "Namespace":
        return obj
    return {**obj, "metadata": {**metadata(obj), "namespace": namespace}}


def _unusable(document: Document, path: tuple[str, ...], text: str) -> Diagnostic:
    return Diagnostic("KV097", Severity.ERROR, text, document.locate(path))
