"""How the program finds its own modules: where they are, compiled as they were.

The import system asks four finders and five endings of file names for each module, hundreds of
times before a command starts. Here a package's folder is listed once, and what was compiled of a
source is read directly. Whatever is not plain is left to the import system: a source that was
changed, or was not compiled, a package that is no folder.
"""

import marshal
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, ModuleType

from kyvsim.light.importing import (
    MAGIC_NUMBER,
    ModuleSpec,
    SourceFileLoader,
    cache_from_source,
    import_module,
)
from kyvsim.light.threads import has_one_thread

_PACKAGE = f"{__name__.partition('.')[0]}."
_INIT = "__init__"
_BY_TIME = MAGIC_NUMBER + bytes(4)
"""Begins a compiled file that holds for a source of one time and size, which follow."""
_HEAD = 16
_LOW = 0xFFFFFFFF
_READ = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_USUAL_SIZE = 1 << 16
"""More bytes than nearly all compiled modules have."""

Source = tuple[str, int]
"""The path of a module's source, and its stamp."""
Group = Mapping[str, tuple[str, int, CodeType]]
"""Modules by their names, each after those that it loads itself: source, its stamp, and code."""


def _none(_: str) -> None:
    """Give no group: none is kept."""


def find_own_modules() -> "OwnModules | None":
    """Let this process find the modules of this package so, which are not loaded yet.

    Returns what finds them; None where compiled files lie elsewhere.
    """
    if sys.pycache_prefix is not None:
        return None
    own = OwnModules()
    sys.meta_path.insert(0, own)
    return own


class OwnModules:
    """Finds the modules of this package, for the import system, or loads them itself."""

    def __init__(self) -> None:
        self.take: Callable[[str], Group | None] = _none
        """Gives the group of a module that is asked for, which is the last in it, if it is kept."""
        self.fresh: dict[str, dict[str, tuple[str, int, CodeType]]] = {}
        """Groups of modules that were loaded by themselves."""
        self._root: str | None = None
        """The module of whose group is what is being loaded."""
        self._folders: dict[str, frozenset[str]] = {}
        self._ending = os.path.basename(cache_from_source("m.py"))[1:]

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where a module is; None where the import system has to look for it."""
        del target
        if not path or not name.startswith(_PACKAGE):
            return None
        group = self._group(name)
        if group is not None:
            return self.spec_at(name, group[name][0], group)
        folder, own = path[0], name.rpartition(".")[2]
        names = self._names_in(folder)
        if f"{own}.py" in names:
            return self.spec_at(name, f"{folder}/{own}.py")
        inner = f"{folder}/{own}"
        if own in names and f"{_INIT}.py" in self._names_in(inner):
            return self.spec_at(name, f"{inner}/{_INIT}.py")
        return None

    def _group(self, name: str) -> Group | None:
        """Return the group of a module that is kept.

        While other threads run, this is left to the import system, which has them wait.
        """
        return self.take(name) if has_one_thread() else None

    def spec_at(self, name: str, file: str, group: Group | None = None) -> ModuleSpec:
        """Return what the import system wants to know of a module that lies in a file."""
        folder, _, own = file.rpartition("/")
        is_package = own == f"{_INIT}.py"
        loader = _Loader(self, name, file, group)
        spec = ModuleSpec(name, loader, origin=file, is_package=is_package)
        if is_package and spec.submodule_search_locations is not None:
            spec.submodule_search_locations.append(folder)
        spec.cached = self.cached(file)
        spec.has_location = True
        return spec

    def cached(self, file: str) -> str:
        """Return the path of what Python compiled of a source."""
        folder, _, own = file.rpartition("/")
        return f"{folder}/__pycache__/{own[:-3]}{self._ending}"

    def load_before(self, name: str, group: Group) -> CodeType:
        """Load what a module loads itself, as far as it is not loaded; return its code."""
        begun: set[str] = set()
        try:
            for one, (*_, code) in group.items():
                if one != name and self._is_begun(one, group, begun):
                    module = sys.modules[one]
                    exec(code, module.__dict__)  # noqa: S102 — as the import system does
                    package, _, own = one.rpartition(".")
                    sys.modules[package].__dict__[own] = module
                    begun.remove(one)
        finally:
            for one in begun:
                del sys.modules[one]
        return group[name][-1]

    def _is_begun(self, name: str, group: Group, begun: set[str]) -> bool:
        """Begin a module of a group; return whether it is to be run, which others may have done.

        No module waits longer than it must for what it is: sources that are not in the group may
        have changed, and ask for it. A package waits while it loads what is in it.
        """
        if name in begun:
            return True
        package = name.rpartition(".")[0]
        if package not in sys.modules:
            if package in group:
                self._is_begun(package, group, begun)
            else:
                import_module(package)
        if name in sys.modules:
            return False
        sys.modules[name] = self._empty(name, group[name][0])
        begun.add(name)
        return True

    def run(self, name: str, source: Source, code: CodeType, module: ModuleType) -> None:
        """Run the code of a module that is loaded by itself."""
        outer, self._root = self._root, self._root or name
        try:
            exec(code, module.__dict__)  # noqa: S102 — as the import system does
            self.fresh.setdefault(self._root, {})[name] = (*source, code)
        finally:
            self._root = outer

    def _empty(self, name: str, file: str) -> ModuleType:
        """Return a module that has not run, as the import system would make it."""
        is_package = file.endswith(f"/{_INIT}.py")
        module = (ModuleType if is_package else _Module)(name)
        attributes = module.__dict__
        attributes["__file__"] = file
        attributes["__cached__"] = self.cached(file)
        attributes["__loader__"] = loader = _Loader(self, name, file)
        attributes["__spec__"] = _Spec(loader)
        if is_package:
            attributes["__package__"] = name
            attributes["__path__"] = [os.path.dirname(file)]
        else:
            attributes["__package__"] = name.rpartition(".")[0]
        return module

    def _names_in(self, folder: str) -> frozenset[str]:
        names = self._folders.get(folder)
        if names is None:
            try:
                names = frozenset(os.listdir(folder))
            except OSError:
                names = frozenset()
            self._folders[folder] = names
        return names


class _Module(ModuleType):
    """A module of which attributes that it lacks are told as any object's are.

    Each `from … import` asks whether what it imports from is a package, and throws the answer away.
    A plain module words two errors for that, which is a tenth of what loading takes (CPython 3.11).
    A `__getattr__` that a module defines is not asked: only packages have one here.
    """

    __slots__ = ()
    __getattribute__ = object.__getattribute__


class _Spec(ModuleSpec):
    """What the import system would know of a module that it did not load: found when asked for."""

    _initializing = False
    """Each import of a module asks, and CPython 3.11 words an error where nothing is said."""

    def __init__(self, loader: "_Loader") -> None:
        self.loader = loader

    def __getattr__(self, name: str) -> object:
        known, loader = self.__dict__, self.__dict__["loader"]
        if len(known) == 1:
            known.update(loader.own.spec_at(loader.name, loader.path).__dict__ | known)
        if name not in known:
            raise AttributeError(name)
        return known[name]


class _Loader(SourceFileLoader):
    """Loads a module as every source is loaded, but for what it asks first."""

    def __init__(self, own: OwnModules, name: str, path: str, group: Group | None = None) -> None:
        self.own = own
        self.name = name
        self.path = path
        self._group = group

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Return the module, still empty; a package is made as the import system makes it."""
        return None if spec.submodule_search_locations is not None else _Module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Run the module."""
        group, self._group = self._group, None
        if group is not None:
            kept = self.own.load_before(self.name, group)
            exec(kept, module.__dict__)  # noqa: S102 — as the import system does
            return
        compiled = self._compiled()
        if compiled is None:  # the import system compiles it, or says what is wrong
            super().exec_module(module)
        else:
            stamp, code = compiled
            self.own.run(self.name, (self.path, stamp), code, module)

    def get_code(self, fullname: str) -> CodeType | None:
        """Return the code of the module."""
        compiled = self._compiled()
        return super().get_code(fullname) if compiled is None else compiled[1]

    def _compiled(self) -> tuple[int, CodeType] | None:
        """Return the source's stamp, and what was compiled of it; None where that is not plain."""
        try:
            data, stamp = _bytes_of(self.own.cached(self.path)), stamp_of(self.path)
        except OSError:
            return None
        if data[:_HEAD] != _BY_TIME + stamp.to_bytes(8, "little"):
            return None
        code = marshal.loads(memoryview(data)[_HEAD:])  # noqa: S302 — as the import system does
        return (stamp, code) if code.co_filename == self.path else None


def stamp_of(path: str) -> int:
    """Return what tells a source from another: time and size, as a compiled file has them."""
    source = os.stat(path)
    # The time first, then the size: four bytes each, the lower ones first.
    return (source.st_size & _LOW) << 32 | int(source.st_mtime) & _LOW


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
