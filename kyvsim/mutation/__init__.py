"""Policies with small changes at one place, to check whether tests notice them."""

from kyvsim.mutation.changes import MutationKind, PolicyChange
from kyvsim.mutation.mutants import mutants_of

__all__ = ["MutationKind", "PolicyChange", "mutants_of"]
