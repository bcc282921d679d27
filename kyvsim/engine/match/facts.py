"""What match blocks look at, read from a request once."""

from collections.abc import Mapping
from typing import NamedTuple

from kyvsim.kubernetes.discovery import split_api_version
from kyvsim.kubernetes.objects import (
    Json,
    ObjectKey,
    annotations,
    labels,
    metadata,
    object_key,
    text_field,
)
from kyvsim.model.request import AdmissionRequest, UserInfo


class MatchFacts(NamedTuple):
    """The parts of one request that a match or exclude block can name."""

    group: str
    version: str
    kind: str
    subresource: str
    object_kind: str
    """The object's own kind; `kind` is its parent's where a subresource is mapped."""
    name: str
    namespace: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    namespace_labels: Mapping[str, str]
    operation: str
    user: UserInfo | None
    name_to_come: str = ""
    """How the name will begin that the API server makes; "" for an object that has one."""
    old_labels: Mapping[str, str] | None = None
    """The labels that the object had; None where none was there before, or none is there after."""

    @property
    def key(self) -> ObjectKey:
        """What names the object, or the parent of a subresource."""
        api_version = f"{self.group}/{self.version}" if self.group else self.version
        return ObjectKey(api_version, self.kind, self.namespace, self.name)

    @property
    def namespace_or_own_name(self) -> str:
        """What `namespaces` is compared with: a Namespace lies in itself."""
        return self.name if self.object_kind == "Namespace" else self.namespace


def match_facts(
    request: AdmissionRequest, subject: Json, namespace_labels: Mapping[str, str]
) -> MatchFacts | None:
    """Return the facts about `subject`, an object of the request, or None where it is absent."""
    if not subject:
        return None
    api_version, own_kind, namespace, name = object_key(subject)
    group, version = split_api_version(api_version)
    group, version, kind = request.parent_kind or (group, version, own_kind)
    to_come = "" if name else text_field(metadata(subject), "generateName")
    return MatchFacts(
        group=group,
        version=version,
        kind=kind,
        subresource=request.subresource,
        object_kind=own_kind,
        name=name or to_come,
        namespace=namespace,
        labels=labels(subject),
        annotations=annotations(subject),
        namespace_labels=namespace_labels,
        operation=request.operation.value,
        user=request.user,
        name_to_come=to_come,
        old_labels=labels(request.old_object) if request.object and request.old_object else None,
    )


def facts_after_change(facts: MatchFacts, subject: Json) -> MatchFacts:
    """Return the facts of an object that an earlier rule has changed; its kind stays.

    upstream: pkg/engine/mutation.go, where each rule is matched with what the one before left.
    """
    meta = metadata(subject)
    return facts._replace(
        name=text_field(meta, "name") or text_field(meta, "generateName"),
        namespace=text_field(meta, "namespace"),
        labels=labels(subject),
        annotations=annotations(subject),
    )
