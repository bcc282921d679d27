"""Simulated clusters, with policies and exceptions read as files would be."""

from kyvsim.kube.objects import Json
from kyvsim.load.exceptions import load_exceptions
from kyvsim.load.policy import load_policies
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.exception import PolicyException
from kyvsim.model.policy import Policy
from kyvsim.model.source import Document, Location
from kyvsim.sim.parts import Readers


def readers() -> Readers:
    """Return what reads the policies and exceptions of a simulated cluster."""
    return Readers(_policy, _exception)


def _policy(obj: Json) -> tuple[Policy | None, tuple[Diagnostic, ...]]:
    # What controllers say of a policy is no part of what its author wrote.
    written = {name: value for name, value in obj.items() if name != "status"}
    found, remarks = load_policies([_document(written)])
    return (found[0] if found else None), remarks


def _exception(obj: Json) -> tuple[PolicyException | None, tuple[Diagnostic, ...]]:
    found, remarks = load_exceptions([_document(obj)])
    return (found[0] if found else None), remarks


def _document(obj: Json) -> Document:
    return Document(obj, "", 0, lambda _: Location(""))
