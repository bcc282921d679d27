"""The Python API: from paths to results.

Names are imported on first use, so that a command only loads the modules that it needs.
"""

from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kyvsim.api.apply import open_application
    from kyvsim.api.inputs import ApplyInputs
    from kyvsim.load.files import Source

__all__ = ["ApplyInputs", "Source", "open_application"]

_HOMES = MappingProxyType(
    {
        "ApplyInputs": "kyvsim.api.inputs",
        "Source": "kyvsim.load.files",
        "open_application": "kyvsim.api.apply",
    }
)


def __getattr__(name: str) -> Any:
    """Return a public name from the module that defines it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
