"""The code of all modules that a command loads, in one file beside what Python compiled.

A start spends a third of its time on loading some 250 modules of this package, and half of that on
looking for each, reading it, and asking the import system. A bundle has the code of those that a
command's module loads when it is loaded itself, in the order in which they were: one is run after
the other, and finds there already what it imports. What is loaded later, for what a run is given,
is not in it.

The first run that finds no bundle keeps one where Python keeps its compiled files, as far as it
may; who may write there may change the program itself. It counts where it is whole, lies where it
was made, and each source is as it was; else the import system has its turn.
"""

import marshal
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib.util import cache_from_source, source_hash

from kyvsim.cli.front_page import COMMANDS
from kyvsim.cli.own_modules import OwnModules, Source, find_own_modules, stamp_of

_FOLDER = os.path.dirname(__file__)
_DIGEST = 8
"""Bytes before the rest, which tell whether that is what was written, and by such a Python."""
_SIZE = 4
"""Bytes of the size of the list of sources, which comes before the code."""


def begin_loading(arguments: Sequence[str]) -> Callable[[], None]:
    """Let this process find its modules, and load those of a command from its bundle.

    Returns what is to be called when the command has run: it keeps a bundle where there was none.
    """
    own = find_own_modules()
    command = arguments[0] if arguments and arguments[0] in COMMANDS else None
    if own is None or command is None or _is_loaded(own, command):
        return _nothing
    return partial(_keep, own, command)


def _nothing() -> None:
    """Do nothing: nothing is to be kept."""


def _is_loaded(own: OwnModules, command: str) -> bool:
    """Load what a command loads, as far as it is not loaded; return whether a bundle had it."""
    try:
        with open(_file_of(command), "rb", buffering=0) as file:
            data = memoryview(file.read())
    except OSError:
        return False
    rest = data[_DIGEST:]
    if data[:_DIGEST] != source_hash(rest):
        return False
    end = _SIZE + int.from_bytes(rest[:_SIZE], "big")
    folder, sources = marshal.loads(rest[_SIZE:end])  # noqa: S302 — lies where the program does
    if folder != _FOLDER or not _are_as_they_were(sources):
        return False
    own.load(sources, marshal.loads(rest[end:]))  # noqa: S302 — likewise
    return True


def _keep(own: OwnModules, command: str) -> None:
    """Keep what has been loaded up to the module of a command for the next run, if that may be."""
    from kyvsim.cli.commands import module_of  # noqa: PLC0415 — loaded by the command

    module, file = f"kyvsim.cli.{module_of(command)}", _file_of(command)
    may = not sys.dont_write_bytecode and os.access(os.path.dirname(file), os.W_OK)
    if not may or module not in own.loaded:
        return
    names = [*own.loaded]
    loaded = {name: own.loaded[name] for name in names[: names.index(module) + 1]}
    index = marshal.dumps((_FOLDER, {name: one[:2] for name, one in loaded.items()}))
    codes = marshal.dumps([code for *_, code in loaded.values()])
    rest = len(index).to_bytes(_SIZE, "big") + index + codes
    new = f"{file}.{os.getpid()}"
    try:
        with open(new, "xb") as writing:
            writing.write(source_hash(rest) + rest)
        os.replace(new, file)
    except OSError:
        with suppress(OSError):
            os.remove(new)


def _are_as_they_were(sources: Mapping[str, Source]) -> bool:
    try:
        return all(stamp_of(path) == stamp for path, stamp in sources.values())
    except OSError:
        return False


def _file_of(command: str) -> str:
    """Return the path of a bundle: as of a compiled file, which says for which Python it is."""
    source = os.path.join(_FOLDER, f"{command}.py")
    return f"{os.path.splitext(cache_from_source(source))[0]}.bundle"
