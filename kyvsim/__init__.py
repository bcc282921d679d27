"""Offline policy engine for Kyverno policies: verdicts, mutated and generated resources.

The functions and classes are those of `kyvsim.api.library`, which is imported on first use, so that
the program starts quickly. `__init__.pyi` lists them for type checkers.
"""

from importlib import import_module

__version__ = "1.0.0rc1"

__all__ = [
    "Report",
    "Result",
    "UnusableInputError",
    "__version__",
    "apply",
    "diff",
    "explain",
    "lint",
    "simulate",
    "test",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("kyvsim.api.library"), name)
