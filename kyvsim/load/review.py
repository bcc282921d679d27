"""AdmissionReviews: what an API server sends to a webhook.

Codes: KV097 an AdmissionReview that is of no use.
"""

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType

from kyvsim.kube.objects import Json, metadata, text_field
from kyvsim.load.structure import check, diagnostics, load_schemas
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.source import Document
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
    return own._replace(review=placed), ()


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
