"""For tests of your own: what policies do to manifests, as values and as golden files.

Names are loaded when first requested: pytest imports this package with its plugin at every start.
"""

import importlib
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kyvsim.testing.effects import Effect, UnusableInputError, Verdict, apply_policies, verdicts
    from kyvsim.testing.golden import golden_difference, golden_text, write_golden

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

_HOMES = MappingProxyType(
    {
        "Effect": "effects",
        "UnusableInputError": "effects",
        "Verdict": "effects",
        "apply_policies": "effects",
        "golden_difference": "golden",
        "golden_text": "golden",
        "verdicts": "effects",
        "write_golden": "golden",
    }
)


def __getattr__(name: str) -> Any:
    """Return a public name from the module that has it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
