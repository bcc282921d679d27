"""Match and exclude blocks → constraints and match conditions."""

from kyvsim.migrate.matching.blocks import (
    Matching,
    block_kinds,
    block_test,
    matching_at_rest,
    matching_of,
    names_operations,
)
from kyvsim.migrate.matching.filters import namespaces_test
from kyvsim.migrate.matching.kinds import EVERY, WRITES, Operations, without_operations

__all__ = [
    "EVERY",
    "WRITES",
    "Matching",
    "Operations",
    "block_kinds",
    "block_test",
    "matching_at_rest",
    "matching_of",
    "names_operations",
    "namespaces_test",
    "without_operations",
]
