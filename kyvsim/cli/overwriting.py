"""What is written goes to files of its own: none that the run reads, and no two things to one."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from kyvsim.cli import declared
from kyvsim.cli.settled import configuration_files
from kyvsim.load.walk import is_manifest_name

BASELINE = "--write-baseline"
_TESTS = frozenset({"tests", "scenarios"})
"""Keys of paths to folders in which only files of one name are read by themselves."""


def refuse_overwriting(
    written: Iterable[tuple[str, str]], options: Mapping[str, Any], call: declared.Call
) -> None:
    """Raise UsageError where of outputs, by name and path, two are one file or one is read."""
    places: dict[str, str] = {}
    for name, path in written:
        other = places.setdefault(os.path.realpath(path), name) if path else name
        if other != name:
            raise declared.UsageError(f"{other} and {name} both go to {path}", call)
    for place, name in places.items():
        if os.path.isfile(place) and _reads(place, name, options, call):
            text = f"{name} goes to {place}, which the run reads: name another file"
            raise declared.UsageError(text, call)


def reader_of(options: Mapping[str, Any], call: declared.Call) -> Callable[[str], bool]:
    """Return what tells of a path whether it is a file that the run reads."""

    def reads(path: str) -> bool:
        place = os.path.realpath(path)
        return os.path.isfile(place) and _reads(place, "", options, call)

    return reads


def _reads(place: str, name: str, options: Mapping[str, Any], call: declared.Call) -> bool:
    if place in map(os.path.realpath, configuration_files()):
        return True
    for parameter, path in _read_paths(options, call):
        # What is known of a folder may well stand in it, and take the place of what was known.
        if name == BASELINE and parameter.name == "baseline":
            continue
        in_folders = name != BASELINE
        if parameter.key in _TESTS and not options.get("create"):
            wanted = options.get("file_name") or options.get("test_file")
            in_folders = os.path.basename(place) == wanted
        if is_among(place, (path,), in_folders=in_folders):
            return True
    return False


def _read_paths(
    options: Mapping[str, Any], call: declared.Call
) -> Iterator[tuple[declared.Parameter, str]]:
    """Yield the paths that a call reads, with their parameters."""
    for one in call.command.parameters:
        kind = one.settings.get("type")
        if not isinstance(kind, declared.PathText) or kind.behind or kind.is_written:
            continue
        for path in paths_of(options, one.name):
            if path not in {"", *kind.words}:
                yield one, path


def paths_of(options: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return the paths that a parameter has; none where a command has no such parameter."""
    found = options.get(name) or ()
    return (found,) if isinstance(found, str) else tuple(found)


def is_among(place: str, named: Iterable[str], *, in_folders: bool = True) -> bool:
    """Return whether a file, by its real path, is one that is named, there or not.

    With `in_folders` also whether it lies in a folder of theirs or may be found by a glob, and is
    named as manifests are.
    """
    may_be_found = in_folders and is_manifest_name(place)
    for path in named:
        own = os.path.realpath(path)
        if place == own:
            return True
        if not may_be_found or path == "-":
            continue
        if os.path.isdir(own) and place.startswith(os.path.join(own, "")):
            return True
        if not os.path.exists(own):
            from kyvsim.load.globs import may_find  # noqa: PLC0415 — slow to import, seldom needed

            if may_find(path, place):
                return True
    return False
