"""Documents found in folders, sorted into those that are wanted and those that are left out.

Codes: KV025 a kustomization, KV026 a folder with nothing of what is wanted.
"""

import os
from collections.abc import Callable, Iterable

from kyvsim.kube.objects import Json
from kyvsim.light.named_tuple import NamedTuple
from kyvsim.load.documents import Loaded
from kyvsim.load.recognise import (
    is_definition,
    is_kustomization,
    looks_like_exception,
    looks_like_object,
    looks_like_policy,
    what_it_is,
)
from kyvsim.model.diagnostic import Diagnostic, Severity, left_out
from kyvsim.model.source import Document, Location


class Wanted(NamedTuple):
    """What is looked for in folders."""

    noun: str
    fits: Callable[[Json], bool]
    """Whether a document is of this sort or means to be: then what is wrong with it is told."""


POLICIES = Wanted("policy", looks_like_policy)
EXCEPTIONS = Wanted("policy exception", looks_like_exception)
OBJECTS = Wanted("resource", looks_like_object)
DEFINITIONS = Wanted("CustomResourceDefinition", is_definition)


def sorted_out(documents: Iterable[Document], wanted: Wanted, *, needed: bool = True) -> Loaded:
    """Return the documents that were named or are of the sort wanted, and what is told of others.

    Who names a folder does not say that all in it is of one sort; who names a file does. A folder
    with nothing of what is wanted is an error where that is `needed`.
    """
    kept: list[Document] = []
    said: list[Diagnostic] = []
    hits: dict[str, bool] = {}
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
            said += _kustomized(document, wanted)
    said += [_nothing(folder, wanted) for folder, hit in hits.items() if needed and not hit]
    return tuple(kept), tuple(said)


def _nothing(folder: str, wanted: Wanted) -> Diagnostic:
    text = f"there is no {wanted.noun} in this folder"
    return Diagnostic("KV026", Severity.ERROR, text, Location(folder))


def _kustomized(document: Document, wanted: Wanted) -> tuple[Diagnostic, ...]:
    """Return that resources beside a kustomization are not what it makes of them."""
    if wanted is not OBJECTS or not is_kustomization(document):
        return ()
    folder = os.path.dirname(document.file) or os.curdir
    text = (
        "manifests beside a kustomization are read as they are written: "
        f"`kubectl kustomize {folder}` prints what becomes of them"
    )
    return (Diagnostic("KV025", Severity.WARNING, text, document.locate(())),)
