"""The JSON context that expressions are evaluated in, and what fills it."""

from kyvsim.engine.context.json_context import (
    SKIPPED,
    EntryLoader,
    JSONContext,
    compile_entries,
    request_context,
    with_variables,
)

__all__ = [
    "SKIPPED",
    "EntryLoader",
    "JSONContext",
    "compile_entries",
    "request_context",
    "with_variables",
]
