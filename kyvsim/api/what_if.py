"""What is supposed of the requests of a run, in place of what is usual or what files say.

Codes: KV037 an old object, or a namespace, that no resource has to do with, KV038 resources without
an old object, KV039 an exception to be left out that is not there.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from kyvsim.kube.discovery import split_api_version
from kyvsim.kube.objects import Json, object_key
from kyvsim.kube.wildcard import matches
from kyvsim.load.files import Source
from kyvsim.model.diagnostic import Diagnostic, Severity, likely
from kyvsim.model.exception import CelException, Exceptions, PolicyException
from kyvsim.model.request import Operation, UserInfo
from kyvsim.model.source import Document
from kyvsim.model.values import Values
from kyvsim.report.subject import title

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
            said.append(_unused(found[key], "another one follows for"))
        found[key] = one
    said += [_unused(one, "no resource is the new state of") for one in _others(found, given)]
    if found and what_if.operation is Operation.UPDATE:
        said += _without_old([one for one in resources if old_key(one.data) not in found])
    return MappingProxyType({key: one.data for key, one in found.items()}), tuple(said)


def _others(found: Mapping[OldKey, Document], given: Collection[OldKey]) -> Iterator[Document]:
    return (one for key, one in found.items() if key not in given)


def _unused(document: Document, why: str) -> Diagnostic:
    text = f"{why} `{title(document.data)}`: this old object is not used"
    return Diagnostic("KV037", Severity.WARNING, text, document.locate(()))


def _unused_labels(what_if: WhatIf, given: Iterable[OldKey]) -> Iterator[Diagnostic]:
    """Yield a remark on each namespace with labels in which no resource lies."""
    known = {name if kind == "Namespace" else namespace for _, kind, namespace, name in given}
    for namespace in dict.fromkeys(name for name, _, _ in what_if.namespace_labels):
        if namespace not in known:
            hint = likely(namespace, filter(None, known))
            text = f"`--namespace-labels {namespace}:…`: no resource lies in this namespace{hint}"
            yield Diagnostic("KV037", Severity.WARNING, text)


def _without_old(documents: Sequence[Document]) -> Iterator[Diagnostic]:
    """Yield one remark on all resources that count as updated and have no old object."""
    if documents:
        more = f", and {len(documents) - 1} more" if len(documents) > 1 else ""
        text = f"there is no old object for this resource{more}: it counts as updated from itself"
        yield Diagnostic("KV038", Severity.WARNING, text, documents[0].locate(()))


def supposed_values(values: Values | None, what_if: WhatIf) -> Values | None:
    """Return the values of a run with what is supposed in place of what they say."""
    if what_if.namespace_labels:
        values = values or Values()
        labels: dict[str, dict[str, str]] = {}
        for name, key, value in what_if.namespace_labels:
            labels.setdefault(name, {})[key] = value
        namespaces = {name: _namespace(name, own) for name, own in labels.items()}
        values = values._replace(namespaces=MappingProxyType({**values.namespaces, **namespaces}))
    if values and what_if.operation:
        own = {"request.operation": what_if.operation.value}
        values = values._replace(overrides=MappingProxyType({**values.overrides, **own}))
    return values


def _namespace(name: str, labels: Mapping[str, str]) -> Json:
    metadata = {"name": name, "labels": dict(labels)}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def supposed_exceptions(
    exceptions: Exceptions, what_if: WhatIf
) -> tuple[Exceptions, tuple[Diagnostic, ...]]:
    """Return the exceptions that count, and an error for each name that none of them has."""
    wanted = what_if.without_exceptions
    if not wanted:
        return exceptions, ()
    every: tuple[PolicyException | CelException, ...] = (*exceptions.rules, *exceptions.policies)
    names = [name for one in every for name in _names(one)]
    said = tuple(
        _not_there(pattern, names)
        for pattern in wanted
        if not any(matches(pattern, name) for name in names)
    )

    def counts(one: PolicyException | CelException) -> bool:
        return not any(matches(pattern, name) for pattern in wanted for name in _names(one))

    return (
        Exceptions(
            tuple(filter(counts, exceptions.rules)), tuple(filter(counts, exceptions.policies))
        ),
        said,
    )


def _names(exception: PolicyException | CelException) -> tuple[str, str]:
    return exception.name, exception.key


def _not_there(pattern: str, names: Iterable[str]) -> Diagnostic:
    hint = likely(pattern, names)
    text = f"`--without-exception {pattern}`: no policy exception is called so{hint}"
    return Diagnostic("KV039", Severity.ERROR, text)
