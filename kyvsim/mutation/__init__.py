"""Policies changed a little, one place at a time, to see whether tests notice."""

from kyvsim.mutation.changes import MutationKind, PolicyChange
from kyvsim.mutation.mutants import mutants_of

__all__ = ["MutationKind", "PolicyChange", "mutants_of"]
