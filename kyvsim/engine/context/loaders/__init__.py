"""Loaders of context entries: one file each; the table says which reads which field.

A loader is loaded when the first entry needs it.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib import import_module
from types import MappingProxyType
from typing import Final, cast

from kyvsim.engine.context.json_context import ContextLoader, EntryLoader, traced_entries
from kyvsim.jmespath import System
from kyvsim.kubernetes.objects import Json
from kyvsim.model.tracing import NO_TRACE, TraceContext

FIELDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "variable": "variable",
        "configMap": "config_map",
        "apiCall": "api_call",
        "globalReference": "global_reference",
        "imageRegistry": "image_registry",
    }
)
"""The field of an entry that a loader reads, and its module; the first one that is there counts."""


@lru_cache(maxsize=16)
def loader_of(field: str) -> ContextLoader:
    """Return what compiles the entries with this field."""
    module = import_module(f"{__name__}.{FIELDS[field]}")
    return cast("ContextLoader", module.LOADER)


def compile_entries(
    entries: Iterable[Json], system: System, trace: TraceContext = NO_TRACE
) -> tuple[tuple[str, EntryLoader], ...]:
    """Return name and loader of each context entry, in the order in which they are written.

    `trace` is that of their list.
    """
    compiled = tuple((entry["name"], _compile_entry(entry, system)) for entry in entries)
    if trace.tracer is None:
        return compiled

    return traced_entries(compiled, trace)


def _compile_entry(entry: Json, system: System) -> EntryLoader:
    field = next(field for field in FIELDS if entry.get(field) is not None)
    return loader_of(field).compile(entry["name"], entry[field], system)
