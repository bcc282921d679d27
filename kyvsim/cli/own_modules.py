"""How the program finds its own modules: where they are, compiled as they were.

The import system asks four finders and five endings of file names for each module, hundreds of
times before a command starts. Here a package's folder is listed once, and what was compiled of a
source is read directly. Whatever is not plain is left to the import system: a source that was
changed, or was not compiled, a package that is no folder.
"""

import marshal
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import MAGIC_NUMBER, cache_from_source
from types import CodeType, ModuleType

_PACKAGE = f"{__name__.partition('.')[0]}."
_BY_TIME = MAGIC_NUMBER + bytes(4)
"""Begins a compiled file that holds for a source of one time and size, which follow."""
_HEAD = 16
_LOW = 0xFFFFFFFF
_READ = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_USUAL_SIZE = 1 << 16
"""More bytes than nearly all compiled modules have."""


def find_own_modules() -> None:
    """Let this process find the modules of this package so, which are not loaded yet."""
    if sys.pycache_prefix is None:
        sys.meta_path.insert(0, _Finder())


class _Finder:
    """Finds the modules of this package."""

    def __init__(self) -> None:
        self._folders: dict[str, frozenset[str]] = {}
        self._ending = os.path.basename(cache_from_source("m.py"))[1:]

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where a module is; None where the import system has to look for it."""
        del target
        if not path or not name.startswith(_PACKAGE):
            return None
        folder, own = path[0], name.rpartition(".")[2]
        names = self._names_in(folder)
        if f"{own}.py" in names:
            return self._spec(name, folder, own)
        inner = f"{folder}/{own}"
        if own in names and "__init__.py" in self._names_in(inner):
            return self._spec(name, inner, "__init__")
        return None

    def _names_in(self, folder: str) -> frozenset[str]:
        names = self._folders.get(folder)
        if names is None:
            try:
                names = frozenset(os.listdir(folder))
            except OSError:
                names = frozenset()
            self._folders[folder] = names
        return names

    def _spec(self, name: str, folder: str, stem: str) -> ModuleSpec:
        file = f"{folder}/{stem}.py"
        cached = f"{folder}/__pycache__/{stem}{self._ending}"
        is_package = stem == "__init__"
        loader = _Loader(name, file, cached)
        spec = ModuleSpec(name, loader, origin=file, is_package=is_package)
        if is_package and spec.submodule_search_locations is not None:
            spec.submodule_search_locations.append(folder)
        spec.cached = cached
        spec.has_location = True
        return spec


class _Module(ModuleType):
    """A module of which attributes that it lacks are told as any object's are.

    Each `from … import` asks whether what it imports from is a package, and throws the answer away.
    A plain module words two errors for that, which is a tenth of what loading takes (CPython 3.11).
    A `__getattr__` that a module defines is not asked: only packages have one here.
    """

    __slots__ = ()
    __getattribute__ = object.__getattribute__


class _Loader(SourceFileLoader):
    """Loads a module as every source is loaded, but for what it asks first."""

    def __init__(self, name: str, path: str, cached: str) -> None:
        super().__init__(name, path)
        self._cached = cached

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Return the module, still empty; a package is made as the import system makes it."""
        return None if spec.submodule_search_locations is not None else _Module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Run the module."""
        code = self.get_code(module.__name__)
        if code is None:  # never of a source: the import system says so
            super().exec_module(module)
        else:
            exec(code, module.__dict__)  # noqa: S102 — as the import system does

    def get_code(self, fullname: str) -> CodeType | None:
        """Return the code of the module."""
        return self._compiled() or super().get_code(fullname)

    def _compiled(self) -> CodeType | None:
        """Return what was compiled of the source as it is; None where that is not plain."""
        try:
            data, source = _bytes_of(self._cached), os.stat(self.path)
        except OSError:
            return None
        # The time first, then the size: four bytes each, the lower ones first.
        times = (source.st_size & _LOW) << 32 | int(source.st_mtime) & _LOW
        if data[:_HEAD] != _BY_TIME + times.to_bytes(8, "little"):
            return None
        code = marshal.loads(memoryview(data)[_HEAD:])  # noqa: S302 — as the import system does
        return code if code.co_filename == self.path else None


def _bytes_of(path: str) -> bytes:
    """Return what a small file holds, by the fewest calls of the system: a start reads hundreds."""
    file = os.open(path, _READ)
    try:
        data = os.read(file, _USUAL_SIZE)
        if len(data) == _USUAL_SIZE:
            data += b"".join(iter(lambda: os.read(file, _USUAL_SIZE), b""))
        return data
    finally:
        os.close(file)
