"""What the import system is made of, without the modules that show it.

Each interpreter has loaded it to start at all. `importlib`, `importlib.util` and what these stand
on would take a millisecond more.
"""

import sys
from types import ModuleType

from kyvsim.light.typed import TYPE_CHECKING

__all__ = [
    "MAGIC_NUMBER",
    "ModuleSpec",
    "SourceFileLoader",
    "cache_from_source",
    "import_module",
    "source_hash",
]

if TYPE_CHECKING:
    from importlib import import_module
    from importlib.machinery import ModuleSpec, SourceFileLoader
    from importlib.util import MAGIC_NUMBER, cache_from_source, source_hash
else:
    import _imp
    from _frozen_importlib import ModuleSpec
    from _frozen_importlib_external import MAGIC_NUMBER, SourceFileLoader, cache_from_source

    _KEY = int.from_bytes(MAGIC_NUMBER, "little")

    def import_module(name: str) -> ModuleType:
        """Return a module by its whole name."""
        __import__(name)
        return sys.modules[name]

    def source_hash(data: bytes) -> bytes:
        """Return eight bytes that tell a text from others, and this Python from others."""
        return _imp.source_hash(_KEY, data)
