"""Documents found in folders, sorted into those that are wanted and those that are left out.

Codes: KV025 a kustomization, KV026 a folder with nothing of what is wanted.
"""

import os
from collections.abc import Callable, Iterable
from typing import NamedTuple

from kyvsim.kube.objects import Json
from kyvsim.load.documents import Loaded
from kyvsim.load.recognise import (
    is_definition,
    is_kustomization,
    is_related,
    looks_like_exception,
    looks_like_object,
    looks_like_policy,
    way_out,
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
                hints.setdefault(document.folder, _hint(document))
            said += _kustomized(document, wanted)
    said += [
        _nothing(folder, wanted, hints.get(folder, ""))
        for folder, hit in hits.items()
        if needed and not hit
    ]
    return tuple(kept), tuple(said)


def _hint(document: Document) -> str:
    """Return `, but KIND: what to do`, for a document that another command takes."""
    return f", but {what_it_is(document)}{way_out(document)}"


def _nothing(folder: str, wanted: Wanted, hint: str) -> Diagnostic:
    text = f"there is no {wanted.noun} in this folder{hint}"
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
    place = document.locate(())
    return (Diagnostic("KV025", Severity.WARNING, text, place, folded="kustomization"),)
