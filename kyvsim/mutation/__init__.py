"""Policies changed a little, one place at a time, to see whether tests notice."""

from kyvsim.mutation.change import Change, Kind
from kyvsim.mutation.mutants import mutants_of

__all__ = ["Change", "Kind", "mutants_of"]
