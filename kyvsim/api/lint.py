"""`lint`: everything that can be said of policy files, without resources."""

import os
from collections.abc import Iterable, Iterator

from kyvsim.api.inputs import objects_of
from kyvsim.api.system import own_system
from kyvsim.compile import CompileOptions
from kyvsim.languages import READERS, doubtful_bindings, lint_policy, unknown_resources
from kyvsim.languages.documents import (
    deprecated_versions,
    duplicate_names,
    expired_exceptions,
)
from kyvsim.languages.idle.runs import of_policies
from kyvsim.load.definitions import load_definitions
from kyvsim.load.documents import STRICT, read_documents
from kyvsim.load.exceptions import load_exceptions
from kyvsim.load.files import Source, read_sources
from kyvsim.load.policy import is_exception, load_bindings, load_policies, sniff
from kyvsim.load.shape import has_known_shape, shape_diagnostics
from kyvsim.load.sorting import POLICIES, sorted_out
from kyvsim.load.walk import USUAL, Walking
from kyvsim.model.diagnostic import Diagnostic, Severity, without_left_out
from kyvsim.model.source import Document
from kyvsim.report.findings import Findings
from kyvsim.schema.native import native_schemas

_NOT_EVALUATED = frozenset({"KV018", "KV019"})
"""What `apply` says of kinds that it makes no use of; `lint` checks them all the same."""


def lint(
    paths: Iterable[str],
    stdin: bytes | None = None,
    crd_paths: Iterable[str] = (),
    walking: Walking = USUAL,
    *,
    changed: frozenset[str] | None = None,
) -> Findings:
    """Return every remark about the policy documents that `paths` lead to, file by file.

    `stdin` holds the bytes that the path `-` stands for; definitions of custom resources tell
    which kinds there are. Documents of kinds that no CRD of Kyverno
    describes are told as `apply` tells them. Of files that are not `changed`, by their real paths,
    nothing is told.
    """
    read = tuple(read_sources(paths, stdin, walking))
    sources = tuple(one for one in read if isinstance(one, Source))
    documents, remarks = read_documents(sources, typing=STRICT, walking=walking)
    unread = tuple(one for one in read if isinstance(one, Diagnostic))
    documents, aside = sorted_out(documents, POLICIES, needed=not walking.as_found)
    options = CompileOptions(own_system())
    definitions, problems = load_definitions(crd_paths, stdin, walking)
    said, left_out = without_left_out((*unread, *remarks, *aside, *problems))
    found = [*said]
    for document in documents:
        found += _remarks(document, options)
    known = tuple(one for one in documents if has_known_shape(one))
    found += [*deprecated_versions(known), *duplicate_names(known)]
    found += expired_exceptions(known, options.system.clock.now())
    wrong = {one.location for one in found if one.severity is Severity.ERROR}
    policies, _ = load_policies(documents, READERS)
    objects = objects_of((*documents, *definitions))
    exceptions, _ = load_exceptions(one for one in documents if is_exception(one.data))
    bindings = load_bindings(documents)[0]
    idle = (
        *of_policies(policies, objects, exceptions.rules),
        *unknown_resources(policies, objects, bindings),
        *doubtful_bindings(bindings, policies),
    )
    found += [one for one in idle if one.location not in wrong]
    if changed is not None:
        found = [one for one in found if os.path.realpath(_file_of(one)) in changed]
        documents = tuple(one for one in documents if os.path.realpath(one.file) in changed)
    texts = {one.name: one.text for one in sources}
    return Findings(_in_order(found), sum(map(_is_looked_at, documents)), left_out, texts)


def _is_looked_at(document: Document) -> bool:
    return has_known_shape(document) or sniff(document.data) in native_schemas()


def _remarks(document: Document, options: CompileOptions) -> Iterator[Diagnostic]:
    policies, loaded = load_policies([document], READERS)
    if has_known_shape(document):
        yield from shape_diagnostics(document)
        loaded = tuple(one for one in loaded if one.code not in _NOT_EVALUATED)
    yield from loaded
    for policy in policies:
        yield from lint_policy(policy, options)


def _in_order(found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return each remark once, by file as first named, then by line and column."""
    once = tuple(dict.fromkeys(found))
    files = {file: index for index, file in reversed([*enumerate(map(_file_of, once))])}
    return tuple(sorted(once, key=lambda one: (files[_file_of(one)], _position(one))))


def _file_of(remark: Diagnostic) -> str:
    return remark.location.file if remark.location else ""


def _position(remark: Diagnostic) -> tuple[int, int, str]:
    place = remark.location
    return (place.line, place.column, remark.code) if place else (0, 0, remark.code)
