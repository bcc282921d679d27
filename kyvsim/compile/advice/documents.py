"""What is to be said of documents beside each other, policies or not."""

from collections.abc import Iterable, Iterator

from kyvsim.compile.advice.remark import warn
from kyvsim.kube.gvk import split_api_version
from kyvsim.kube.objects import Json, metadata, text_field
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.source import Document

_SUCCEEDED = frozenset(
    f"kyverno.io/v2beta1/{kind}"
    for kind in ("CleanupPolicy", "ClusterCleanupPolicy", "PolicyException")
)
"""upstream: api/kyverno/v2beta1, the markers `deprecatedversion`"""


def deprecated_versions(documents: Iterable[Document]) -> Iterator[Diagnostic]:
    """KV203: an apiVersion that a newer one of the same shape has replaced."""
    for document in documents:
        version, kind = (text_field(document.data, name) for name in ("apiVersion", "kind"))
        if f"{version}/{kind}" in _SUCCEEDED:
            text = f"{version} of {kind} is deprecated: use kyverno.io/v2"
            yield warn(document, "KV203", text, ("apiVersion",))


def duplicate_names(documents: Iterable[Document]) -> Iterator[Diagnostic]:
    """KV208: two objects of one kind, namespace and name: in a cluster the later one replaces."""
    seen: dict[tuple[str, ...], Document] = {}
    for document in documents:
        name = text_field(metadata(document.data), "name")
        first = seen.setdefault(_identity(document.data, name), document)
        if name and (first.file, first.number) != (document.file, document.number):
            kind = text_field(document.data, "kind")
            text = f"{kind} `{name}` stands in {first.locate(())} already: one replaces the other"
            yield warn(document, "KV208", text, ("metadata", "name"))


def _identity(data: Json, name: str) -> tuple[str, ...]:
    group = split_api_version(text_field(data, "apiVersion"))[0]
    return group, text_field(data, "kind"), text_field(metadata(data), "namespace"), name
