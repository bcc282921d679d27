"""Policies changed a little, one place at a time, to see whether tests notice."""

from kyvsim.mutation.change import ChangeKind, PolicyChange
from kyvsim.mutation.mutants import mutants_of

__all__ = ["ChangeKind", "PolicyChange", "mutants_of"]
