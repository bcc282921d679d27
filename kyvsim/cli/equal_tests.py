"""`kyvsim equal --write-tests`: the cases as manifests, with a test for either side."""

import os
from collections.abc import Callable, Iterable

from kyvsim.api.suite_create import Creation, create_test
from kyvsim.api.suite_update import FileText
from kyvsim.cli.golden_files import write_file
from kyvsim.cli.overwriting import refuse_read
from kyvsim.cli.streams import OutputError, say
from kyvsim.kube.objects import Json
from kyvsim.report.object_yaml import to_yaml
from kyvsim.report.style import counted, safe_line

_RESOURCES = "resources.yaml"
_MANIFEST = "kyverno-test.yaml"


def check_folder(folder: str, reads: Callable[[str], bool], *, force: bool) -> None:
    """Raise OutputError where a folder holds anything already, or anything that the run reads."""
    if os.path.isdir(folder) and os.listdir(folder) and not force:
        raise OutputError(safe_line(f"{folder}: not empty; --force overwrites"))
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
            say(f"warning: no test for the {name} policies: they say nothing of these objects")
    aside = f", {counted(left_out, 'case')} left out that no test can have" if left_out else ""
    say(
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
