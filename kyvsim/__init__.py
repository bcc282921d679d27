"""Offline policy engine for Kyverno policies: verdicts, mutated and generated resources.

The functions and classes are those of `kyvsim.api.library`, which is imported on first use, so that
the program starts quickly. `__init__.pyi` lists them for type checkers.
"""

import sys
from importlib import import_module
from types import ModuleType

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


class _Package(ModuleType):
    """The package, whose `lint` is the function, also after the package `kyvsim.lint` is imported.

    An import of a package binds its name in the package above, which would hide the function.
    """

    def __getattr__(self, name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(import_module("kyvsim.api.library"), name)

    @property
    def lint(self) -> object:
        """The function."""
        return getattr(import_module("kyvsim.api.library"), "lint")  # noqa: B009 — as above

    @lint.setter
    def lint(self, package: ModuleType) -> None:
        """Ignore the package: it is found in `sys.modules`."""


sys.modules[__name__].__class__ = _Package
