"""Test files and expected objects, written completely or not at all, in a folder."""

import contextlib
import os
import stat
from collections.abc import Callable, Iterable, Sequence

from kyvsim.api.suite_files import Creation, FileText, Updates, create_test
from kyvsim.cli.output_files import refuse_read
from kyvsim.cli.streams import OutputError, print_stderr, writing_to
from kyvsim.kubernetes.objects import KubernetesObject
from kyvsim.load.scratch import ScratchFiles
from kyvsim.report.object_text import to_yaml
from kyvsim.report.style import counted, safe_line

_FILE_MODE = 0o666
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)


def write_updates(updates: Updates) -> int:
    """Write updated files, report each, and return the number of failures."""
    problems = list(updates.problems)
    for file in updates.files:
        try:
            write_files([file])
        except OutputError as error:
            problems.append(str(error))
            continue
        print_stderr(safe_line(f"updated {file.path}: {', '.join(file.objects)}"))
    for problem in problems:
        print_stderr(safe_line(f"error: not updated: {problem}"))
    return len(problems)


def check_place(file: FileText) -> None:
    """Raise OutputError for a path outside of its folder, a link, or not a regular file."""
    folder = os.path.realpath(file.folder or ".")
    parent = os.path.realpath(os.path.dirname(file.path) or ".")
    if not os.path.join(parent, "").startswith(os.path.join(folder, "")):
        raise OutputError(f"cannot write to {file.path}: it is outside {file.folder or '.'}")
    if os.path.islink(file.path):
        raise OutputError(f"cannot write to {file.path}: it is a symbolic link")
    if os.path.lexists(file.path) and not os.path.isfile(file.path):
        raise OutputError(f"cannot write to {file.path}: it is not a regular file")


def write_files(files: Sequence[FileText]) -> None:
    """Write files, all or none; raises OutputError.

    All are complete before the first one is moved to its path.
    """
    with contextlib.closing(ScratchFiles()) as scratch:
        whole: list[tuple[str, str]] = []
        for file in files:
            check_place(file)
            with writing_to(file.path):
                temporary = scratch.file_for(file.path)
                opened = os.open(temporary, _FLAGS, _FILE_MODE)
                with open(opened, "w", encoding="utf-8", newline="") as stream:
                    stream.write(file.text)
                with contextlib.suppress(FileNotFoundError):
                    os.chmod(temporary, stat.S_IMODE(os.lstat(file.path).st_mode))
                whole.append((temporary, file.path))
        for temporary, path in whole:
            with writing_to(path):
                os.replace(temporary, path)


_RESOURCES = "resources.yaml"
_MANIFEST = "kyverno-test.yaml"


def check_folder(folder: str, reads: Callable[[str], bool], *, force: bool) -> None:
    """Raise OutputError if a folder is not empty, or contains files that the run reads."""
    if os.path.isdir(folder) and os.listdir(folder) and not force:
        raise OutputError(safe_line(f"{folder} is not empty: --force overwrites files in it"))
    there = (os.path.join(place, name) for place, _, names in os.walk(folder) for name in names)
    refuse_read(there, reads)


def write_tests(
    folder: str,
    objects: list[KubernetesObject],
    left_out: int,
    sides: Iterable[tuple[str, tuple[str, ...]]],
) -> None:
    """Write objects, and a test of their current results for each policy set."""
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
    """Write a file into a folder, which is created if necessary; raises OutputError."""
    with writing_to(folder):
        os.makedirs(folder, exist_ok=True)
    write_files([FileText(path, text, folder)])
