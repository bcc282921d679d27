"""The JSON context of expressions, and its loaders."""

from kyvsim.engine.context.json_context import (
    MISSING_INPUT,
    SKIPPED,
    EntryLoader,
    JSONContext,
    compile_entries,
    request_context,
    with_variables,
)

__all__ = [
    "MISSING_INPUT",
    "SKIPPED",
    "EntryLoader",
    "JSONContext",
    "compile_entries",
    "request_context",
    "with_variables",
]
