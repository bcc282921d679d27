"""Simulated clusters, with policies and exceptions read as files would be."""

from collections.abc import Callable
from types import MappingProxyType
from typing import TypeVar

from kyvsim.kubernetes.objects import Json, ObjectKey, object_key
from kyvsim.languages import READERS
from kyvsim.load.policy import load_exceptions, load_policies
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import CelException, Policy, PolicyException, PolicyReaders
from kyvsim.model.source import Document, Location
from kyvsim.schema.kinds import RULES_GROUP
from kyvsim.simulator.context import Readers
from kyvsim.simulator.policies import CEL_KINDS

SIMULATED_READERS: PolicyReaders = MappingProxyType(
    {
        (group, kind): read
        for (group, kind), read in READERS.items()
        if group == RULES_GROUP or kind in CEL_KINDS
    }
)
"""What reads the policies that a simulated cluster heeds."""

_Found = TypeVar("_Found")


def _nowhere(_: Json) -> Document | None:
    return None


def readers(written: Callable[[Json], Document | None] = _nowhere) -> Readers:
    """Return what reads the policies and exceptions of a simulated cluster.

    `written` finds the document that an object was made of, where its places are to be told.
    """

    def document(obj: Json) -> Document:
        own = written(obj)
        if own is not None:
            return own._replace(data=obj)
        return Document(obj, "", 0, lambda _: Location(""))

    return Readers(
        lambda obj: _policy(document, obj),
        _once(lambda obj: _exception(document(obj))),
        _once(lambda obj: _cel_exception(document(obj))),
    )


def _once(read: Callable[[Json], _Found]) -> Callable[[Json], _Found]:
    """Return what reads each object once: any change of exceptions asks for all of them."""
    known: dict[ObjectKey, tuple[Json, _Found]] = {}

    def remembered(obj: Json) -> _Found:
        key = object_key(obj)
        if key not in known or known[key][0] is not obj:
            known[key] = obj, read(obj)
        return known[key][1]

    return remembered


def _policy(
    document: Callable[[Json], Document], obj: Json
) -> tuple[Policy | None, tuple[Diagnostic, ...]]:
    # What controllers say of a policy is no part of what its author wrote.
    written = {name: value for name, value in obj.items() if name != "status"}
    found, remarks = load_policies([document(written)], SIMULATED_READERS)
    return (found[0] if found else None), remarks


def _exception(document: Document) -> tuple[PolicyException | None, tuple[Diagnostic, ...]]:
    found, remarks = load_exceptions([document])
    return (found.rules[0] if found.rules else None), remarks


def _cel_exception(document: Document) -> tuple[CelException | None, tuple[Diagnostic, ...]]:
    found, remarks = load_exceptions([document])
    return (found.policies[0] if found.policies else None), remarks
