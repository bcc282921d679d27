"""Loaders of context entries: one file each; `LOADERS` lists them."""

from collections.abc import Iterable

from kyvsim.context.json_context import EntryLoader
from kyvsim.context.loaders import (
    api_call,
    config_map,
    global_reference,
    image_registry,
    variable,
)
from kyvsim.context.loaders.protocol import ContextLoader
from kyvsim.expr import System
from kyvsim.kube.objects import Json

LOADERS: tuple[ContextLoader, ...] = (
    variable.LOADER,
    config_map.LOADER,
    api_call.LOADER,
    global_reference.LOADER,
    image_registry.LOADER,
)


def compile_entries(entries: Iterable[Json], system: System) -> tuple[tuple[str, EntryLoader], ...]:
    """Return name and loader of each context entry, in the order in which they are written."""
    return tuple((entry["name"], _compile_entry(entry, system)) for entry in entries)


def _compile_entry(entry: Json, system: System) -> EntryLoader:
    loader = next(loader for loader in LOADERS if entry.get(loader.field) is not None)
    return loader.compile(entry["name"], entry[loader.field], system)
