"""Loaders of context entries: one module each; the table says which loads which entries.

A loader is imported when the first entry needs it.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib import import_module
from typing import Final, cast

from kyvsim.engine.context.json_context import ContextLoader, EntryLoader, traced_entry
from kyvsim.jmespath import System
from kyvsim.model.tracing import NO_TRACE, TraceContext
from kyvsim.policy.tree import (
    ApiCallEntry,
    ConfigMapEntry,
    ContextEntry,
    GlobalReferenceEntry,
    ImageRegistryEntry,
    VariableEntry,
)

LOADERS: Final[Mapping[type, str]] = {
    VariableEntry: "variable",
    ConfigMapEntry: "config_map",
    ApiCallEntry: "api_call",
    GlobalReferenceEntry: "global_reference",
    ImageRegistryEntry: "image_registry",
}
"""The module that loads the entries of a class."""


@lru_cache(maxsize=16)
def loader_of(entry_class: type) -> ContextLoader:
    """Return what compiles the entries of a class."""
    module = import_module(f"{__name__}.{LOADERS[entry_class]}")
    return cast("ContextLoader", module.LOADER)


def compile_entries(
    entries: Iterable[ContextEntry], system: System, trace: TraceContext = NO_TRACE
) -> tuple[tuple[str, EntryLoader], ...]:
    """Return name and loader of each context entry, in the order in which they are written.

    `trace` is that of the rule, or of a part of it.
    """
    return tuple(
        (entry.name, traced_entry(entry, _compile_entry(entry, system), trace)) for entry in entries
    )


def _compile_entry(entry: ContextEntry, system: System) -> EntryLoader:
    entry_class: type = type(entry)
    return loader_of(entry_class).compile(entry, system)
