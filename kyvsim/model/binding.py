"""Bindings of Kubernetes' admission policies: where a policy counts, and its parameters."""

from typing import NamedTuple

from kyvsim.kube.objects import Json
from kyvsim.model.source import Document


class Binding(NamedTuple):
    """One binding."""

    kind: str
    name: str
    policy: str
    """The name of the policy that it binds."""
    match: Json
    """Its `matchResources`; None where it narrows nothing."""
    parameters: Json
    """Its `paramRef`; None where it has none."""
    document: Document

    def binds(self, kind: str, name: str) -> bool:
        """Return whether it is for a policy."""
        return self.kind == f"{kind}Binding" and self.policy == name
