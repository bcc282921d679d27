"""Patches of mutate rules → what a MutatingPolicy applies."""

from kyvsim.migrate.patches.draft import Around, Atomic, Loop, Patched
from kyvsim.migrate.patches.json_patch import json_patch, removed_element
from kyvsim.migrate.patches.merged_fields import merged_fields
from kyvsim.migrate.patches.merged_object import merged_object
from kyvsim.migrate.patches.operations import Operation, listed, looped, operation
from kyvsim.migrate.patches.patch_text import operations_of
from kyvsim.migrate.patches.places import Place, counter

__all__ = [
    "Around",
    "Atomic",
    "Loop",
    "Operation",
    "Patched",
    "Place",
    "counter",
    "json_patch",
    "listed",
    "looped",
    "merged_fields",
    "merged_object",
    "operation",
    "operations_of",
    "removed_element",
]
