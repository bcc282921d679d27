"""Converts texts to documents: splits, parses and types them like Kubernetes, and expands lists.

Codes: KV006 malformed YAML, KV007 bad document separator, KV008 text after the end of a document,
KV009 a file without documents, KV024 a Helm template, KV027 a malformed list, KV044 a document that
a comment hides.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import NamedTuple

from kyvsim.kubernetes.discovery import is_builtin, kind_of_plural, plural, split_api_version
from kyvsim.kubernetes.objects import Json, JsonMap, KubernetesObject, Path, metadata, text_field
from kyvsim.load.files import STDIN_NAME, Source, read_sources
from kyvsim.load.folders import USUAL, Walking
from kyvsim.load.recognise import (
    error_text,
    helm_template,
    is_mapping,
    templated_path,
    without_comments,
)
from kyvsim.load.structure import check, diagnostics, load_schemas
from kyvsim.model.diagnostic import Diagnostic, Severity, error_about, error_in
from kyvsim.model.source import Document, Location
from kyvsim.schema.node import SchemaNode
from kyvsim.yaml.document import Keys, YamlError, read_first
from kyvsim.yaml.text import (
    DocumentText,
    TextRange,
    cut_list,
    find_position,
    read_text,
    split_chunks,
)

# Codes: KV097 an unusable AdmissionReview, KV098 one that contradicts its object.

_NEEDS: Mapping[str, tuple[str, ...]] = {
    "CREATE": ("object",),
    "UPDATE": ("object", "oldObject"),
    "DELETE": ("oldObject",),
    "CONNECT": ("object",),
}
"""The objects of each operation; the first is the object of the request."""
_OBJECTS = ("object", "oldObject")

_UNQUOTED = re.compile(r"(?:^|[:-]\s|[\[,])\s*\{\{")
_QUOTE_IT = (
    "note: YAML reads `{{` at the start of a value as a map: put the whole value in quotes, such "
    'as `key: "{{ request.name }}"`'
)


_TAG = re.compile(r"^[ -]*!\w+:\s", re.MULTILINE)
_NO_TAG = (
    "note: `!` at the start of a key is a tag of YAML: for a field that must be missing, write "
    '`X(key): "null"`'
)


@cache
def _schema() -> SchemaNode:
    return load_schemas("admission-review.json")["admission.k8s.io/AdmissionReview"]


def reviewed(
    document: Document, holds_others: Callable[[object], bool]
) -> tuple[Document | None, tuple[Diagnostic, ...]]:
    """Return the object of a review, with its request, or None and errors.

    `holds_others` returns whether data contains other objects, as a list does.

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
        text = f"an AdmissionReview for {operation} must have `request.{missing}`"
        return None, (error_in(document, "KV097", text, ("request",)),)
    several = next((name for name in needed if holds_others(request[name])), None)
    if several:
        kind = request[several]["kind"]
        text = f"a review must have one object, but `request.{several}` is of kind {kind}"
        return None, (error_in(document, "KV097", text, ("request", several)),)
    placed = {**request, **{name: _placed(request, name) for name in _OBJECTS if request.get(name)}}
    own = document.within(("request", needed[0]), placed[needed[0]])
    contradictions = (
        Diagnostic("KV098", Severity.WARNING, text, document.locate(("request", *path)))
        for name in _OBJECTS
        if request.get(name)
        for path, text in _contradictions(request, name)
    )
    return own._replace(review=placed), tuple(contradictions)


def _contradictions(request: JsonMap, name: str) -> Iterator[tuple[Path, str]]:
    """Yield contradictions between a request and its object, with their paths.

    An API server uses kind and resource of the decoded object, and rejects a different name or
    namespace. upstream: k8s.io/apiserver pkg/endpoints/handlers/rest.go `checkName`,
    pkg/registry/rest/create.go `EnsureObjectNamespaceMatchesRequestNamespace`
    """
    obj = request[name]
    group, version = split_api_version(text_field(obj, "apiVersion"))
    kind = text_field(obj, "kind")
    if not kind:
        return
    its_kind = f"`request.{name}` is of kind `{_named(group, version, kind)}`"
    stated = request.get("kind")
    if stated and _texts(stated, "group", "version", "kind") != (group, version, kind):
        shown = _named(*_texts(stated, "group", "version", "kind"))
        yield ("kind",), f"`request.kind` is `{shown}`, but {its_kind}, which is used"
    resource = request.get("resource")
    if resource and not request.get("subResource"):
        place, plural_name = _texts(resource, "group", "resource")
        known = kind_of_plural(place, plural_name)
        differs = known != kind if known else is_builtin(group, kind)
        if differs or place != group or text_field(resource, "version") != version:
            shown = _named(*_texts(resource, "group", "version", "resource"))
            served = _named(group, version, plural(group, kind))
            text = f"`request.resource` is `{shown}`, but {its_kind}"
            yield ("resource",), f"{text}, which is served as `{served}`"
    for field in ("name", "namespace"):
        value, own = text_field(request, field), text_field(metadata(obj), field)
        if value and own and value != own:
            text = f"`request.{field}` is `{value}`, but `request.{name}` has the {field} `{own}`"
            yield (field,), f"{text}: an API server rejects such a request"


def _texts(data: object, *names: str) -> tuple[str, ...]:
    return tuple(text_field(data, name) for name in names)


def _named(group: str, version: str, name: str) -> str:
    return "/".join(filter(None, (group, version, name)))


def _placed(request: JsonMap, name: str) -> KubernetesObject:
    """Return an object of a request in the request's namespace.

    The options of CONNECT have no metadata, and a Pod of a controller has no namespace yet.
    upstream: pkg/utils/admission/resource.go `ConvertResource`
    """
    obj: KubernetesObject = request[name]
    namespace = text_field(request, "namespace")
    if not namespace or text_field(obj, "kind") == "Namespace":
        return obj
    return {**obj, "metadata": {**metadata(obj), "namespace": namespace}}


class Typing(NamedTuple):
    """Options for numbers and duplicate keys."""

    floats: bool = False
    """Parse all numbers as floats, as in resources."""
    keys: Keys = Keys.ONCE
    """Duplicate keys are errors in policies and files of the command line."""


AS_WRITTEN = Typing()
AS_RESOURCES = Typing(floats=True)
STRICT = Typing(keys=Keys.STRICT)
STRICT_FLOATS = Typing(floats=True, keys=Keys.STRICT)

_REVIEW = "AdmissionReview"

Loaded = tuple[tuple[Document, ...], tuple[Diagnostic, ...]]


def read_documents(
    paths: Iterable[str | Source],
    stdin: bytes | None = None,
    typing: Typing = AS_WRITTEN,
    walking: Walking = USUAL,
) -> Loaded:
    """Return the documents of `paths`, in order, and diagnostics."""
    documents: list[Document] = []
    remarks: list[Diagnostic] = []
    empty: dict[tuple[str, bool], bool] = {}
    for source in read_sources(paths, stdin, walking):
        if isinstance(source, Diagnostic):
            remarks.append(source)
            continue
        parsed = tuple(parse_documents(source, typing))
        documents += [document for document in parsed if isinstance(document, Document)]
        remarks += [document for document in parsed if isinstance(document, Diagnostic)]
        # An empty file is an error if it was named, not in a folder.
        place = (source.folder or source.name, bool(source.folder))
        empty[place] = empty.get(place, True) and not parsed
    # With `as_found`, the other files of the folder are not known.
    remarks += [
        empty_file(place, is_folder=is_folder)
        for (place, is_folder), is_empty in empty.items()
        if is_empty and not (walking.as_found and is_folder)
    ]
    return tuple(documents), tuple(remarks)


def empty_file(place: str, *, is_folder: bool = False) -> Diagnostic:
    """Return the error about a file, a folder or standard input without documents."""
    text = "this file contains no document"
    if place == STDIN_NAME:
        text = "standard input is empty: it contains no document"
    elif is_folder:
        text = "the files in this folder contain no document"
    return error_about(place, "KV009", text)


_MOST_KNOWN = 256
"""Maximum number of cached positions."""


class PlaceFinder:
    """Finds positions of paths in one document: its `Document.locate`."""

    __slots__ = ("_is_plain", "_known", "_name", "_of")

    def __init__(self, name: str, of: TextRange, *, is_plain: bool = False) -> None:
        """Set `is_plain` if `read_text` has read the document."""
        self._name = name
        self._of = of
        self._is_plain = is_plain
        # Cached, since all failures of a rule need the same few positions of its policy.
        self._known: dict[Path, Location] = {}

    def __call__(self, path: Path) -> Location:
        """Return the position of the node at a path."""
        location = self._known.get(path)
        if location is None:
            line, column = find_position(self._of.text, path, is_plain=self._is_plain)
            shift = self._of.shift if line == 1 else 0
            location = Location(self._name, line + self._of.line - 1, column + shift)
            if len(self._known) < _MOST_KNOWN:
                self._known[path] = location
        return location

    def line(self, number: int, first: int = 0, last: int | None = None) -> str:
        """Return a line of the file from column `first` (0-based) to `last`, or ""."""
        return self._of.line_of_whole(number, first, last).removesuffix("\r")


def parse_documents(source: Source, typing: Typing = AS_WRITTEN) -> Iterator[Document | Diagnostic]:
    """Yield the documents of a text, and diagnostics.

    Empty documents are omitted; a `List` is replaced by its items. Simple documents are parsed by
    our line-based reader, which is fast and needs no PyYAML, others by libyaml. upstream: ext/yaml
    `SplitDocuments`
    """
    index = 0
    name, folder = source.name, source.folder
    for chunk in split_chunks(source.text, source.line):
        plain = _plain(chunk, typing)
        if plain is not None:
            for data, own, is_plain in plain:
                locate = PlaceFinder(name, own, is_plain=is_plain)
                yield Document(
                    data, name, index, locate, folder, has_no_null_maps=is_plain, line=locate.line
                )
                index += 1
            continue
        for parsed in _parse_chunk(source, chunk, typing):
            for found in (parsed,) if isinstance(parsed, Diagnostic) else _expand(parsed):
                if isinstance(found, Diagnostic):
                    yield found
                    continue
                yield found._replace(number=index)
                index += 1


def _plain(chunk: DocumentText, typing: Typing) -> list[tuple[Json, TextRange, bool]] | None:
    """Return the objects of a simple chunk; None for others.

    Each object has its text range, and whether it is known to contain no null maps.
    """
    text = chunk.text
    if not text or helm_template(text):
        return None
    # Items that are not simple are parsed with merge keys, which strict typing rejects.
    cut = cut_list(text, floats=typing.floats) if typing.keys is Keys.ONCE else None
    if cut is not None and is_list({**cut.envelope, "items": [item.data for item in cut.items]}):
        objects = [
            (
                typed(item.data, cut.envelope),
                item.place._replace(line=item.place.line + chunk.line - 1),
                item.is_plain,
            )
            for item in cut.items
        ]
        return None if any(holds_others(data) for data, _, _ in objects) else objects
    data = read_text(text, floats=typing.floats)
    return None if data is None or holds_others(data) else [(data, chunk.excerpt(), True)]


def _parse_chunk(
    source: Source, chunk: DocumentText, typing: Typing
) -> Iterator[Document | Diagnostic]:
    start = Location(source.name, chunk.line, 1)
    if chunk.bad_separator:
        shown = chunk.bad_separator.strip()
        text = f"bad document separator `{shown}`: everything after it is ignored"
        yield Diagnostic("KV007", Severity.ERROR, text, start)
        return
    if chunk.hidden:
        text = "a comment hides the document: its lines end with CR or NEL, use LF"
        yield Diagnostic("KV044", Severity.ERROR, text, start)
        return
    first = None
    try:
        first = read_first(chunk.text, floats=typing.floats, keys=typing.keys)
    except YamlError as error:
        yield _malformed(source.name, chunk, error)
        # Errors are reported; the data that Kyverno reads despite them is evaluated.
        if typing.keys is Keys.ONCE:
            with suppress(YamlError):
                first = read_first(chunk.text, floats=typing.floats)
    if first is None:
        return
    if first.ignored_line:
        place = Location(source.name, first.ignored_line + chunk.line - 1, 1)
        is_json = chunk.text.lstrip().startswith(("{", "["))
        ended = "the document ends before this line: the rest is ignored"
        message = "text follows after the JSON value" if is_json else ended
        yield Diagnostic("KV008", Severity.ERROR, message, place)
        if is_json:
            return
    if first.data is not None:
        locate = PlaceFinder(source.name, chunk.excerpt())
        templated = templated_path(first.data) if helm_template(chunk.text) else None
        if templated is not None:
            text = "this is an unrendered Helm template: pass the output of `helm template`"
            yield Diagnostic("KV024", Severity.WARNING, text, locate(templated))
        yield Document(first.data, source.name, 0, locate, source.folder, line=locate.line)


def _malformed(name: str, chunk: DocumentText, error: YamlError) -> Diagnostic:
    place = Location(name, error.line + chunk.line - 1 if error.line else 0, error.column)
    if helm_template(without_comments(chunk.text)):
        text = "a Helm template is not YAML: pass the output of `helm template`"
        return Diagnostic("KV024", Severity.ERROR, text, place)
    line = "".join(chunk.text.split("\n")[error.line - 1 : error.line])
    found = error_text(chunk.text, error)
    unquoted = _UNQUOTED.search(line)
    if unquoted:  # the reader stops later, at a colon or at the second brace
        place = place._replace(column=unquoted.end() - 1)
    notes = (_QUOTE_IT,) if unquoted else tuple(_yaml_notes(found, line))
    if _TAG.search(chunk.text):
        notes = (*notes, _NO_TAG)
    return Diagnostic("KV006", Severity.ERROR, found, place, notes)


UNRENDERED = "`${…}` is a variable of another tool: pass the output of `envsubst`"
_CAUSES = (
    (
        "did not find expected alphabetic or numeric character",
        "`*` and `&` begin an alias or anchor in YAML: put a value such as `*:latest` in quotes",
    ),
    ("found character that cannot start any token", "a value that begins so has to be in quotes"),
    (
        "mapping values are not allowed in this context",
        "a value with `: ` has to be in quotes, and fields of one map have the same indentation",
    ),
    (
        "did not find expected key",
        "fields of one map have the same indentation, and nothing follows a closing quote",
    ),
    ("did not find expected '-' indicator", "items of one list have the same indentation"),
)
"""Messages of libyaml, and usual causes, for people who do not know its terms."""


def _yaml_notes(message: str, line: str) -> Iterator[str]:
    if "${" in line:
        yield f"note: {UNRENDERED}"
    elif "\t" not in line:
        yield from (f"note: {cause}" for text, cause in _CAUSES if message.endswith(text))


def is_list(data: object) -> bool:
    """Return whether an object is a `List`, or a typed one (PodList).

    A custom resource may be named `AllowList` and have `items` that are not objects.
    """
    if data.__class__ is not dict:
        return False
    kind = text_field(data, "kind")
    if kind == "List" or not kind.endswith("List") or "items" not in data:
        return kind == "List"
    items = data["items"]
    group, _ = split_api_version(text_field(data, "apiVersion"))
    holds_objects = items.__class__ is list and any(map(is_mapping, items))
    return holds_objects or is_builtin(group, kind.removesuffix("List"))


def holds_others(data: object) -> bool:
    """Return whether a map is a list or a review, which contain objects."""
    kind = text_field(data, "kind")
    if not kind.endswith("List"):  # true of nearly all objects
        return kind == _REVIEW and _is_review(data)
    return is_list(data)


def _is_review(data: object) -> bool:
    """Return whether a map is an AdmissionReview."""
    group, _ = split_api_version(text_field(data, "apiVersion"))
    return text_field(data, "kind") == _REVIEW and group == "admission.k8s.io"


def _expand(document: Document) -> Iterator[Document | Diagnostic]:
    """Yield a document, or the items of a list; items of a typed list inherit its type."""
    pending: list[tuple[Json, Path]] = [(document.data, ())]
    while pending:
        data, prefix = pending.pop()
        if not is_list(data):
            item = document.within(prefix, data) if prefix else document
            if not _is_review(data):
                yield item
                continue
            obj, problems = reviewed(item, holds_others)
            yield from problems
            if obj is not None:
                yield obj
            continue
        items, place = data.get("items"), (*prefix, "items")
        if items.__class__ is not list:
            text = f"`items` of a {data['kind']} must be a list: it is ignored"
            yield error_in(document, "KV027", text, place)
            continue
        if not items:
            text = f"the {data['kind']} is empty"
            yield Diagnostic("KV027", Severity.WARNING, text, document.locate(place))
        listed = [(child, (*place, n)) for n, child in enumerate(items)]
        for index, (child, where) in enumerate(listed):
            if not is_mapping(child):
                text = f"item {index} of the list is not an object: it is ignored"
                yield error_in(document, "KV027", text, where)
        pending.extend(
            (typed(child, data), where) for child, where in listed[::-1] if is_mapping(child)
        )


def typed(item: KubernetesObject, parent: KubernetesObject) -> KubernetesObject:
    """Return an item of a list with its inherited type."""
    kind = parent["kind"].removesuffix("List")
    if not kind or item.get("kind"):
        return item
    return {"apiVersion": text_field(parent, "apiVersion"), "kind": kind, **item}
