"""Simulated clusters, with policies and exceptions read as files would be."""

from kyvsim.kube.objects import Json, text_field
from kyvsim.languages import OLDER_READERS
from kyvsim.load.exceptions import load_exceptions
from kyvsim.load.policy import load_policies
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.exception import CelException, PolicyException
from kyvsim.model.policy import Policy
from kyvsim.model.source import Document, Location
from kyvsim.sim.parts import Readers


def readers() -> Readers:
    """Return what reads the policies and exceptions of a simulated cluster."""
    return Readers(_policy, _exception)


def _policy(obj: Json) -> tuple[Policy | None, tuple[Diagnostic, ...]]:
    # What controllers say of a policy is no part of what its author wrote.
    written = {name: value for name, value in obj.items() if name != "status"}
    found, remarks = load_policies([_document(written)], OLDER_READERS)
    return (found[0] if found else None), remarks


def _exception(obj: Json) -> tuple[PolicyException | None, tuple[Diagnostic, ...]]:
    found, remarks = load_exceptions([_document(obj)])
    if found.policies:
        remarks = (*remarks, *map(not_simulated, found.policies))
    return (found.rules[0] if found.rules else None), remarks


def not_simulated(exception: CelException) -> Diagnostic:
    """Return that exceptions for policies in CEL do not count in a simulated cluster yet."""
    name = text_field(exception.document.data, "apiVersion")
    text = f"kyvsim does not evaluate {name}/PolicyException yet"
    return Diagnostic("KV018", Severity.ERROR, text, exception.document.locate(()))


def _document(obj: Json) -> Document:
    return Document(obj, "", 0, lambda _: Location(""))
