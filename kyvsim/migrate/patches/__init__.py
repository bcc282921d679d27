"""Patches of mutate rules → what a MutatingPolicy applies."""

from kyvsim.migrate.patches.added_values import added_values
from kyvsim.migrate.patches.draft import Around, Atomic, Patched
from kyvsim.migrate.patches.merged_object import merged_object

__all__ = ["Around", "Atomic", "Patched", "added_values", "merged_object"]
