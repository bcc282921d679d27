"""Resources: documents with the type and the namespace that the API server would see.

Also payloads, definitions of custom resources, and what of a folder is left out.
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
from kyvsim.kubernetes.objects import MAP_FIELDS, Json, Path, text_field
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
    is_definition,
    is_kustomization,
    is_related,
    looks_like_exception,
    looks_like_object,
    looks_like_policy,
    what_it_is,
)
from kyvsim.model.diagnostic import Diagnostic, Severity, left_out
from kyvsim.model.request import Payload, PayloadMode
from kyvsim.model.source import Document, Location
from kyvsim.yaml.document import copy_tree

# Documents found in folders, sorted into those that are wanted and those that are left out.
#
# Codes: KV025 a kustomization, KV026 a folder with nothing of what is wanted.


class InputKind(NamedTuple):
    """What is looked for in folders."""

    noun: str
    fits: Callable[[Json], bool]
    """Whether a document is of this sort or means to be: then its errors are reported."""


POLICIES = InputKind("policy", looks_like_policy)
EXCEPTIONS = InputKind("policy exception", looks_like_exception)
OBJECTS = InputKind("resource", looks_like_object)
DEFINITIONS = InputKind("CustomResourceDefinition", is_definition)


def partition_by_kind(
    documents: Iterable[Document], wanted: InputKind, *, needed: bool = True
) -> Loaded:
    """Return the documents that were named or are of the wanted sort, and diagnostics of others.

    Who names a folder does not say that all in it is of one sort; who names a file does. A folder
    with nothing of what is wanted is an error where that is `needed`.
    """
    kept: list[Document] = []
    said: list[Diagnostic] = []
    hits: dict[str, bool] = {}
    hints: dict[str, str] = {}
    for document in documents:
        if not document.folder:
            kept.append(document)
            continue
        fits = wanted.fits(document.data) and not is_kustomization(document)
        hits[document.folder] = hits.get(document.folder, False) or fits
        if fits:
            kept.append(document)
        else:
            said.append(left_out(what_it_is(document), document.locate(())))
            if is_related(document.data):
                hints.setdefault(
                    document.folder, f", but {what_it_is(document)}{advice_for(document)}"
                )
            said += _kustomized(document, wanted)
    for folder, hit in hits.items():
        if needed and not hit:
            text = f"no {wanted.noun} in this folder{hints.get(folder, '')}"
            said.append(Diagnostic("KV026", Severity.ERROR, text, Location(folder)))
    return tuple(kept), tuple(said)


def _kustomized(document: Document, wanted: InputKind) -> tuple[Diagnostic, ...]:
    """Return that resources beside a kustomization are not what it makes of them."""
    if wanted is not OBJECTS or not is_kustomization(document):
        return ()
    folder = os.path.dirname(document.file) or os.curdir
    text = (
        "unrendered manifests next to a kustomization: use --kustomize, or pass the output of "
        f"`kubectl kustomize {folder}`"
    )
    place = document.locate(())
    return (Diagnostic("KV025", Severity.WARNING, text, place, folded="kustomization"),)


# Resources: documents with the type and the namespace that the API server would see.
#
# Codes: KV020 not an object, KV021 `apiVersion` missing or bad, KV022 `kind` missing or bad, KV097
# an AdmissionReview that is of no use.


def load_resources(
    paths: Iterable[str | Source],
    stdin: bytes | None = None,
    crds: Iterable[Json] = (),
    typing: Typing = AS_RESOURCES,
    *,
    walking: Walking = USUAL,
) -> Loaded:
    """Return the resources that `paths` lead to, and what is wrong with other documents.

    All their numbers are floats, unless `typing` says otherwise. `crds` are definitions that tell
    which further kinds have no namespace; those among the resources do not.
    upstream: cmd/cli/kubectl-kyverno/resource
    """
    objects, remarks = load_objects(paths, stdin, typing, walking)
    kinds = crd_kinds(crds)
    return tuple(completed(one, kinds) for one in objects), remarks


def load_objects(
    paths: Iterable[str | Source],
    stdin: bytes | None = None,
    typing: Typing = AS_WRITTEN,
    walking: Walking = USUAL,
) -> Loaded:
    """Return the objects that `paths` lead to as they are, and what is wrong with the others."""
    documents, remarks = read_documents(paths, stdin, typing, walking)
    wanted, aside = partition_by_kind(documents, OBJECTS, needed=not walking.as_found)
    objects, problems = objects_among(wanted)
    return objects, (*remarks, *aside, *problems)


def unreviewed(documents: Iterable[Document]) -> Iterator[Diagnostic]:
    """Yield an error for each object of an AdmissionReview, where other requests are made of it."""
    for one in documents:
        if one.review is not None:
            text = (
                "an AdmissionReview is not evaluated as a request here: pass its object, "
                "or its file to `kyvsim apply`"
            )
            yield Diagnostic("KV097", Severity.ERROR, text, one.locate(()))


class LoadedText(NamedTuple):
    """The resources of a text, and what is wrong with the rest of it; it may be empty."""

    resources: tuple[Document, ...]
    remarks: tuple[Diagnostic, ...]
    """What is wrong with documents."""
    problems: tuple[Diagnostic, ...]
    """What is wrong with those that are no objects."""


def resources_among(found: Iterable[Document | Diagnostic], kinds: KindTable) -> LoadedText:
    """Return the resources among the documents of a text, complete, as `load_resources` does.

    `kinds` are those of the definitions.
    """
    every = tuple(found)
    objects, problems = objects_among(one for one in every if isinstance(one, Document))
    remarks = tuple(one for one in every if isinstance(one, Diagnostic))
    return LoadedText(tuple(completed(one, kinds) for one in objects), remarks, problems)


def objects_among(documents: Iterable[Document]) -> Loaded:
    """Return the documents that are objects as they are, and what is wrong with the others."""
    objects: list[Document] = []
    problems: list[Diagnostic] = []
    for document in documents:
        problem = _problem(document)
        if problem:
            problems.append(problem)
        else:
            objects.append(document)
    return tuple(objects), tuple(problems)


def _problem(document: Document) -> Diagnostic | None:
    data = document.data
    if data.__class__ is not dict:
        return _error(
            document, "KV020", (), "a resource must be a map with `apiVersion` and `kind`"
        )
    for code, name in (("KV021", "apiVersion"), ("KV022", "kind")):
        value = data.get(name)
        if value is not None and value.__class__ is not str:
            return _error(document, code, (name,), f"`{name}` must be a string")
        if not value:
            text = f"the resource has no `{name}`{advice_for(document)}"
            return _error(document, code, (), text)
    if data["apiVersion"].count("/") > 1:
        message = f"`{data['apiVersion']}` is neither `version` nor `group/version`"
        return _error(document, "KV021", ("apiVersion",), message)
    return None


def _error(document: Document, code: str, path: Path, message: str) -> Diagnostic:
    return Diagnostic(code, Severity.ERROR, message, document.locate(path))


def complete(data: Json, kinds: KindTable) -> Json:
    """Return a resource with its default namespace, and empty maps where maps are null.

    Kinds that are neither built in nor in `kinds` count as namespaced; `data` is left as it is.
    """
    return _without_null_maps(_with_namespace(data, kinds))


def completed(document: Document, kinds: KindTable) -> Document:
    """Return the document of a resource that is complete, itself where nothing is missing."""
    data = document.data
    found = data
    if (
        document.review is None
        or text_field(document.review, "namespace")
        or is_builtin(split_api_version(data["apiVersion"])[0], data["kind"])
        or (split_api_version(data["apiVersion"])[0], data["kind"]) in kinds
    ):
        found = _with_namespace(data, kinds)
    if not document.has_no_null_maps:
        found = _without_null_maps(found)
    return document if found is data else document._replace(data=found)


def _with_namespace(data: Json, kinds: KindTable) -> Json:
    if text_field(data.get("metadata"), "namespace"):
        return data
    group = split_api_version(data["apiVersion"])[0]
    if not is_namespaced(group, data["kind"], kinds):
        return data
    metadata = data.get("metadata", {})
    # upstream: the field is set only where it can be; a null `metadata` stays null.
    if metadata.__class__ is not dict:
        return data
    return {**data, "metadata": {**metadata, "namespace": "default"}}


def _maps(root: Json) -> Iterator[dict[str, Json]]:
    """Yield the maps inside an object that upstream looks at: not those in lists of lists."""
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


def _null_maps(node: dict[str, Json]) -> list[str]:
    if MAP_FIELDS.isdisjoint(node):
        return []
    return [field for field in MAP_FIELDS if field in node and node[field] is None]


def _without_null_maps(data: Json) -> Json:
    """Return `data` with empty maps where maps are null, at any depth."""
    if not any(map(_null_maps, _maps(data))):
        return data
    root = copy_tree(data)
    for node in _maps(root):
        for field in _null_maps(node):
            node[field] = {}
    return root


# Definitions of custom resources: the kinds besides the built-in ones.
#
# Codes: KV075 a file without a definition, KV076 a definition that defines no kind.


def load_definitions(
    paths: Iterable[str | Source], stdin: bytes | None = None, walking: Walking = USUAL
) -> Loaded:
    """Return the CustomResourceDefinitions that `paths` lead to, and what is wrong with the others.

    What stands beside a definition in its file is passed over: installations come as one file.
    """
    documents, remarks = read_documents(paths, stdin, AS_WRITTEN, walking)
    kept, aside = partition_by_kind(documents, DEFINITIONS)
    definitions = tuple(one for one in kept if is_definition(one.data))
    problems: list[Diagnostic] = []
    first: dict[str, Document] = {}
    for one in kept:
        first.setdefault(one.file, one)
    with_definition = {one.file for one in definitions}
    for file, one in first.items():
        if file not in with_definition:
            text = f"expected a CustomResourceDefinition, found {what_it_is(one)}"
            problems.append(Diagnostic("KV075", Severity.ERROR, text, one.locate(())))
    for one in definitions:
        if not crd_kinds((one.data,)):
            text = "the CustomResourceDefinition defines no kind: `spec.names.kind` is missing"
            place = one.locate(("spec", "names"))
            problems.append(Diagnostic("KV076", Severity.ERROR, text, place))
    return definitions, (*remarks, *aside, *problems)


# Files with payloads: one map each, in JSON or YAML.
#
# Codes: KV152 a payload that cannot be used.
#
# upstream: cmd/cli/kubectl-kyverno/payload, processor/authz_processor.go


def read_payloads(
    paths: Iterable[tuple[PayloadMode, str | Source]],
) -> tuple[tuple[Payload, ...], tuple[Diagnostic, ...]]:
    """Return the payloads of files, and what is wrong with the others.

    Numbers of JSON are doubles; in YAML, whole ones are ints.
    """
    found: list[Payload] = []
    said: list[Diagnostic] = []
    for mode, path in paths:
        name = path.name if isinstance(path, Source) else path
        is_json = name.endswith(".json")
        if not is_json and (mode is not PayloadMode.JSON or not name.endswith((".yaml", ".yml"))):
            wanted = "JSON or YAML (.json, .yaml, .yml)" if mode is PayloadMode.JSON else "JSON"
            said.append(_unusable(name, f"its file extension must be that of {wanted}"))
            continue
        documents, remarks = read_documents((path,), None, STRICT_FLOATS if is_json else STRICT)
        said += remarks
        if len(documents) == 1 and documents[0].data.__class__ is dict:
            found.append(Payload(mode, documents[0], name))
        elif not remarks:
            said.append(_unusable(name, "it must be one map"))
    return tuple(found), tuple(said)


def _unusable(name: str, reason: str) -> Diagnostic:
    text = f"not a payload that policies can evaluate: {reason}"
    return Diagnostic("KV152", Severity.ERROR, text, Location(name))
