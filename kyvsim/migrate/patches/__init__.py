"""Patches of mutate rules → what a MutatingPolicy applies."""

from kyvsim.migrate.patches.draft import Around, Atomic, Loop, Patched
from kyvsim.migrate.patches.json_patch import (
    Operation,
    Place,
    counter,
    json_patch,
    listed,
    looped,
    operation,
    operations_of,
    removed_element,
)
from kyvsim.migrate.patches.merged_fields import merged_fields
from kyvsim.migrate.patches.merged_object import merged_object

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
