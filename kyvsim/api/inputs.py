"""What the commands are given, read from files.

Codes: KV030 a file with none or several documents where one is wanted, KV035 data that only CEL
policies make use of.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

from kyvsim.kubernetes.discovery import split_api_version
from kyvsim.kubernetes.objects import Json, object_key
from kyvsim.kubernetes.wildcard import matches
from kyvsim.languages import READERS, is_cel_policy, usable_payloads
from kyvsim.load.documents import (
    AS_RESOURCES,
    AS_WRITTEN,
    STRICT,
    STRICT_FLOATS,
    Loaded,
    read_documents,
)
from kyvsim.load.files import Source
from kyvsim.load.folders import USUAL, Walking, check_patterns
from kyvsim.load.policy import is_exception, is_shared_data, load_bindings, load_policies
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
from kyvsim.model.diagnostic import Diagnostic, Severity, likely, without_left_out
from kyvsim.model.policy import Binding, Exceptions, Policy
from kyvsim.model.ports import UNCHANGED, Budget, ContextData
from kyvsim.model.request import Operation, Payload, PayloadMode, UserInfo
from kyvsim.model.source import Document, Location
from kyvsim.report.results import title

if TYPE_CHECKING:
    from kyvsim.model.baseline import Baseline
    from kyvsim.model.exceptions import CelException, PolicyException
    from kyvsim.model.values import Values

# What is supposed of the requests of a run, in place of what is usual or what files say.
#
# Codes: KV037 an old object, or a namespace, that no resource has to do with, KV038 resources
# without an old object, KV039 an exception to be left out that is not there.


OldKey: TypeAlias = tuple[str, str, str, str]
"""Group, kind, namespace and name: what an object keeps when it is updated."""
OldObjects: TypeAlias = Mapping[OldKey, Json]


class WhatIf(NamedTuple):
    """What is supposed; nothing by default."""

    user: UserInfo | None = None
    """Who sends the requests, in place of the user of a file."""
    operation: Operation | None = None
    """What happens to all objects. None: those that have an old object are updated, the others are
    what a values file makes of them, or created."""
    old_resources: tuple[str | Source, ...] = ()
    """Files with objects as they were before."""
    namespace_labels: tuple[tuple[str, str, str], ...] = ()
    """Labels of namespaces, in place of those that anything else says: name, key, value."""
    without_exceptions: tuple[str, ...] = ()
    """Which exceptions do not count: names or keys, with wildcards."""


AS_GIVEN = WhatIf()
"""Nothing is supposed."""


def old_key(obj: Json) -> OldKey:
    """Return by what an object and its old state are known to be one."""
    key = object_key(obj)
    return split_api_version(key.api_version)[0], key.kind, key.namespace, key.name


def old_objects(
    documents: Sequence[Document], resources: Sequence[Document], what_if: WhatIf
) -> tuple[OldObjects, tuple[Diagnostic, ...]]:
    """Return old objects by key, and what is supposed that no resource has to do with.

    Of two objects with one key the last counts, as where one is written over the other.
    """
    if not documents and not what_if.namespace_labels:
        return MappingProxyType({}), ()
    given = {old_key(one.data) for one in resources}
    found: dict[OldKey, Document] = {}
    said = [*_unused_labels(what_if, given)] if resources else []
    for one in documents:
        key = old_key(one.data)
        if key in found:
            said.append(_unused(found[key], "duplicate of a later old object for"))
        found[key] = one
    said += [
        _unused(one, "no resource is the new state of")
        for key, one in found.items()
        if key not in given
    ]
    if found and what_if.operation is Operation.UPDATE:
        said += _without_old([one for one in resources if old_key(one.data) not in found])
    return MappingProxyType({key: one.data for key, one in found.items()}), tuple(said)


def _unused(document: Document, why: str) -> Diagnostic:
    text = f"{why} `{title(document.data)}`: this old object is ignored"
    return Diagnostic("KV037", Severity.WARNING, text, document.locate(()))


def _unused_labels(what_if: WhatIf, given: Iterable[OldKey]) -> Iterator[Diagnostic]:
    """Yield a remark on each namespace with labels in which no resource lies."""
    known = {name if kind == "Namespace" else namespace for _, kind, namespace, name in given}
    for namespace in dict.fromkeys(name for name, _, _ in what_if.namespace_labels):
        if namespace not in known:
            hint = likely(namespace, filter(None, known))
            text = f"`--namespace-labels {namespace}:…`: no resource is in this namespace{hint}"
            yield Diagnostic("KV037", Severity.WARNING, text)


def _without_old(documents: Sequence[Document]) -> Iterator[Diagnostic]:
    """Yield one remark on all resources that count as updated and have no old object."""
    if documents:
        more = f", and {len(documents) - 1} more" if len(documents) > 1 else ""
        text = (
            f"there is no old object for this resource{more}: it is evaluated as its own old object"
        )
        yield Diagnostic("KV038", Severity.WARNING, text, documents[0].locate(()))


def supposed_values(values: "Values | None", what_if: WhatIf) -> "Values | None":
    """Return the values of a run with what is supposed in place of what they say."""
    if what_if.namespace_labels:
        from kyvsim.model.values import Values  # noqa: PLC0415 — for few runs only

        values = values or Values()
        labels: dict[str, dict[str, str]] = {}
        for name, key, value in what_if.namespace_labels:
            labels.setdefault(name, {})[key] = value
        namespaces: dict[str, Json] = {
            name: {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": name, "labels": own},
            }
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
    """Return the exceptions that count, and an error for each name that none of them has."""
    patterns = what_if.without_exceptions
    if not patterns:
        return exceptions, ()
    every: tuple[PolicyException | CelException, ...] = (*exceptions.rules, *exceptions.policies)
    names = [name for one in every for name in (one.name, one.key)]
    said: list[Diagnostic] = []
    for pattern in patterns:
        if not any(matches(pattern, name) for name in names):
            text = f"`--without-exception {pattern}`: no policy exception matches"
            said.append(Diagnostic("KV039", Severity.ERROR, text + likely(pattern, names)))

    def counts(one: "PolicyException | CelException") -> bool:
        return not any(
            matches(pattern, name) for pattern in patterns for name in (one.name, one.key)
        )

    rules, policies = filter(counts, exceptions.rules), filter(counts, exceptions.policies)
    return Exceptions(tuple(rules), tuple(policies)), tuple(said)


_Read = TypeVar("_Read")


class ApplyInputs(NamedTuple):
    """What `kyvsim apply` is given; paths are files, folders, globs or `-` for standard input.

    Where a Source can stand it is a text at hand, with a name to show for it.
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
    """Which reading of `spec.background` to follow; a value of `kyvsim.engine.compile.Model`."""
    exceptions_with_resources: bool = False
    exceptions_within_policies: bool = False
    audit_warn: bool = False
    """Whether failures of policies that only audit are warnings."""
    check_idempotent: bool = False
    """Whether to run the mutate rules a second time."""
    payloads: tuple[tuple[PayloadMode, str | Source], ...] = ()
    """Files with what policies judge that is no object."""
    now: datetime | None = None
    """What counts as the current time; None for the machine's."""
    walking: Walking = USUAL
    """How folders are walked."""
    parameters: tuple[str | Source, ...] = ()
    """Of Kubernetes' admission policies."""
    what_if: WhatIf = AS_GIVEN
    """What is supposed of the requests."""
    baseline: str | Source = ""
    """The file with failures that are known."""
    records_failures: bool = False
    """Whether the run makes a baseline: its failures are known, or those that its baseline has."""
    budget: Budget = UNCHANGED
    """How much evaluation may do."""
    unchanged: frozenset[str] | None = None
    """Real paths of the files whose resources are not looked at, since they are there already, as
    in a cluster; None where all are looked at."""

    @property
    def has_baseline(self) -> bool:
        """Whether failures are to be told apart: the run has a baseline, or makes one."""
        return bool(self.baseline) or self.records_failures


def walking_through(
    exclude: Iterable[str] = (), *, ignore_files: bool = True, most: int = USUAL.most
) -> Walking:
    """Return how folders are to be walked; raise ValueError for a pattern that cannot be read."""
    patterns = tuple(exclude)
    if patterns:
        check_patterns(patterns)
    return Walking(patterns, ignore_files, most=most)


LoadResources: TypeAlias = Callable[..., Loaded]
"""Takes what `load_resources` does, and returns the same."""


class ReadInputs(NamedTuple):
    """The same, read."""

    policies: tuple[Policy, ...]
    resources: tuple[Document, ...]
    targets: tuple[Document, ...]
    shared_data: tuple[Document, ...]
    """GlobalContextEntries: data for rules, no resources that policies look at."""
    exceptions: Exceptions
    values: "Values | None"
    user: UserInfo | None
    context: ContextData
    diagnostics: tuple[Diagnostic, ...]
    unusable: bool
    """Whether a file that every verdict depends on could not be used."""
    payloads: tuple[Payload, ...] = ()
    definitions: tuple[Json, ...] = ()
    """What is given besides of custom resources."""
    bindings: tuple[Binding, ...] = ()
    """Those of Kubernetes' admission policies."""
    parameters: tuple[Json, ...] = ()
    """What such policies may be given besides."""
    left_out: tuple[Diagnostic, ...] = ()
    """What was left out of folders, being none of what was wanted: where, and what it is."""
    before_resources: int = 0
    """How many of the diagnostics are told before those on resources."""
    old_objects: OldObjects = MappingProxyType({})
    """What objects were before."""
    baseline: "Baseline | None" = None
    """The failures that are known."""


def read_inputs(
    inputs: ApplyInputs, stdin: bytes | None, load: LoadResources = load_resources
) -> ReadInputs:
    """Return what the paths of `inputs` lead to; `-` is `stdin`, and `load` reads resources."""
    said: list[Diagnostic] = []

    def keep(found: tuple[_Read, tuple[Diagnostic, ...]]) -> _Read:
        said.extend(found[1])
        return found[0]

    walking = inputs.walking
    documents = keep(read_strictly(inputs.policies, POLICIES, stdin, walking))
    before = len(said)
    written = keep(read_strictly(inputs.exceptions, EXCEPTIONS, stdin, walking))
    asked = said[before:]
    documents, within = _exceptions_apart(documents, wanted=inputs.exceptions_within_policies)
    shared_by_policies, _ = shared_data_apart(documents)
    policies, bindings = keep(load_policies(documents, READERS)), keep(load_bindings(documents))
    if (
        not policies
        and not walking.as_found
        and not any(one.severity is Severity.ERROR for one in said)
    ):
        said.extend(filter(None, (without_policies(documents),)))
    definitions = objects_of(keep(load_definitions(inputs.crd_paths, stdin, walking)))
    earlier = len(without_left_out(said)[0])
    loaded = keep(load(inputs.resources, stdin, definitions, walking=walking))
    resources, there = _changed_apart(loaded, inputs.unchanged)
    if inputs.exceptions_with_resources:
        written += tuple(one for one in (*resources, *there) if is_exception(one.data))
    empty = [one.location.file for one in said if one.code == "KV026" and one.location]
    said.extend(misplaced_inputs(documents, resources, empty))
    before = len(said)
    exceptions = keep(
        supposed_exceptions(keep(_read_exceptions((*written, *within))), inputs.what_if)
    )
    asked += said[before:]
    targets, parameters = (
        keep(load_resources(paths, stdin, definitions, typing, walking=walking))
        for paths, typing in ((inputs.targets, AS_RESOURCES), (inputs.parameters, AS_WRITTEN))
    )
    payloads = keep(payloads_of(inputs.payloads))
    shared, resources = shared_data_apart(resources)
    before = len(said)
    values, user, old, baseline = keep(_read_terms(inputs, stdin, definitions))
    unusable = any(one.severity is Severity.ERROR for one in (*asked, *said[before:]))
    old_by_key = keep(old_objects(old, resources, inputs.what_if))
    context = keep(_read_context(inputs.context_file, stdin, policies))
    remarks, left_out = without_left_out(said)
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
    )


def _read_exceptions(
    documents: tuple[Document, ...],
) -> tuple[Exceptions, tuple[Diagnostic, ...]]:
    if not documents:
        return Exceptions(), ()
    from kyvsim.load.exceptions import load_exceptions  # noqa: PLC0415 — for few runs only

    return load_exceptions(documents)


def _exceptions_apart(
    documents: tuple[Document, ...], *, wanted: bool
) -> tuple[tuple[Document, ...], tuple[Document, ...]]:
    """Return the policies among documents, and the exceptions where they are wanted."""
    if not wanted:
        return documents, ()
    others = tuple(one for one in documents if not is_exception(one.data))
    return others, tuple(one for one in documents if is_exception(one.data))


def _changed_apart(
    documents: tuple[Document, ...], unchanged: frozenset[str] | None
) -> tuple[tuple[Document, ...], tuple[Document, ...]]:
    """Return the documents that are looked at, and those that are there already.

    What comes from no file (standard input, a chart) is always looked at.
    """
    if unchanged is None:
        return documents, ()
    there = {one for one in {one.file for one in documents} if os.path.realpath(one) in unchanged}
    new = tuple(one for one in documents if one.file not in there)
    return new, tuple(one for one in documents if one.file in there)


def payloads_of(
    paths: Iterable[tuple[PayloadMode, str | Source]],
) -> tuple[tuple[Payload, ...], tuple[Diagnostic, ...]]:
    """Return the payloads of files that policies can judge, and what is wrong with the others."""
    if not paths:
        return (), ()
    found, said = read_payloads(paths)
    usable, told = usable_payloads(found)
    return usable, (*said, *told)


def shared_data_apart(
    documents: tuple[Document, ...],
) -> tuple[tuple[Document, ...], tuple[Document, ...]]:
    """Return data that rules share, and the others."""
    shared = tuple(one for one in documents if is_shared_data(one.data))
    if not shared:
        return (), documents
    return shared, tuple(one for one in documents if not is_shared_data(one.data))


def read_strictly(
    paths: tuple[str | Source, ...], wanted: InputKind, stdin: bytes | None, walking: Walking
) -> Loaded:
    """Return the documents of a sort, read as policies are."""
    documents, remarks = read_documents(paths, stdin, STRICT, walking)
    kept, aside = partition_by_kind(documents, wanted)
    return kept, (*remarks, *aside)


_Terms: TypeAlias = tuple["Values | None", UserInfo | None, tuple[Document, ...], "Baseline | None"]


def _read_terms(
    inputs: ApplyInputs, stdin: bytes | None, definitions: Iterable[Json]
) -> tuple[_Terms, tuple[Diagnostic, ...]]:
    """Return what all verdicts depend on: values, who asks, old objects, failures that are known.

    Each with what is supposed in its place.
    """
    what_if = inputs.what_if
    values, of_values = _read_values(inputs, stdin)
    user, known = None, None
    of_user: tuple[Diagnostic, ...] = ()
    of_known: tuple[Diagnostic, ...] = ()
    if inputs.userinfo:
        from kyvsim.load.values import load_userinfo  # noqa: PLC0415 — for few runs only

        user, of_user = read_one(inputs.userinfo, "UserInfo", load_userinfo, stdin)
    old, of_old = load_resources(what_if.old_resources, stdin, definitions, walking=inputs.walking)
    if inputs.baseline:
        from kyvsim.load.baseline import KIND, load_baseline  # noqa: PLC0415 — for few runs only

        known, of_known = read_one(inputs.baseline, KIND, load_baseline, stdin)
    found = (supposed_values(values, what_if), what_if.user or user, old, known)
    return found, (*of_values, *of_user, *of_old, *of_known)


def _read_values(
    inputs: ApplyInputs, stdin: bytes | None
) -> tuple["Values | None", tuple[Diagnostic, ...]]:
    if not inputs.set_values and not inputs.values_file:
        return None, ()
    from kyvsim.load.values import load_values, parse_settings  # noqa: PLC0415 — for few runs only

    if inputs.set_values:
        overrides, remarks = parse_settings(inputs.set_values)
        from kyvsim.model.values import Values  # noqa: PLC0415 — for few runs only

        return Values(overrides=overrides), remarks
    return read_one(inputs.values_file, "Values", load_values, stdin)


def read_one(
    path: str | Source,
    kind: str,
    load: Callable[[Document], tuple[_Read | None, tuple[Diagnostic, ...]]],
    stdin: bytes | None = None,
) -> tuple[_Read | None, tuple[Diagnostic, ...]]:
    """Return what the one document of a kind in a file says; None where no file is named."""
    if not path:
        return None, ()
    documents, remarks = read_documents((path,), stdin, STRICT_FLOATS)
    if len(documents) != 1:
        message = f"a file of kind {kind} must have one document, not {len(documents)}"
        place = documents[1].locate(()) if documents else Location(name_of(path))
        wrong = Diagnostic("KV030", Severity.ERROR, message, place)
        return None, remarks or (wrong,)
    found, problems = load(documents[0])
    return found, (*remarks, *problems)


def name_of(path: str | Source) -> str:
    """Return what an input is called."""
    return path.name if isinstance(path, Source) else path


def _read_context(
    path: str | Source, stdin: bytes | None, policies: Iterable[Policy]
) -> tuple[ContextData, tuple[Diagnostic, ...]]:
    """Return the data of a context file; it is told where no policy can make use of it."""
    if not path:
        return ContextData(), ()
    from kyvsim.load.values import read_context_file  # noqa: PLC0415 — for few runs only

    found, remarks = read_context_file(path, stdin)
    if any(map(is_cel_policy, policies)):
        return found, remarks
    text = "context data is ignored: it applies to CEL policies only, and there are none"
    return found, (*remarks, Diagnostic("KV035", Severity.WARNING, text, Location(name_of(path))))


def objects_of(documents: tuple[Document, ...]) -> tuple[Json, ...]:
    """Return the data of documents."""
    return tuple(document.data for document in documents)
