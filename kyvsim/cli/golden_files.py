"""Files of tests and expected objects, written whole or not at all, never outside a folder."""

import contextlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence

from kyvsim.api.suite_files import Creation, FileText, Updates, create_test
from kyvsim.cli.output_files import refuse_read
from kyvsim.cli.streams import OutputError, print_stderr
from kyvsim.kubernetes.objects import Json
from kyvsim.load.scratch import ScratchFiles
from kyvsim.report.object_text import to_yaml
from kyvsim.report.style import counted, safe_line

_FILE_MODE = 0o666
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)


def write_updates(updates: Updates) -> int:
    """Write what tests should expect, say so file by file, and return how many could not be."""
    problems = list(updates.problems)
    for file in updates.files:
        try:
            write_file(file)
        except OutputError as error:
            problems.append(str(error))
            continue
        print_stderr(safe_line(f"updated {file.path}: {', '.join(file.objects)}"))
    for problem in problems:
        print_stderr(safe_line(f"error: not updated: {problem}"))
    return len(problems)


def check_place(file: FileText) -> None:
    """Raise OutputError where a path leaves its folder, or leads to a link or to no file."""
    folder = os.path.realpath(file.folder or ".")
    parent = os.path.realpath(os.path.dirname(file.path) or ".")
    if not os.path.join(parent, "").startswith(os.path.join(folder, "")):
        raise OutputError(f"cannot write to {file.path}: it is outside {file.folder or '.'}")
    if os.path.islink(file.path):
        raise OutputError(f"cannot write to {file.path}: it is a symbolic link")
    if os.path.lexists(file.path) and not os.path.isfile(file.path):
        raise OutputError(f"cannot write to {file.path}: it is not a regular file")


def write_file(file: FileText) -> None:
    """Put a text in its place at once; raise OutputError where that can't be done."""
    write_files([file])


def write_files(files: Sequence[FileText]) -> None:
    """Put texts in their places, all or none; raise OutputError where one of them can't be.

    All are written whole before the first takes its place.
    """
    with contextlib.ExitStack() as stack:
        scratch = ScratchFiles()
        stack.callback(scratch.close)
        whole: list[tuple[str, FileText]] = []
        for file in files:
            check_place(file)
            with _explained(file):
                whole.append((_written(file, scratch), file))
        for temporary, file in whole:
            with _explained(file):
                os.replace(temporary, file.path)


def _written(file: FileText, scratch: ScratchFiles) -> str:
    """Return the path of a temporary file with a text."""
    temporary = scratch.file_for(file.path)
    _fill(temporary, file.text)
    with contextlib.suppress(FileNotFoundError):
        os.chmod(temporary, stat.S_IMODE(os.lstat(file.path).st_mode))
    return temporary


@contextlib.contextmanager
def _explained(file: FileText) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(f"cannot write to {file.path}: {error.strerror}") from None


def _fill(path: str, text: str) -> None:
    with open(os.open(path, _FLAGS, _FILE_MODE), "w", encoding="utf-8", newline="") as stream:
        stream.write(text)


_RESOURCES = "resources.yaml"
_MANIFEST = "kyverno-test.yaml"


def check_folder(folder: str, reads: Callable[[str], bool], *, force: bool) -> None:
    """Raise OutputError where a folder holds anything already, or anything that the run reads."""
    if os.path.isdir(folder) and os.listdir(folder) and not force:
        raise OutputError(safe_line(f"{folder} is not empty: --force overwrites files in it"))
    there = (os.path.join(place, name) for place, _, names in os.walk(folder) for name in names)
    refuse_read(there, reads)


def write_tests(
    folder: str, objects: list[Json], left_out: int, sides: Iterable[tuple[str, tuple[str, ...]]]
) -> None:
    """Write objects, and for the policies of each side what they say of these now."""
    resources = os.path.join(folder, _RESOURCES)
    write_in(folder, resources, "---\n".join(map(to_yaml, objects)))
    for name, policies in sides:
        own = os.path.join(folder, name)
        created = create_test(Creation(policies, (resources,), own, _MANIFEST))
        for file in created.files:
            write_in(own, file.path, file.text)
        if not created.files:
            print_stderr(
                f"warning: no test for the {name} policies: they have no result for these objects"
            )
    aside = f", {counted(left_out, 'case')} omitted that a test cannot express" if left_out else ""
    print_stderr(
        safe_line(
            f"wrote {counted(len(objects), 'object')} and a test for each side to {folder}{aside}"
        )
    )


def write_in(folder: str, path: str, text: str) -> None:
    """Write a file into a folder, which is made if need be; raise OutputError if it cannot be."""
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot write to {folder}: {error.strerror}") from None
    write_file(FileText(path, text, folder))
