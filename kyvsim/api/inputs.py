"""The inputs of commands, read from files.

Codes: KV030 a file with none or several documents instead of one, KV035 data that only CEL policies
use.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple, TypeAlias, TypeVar

from kyvsim.api.ignore_comments import IgnoreComments
from kyvsim.engine.world import GivenObjects, World
from kyvsim.kubernetes.discovery import split_api_version
from kyvsim.kubernetes.objects import KubernetesObject, object_key, text_field
from kyvsim.kubernetes.wildcard import matches
from kyvsim.languages import READERS, is_cel_policy, read_binding, usable_payloads
from kyvsim.load.documents import (
    AS_RESOURCES,
    AS_WRITTEN,
    STRICT,
    STRICT_FLOATS,
    Loaded,
    read_documents,
)
from kyvsim.load.files import Source, read_sources
from kyvsim.load.folders import USUAL, Walking, check_patterns
from kyvsim.load.policy import (
    is_exception,
    is_shared_data,
    load_bindings,
    load_exceptions,
    load_policies,
)
from kyvsim.load.recognise import misplaced_inputs, without_policies
from kyvsim.load.resources import (
    EXCEPTIONS,
    POLICIES,
    InputKind,
    load_definitions,
    load_resources,
    partition_by_kind,
    read_payloads,
)
from kyvsim.load.values import (
    BASELINE_KIND,
    load_baseline,
    load_userinfo,
    load_values,
    parse_settings,
    read_context_file,
)
from kyvsim.model.diagnostic import Diagnostic, Severity, has_errors, likely, without_left_out
from kyvsim.model.policy import Binding, CelException, Exceptions, Policy, PolicyException
from kyvsim.model.ports import UNCHANGED, Budget, ClusterView, ContextData
from kyvsim.model.release import NEWEST, Release
from kyvsim.model.request import Operation, Payload, PayloadMode, UserInfo
from kyvsim.model.result import Baseline
from kyvsim.model.source import Document, Location
from kyvsim.model.values import Values
from kyvsim.report.results import title

# Codes: KV037 an old object or a namespace without a resource, KV038 resources without an old
# object, KV039 an ignored exception that does not exist.


OldKey: TypeAlias = tuple[str, str, str, str]
"""Group, kind, namespace and name of an object, which do not change in an update."""
OldObjects: TypeAlias = Mapping[OldKey, KubernetesObject]


class WhatIf(NamedTuple):
    """Assumptions about requests; none by default."""

    user: UserInfo | None = None
    """The user, which overrides that of a file."""
    operation: Operation | None = None
    """The operation of all requests. None: UPDATE for objects with an old object; for others CREATE
    or as in a values file.
    """
    old_resources: tuple[str | Source, ...] = ()
    namespace_labels: tuple[tuple[str, str, str], ...] = ()
    """Labels of namespaces, which override all others: namespace, key, value."""
    without_exceptions: tuple[str, ...] = ()


AS_GIVEN = WhatIf()


def old_key(obj: object) -> OldKey:
    """Return the key that an object has in common with its old state."""
    key = object_key(obj)
    return split_api_version(key.api_version)[0], key.kind, key.namespace, key.name


def old_objects(
    documents: Sequence[Document], resources: Sequence[Document], what_if: WhatIf
) -> tuple[OldObjects, tuple[Diagnostic, ...]]:
    """Return old objects by key, and warnings about assumptions without a resource.

    If two objects have the same key, the last one is used.
    """
    if not documents and not what_if.namespace_labels:
        return MappingProxyType({}), ()
    given = {old_key(document.data) for document in resources}
    by_key: dict[OldKey, Document] = {}
    diagnostics = [*_unused_labels(what_if, given)] if resources else []
    for document in documents:
        key = old_key(document.data)
        if key in by_key:
            diagnostics.append(_unused(by_key[key], "duplicate of a later old object for"))
        by_key[key] = document
    diagnostics += [
        _unused(document, "no resource is the new state of")
        for key, document in by_key.items()
        if key not in given
    ]
    without = [document for document in resources if old_key(document.data) not in by_key]
    if by_key and without and what_if.operation is Operation.UPDATE:
        more = f", and {len(without) - 1} more" if len(without) > 1 else ""
        text = (
            f"there is no old object for this resource{more}: it is evaluated as its own old object"
        )
        diagnostics.append(Diagnostic("KV038", Severity.WARNING, text, without[0].locate(())))
    old = {key: document.data for key, document in by_key.items()}
    return MappingProxyType(old), tuple(diagnostics)


def _unused(document: Document, why: str) -> Diagnostic:
    text = f"{why} `{title(document.data)}`: this old object is ignored"
    return Diagnostic("KV037", Severity.WARNING, text, document.locate(()))


def _unused_labels(what_if: WhatIf, given: Iterable[OldKey]) -> Iterator[Diagnostic]:
    """Yield a warning about each namespace with labels that contains no resource."""
    known = {name if kind == "Namespace" else namespace for _, kind, namespace, name in given}
    for namespace in dict.fromkeys(name for name, _, _ in what_if.namespace_labels):
        if namespace not in known:
            hint = likely(namespace, filter(None, known))
            text = f"`--namespace-labels {namespace}:…`: no resource is in this namespace{hint}"
            yield Diagnostic("KV037", Severity.WARNING, text)


def supposed_values(values: Values | None, what_if: WhatIf) -> Values | None:
    """Return the values of a run, overridden by the assumptions."""
    if what_if.namespace_labels:
        values = values or Values()
        labels: dict[str, dict[str, str]] = {}
        for name, key, value in what_if.namespace_labels:
            labels.setdefault(name, {})[key] = value
        kind = {"apiVersion": "v1", "kind": "Namespace"}
        namespaces = {
            name: {**kind, "metadata": {"name": name, "labels": own}}
            for name, own in labels.items()
        }
        values = values._replace(namespaces=MappingProxyType({**values.namespaces, **namespaces}))
    if values and what_if.operation:
        operation = {"request.operation": what_if.operation.value}
        values = values._replace(overrides=MappingProxyType({**values.overrides, **operation}))
    return values


def supposed_exceptions(
    exceptions: Exceptions, what_if: WhatIf
) -> tuple[Exceptions, tuple[Diagnostic, ...]]:
    """Return the exceptions to apply, and an error for each name that does not match any."""
    patterns = what_if.without_exceptions
    if not patterns:
        return exceptions, ()
    every: tuple[PolicyException | CelException, ...] = (*exceptions.rules, *exceptions.policies)
    names = [name for exception in every for name in (exception.name, exception.key)]
    diagnostics: list[Diagnostic] = []
    for pattern in patterns:
        if not any(matches(pattern, name) for name in names):
            text = f"`--without-exception {pattern}`: no policy exception matches"
            diagnostics.append(Diagnostic("KV039", Severity.ERROR, text + likely(pattern, names)))

    def counts(exception: PolicyException | CelException) -> bool:
        own = (exception.name, exception.key)
        return not any(matches(pattern, name) for pattern in patterns for name in own)

    rules, policies = filter(counts, exceptions.rules), filter(counts, exceptions.policies)
    return Exceptions(tuple(rules), tuple(policies)), tuple(diagnostics)


_Read = TypeVar("_Read")


class ApplyInputs(NamedTuple):
    """The inputs of `kyvsim apply`; paths are files, folders, globs or `-` for standard input.

    A Source is a text instead of a path.
    """

    policies: tuple[str | Source, ...]
    resources: tuple[str | Source, ...] = ()
    targets: tuple[str | Source, ...] = ()
    exceptions: tuple[str | Source, ...] = ()
    values_file: str | Source = ""
    set_values: tuple[str, ...] = ()
    userinfo: str | Source = ""
    context_file: str | Source = ""
    crd_paths: tuple[str | Source, ...] = ()
    model: str = "kyverno-1.19"
    """A value of `kyvsim.engine.compile.Model`."""
    release: Release = NEWEST
    exceptions_with_resources: bool = False
    exceptions_within_policies: bool = False
    audit_warn: bool = False
    check_idempotent: bool = False
    payloads: tuple[tuple[PayloadMode, str | Source], ...] = ()
    now: datetime | None = None
    """The current time; None for the system time."""
    walking: Walking = USUAL
    parameters: tuple[str | Source, ...] = ()
    what_if: WhatIf = AS_GIVEN
    baseline: str | Source = ""
    records_failures: bool = False
    budget: Budget = UNCHANGED
    unchanged: frozenset[str] | None = None
    """Real paths of files whose resources are only looked up; None to evaluate all."""

    @property
    def has_baseline(self) -> bool:
        """Whether failures are known or new: the run reads a baseline, or writes one."""
        return bool(self.baseline) or self.records_failures


def walking_through(
    exclude: Iterable[str] = (), *, ignore_files: bool = True, most: int = USUAL.most
) -> Walking:
    """Return the settings for walking through folders; raises ValueError for an invalid pattern."""
    patterns = tuple(exclude)
    if patterns:
        check_patterns(patterns)
    return Walking(patterns, ignore_files, most=most)


LoadResources: TypeAlias = Callable[..., Loaded]


def unignored(found: Iterable[Diagnostic], policies: Iterable[Policy]) -> tuple[Diagnostic, ...]:
    """Return the diagnostics without warnings that a comment in the file of a policy ignores."""
    every = tuple(found)
    named = {one.location.file for one in every if one.location}
    files = {policy.document.file for policy in policies} & named
    read = read_sources(sorted(filter(os.path.isfile, files)))
    comments = IgnoreComments(one for one in read if isinstance(one, Source))
    return tuple(one for one in every if not comments.about(one))


class ReadInputs(NamedTuple):
    """The inputs of ApplyInputs, read."""

    policies: tuple[Policy, ...]
    resources: tuple[Document, ...]
    targets: tuple[Document, ...]
    shared_data: tuple[Document, ...]
    exceptions: Exceptions
    values: Values | None
    user: UserInfo | None
    context: ContextData
    diagnostics: tuple[Diagnostic, ...]
    unusable: bool
    """Whether a file that all results depend on could not be used."""
    payloads: tuple[Payload, ...] = ()
    definitions: tuple[KubernetesObject, ...] = ()
    bindings: tuple[Binding, ...] = ()
    parameters: tuple[KubernetesObject, ...] = ()
    left_out: tuple[Diagnostic, ...] = ()
    before_resources: int = 0
    """Number of diagnostics before those about resources."""
    old_objects: OldObjects = MappingProxyType({})
    baseline: Baseline | None = None
    deprecated: tuple[str, ...] = ()
    """What the emulated release reports about deprecated kinds: a line for each document."""


def read_inputs(
    inputs: ApplyInputs, stdin: bytes | None, load: LoadResources = load_resources
) -> ReadInputs:
    """Return the contents of `inputs`; `-` is `stdin`, and `load` reads resources."""
    diagnostics: list[Diagnostic] = []

    def keep(loaded: tuple[_Read, tuple[Diagnostic, ...]]) -> _Read:
        diagnostics.extend(loaded[1])
        return loaded[0]

    walking = inputs.walking
    documents = keep(read_strictly(inputs.policies, POLICIES, stdin, walking))
    before = len(diagnostics)
    written = keep(read_strictly(inputs.exceptions, EXCEPTIONS, stdin, walking))
    decisive = diagnostics[before:]
    deprecated = tuple(deprecated_kinds((*documents, *written), inputs.release))
    within: tuple[Document, ...] = ()
    if inputs.exceptions_within_policies:
        within, documents = partition(documents, lambda document: is_exception(document.data))
    shared_by_policies, _ = shared_data_apart(documents)
    policies, bindings = (
        keep(load_policies(documents, READERS)),
        keep(load_bindings(documents, read_binding)),
    )
    if not policies and not walking.as_found and not has_errors(diagnostics):
        diagnostics.extend(filter(None, (without_policies(documents),)))
    definitions = objects_of(keep(load_definitions(inputs.crd_paths, stdin, walking)))
    earlier = len(without_left_out(diagnostics)[0])
    loaded = keep(load(inputs.resources, stdin, definitions, walking=walking))
    resources, there = _changed_apart(loaded, inputs.unchanged)
    if inputs.exceptions_with_resources:
        written += tuple(one for one in (*resources, *there) if is_exception(one.data))
    empty = [one.location.file for one in diagnostics if one.code == "KV026" and one.location]
    diagnostics.extend(misplaced_inputs(documents, resources, empty))
    before = len(diagnostics)
    given_exceptions = keep(load_exceptions((*written, *within)))
    exceptions = keep(supposed_exceptions(given_exceptions, inputs.what_if))
    decisive += diagnostics[before:]
    targets, parameters = (
        keep(load_resources(paths, stdin, definitions, typing, walking=walking))
        for paths, typing in ((inputs.targets, AS_RESOURCES), (inputs.parameters, AS_WRITTEN))
    )
    payloads = keep(payloads_of(inputs.payloads))
    shared, resources = shared_data_apart(resources)
    before = len(diagnostics)
    values, user, old, baseline = keep(_read_terms(inputs, stdin, definitions))
    unusable = has_errors((*decisive, *diagnostics[before:]))
    old_by_key = keep(old_objects(old, resources, inputs.what_if))
    context = keep(_read_context(inputs.context_file, stdin, policies))
    remarks, left_out = without_left_out(diagnostics)
    return ReadInputs(
        policies=policies,
        resources=resources,
        targets=(*targets, *there),
        shared_data=(*shared_by_policies, *shared),
        exceptions=exceptions,
        values=values,
        user=user,
        context=context,
        diagnostics=remarks,
        unusable=unusable,
        payloads=payloads,
        definitions=tuple(definitions),
        bindings=bindings,
        parameters=objects_of(parameters),
        left_out=left_out,
        before_resources=earlier,
        old_objects=old_by_key,
        baseline=baseline,
        deprecated=deprecated,
    )


def deprecated_kinds(documents: Iterable[Document], release: Release) -> Iterator[str]:
    """Yield what a release reports about documents of deprecated kinds, one line for each."""
    for document in documents:
        data = document.data
        text = release.loaded(text_field(data, "apiVersion"), text_field(data, "kind"))
        if text:
            yield f"{document.file}: {text}"


def partition(
    documents: Iterable[Document], fits: Callable[[Document], bool]
) -> tuple[tuple[Document, ...], tuple[Document, ...]]:
    """Return the matching documents and the others, both in their order."""
    fitting: list[Document] = []
    others: list[Document] = []
    for document in documents:
        (fitting if fits(document) else others).append(document)
    return tuple(fitting), tuple(others)


def _changed_apart(
    documents: tuple[Document, ...], unchanged: frozenset[str] | None
) -> tuple[tuple[Document, ...], tuple[Document, ...]]:
    """Return the documents to evaluate, and those only for lookups.

    Documents without a file (standard input, a chart) are always evaluated.
    """
    if unchanged is None:
        return documents, ()
    files = {document.file for document in documents}
    changed = {file for file in files if os.path.realpath(file) not in unchanged}
    return partition(documents, lambda document: document.file in changed)


def payloads_of(
    paths: Iterable[tuple[PayloadMode, str | Source]],
) -> tuple[tuple[Payload, ...], tuple[Diagnostic, ...]]:
    """Return the payloads that policies can evaluate, and diagnostics."""
    if not paths:
        return (), ()
    payloads, unread = read_payloads(paths)
    usable, unusable = usable_payloads(payloads)
    return usable, (*unread, *unusable)


def shared_data_apart(
    documents: tuple[Document, ...],
) -> tuple[tuple[Document, ...], tuple[Document, ...]]:
    """Return GlobalContextEntries, and the other documents."""
    return partition(documents, lambda document: is_shared_data(document.data))


def read_strictly(
    paths: tuple[str | Source, ...], kind: InputKind, stdin: bytes | None, walking: Walking
) -> Loaded:
    """Return the documents of a kind, parsed as strictly as policies."""
    documents, remarks = read_documents(paths, stdin, STRICT, walking)
    kept, aside = partition_by_kind(documents, kind)
    return kept, (*remarks, *aside)


_Terms: TypeAlias = tuple[Values | None, UserInfo | None, tuple[Document, ...], Baseline | None]


def _read_terms(
    inputs: ApplyInputs, stdin: bytes | None, definitions: Iterable[KubernetesObject]
) -> tuple[_Terms, tuple[Diagnostic, ...]]:
    """Return values, user, old objects and baseline, overridden by the assumptions."""
    what_if = inputs.what_if
    values, of_values = _read_values(inputs, stdin)
    user, known = None, None
    of_user: tuple[Diagnostic, ...] = ()
    of_known: tuple[Diagnostic, ...] = ()
    if inputs.userinfo:
        user, of_user = read_one(inputs.userinfo, "UserInfo", load_userinfo, stdin)
    old, of_old = load_resources(what_if.old_resources, stdin, definitions, walking=inputs.walking)
    if inputs.baseline:
        known, of_known = read_one(inputs.baseline, BASELINE_KIND, load_baseline, stdin)
    terms = (supposed_values(values, what_if), what_if.user or user, old, known)
    return terms, (*of_values, *of_user, *of_old, *of_known)


def _read_values(
    inputs: ApplyInputs, stdin: bytes | None
) -> tuple[Values | None, tuple[Diagnostic, ...]]:
    if not inputs.set_values and not inputs.values_file:
        return None, ()
    if inputs.set_values:
        overrides, remarks = parse_settings(inputs.set_values)
        return Values(overrides=overrides), remarks
    return read_one(inputs.values_file, "Values", load_values, stdin)


def read_one(
    path: str | Source,
    kind: str,
    load: Callable[[Document], tuple[_Read | None, tuple[Diagnostic, ...]]],
    stdin: bytes | None = None,
) -> tuple[_Read | None, tuple[Diagnostic, ...]]:
    """Return the content of a file with one document; None if `path` is empty."""
    if not path:
        return None, ()
    documents, remarks = read_documents((path,), stdin, STRICT_FLOATS)
    if len(documents) != 1:
        message = f"a file of kind {kind} must have one document, not {len(documents)}"
        place = documents[1].locate(()) if documents else Location(name_of(path))
        wrong = Diagnostic("KV030", Severity.ERROR, message, place)
        return None, remarks or (wrong,)
    loaded, problems = load(documents[0])
    return loaded, (*remarks, *problems)


def name_of(path: str | Source) -> str:
    """Return the name of an input."""
    return path.name if isinstance(path, Source) else path


def _read_context(
    path: str | Source, stdin: bytes | None, policies: Iterable[Policy]
) -> tuple[ContextData, tuple[Diagnostic, ...]]:
    """Return the data of a context file, with a warning if no policy uses it."""
    if not path:
        return ContextData(), ()
    context, remarks = read_context_file(path, stdin)
    if any(map(is_cel_policy, policies)):
        return context, remarks
    text = "context data is ignored: it applies to CEL policies only, and there are none"
    return context, (*remarks, Diagnostic("KV035", Severity.WARNING, text, Location(name_of(path))))


def given_world(
    cluster: ClusterView,
    values: Values | None,
    context: ContextData,
    targets: tuple[KubernetesObject, ...],
) -> World:
    """Return the data that rules read in addition to the object."""
    return World(
        cluster,
        values,
        context=GivenObjects(context.resources) if context.resources else None,
        images=context.images,
        targets=targets,
    )


def objects_of(documents: tuple[Document, ...]) -> tuple[KubernetesObject, ...]:
    """Return the data of documents."""
    return tuple(document.data for document in documents)
