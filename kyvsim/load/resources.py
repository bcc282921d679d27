"""Resources with type and namespace as completed by the API server.

Also payloads, CustomResourceDefinitions, and ignored documents in folders.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from kyvsim.kubernetes.discovery import (
    KindTable,
    crd_kinds,
    is_builtin,
    is_namespaced,
    split_api_version,
)
from kyvsim.kubernetes.objects import MAP_FIELDS, JsonMap, KubernetesObject, Path, text_field
from kyvsim.load.documents import (
    AS_RESOURCES,
    AS_WRITTEN,
    STRICT,
    STRICT_FLOATS,
    Loaded,
    Typing,
    read_documents,
)
from kyvsim.load.files import Source
from kyvsim.load.folders import USUAL, Walking
from kyvsim.load.recognise import (
    advice_for,
    description_of,
    is_definition,
    is_kustomization,
    is_related,
    looks_like_exception,
    looks_like_object,
    looks_like_policy,
    patch_files,
)
from kyvsim.model.diagnostic import Diagnostic, Severity, error_about, error_in, left_out
from kyvsim.model.request import Payload, PayloadMode
from kyvsim.model.source import Document
from kyvsim.yaml.document import copy_tree

# Codes: KV025 a kustomization, KV026 a folder without the requested documents.


class InputKind(NamedTuple):
    """A kind of documents in folders."""

    noun: str
    fits: Callable[[object], bool]
    """Whether a document is, or was meant to be, of this kind."""


POLICIES = InputKind("policy", looks_like_policy)
EXCEPTIONS = InputKind("policy exception", looks_like_exception)
OBJECTS = InputKind("resource", looks_like_object)
DEFINITIONS = InputKind("CustomResourceDefinition", is_definition)


def partition_by_kind(
    documents: Iterable[Document], kind: InputKind, *, needed: bool = True
) -> Loaded:
    """Return the documents of a kind or named files, and diagnostics for others.

    Documents in a folder may be of any kind. A folder without matching ones is an error if
    `needed`.
    """
    kept: list[Document] = []
    diagnostics: list[Diagnostic] = []
    fitting: dict[str, bool] = {}
    hints: dict[str, str] = {}
    documents = tuple(documents)
    patches = patch_files(documents) if kind is POLICIES else frozenset()
    for document in documents:
        if not document.folder:
            kept.append(document)
            continue
        if os.path.abspath(document.file) in patches:
            diagnostics.append(left_out("a patch of a kustomization", document.locate(())))
            continue
        fits = kind.fits(document.data) and not is_kustomization(document)
        fitting[document.folder] = fitting.get(document.folder, False) or fits
        if fits:
            kept.append(document)
        else:
            diagnostics.append(left_out(description_of(document), document.locate(())))
            if is_related(document.data):
                hints.setdefault(
                    document.folder, f", but {description_of(document)}{advice_for(document)}"
                )
            changes = kind is OBJECTS or (kind is POLICIES and patch_files([document]))
            if changes and is_kustomization(document):
                parent = os.path.dirname(document.file) or os.curdir
                text = (
                    "unrendered manifests next to a kustomization: use --kustomize, or pass the "
                    f"output of `kubectl kustomize {parent}`"
                )
                place = document.locate(())
                diagnostics.append(
                    Diagnostic("KV025", Severity.WARNING, text, place, folded="kustomization")
                )
    for folder, has_fitting in fitting.items():
        if needed and not has_fitting:
            text = f"no {kind.noun} in this folder{hints.get(folder, '')}"
            diagnostics.append(error_about(folder, "KV026", text))
    return tuple(kept), tuple(diagnostics)


# Codes: KV020 not an object, KV021 `apiVersion` missing or bad, KV022 `kind` missing or bad, KV097
# an unusable AdmissionReview.


def load_resources(
    paths: Iterable[str | Source],
    stdin: bytes | None = None,
    crds: Iterable[KubernetesObject] = (),
    typing: Typing = AS_RESOURCES,
    *,
    walking: Walking = USUAL,
) -> Loaded:
    """Return the resources of `paths`, and diagnostics.

    All numbers are floats by default. `crds` define which kinds have namespaces. upstream:
    cmd/cli/kubectl-kyverno/resource
    """
    objects, remarks = load_objects(paths, stdin, typing, walking)
    kinds = crd_kinds(crds)
    return tuple(completed(document, kinds) for document in objects), remarks


def load_objects(
    paths: Iterable[str | Source],
    stdin: bytes | None = None,
    typing: Typing = AS_WRITTEN,
    walking: Walking = USUAL,
) -> Loaded:
    """Return the unmodified objects of `paths`, and diagnostics."""
    documents, remarks = read_documents(paths, stdin, typing, walking)
    kept, aside = partition_by_kind(documents, OBJECTS, needed=not walking.as_found)
    objects, problems = objects_among(kept)
    return objects, (*remarks, *aside, *problems)


def unreviewed(documents: Iterable[Document]) -> Iterator[Diagnostic]:
    """Yield an error for each AdmissionReview, whose request cannot be evaluated here."""
    for document in documents:
        if document.review is not None:
            text = (
                "an AdmissionReview is not evaluated as a request here: pass its object, "
                "or its file to `kyvsim apply`"
            )
            yield error_in(document, "KV097", text)


class LoadedText(NamedTuple):
    """The resources of a text, with diagnostics; it may be empty."""

    resources: tuple[Document, ...]
    remarks: tuple[Diagnostic, ...]
    """Diagnostics of parsing."""
    problems: tuple[Diagnostic, ...]
    """Errors about documents that are not objects."""


def resources_among(documents: Iterable[Document | Diagnostic], kinds: KindTable) -> LoadedText:
    """Return the resources in the documents of a text, given the kinds of CRDs."""
    every = tuple(documents)
    objects, problems = objects_among(one for one in every if isinstance(one, Document))
    remarks = tuple(document for document in every if isinstance(document, Diagnostic))
    return LoadedText(tuple(completed(document, kinds) for document in objects), remarks, problems)


def objects_among(documents: Iterable[Document]) -> Loaded:
    """Return the documents that are objects, and errors for others."""
    objects: list[Document] = []
    problems: list[Diagnostic] = []
    for document in documents:
        problem = _problem(document)
        if problem:
            code, path, text = problem
            problems.append(error_in(document, code, text, path))
        else:
            objects.append(document)
    return tuple(objects), tuple(problems)


def _problem(document: Document) -> tuple[str, Path, str] | None:
    data = document.data
    if data.__class__ is not dict:
        return "KV020", (), "a resource must be a map with `apiVersion` and `kind`"
    for code, name in (("KV021", "apiVersion"), ("KV022", "kind")):
        value = data.get(name)
        if value is not None and value.__class__ is not str:
            return code, (name,), f"`{name}` must be a string"
        if not value:
            return code, (), f"the resource has no `{name}`{advice_for(document)}"
    if data["apiVersion"].count("/") > 1:
        text = f"`{data['apiVersion']}` is neither `version` nor `group/version`"
        return "KV021", ("apiVersion",), text
    return None


def completed(document: Document, kinds: KindTable) -> Document:
    """Return a resource with its default namespace, and empty maps instead of nulls.

    Kinds that are neither built in nor in `kinds` are namespaced. The data is not mutated.
    """
    data = document.data
    complete = data
    kind = (split_api_version(data["apiVersion"])[0], data["kind"])
    if (
        document.review is None
        or text_field(document.review, "namespace")
        or is_builtin(*kind)
        or kind in kinds
    ):
        complete = _with_namespace(data, kinds)
    if not document.has_no_null_maps and any(map(_null_maps, _maps(data))):
        complete = copy_tree(complete)
        for node in _maps(complete):
            for field in _null_maps(node):
                node[field] = {}
    return document if complete is data else document._replace(data=complete)


def _with_namespace(data: KubernetesObject, kinds: KindTable) -> KubernetesObject:
    if text_field(data.get("metadata"), "namespace"):
        return data
    group = split_api_version(data["apiVersion"])[0]
    if not is_namespaced(group, data["kind"], kinds):
        return data
    metadata = data.get("metadata", {})
    # upstream: the field is only set if possible; a null `metadata` is kept.
    if metadata.__class__ is not dict:
        return data
    return {**data, "metadata": {**metadata, "namespace": "default"}}


def _maps(root: object) -> Iterator[dict[str, object]]:
    """Yield the maps in an object, except in nested lists, as upstream does."""
    pending = [root]
    for node in pending:
        if node.__class__ is not dict:
            continue
        yield node
        for child in node.values():
            if child.__class__ is dict:
                pending.append(child)
            elif child.__class__ is list:
                pending += child


def _null_maps(node: JsonMap) -> list[str]:
    if MAP_FIELDS.isdisjoint(node):
        return []
    return [field for field in MAP_FIELDS if field in node and node[field] is None]


# Codes: KV075 a file without a CRD, KV076 a CRD that does not define a kind.


def load_definitions(
    paths: Iterable[str | Source], stdin: bytes | None = None, walking: Walking = USUAL
) -> Loaded:
    """Return the CustomResourceDefinitions of `paths`, and diagnostics.

    Other objects next to a definition are ignored, as in installation manifests.
    """
    documents, remarks = read_documents(paths, stdin, AS_WRITTEN, walking)
    kept, aside = partition_by_kind(documents, DEFINITIONS)
    definitions = tuple(document for document in kept if is_definition(document.data))
    problems: list[Diagnostic] = []
    first: dict[str, Document] = {}
    for document in kept:
        first.setdefault(document.file, document)
    with_definition = {document.file for document in definitions}
    for file, document in first.items():
        if file not in with_definition:
            text = f"expected a CustomResourceDefinition, found {description_of(document)}"
            problems.append(error_in(document, "KV075", text))
    for document in definitions:
        if not crd_kinds((document.data,)):
            text = "the CustomResourceDefinition defines no kind: `spec.names.kind` is missing"
            problems.append(error_in(document, "KV076", text, ("spec", "names")))
    return definitions, (*remarks, *aside, *problems)


# Codes: KV152 an unusable payload.
# upstream: cmd/cli/kubectl-kyverno/payload, processor/authz_processor.go


def read_payloads(
    paths: Iterable[tuple[PayloadMode, str | Source]],
) -> tuple[tuple[Payload, ...], tuple[Diagnostic, ...]]:
    """Return the payloads of files, and diagnostics.

    Numbers in JSON are doubles; in YAML, integers are ints.
    """
    payloads: list[Payload] = []
    diagnostics: list[Diagnostic] = []
    for mode, path in paths:
        name = path.name if isinstance(path, Source) else path
        is_json = name.endswith(".json")
        if not is_json and (mode is not PayloadMode.JSON or not name.endswith((".yaml", ".yml"))):
            formats = "JSON or YAML (.json, .yaml, .yml)" if mode is PayloadMode.JSON else "JSON"
            diagnostics.append(_unusable(name, f"its file extension must be that of {formats}"))
            continue
        documents, remarks = read_documents((path,), None, STRICT_FLOATS if is_json else STRICT)
        diagnostics += remarks
        if len(documents) == 1 and documents[0].data.__class__ is dict:
            payloads.append(Payload(mode, documents[0], name))
        elif not remarks:
            diagnostics.append(_unusable(name, "it must be one map"))
    return tuple(payloads), tuple(diagnostics)


def _unusable(name: str, reason: str) -> Diagnostic:
    return error_about(name, "KV152", f"not a payload that policies can evaluate: {reason}")
