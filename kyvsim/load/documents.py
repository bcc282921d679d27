"""Texts to documents: split, parsed and typed as Kubernetes does it, lists taken apart.

Codes: KV006 malformed YAML, KV007 bad document separator, KV008 text after the end of a document,
KV009 a file without documents.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from kyvsim.kube.objects import Json, text_field
from kyvsim.kube.yaml_chunks import Chunk, split_chunks
from kyvsim.kube.yaml_text import YamlError, find_position, load_first
from kyvsim.load.files import Source, read_sources
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.source import Document, Location, Path


class Typing(NamedTuple):
    """How documents are read."""

    floats: bool = False
    """Every number becomes a float, as in resources."""
    strict: bool = False
    """Duplicate keys are errors, as in policies and the files of the command line."""


AS_WRITTEN = Typing()
AS_RESOURCES = Typing(floats=True)
STRICT = Typing(strict=True)

Loaded = tuple[tuple[Document, ...], tuple[Diagnostic, ...]]


def read_documents(
    paths: Iterable[str | Source], stdin: bytes | None = None, typing: Typing = AS_WRITTEN
) -> Loaded:
    """Return the documents that `paths` lead to, in order, and what is wrong with the others."""
    documents: list[Document] = []
    remarks: list[Diagnostic] = []
    named = tuple(paths)
    for source in read_sources(named, stdin):
        if isinstance(source, Diagnostic):
            remarks.append(source)
            continue
        found = tuple(parse_documents(source, typing))
        documents += [one for one in found if isinstance(one, Document)]
        remarks += [one for one in found if isinstance(one, Diagnostic)]
        # In a folder an empty file is no mistake; one that was asked for by name is.
        if not found and source.name in named:
            message = "there is no document in this file"
            remarks.append(Diagnostic("KV009", Severity.ERROR, message, Location(source.name)))
    return tuple(documents), tuple(remarks)


def parse_documents(source: Source, typing: Typing = AS_WRITTEN) -> Iterator[Document | Diagnostic]:
    """Yield the documents of one text, and diagnostics for what is lost of it.

    Documents without content are left out; of a `List` its items are given.
    upstream: ext/yaml `SplitDocuments`
    """
    index = 0
    for chunk in split_chunks(source.text):
        for found in _parse_chunk(source.name, chunk, typing):
            if isinstance(found, Diagnostic):
                yield found
                continue
            for document in _expand(found):
                yield document._replace(number=index)
                index += 1


def _parse_chunk(name: str, chunk: Chunk, typing: Typing) -> Iterator[Document | Diagnostic]:
    if chunk.bad_separator:
        message = (
            f"bad document separator `{chunk.bad_separator.strip()}`: nothing after it is read"
        )
        yield Diagnostic("KV007", Severity.ERROR, message, Location(name, chunk.line, 1))
        return
    try:
        first = load_first(chunk.text, floats=typing.floats, strict=typing.strict)
    except YamlError as error:
        line = error.line + chunk.line - 1 if error.line else 0
        place = Location(name, line, error.column)
        yield Diagnostic("KV006", Severity.ERROR, error.message, place)
        return
    if first.ignored_line:
        place = Location(name, first.ignored_line + chunk.line - 1, 1)
        if chunk.text.lstrip().startswith(("{", "[")):
            message = "text follows after the JSON value"
            yield Diagnostic("KV008", Severity.ERROR, message, place)
            return
        message = "the document has ended before this line: what follows is not read"
        yield Diagnostic("KV008", Severity.WARNING, message, place)
    if first.data is not None:
        yield Document(first.data, name, 0, _locator(name, chunk))


def _locator(name: str, chunk: Chunk) -> Callable[[Path], Location]:
    def locate(path: Path) -> Location:
        line, column = find_position(chunk.text, path)
        return Location(name, line + chunk.line - 1, column)

    return locate


def _is_list(data: Json) -> bool:
    """Return whether an object is a list of objects: a `v1` `List`, or a typed one (PodList)."""
    if data.__class__ is not dict or data.get("items").__class__ is not list:
        return False
    kind = text_field(data, "kind")
    if kind == "List":
        return text_field(data, "apiVersion") == "v1"
    return kind.endswith("List") and all(item.__class__ is dict for item in data["items"])


def _expand(document: Document) -> Iterator[Document]:
    """Yield a document, or the items of a list; items of a typed list inherit its type."""
    pending: list[tuple[Json, Path]] = [(document.data, ())]
    while pending:
        data, prefix = pending.pop()
        if not _is_list(data):
            locate = _under(document, prefix) if prefix else document.locate
            yield Document(data, document.file, 0, locate)
            continue
        items = [
            (_typed(item, data), (*prefix, "items", n)) for n, item in enumerate(data["items"])
        ]
        pending.extend(reversed(items))


def _typed(item: Json, parent: Json) -> Json:
    kind = parent["kind"].removesuffix("List")
    if not kind or item.get("kind"):
        return item
    return {"apiVersion": text_field(parent, "apiVersion"), "kind": kind, **item}


def _under(document: Document, prefix: Path) -> Callable[[Path], Location]:
    return lambda path: document.locate((*prefix, *path))
