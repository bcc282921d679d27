"""What a configuration may set that kyvsim discovered, and the outputs that it may choose.

Whoever wrote the folder wrote the configuration: it may be a clone that nobody has looked at. The
outputs that it chooses stay below its folder and replace only what kyvsim has written: digests of
that are kept in `.kyvsim/outputs.json` beside the configuration. A clone may bring such a file, but
it can name digests only of files that it brings as well, not of what the user has written.

Codes: KV056 a setting that only the user may choose, KV057 an output that would replace a file.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from kyvsim.cli.parameters import Effect, PathType, Settable, is_flag
from kyvsim.kubernetes.objects import Json
from kyvsim.load.configuration import Configuration
from kyvsim.load.scratch import ScratchFiles
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.source import Path

RECORD_FOLDER = ".kyvsim"
_RECORD = "outputs.json"
_RECORD_BYTES = 1 << 20
"""A larger record is not kyvsim's."""
_OF_VERSION_CONTROL = frozenset({".bzr", ".git", ".hg", ".jj", ".svn"})
"""Folders that decide what other programs run; a clone cannot bring what is in them."""
_OBJECTS = ("-mutated.yaml", "-generated.yaml")
_FLAG_EFFECTS = frozenset({Effect.OVERWRITES, Effect.RUNS})
_FILE_EFFECTS = frozenset({Effect.WRITES_FILE, Effect.WRITES_OBJECTS})


class Output(NamedTuple):
    """A path below the folder of a configuration that is written because that says so."""

    folder: str
    """The real path of the folder of the configuration."""
    place: str
    """The real path of what is written: one file, or a folder for files."""


class _Given(NamedTuple):
    """A value in a configuration, and where it is."""

    key: str
    value: Json
    configuration: Configuration
    path: Path

    def refused(self, what: str) -> Diagnostic:
        """Return the error that only the user may set this; `what` says what it decides."""
        text = (
            f"`{self.key}` {what}, which a discovered configuration must not decide: use the "
            f"command line or a variable, or name this file with --config"
        )
        return Diagnostic("KV056", Severity.ERROR, text, self.configuration.locate(self.path))


def check_discovered(
    parameter: Settable, value: Json, configuration: Configuration, path: Path
) -> Iterator[Output | Diagnostic]:
    """Yield what is written because a discovered configuration says so, and what it must not say.

    `path` leads to the key and its value in the configuration.
    """
    values = value if isinstance(value, list) else [value]
    for number, one in enumerate(values):
        place = (*path, number) if isinstance(value, list) else path
        found = _checked(parameter, _Given(str(path[-1]), one, configuration, place))
        if found is not None:
            yield found


def _checked(parameter: Settable, given: _Given) -> Output | Diagnostic | None:
    value, effect = given.value, parameter.effect
    if is_flag(parameter):
        return given.refused(effect.value) if value is True and effect in _FLAG_EFFECTS else None
    if effect in {Effect.RUNS, Effect.CONNECTS, Effect.OVERWRITES}:
        return given.refused(effect.value)
    if not isinstance(parameter.type, PathType):
        return None
    _, path = parameter.type.split(str(value))
    if "://" in path:
        return given.refused("connects to an address")
    return None if effect is Effect.NONE or not path else _output(effect, path, given)


def _output(effect: Effect, path: str, given: _Given) -> Output | Diagnostic:
    """Return the output at a path, or why a discovered configuration must not choose it."""
    folder = os.path.realpath(given.configuration.folder or os.curdir)
    try:
        place = os.path.realpath(os.path.join(folder, path))
    except (OSError, ValueError) as error:
        return given.refused(f"writes to a path that cannot be resolved ({error})")
    inside = _inside(folder, place)
    if inside is None:
        return given.refused(f"writes outside of the folder of this file, to {place}")
    if _OF_VERSION_CONTROL.intersection(inside.lower().split(os.sep)):
        return given.refused(f"writes into a folder of version control, to {place}")
    output = Output(folder, place)
    known = _recorded(folder)
    if effect in _FILE_EFFECTS:
        for one in _written_files(output):
            if not _is_own(folder, one, known):
                text = (
                    f"`{given.key}` would replace {os.path.relpath(one)}, which kyvsim has not "
                    f"written: remove or rename it, or use the command line"
                )
                place_of = given.configuration.locate(given.path)
                return Diagnostic("KV057", Severity.ERROR, text, place_of)
    return output


def _inside(folder: str, place: str) -> str | None:
    """Return a real path relative to a folder, None where it is not below that."""
    prefix = os.path.join(folder, "")
    whole = os.path.normcase(place)
    return place[len(prefix) :] if whole.startswith(os.path.normcase(prefix)) else None


def _written_files(output: Output) -> Iterator[str]:
    """Yield the files that are there now of those that are written for an output."""
    if not os.path.isdir(output.place):
        if os.path.lexists(output.place):
            yield output.place
        return
    for name in sorted(os.listdir(output.place)):
        if name.endswith(_OBJECTS):
            yield os.path.join(output.place, name)


def _is_own(folder: str, file: str, known: Mapping[str, str]) -> bool:
    """Return whether a file is as kyvsim wrote it."""
    digest = known.get(_key(folder, file))
    return digest is not None and digest == _digest(file)


def _key(folder: str, file: str) -> str:
    return os.path.relpath(file, folder).replace(os.sep, "/")


def _digest(file: str) -> str:
    """Return the digest of a regular file, "" for all else."""
    if os.path.islink(file) or not os.path.isfile(file):
        return ""
    from hashlib import file_digest  # noqa: PLC0415 — loads OpenSSL, which few runs need

    try:
        with open(file, "rb") as stream:
            return file_digest(stream, "sha256").hexdigest()
    except OSError:
        return ""


def _recorded(folder: str) -> dict[str, str]:
    """Return the digests of files that kyvsim has written, by path; none of an odd record."""
    try:
        with open(os.path.join(folder, RECORD_FOLDER, _RECORD), "rb") as stream:
            text = stream.read(_RECORD_BYTES + 1)
        found = json.loads(text) if len(text) <= _RECORD_BYTES else {}
    except (OSError, ValueError, RecursionError):
        return {}
    entries = found.items() if isinstance(found, dict) else ()
    return {key: value for key, value in entries if isinstance(value, str)}


def record_outputs(outputs: Iterable[Output]) -> None:
    """Remember what is in the outputs now, so that the next run may replace it.

    Where that cannot be written, the next run refuses to replace them, which is the safe side.
    """
    folders: dict[str, list[Output]] = {}
    for one in outputs:
        folders.setdefault(one.folder, []).append(one)
    for folder, some in folders.items():
        found = {
            _key(folder, file): digest
            for one in some
            for file in _written_files(one)
            if (digest := _digest(file))
        }
        known = _recorded(folder)
        kept = {key: one for key, one in known.items() if os.path.lexists(f"{folder}/{key}")}
        if found and kept | found != known:
            _write_record(os.path.join(folder, RECORD_FOLDER), kept | found)


def _write_record(folder: str, digests: Mapping[str, str]) -> None:
    text = json.dumps(digests, indent=2, sort_keys=True)
    texts = {".gitignore": "*\n", _RECORD: f"{text}\n"}
    scratch = ScratchFiles()
    try:
        os.makedirs(folder, exist_ok=True)
        if os.path.islink(folder):
            return
        for name, content in texts.items():
            place = os.path.join(folder, name)
            temporary = scratch.file_for(place)
            with open(temporary, "x", encoding="utf-8") as stream:
                stream.write(content)
            os.replace(temporary, place)
    except (OSError, UnicodeError):
        return
    finally:
        scratch.close()
