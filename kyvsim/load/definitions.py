"""Definitions of custom resources, which tell what kinds there are besides the built-in ones.

Codes: KV075 a file without a definition, KV076 a definition that defines no kind.
"""

from collections.abc import Iterable, Iterator

from kyvsim.kube.discovery import crd_kinds
from kyvsim.load.documents import AS_WRITTEN, Loaded, read_documents
from kyvsim.load.files import Source
from kyvsim.load.recognise import is_definition, what_it_is
from kyvsim.load.sorting import DEFINITIONS, sorted_out
from kyvsim.load.walking import USUAL, Walking
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.source import Document


def load_definitions(
    paths: Iterable[str | Source], stdin: bytes | None = None, walking: Walking = USUAL
) -> Loaded:
    """Return the CustomResourceDefinitions that `paths` lead to, and what is wrong with the others.

    What stands beside a definition in its file is passed over: installations come as one file.
    """
    documents, remarks = read_documents(paths, stdin, AS_WRITTEN, walking)
    kept, aside = sorted_out(documents, DEFINITIONS)
    definitions = tuple(one for one in kept if is_definition(one.data))
    problems = (*_without(kept), *_of_no_kind(definitions))
    return definitions, (*remarks, *aside, *problems)


def _without(documents: tuple[Document, ...]) -> Iterator[Diagnostic]:
    """Yield KV075 for each file that holds something else only."""
    first: dict[str, Document] = {}
    for one in documents:
        first.setdefault(one.file, one)
    some = {one.file for one in documents if is_definition(one.data)}
    for file, one in first.items():
        if file not in some:
            text = f"there is no CustomResourceDefinition in this file, but {what_it_is(one)}"
            yield Diagnostic("KV075", Severity.ERROR, text, one.locate(()))


def _of_no_kind(definitions: tuple[Document, ...]) -> Iterator[Diagnostic]:
    for one in definitions:
        if not crd_kinds((one.data,)):
            text = "the definition defines no kind: `spec.names.kind` is missing"
            yield Diagnostic("KV076", Severity.ERROR, text, one.locate(("spec", "names")))
