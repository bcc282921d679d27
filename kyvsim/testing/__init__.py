"""Helpers for tests: the effects of policies on manifests, as values and as golden files.

Names are imported on first use: pytest imports this package with its plugin at every start.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kyvsim.api.library import UnusableInputError
    from kyvsim.testing.effects import (
        Effect,
        Verdict,
        apply_policies,
        golden_difference,
        golden_text,
        verdicts,
        write_golden,
    )

__all__ = [
    "Effect",
    "UnusableInputError",
    "Verdict",
    "apply_policies",
    "golden_difference",
    "golden_text",
    "verdicts",
    "write_golden",
]


def __getattr__(name: str) -> Any:
    """Return a public name from the module that defines it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "kyvsim.api.library" if name == "UnusableInputError" else f"{__name__}.effects"
    return getattr(importlib.import_module(home), name)
