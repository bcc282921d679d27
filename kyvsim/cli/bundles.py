"""Bundles: the code of the modules that a command loads, in one file beside what Python compiled.

A start spends a third of its time on loading some 300 modules of this package, and half of that on
looking for each, reading it, and asking the import system. A bundle has them in groups: a module
that is asked for, and before it those that it loads when it is loaded itself, in that order. They
are run one after the other, and find there already what they import. What a run is not given to
do, it does not load.

A bundle has the regular expressions, too, that runs of the command compiled.

A run that loads modules by themselves keeps them for the next, where Python keeps its compiled
files, as far as it may; who may write there may change the program itself. A group counts where it
is whole, lies where it was made, and each source is as it was; else the import system has its turn.
"""

import marshal
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import CodeType

from kyvsim.cli.own_modules import Group, OwnModules, Source, find_own_modules, stamp_of
from kyvsim.light.importing import cache_from_source, source_hash
from kyvsim.light.regex import CODES, Code, Expression, code_of
from kyvsim.light.threads import has_one_thread
from kyvsim.light.typed import Any

_FOLDER = os.path.dirname(__file__)
_DIGEST = 8
"""Bytes before others that tell whether those are what was written, and by such a Python."""
_SIZE = 4
"""Bytes of the size of what comes first: the list of groups."""
_PARTS = 4
"""How much is said of a bundle: its folder, the Python, groups, and expressions."""
_READ = os.O_RDONLY | getattr(os, "O_BINARY", 0)


_Listed = tuple[Mapping[str, Source], tuple[int, int]]
"""A group in a bundle: the sources of its modules by their names, and where their code is."""
_Written = tuple[Mapping[str, Source], bytes]
"""The same, with the code."""
_Codes = Mapping[Expression, Code]
"""Regular expressions that were compiled."""


def begin_loading(arguments: Sequence[str]) -> Callable[[], None]:
    """Let this process find its modules, those of a command in its bundle.

    Returns what is to be called when the command has run: it keeps what the bundle had not.
    """
    own = find_own_modules()
    command = arguments[0] if arguments else ""
    if own is None or not command.isidentifier():  # so it leads nowhere else, either
        return _nothing
    source = os.path.join(_FOLDER, f"{command}.py")
    bundle = _Bundle(f"{os.path.splitext(cache_from_source(source))[0]}.kept")
    own.take = bundle.take
    CODES.known = bundle.codes
    return partial(bundle.keep, command, own)


def _nothing() -> None:
    """Do nothing: nothing is to be kept."""


class _Bundle:
    """The bundle of a command, of which what is asked for is read.

    A bundle grows by what other runs of its command load: this one would touch all of its memory.
    """

    def __init__(self, file: str) -> None:
        self._file = file
        self._descriptor = _opened(file)
        self._size = 0 if self._descriptor is None else os.fstat(self._descriptor).st_size
        self._groups, self.codes = self._listed()

    def take(self, name: str) -> Group | None:
        """Return the group of a module; None where there is none that counts."""
        kept = self._groups.get(name)
        codes = _whole(self._part(*kept[1])) if kept and _are_as_they_were(kept[0]) else None
        if kept is None or codes is None:
            return None
        loaded: list[CodeType] = marshal.loads(codes)  # noqa: S302 — lies where the program does
        sources = kept[0].items()
        return {name: (*one, code) for (name, one), code in zip(sources, loaded, strict=True)}

    def keep(self, command: str, own: OwnModules) -> None:
        """Keep what this run loaded and compiled by itself, too, if that may be."""
        from kyvsim.cli.front_page import COMMANDS  # noqa: PLC0415 — in the bundle itself

        folder = os.path.dirname(self._file)
        nothing_new = command not in COMMANDS or not (own.fresh or CODES.compiled)
        if nothing_new or sys.dont_write_bytecode or not os.access(folder, os.W_OK):
            return
        fresh = {name: _written_group(group) for name, group in own.fresh.items() if name in group}
        counting = {
            name: (sources, self._part(*place))
            for name, (sources, place) in self._groups.items()
            if _are_as_they_were(sources)
        }
        # What a module that changed had compiled may be nobody's any more.
        codes = dict(self.codes) if len(counting) == len(self._groups) else {}
        if has_one_thread():
            codes |= {one: code for one in CODES.compiled if (code := code_of(one))}
        self._replace(_written(counting | fresh, codes))

    def _replace(self, pieces: Iterator[bytes]) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        new = f"{self._file}.{os.getpid()}"
        try:
            with open(new, "xb") as writing:
                writing.writelines(pieces)
            os.replace(new, self._file)
        except (OSError, KeyboardInterrupt):
            from kyvsim.light.suppressed import suppress  # noqa: PLC0415 — loaded by then

            with suppress(OSError):  # it may never have been there
                os.remove(new)

    def _listed(self) -> tuple[Mapping[str, _Listed], _Codes]:
        """Return the groups by the modules that are asked for, and the expressions.

        Nothing is in a damaged bundle.
        """
        end = _SIZE + int.from_bytes(self._part(0, _SIZE), "big")
        head = _whole(self._part(_SIZE, end))
        if head is None:
            return {}, {}
        found = marshal.loads(head)  # noqa: S302 — lies where the program does
        if len(found) != _PARTS or found[0] != _FOLDER:  # of another version, or moved
            return {}, {}
        _, python, listed, codes = found
        groups = {
            name: (sources, (end + start, end + stop))
            for name, (sources, start, stop) in listed.items()
        }
        # Engines of two releases may read one code otherwise, though modules are good for both.
        return groups, codes if python == sys.hexversion else {}

    def _part(self, start: int, stop: int) -> bytes:
        """Return some of the file; less where it ends before."""
        if self._descriptor is None:
            return b""
        size = max(min(stop, self._size) - start, 0)
        try:
            if hasattr(os, "pread"):  # which copies of a process can do at once
                return os.pread(self._descriptor, size, start)
            os.lseek(self._descriptor, start, os.SEEK_SET)
            return os.read(self._descriptor, size)
        except OSError:
            return b""


def _opened(file: str) -> int | None:
    try:
        return os.open(file, _READ)
    except OSError:
        return None


def _written(groups: Mapping[str, _Written], codes: _Codes) -> Iterator[bytes]:
    """Yield the bytes of a bundle."""
    listed: dict[str, tuple[Mapping[str, Source], int, int]] = {}
    end = 0
    for name, (sources, code) in groups.items():
        start, end = end, end + len(code)
        listed[name] = sources, start, end
    # What changes here in its meaning, not its size, needs another ending of the file's name.
    whole: Any = _FOLDER, sys.hexversion, listed, codes
    head = _with_digest(marshal.dumps(whole))
    yield len(head).to_bytes(_SIZE, "big")
    yield head
    for _, code in groups.values():
        yield code


def _written_group(group: Group) -> _Written:
    sources = {name: (path, stamp) for name, (path, stamp, _) in group.items()}
    return sources, _with_digest(marshal.dumps([code for *_, code in group.values()]))


def _with_digest(data: bytes) -> bytes:
    return source_hash(data) + data


def _whole(data: bytes) -> memoryview | None:
    """Return what follows a digest; None where it is not what was written."""
    rest = memoryview(data)[_DIGEST:]
    return rest if data[:_DIGEST] == source_hash(rest) else None


def _are_as_they_were(sources: Mapping[str, Source]) -> bool:
    try:
        return all(stamp_of(path) == stamp for path, stamp in sources.values())
    except OSError:
        return False
