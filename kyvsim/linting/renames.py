"""Names that kustomize changes, and references of Kyverno's objects to them, which it leaves."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kyvsim.engine.compile.compiled import warn
from kyvsim.kubernetes.objects import Json, Path, entries, object_key, text_field, value_at
from kyvsim.linting.lookups import named_objects
from kyvsim.linting.runs import Kustomized
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import CelException, Policy, PolicyException
from kyvsim.model.source import Document

_CONFIGURING = ("configurations", "transformers", "components", "replacements", "vars")
"""Fields by which a kustomization may change references, too."""


class _Reference(NamedTuple):
    document: Document
    path: Path
    kinds: tuple[str, ...]
    name: str


def lost_names(
    given: Iterable[Kustomized],
    policies: Iterable[Policy],
    exceptions: Iterable[PolicyException],
    cel_exceptions: Iterable[CelException],
) -> Iterator[Diagnostic]:
    """KV369: a reference to an object whose name a kustomization changes.

    upstream: sigs.k8s.io/kustomize api/internal/konfig/builtinpluginconsts/namereference.go, which
    lists the fields with names; none is of Kyverno's kinds
    """
    every = [*_references(policies, exceptions, cel_exceptions)] if given else []
    for one in given:
        renamed = _renamed(one) if every else {}
        files = {document.file for document in one.documents}
        for ref in every if renamed else ():
            kind = next((kind for kind in ref.kinds if (kind, ref.name) in renamed), "")
            if kind and ref.document.file in files:
                field, name = renamed[kind, ref.name]
                text = (
                    f"`{field}` of {one.kustomization.file} makes `{name}` of `{ref.name}`, but "
                    f"kustomize does not know that this is the name of a {kind}: list the field in "
                    "a `nameReference` of its `configurations`"
                )
                yield warn(ref.document, "KV369", text, ref.path)


def _renamed(given: Kustomized) -> dict[tuple[str, str], tuple[str, str]]:
    """Return by kind and name which field of a kustomization gives which new name."""
    data = given.kustomization.data
    if any(data.get(field) for field in _CONFIGURING):
        return {}
    prefix, suffix = (text_field(data, field) for field in ("namePrefix", "nameSuffix"))
    found = {}
    for document in given.documents if prefix or suffix else ():
        key = object_key(document.data)
        field = "namePrefix" if prefix else "nameSuffix"
        found[key.kind, key.name] = field, f"{prefix}{key.name}{suffix}"
    for entry in entries(data, "configMapGenerator"):
        own, every = (value_at(one, ("disableNameSuffixHash",)) for one in _options(entry, data))
        name = text_field(entry, "name")
        if not (own or every):
            found["ConfigMap", name] = "configMapGenerator", f"{prefix}{name}{suffix}-HASH"
    return found


def _options(entry: Json, data: Json) -> tuple[Json, Json]:
    return value_at(entry, ("options",)), value_at(data, ("generatorOptions",))


def _references(
    policies: Iterable[Policy],
    exceptions: Iterable[PolicyException],
    cel_exceptions: Iterable[CelException],
) -> Iterator[_Reference]:
    for policy in policies:
        for one in named_objects(policy):
            yield _Reference(one.document, one.path, (one.kind,), one.name)
    documents = [one.document for one in exceptions]
    for document in (*documents, *(one.document for one in cel_exceptions)):
        spec = document.data.get("spec")
        for index, entry in enumerate(value_at(spec, ("exceptions",)) or ()):
            name = text_field(entry, "policyName").rpartition("/")[2]
            path = ("spec", "exceptions", index, "policyName")
            yield _Reference(document, path, ("ClusterPolicy", "Policy"), name)
        for index, entry in enumerate(value_at(spec, ("policyRefs",)) or ()):
            path = ("spec", "policyRefs", index, "name")
            yield _Reference(
                document, path, (text_field(entry, "kind"),), text_field(entry, "name")
            )
