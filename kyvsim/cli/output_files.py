"""Output files: reports and objects, written completely or not at all, and never over inputs."""

import errno
import json
import os
import re
import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import IO, NamedTuple, Self

import click

from kyvsim.cli.command import configuration_files
from kyvsim.cli.parameters import OUTPUT, Decorator, Effect, Options, PathType, bad_value, option
from kyvsim.cli.streams import OutputError, print_stderr, writing_to
from kyvsim.kubernetes.objects import metadata
from kyvsim.load.files import may_find
from kyvsim.load.folders import is_manifest_name
from kyvsim.load.scratch import ScratchFiles, scratch_folder
from kyvsim.model.diagnostic import likely
from kyvsim.model.result import EngineResponse
from kyvsim.report.formats import TEXT, LogFilter, OutputFormat
from kyvsim.report.object_text import to_yaml
from kyvsim.report.results import generated, mutations, patched_targets
from kyvsim.report.run import StreamingDocument
from kyvsim.report.style import counted, safe_line

# Outputs must be different files, and must not be inputs.

BASELINE = "--write-baseline"
_TESTS = frozenset({"tests", "scenarios"})
"""Keys of parameters whose folders are only searched for files of one name."""


_WOULD_OVERWRITE = "would overwrite {}, an input of this run: choose another file"


class ReadPath(NamedTuple):
    """A path that a run reads; `folder` and `pattern` are "" if it is not one."""

    place: str
    folder: str
    pattern: str


def refuse_overwriting(
    written: Iterable[tuple[str, str]], options: Mapping[str, object], ctx: click.Context
) -> None:
    """Raise UsageError if two outputs (name, path) are the same file, or one is an input."""
    places: dict[str, str] = {}
    for name, path in written:
        if not path:
            continue
        place = os.path.realpath(path)
        other = places.setdefault(place, name)
        if other != name:
            raise click.UsageError(f"{other} and {name} both go to {path}", ctx)
        if os.path.isfile(place) and _reader(options, ctx, name)(place):
            raise click.UsageError(f"{name} {_WOULD_OVERWRITE.format(path)}", ctx)


def refuse_named(
    written: Iterable[tuple[str, str]], files: Iterable[str], ctx: click.Context
) -> None:
    """Raise UsageError if an output is one of the files that documents refer to.

    These are known when the documents are read, before anything is written; folders and patterns
    represent their files.
    """
    outputs = [*written]
    # Most runs write no files, and then do not need the inputs.
    named = [read_path(path) for path in files] if outputs else []
    for name, path in outputs:
        place = os.path.realpath(path)
        if os.path.isfile(place) and is_among(place, named):
            raise click.UsageError(f"{name} {_WOULD_OVERWRITE.format(path)}", ctx)


def reader_of(options: Mapping[str, object], ctx: click.Context) -> Callable[[str], bool]:
    """Return a function that returns whether a path is a file that the run reads."""
    reads = _reader(options, ctx)

    def reads_file(path: str) -> bool:
        place = os.path.realpath(path)
        return os.path.isfile(place) and reads(place)

    return reads_file


def refuse_read(paths: Iterable[str], reads: Callable[[str], bool]) -> None:
    """Raise OutputError if the run reads a file that would be written."""
    path = next(filter(reads, paths), "")
    if path:
        text = f"{os.path.normpath(path)} is an input of this run and would be overwritten"
        text += ": choose another output folder"
        raise OutputError(safe_line(text))


def refuse_existing(paths: Iterable[str]) -> None:
    """Raise OutputError for existing files, without `--force`."""
    there = [os.path.normpath(path) for path in paths if os.path.lexists(path)]
    if there:
        text = f"not overwriting {', '.join(there)}: use --force to overwrite"
        raise OutputError(safe_line(text))


def _reader(
    options: Mapping[str, object], ctx: click.Context, output: str = ""
) -> Callable[[str], bool]:
    """Return a function that returns whether the run reads a real path; `output` is its option."""
    settings = frozenset(map(os.path.realpath, configuration_files(ctx).paths))
    tests: list[ReadPath] = []
    others: list[ReadPath] = []
    for parameter in ctx.command.params:
        kind = parameter.type
        # A new baseline may be in an input folder, and may replace the old one.
        is_replaced = output == BASELINE and parameter.name == "baseline"
        if not isinstance(kind, PathType) or kind.separator or kind.is_written or is_replaced:
            continue
        is_of_tests = getattr(parameter, "key", "") in _TESTS and not options.get("create")
        paths = (path for path in paths_of(options, parameter.name or "") if path)
        read = [read_path(path) for path in paths if path not in kind.words]
        (tests if is_of_tests else others).extend(read)
    manifest = options.get("file_name") or options.get("test_file")

    def reads(place: str) -> bool:
        return (
            place in settings
            or is_among(place, others, in_folders=output != BASELINE)
            or is_among(place, tests, in_folders=os.path.basename(place) == manifest)
        )

    return reads


def paths_of(options: Options, name: str) -> tuple[str, ...]:
    """Return the paths of a parameter; none if there is no such parameter."""
    value = options.get(name) or ()
    return (value,) if isinstance(value, str) else tuple(value)


def read_path(path: str) -> ReadPath:
    """Return a path that a run reads, in its current state."""
    place = os.path.realpath(path)
    folder = os.path.join(place, "") if os.path.isdir(place) else ""
    is_pattern = path != "-" and not os.path.exists(place)
    return ReadPath(place, folder, path if is_pattern else "")


def is_among(place: str, named: Iterable[ReadPath], *, in_folders: bool = True) -> bool:
    """Return whether the real path of a file, which may not exist, is one of `named`.

    With `in_folders`, also if it is a manifest in a folder or may match a glob.
    """
    may_be_found = in_folders and is_manifest_name(place)
    return any(
        place == path.place
        or (may_be_found and path.folder and place.startswith(path.folder))
        or (may_be_found and path.pattern and may_find(path.pattern, place))
        for path in named
    )


# Reports in several formats: one on standard output, others in files.

_PATIENCE = 5.0
"""Seconds to wait for a reader of a pipe."""


class Chosen(NamedTuple):
    """The format for standard output, and (format, path) for files."""

    shown: str
    files: tuple[tuple[str, str], ...]


def formats_option(known: Iterable[str], *, short: bool = True) -> Decorator:
    """Return the option for the formats of a command."""
    other = " (In `apply`, -o is --output.)" if short else ""
    return option(
        *(("-o",) if short else ()),
        "--output-format",
        "--format",
        effect=Effect.WRITES_FILE,
        multiple=True,
        metavar="FORMAT[=FILE]",
        type=PathType(separator="=", offered=tuple(known)),
        group=OUTPUT,
        help=f"Output format: {', '.join(known)}. FORMAT=FILE writes to FILE. Repeatable.{other}",
    )


def chosen_formats(
    options: Options, known: Mapping[str, OutputFormat], ctx: click.Context
) -> Chosen:
    """Return the formats of the options, the first known one by default; raises UsageError."""
    shown, files = named_formats(options["output_format"], known, ctx)
    if files:
        refuse_overwriting(files, options, ctx)
    return Chosen(shown or next(iter(known)), files)


def named_formats(
    values: Sequence[str], known: Mapping[str, OutputFormat], ctx: click.Context
) -> Chosen:
    """Return the formats of the options, with "" if none is for standard output."""
    shown: list[str] = []
    files: list[tuple[str, str]] = []
    for value in values:
        name, path = _format_and_file(value, known, "--output-format", ctx)
        if path:
            files.append((name, path))
        else:
            shown.append(name)
    if len(shown) > 1:
        text = f"only one format can go to standard output, not {' and '.join(shown)}: add =FILE"
        raise click.UsageError(f"--output-format: {text}", ctx)
    _refuse_shared(files, "--output-format", ctx)
    return Chosen(shown[0] if shown else "", tuple(files))


def chosen_files(
    values: Sequence[str], known: Mapping[str, OutputFormat], option: str, ctx: click.Context
) -> tuple[tuple[str, str], ...]:
    """Return the formats and paths of an option's `FORMAT=FILE` values."""
    chosen = [_format_and_file(value, known, option, ctx) for value in values]
    without_file = next((name for name, path in chosen if not path), None)
    if without_file is not None:
        raise bad_value(ctx, option, f"{without_file}: add a file, as in {without_file}=FILE")
    _refuse_shared(chosen, option, ctx)
    return tuple(chosen)


def _format_and_file(
    value: str, known: Mapping[str, OutputFormat], option: str, ctx: click.Context
) -> tuple[str, str]:
    """Return a format and its path, or ""."""
    name, separator, path = value.partition("=")
    name = name.lower()
    if name not in known:
        text = f"{value}: choose from {', '.join(known)}{likely(name, known)}"
        extension = os.path.splitext(value)[1]
        usual = next(iter(known)) if "/" in value else ""
        fits = (one for one, of in known.items() if extension and of.extension == extension)
        fitting = next(fits, usual)
        has_folder = any("--output" in parameter.opts for parameter in ctx.command.params)
        if has_folder and not extension:
            text += f"; for a folder use --output {value}"
        elif fitting:
            text += f"; a path follows the format, as in {fitting}={value}"
            text += " (only `kyvsim apply` takes a path after -o)"
        raise bad_value(ctx, option, text)
    if separator and not path:
        raise bad_value(ctx, option, f"{value}: missing file after =")
    return name, path


def _refuse_shared(files: Sequence[tuple[str, str]], option: str, ctx: click.Context) -> None:
    """Raise UsageError if two formats have the same file."""
    places: dict[str, str] = {}
    for name, path in files:
        other = places.setdefault(os.path.realpath(path), name)
        if other != name or sum((name, path) == pair for pair in files) > 1:
            raise click.UsageError(f"{option}: {other} and {name} both go to {path}", ctx)


class ReportFiles:
    """Files for reports, which are moved to their final paths when all are complete.

    Links are followed; streams (`/dev/stderr`, a pipe) are written directly.
    """

    def __init__(self, paths: Iterable[str], media: Iterable[str] = ()) -> None:
        """Open the files for reports of some media types; raises OutputError."""
        self._paths = tuple(paths)
        types = (*media, *(TEXT for _ in self._paths))
        self._safe = [LogFilter(media_type) for media_type in types[: len(self._paths)]]
        self._streams: list[IO[str]] = []
        self._temporary: dict[str, str] = {}
        self._scratch = ScratchFiles()
        try:
            for path in self._paths:
                with writing_to(path):
                    self._streams.append(self._open(path))
        finally:
            if len(self._streams) < len(self._paths):
                self.discard()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove uncommitted files, also after an interrupt."""
        self.discard()

    def write(self, index: int, text: str) -> None:
        """Write to the file with this index; raises OutputError."""
        with writing_to(self._paths[index]):
            self._streams[index].write(self._safe[index].feed(text))

    def fill(self, reports: Iterable[Iterable[str]]) -> None:
        """Write a report to each of the files, and commit them."""
        for path, stream, safe, pieces in zip(
            self._paths, self._streams, self._safe, reports, strict=True
        ):
            with writing_to(path):
                stream.writelines(map(safe.feed, pieces))
        self.commit()

    def commit(self) -> None:
        """Move all files to their final paths."""
        for path, stream, safe in zip(self._paths, self._streams, self._safe, strict=True):
            with writing_to(path):
                stream.write(safe.rest())
                stream.close()
        for place in tuple(self._temporary):
            with writing_to(place):
                os.replace(self._temporary[place], place)
            del self._temporary[place]
        self._scratch.close()

    def discard(self) -> None:
        """Remove uncommitted files."""
        for stream in self._streams:
            with suppress(OSError):
                stream.close()
        self._temporary.clear()
        self._scratch.close()

    def _open(self, path: str) -> IO[str]:
        if os.path.exists(path) and not os.path.isfile(path):
            return open(
                _stream(path), "w", encoding="utf-8", errors="backslashreplace", newline="\n"
            )
        # The link of a stream cannot be opened by its target name, so only links to files are
        # followed.
        place = os.path.realpath(path)
        if os.path.exists(place) and not os.access(place, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        temporary = self._scratch.file_for(place)
        self._temporary[place] = temporary
        return open(temporary, "x", encoding="utf-8", errors="backslashreplace", newline="\n")


def _stream(path: str) -> int:
    """Open a pipe or device for writing; raises OSError if no process reads a pipe."""
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            descriptor = os.open(path, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0))
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            if time.monotonic() > end:
                raise OSError(errno.ENXIO, "no process reads from this pipe") from None
            time.sleep(0.02)
        else:
            os.set_blocking(descriptor, True)
            return descriptor


def report_files(chosen: Chosen, known: Mapping[str, OutputFormat]) -> ReportFiles:
    """Return the files of the chosen formats; raises OutputError."""
    media = (known[name].media for name, _ in chosen.files)
    return ReportFiles((path for _, path in chosen.files), media)


def write_reports(reports: Iterable[tuple[str, str, Iterable[str]]]) -> None:
    """Write reports (path, media type and pieces), all or none; raises OutputError."""
    listed = list(reports)
    with ReportFiles((path for path, *_ in listed), (media for _, media, _ in listed)) as files:
        files.fill(pieces for *_, pieces in listed)


# Mutated and generated objects as files (`--output`).

_UNSAFE = r"[^\w.:-]|^\.+"
_LONGEST = 200
"""Maximum length of a name before its suffix in bytes: file systems allow 255."""


class ObjectFiles:
    """Collects objects in temporary files; `commit` moves them to their final paths.

    A path that ends in .yaml or .yml is one file; any other is a folder with `NAME-mutated.yaml`
    for each mutated resource and `POLICY-generated.yaml` for the generated ones of a policy.

    upstream: cmd/cli/kubectl-kyverno/processor/generate.go and policy_processor.go
    """

    def __init__(self, path: str, taken: Callable[[str], bool]) -> None:
        """Raise OutputError if the path is not writable; `taken` detects files in use."""
        self._taken = taken
        self._path = path
        self._single = path.rsplit(".", 1)[-1] in {"yml", "yaml"}
        self._folder = (os.path.dirname(path) or os.curdir) if self._single else path
        self._count = 0
        self._open = ExitStack()
        if self._single:
            self._check(path)
        with writing_to(self._folder):
            if os.path.exists(self._folder) and not os.path.isdir(self._folder):
                raise NotADirectoryError(errno.ENOTDIR, "it is not a folder")
            os.makedirs(self._folder, exist_ok=True)
            self._scratch = self._open.enter_context(scratch_folder(self._folder))
        if self._single:
            self._append(self._path, "")

    def write(self, lines: str) -> None:
        """Save the objects of a piece of `objects_document`; raises OutputError."""
        for line in lines.split("\n")[:-1]:
            name, what, text = json.loads(line)
            file = f"{file_name(name)}-{what}.yaml"
            self._append(self._path if self._single else os.path.join(self._folder, file), text)
            self._count += 1

    def commit(self) -> str:
        """Move all files to their final paths; return the number of objects as text."""
        # The files are not listed in memory: there may be one for each resource.
        with os.scandir(self._scratch) as temporary:
            for file in temporary:
                place = self._path if self._single else os.path.join(self._folder, file.name)
                with writing_to(place):
                    os.replace(file.path, place)
        self._open.close()
        return counted(self._count, "object")

    def discard(self) -> None:
        """Remove uncommitted files."""
        self._open.close()

    def _append(self, place: str, text: str) -> None:
        """Append a document to the temporary file for a path."""
        temporary = os.path.join(self._scratch, os.path.basename(place))
        if not os.path.exists(temporary):
            self._check(place)
        with writing_to(place), open(temporary, "a", encoding="utf-8", newline="\n") as stream:
            stream.write(f"---\n{text}" if stream.tell() else text)

    def _check(self, place: str) -> None:
        """Raise OutputError for a path that is not written to, such as a link or an input."""
        is_link = os.path.islink(place)
        if is_link or (os.path.exists(place) and not os.path.isfile(place)):
            kind = "a symbolic link" if is_link else "not a regular file"
            raise OutputError(f"cannot write to {place}: it is {kind}")
        if self._taken(place):
            raise OutputError(f"cannot write to {place}: the run also reads or writes it")


def objects_document() -> StreamingDocument:
    """Return a document for `ObjectFiles`, with a line in JSON for each object to save.

    It is rendered like a format, so that all parts of a run can render theirs: name, what happened
    to the object, and its YAML.
    """

    def row(response: EngineResponse) -> str:
        changed = [response] if mutations(response) else []
        named = (
            *((_name(one.object), "mutated", one.object) for one in changed),
            *((_name(one.object), "mutated", one.object) for one in patched_targets(response)),
            *((one.policy.name, "generated", one.object) for one in generated(response)),
        )
        return "".join(f"{json.dumps((name, what, to_yaml(obj)))}\n" for name, what, obj in named)

    return StreamingDocument(row=row, tail=lambda _: ())


def _name(obj: object) -> str:
    meta = metadata(obj)
    return str(meta.get("name") or meta.get("generateName") or "unnamed")


def file_name(name: str) -> str:
    """Return a safe file name for a name from user data; a different one is reported."""
    plain = re.sub(_UNSAFE, "_", name).encode("utf-8", "replace")
    safe_name = plain[:_LONGEST].decode("utf-8", "ignore")
    if len(plain) > _LONGEST:
        # Distinguish names with equal beginnings.
        safe_name += f"-{zlib.crc32(plain):08x}"
    if safe_name != name:
        print_stderr(
            safe_line(f"{name}: written as {safe_name}, since it is not a valid file name")
        )
    return safe_name
