"""What is written goes to files of its own: none that the run reads, and no two things to one."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import click

from kyvsim.cli.parameters import PathType
from kyvsim.cli.settings import configuration_files
from kyvsim.cli.streams import OutputError
from kyvsim.load.files import may_find
from kyvsim.load.folders import is_manifest_name
from kyvsim.report.style import safe_line

BASELINE = "--write-baseline"
_TESTS = frozenset({"tests", "scenarios"})
"""Keys of paths to folders in which only files of one name are read by themselves."""


class ReadPath(NamedTuple):
    """A path that a run reads; `folder` and `pattern` are "" where it is none."""

    place: str
    folder: str
    pattern: str


def refuse_overwriting(
    written: Iterable[tuple[str, str]], options: Mapping[str, Any], ctx: click.Context
) -> None:
    """Raise UsageError where of outputs, by name and path, two are one file or one is read."""
    places: dict[str, str] = {}
    for name, path in written:
        if not path:
            continue
        place = os.path.realpath(path)
        other = places.setdefault(place, name)
        if other != name:
            raise click.UsageError(f"{other} and {name} both go to {path}", ctx)
        if os.path.isfile(place) and _reader(options, ctx, name)(place):
            raise _is_read(name, path, ctx)


def refuse_named(
    written: Iterable[tuple[str, str]], files: Iterable[str], ctx: click.Context
) -> None:
    """Raise UsageError where an output is one of the files that documents of the run name.

    These are known when the documents were read, and nothing is written yet; a folder or a
    pattern stands for what is found there.
    """
    outputs = [*written]
    # Most runs write nothing: then no file is looked for.
    named = [read_path(path) for path in files] if outputs else []
    for name, path in outputs:
        place = os.path.realpath(path)
        if os.path.isfile(place) and is_among(place, named):
            raise _is_read(name, path, ctx)


def _is_read(name: str, path: str, ctx: click.Context) -> click.UsageError:
    text = f"{name} goes to {path}, which the run reads: name another file"
    return click.UsageError(text, ctx)


def reader_of(options: Mapping[str, Any], ctx: click.Context) -> Callable[[str], bool]:
    """Return what tells of a path whether it is a file that the run reads."""
    reads = _reader(options, ctx)

    def reads_file(path: str) -> bool:
        place = os.path.realpath(path)
        return os.path.isfile(place) and reads(place)

    return reads_file


def refuse_read(paths: Iterable[str], reads: Callable[[str], bool]) -> None:
    """Raise OutputError where one of the files to be written is one that the run reads."""
    found = next(filter(reads, paths), "")
    if found:
        text = f"{os.path.normpath(found)}: the run reads it: name another folder"
        raise OutputError(safe_line(text))


def refuse_existing(paths: Iterable[str]) -> None:
    """Raise OutputError where files to be written are there, for a run without `--force`."""
    there = [os.path.normpath(path) for path in paths if os.path.lexists(path)]
    if there:
        text = f"{', '.join(there)}: there already; --force overwrites"
        raise OutputError(safe_line(text))


def _reader(
    options: Mapping[str, Any], ctx: click.Context, output: str = ""
) -> Callable[[str], bool]:
    """Return what tells of a real path whether the run reads it, as one of an output's name."""
    settings = frozenset(map(os.path.realpath, configuration_files(ctx).paths))
    tests: list[ReadPath] = []
    others: list[ReadPath] = []
    for parameter, path in _read_paths(options, ctx):
        # What is known of a folder may well stand in it, and take the place of what was known.
        if output == BASELINE and parameter.name == "baseline":
            continue
        is_of_tests = getattr(parameter, "key", "") in _TESTS and not options.get("create")
        (tests if is_of_tests else others).append(read_path(path))
    manifest = options.get("file_name") or options.get("test_file")

    def reads(place: str) -> bool:
        return (
            place in settings
            or is_among(place, others, in_folders=output != BASELINE)
            or is_among(place, tests, in_folders=os.path.basename(place) == manifest)
        )

    return reads


def _read_paths(
    options: Mapping[str, Any], ctx: click.Context
) -> Iterator[tuple[click.Parameter, str]]:
    """Yield the paths that a call reads, with their parameters."""
    for one in ctx.command.params:
        kind = one.type
        if not isinstance(kind, PathType) or kind.separator or kind.is_written:
            continue
        for path in paths_of(options, one.name or ""):
            if path not in {"", *kind.words}:
                yield one, path


def paths_of(options: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return the paths that a parameter has; none where a command has no such parameter."""
    found = options.get(name) or ()
    return (found,) if isinstance(found, str) else tuple(found)


def read_path(path: str) -> ReadPath:
    """Return a path that a run reads, with what stands there now."""
    place = os.path.realpath(path)
    folder = os.path.join(place, "") if os.path.isdir(place) else ""
    is_pattern = path != "-" and not os.path.exists(place)
    return ReadPath(place, folder, path if is_pattern else "")


def is_among(place: str, named: Iterable[ReadPath], *, in_folders: bool = True) -> bool:
    """Return whether a file, by its real path, is one that is named, there or not.

    With `in_folders` also whether it lies in a folder of theirs or may be found by a glob, and is
    named as manifests are.
    """
    may_be_found = in_folders and is_manifest_name(place)
    return any(place == one.place or (may_be_found and _finds(one, place)) for one in named)


def _finds(named: ReadPath, place: str) -> bool:
    if named.folder and place.startswith(named.folder):
        return True
    if not named.pattern:
        return False

    return may_find(named.pattern, place)
