"""The fields that policies of all languages refer to, and the values that they write for them."""

from importlib import import_module
from typing import Any

from kyvsim.languages.policies import CLASSIC_POLICIES, kinds_of
from kyvsim.model.field_reference import FieldReference, Subject
from kyvsim.model.policy import Policy, PolicyException
from kyvsim.model.ports import System


def references_of(policy: Policy, system: System) -> tuple[FieldReference, ...]:
    """Return the fields that a policy refers to, and values; a namespaced one has its own."""
    found = tuple(_function(kinds_of(policy).references)(policy, system))
    if not policy.namespace:
        return found
    return (FieldReference(Subject.OBJECT, ("metadata", "namespace"), (policy.namespace,)), *found)


def references_of_exception(exception: PolicyException) -> tuple[FieldReference, ...]:
    """Return the fields that an exception from rules refers to, and the values there."""
    module = CLASSIC_POLICIES.references.rpartition(".")[0]
    return tuple(_function(f"{module}.exception_references")(exception))


def _function(place: str) -> Any:
    module, _, name = place.rpartition(".")
    return getattr(import_module(f"kyvsim.languages.{module}"), name)
