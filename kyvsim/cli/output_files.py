"""Mutated and generated objects as files (`--output`), complete or not at all."""

import contextlib
import errno
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator

from kyvsim.cli.streams import OutputError, print_stderr
from kyvsim.kubernetes.objects import Json, metadata
from kyvsim.load.scratch import ScratchFiles
from kyvsim.model.result import EngineResponse
from kyvsim.report.object_text import to_yaml
from kyvsim.report.results import generated, mutations, patched_targets
from kyvsim.report.style import counted, safe_line

_MODE = 0o666
"""Of files, as the user's umask leaves it."""
_UNSAFE = r"[^\w.:-]|^\.+"
_LONGEST = 200
"""Bytes of a name, with room for what is put behind it: file systems end at 255."""


class ObjectFiles:
    """Collects objects in temporary files; `commit` puts them in their place.

    A path that ends in .yaml or .yml is one file; any other is a folder with `NAME-mutated.yaml`
    for each changed resource and `POLICY-generated.yaml` for what a policy generates.
    upstream: cmd/cli/kubectl-kyverno/processor/generate.go and policy_processor.go
    """

    def __init__(self, path: str, taken: Callable[[str], bool]) -> None:
        """Raise OutputError where the path can't take files.

        `taken` tells which files the run reads, or writes otherwise: these are not written.
        """
        self._taken = taken
        self._path = path
        self._single = path.rsplit(".", 1)[-1] in {"yml", "yaml"}
        self._folder = (os.path.dirname(path) or os.curdir) if self._single else path
        self._temporary: dict[str, str] = {}
        self._scratch = ScratchFiles()
        self._count = 0
        with _explained(self._folder):
            if os.path.exists(self._folder) and not os.path.isdir(self._folder):
                raise NotADirectoryError(errno.ENOTDIR, "it is no folder")
            os.makedirs(self._folder, exist_ok=True)
        if self._single:
            self._open(self._path)

    def saving(self, responses: Iterable[EngineResponse]) -> Iterator[EngineResponse]:
        """Yield `responses` as they come, their objects saved."""
        for response in responses:
            for name, obj in _objects_of(response):
                place = self._path if self._single else os.path.join(self._folder, name)
                self._append(place, obj)
            yield response

    def commit(self) -> str:
        """Put all files in their place, each at once; return how much that is, in words."""
        for place, temporary in tuple(self._temporary.items()):
            with _explained(place):
                os.replace(temporary, place)
            del self._temporary[place]
        self._scratch.close()
        return counted(self._count, "object")

    def discard(self) -> None:
        """Remove what was not committed."""
        self._temporary.clear()
        self._scratch.close()

    def _append(self, place: str, obj: Json) -> None:
        is_begun = place in self._temporary and os.path.getsize(self._temporary[place]) > 0
        lead = "---\n" if is_begun else ""
        temporary = self._temporary.get(place) or self._open(place)
        with _explained(place), open(temporary, "a", encoding="utf-8") as stream:
            stream.write(f"{lead}{to_yaml(obj)}")
        self._count += 1

    def _open(self, place: str) -> str:
        """Create the temporary file for a place; a link is never written through or replaced."""
        is_link = os.path.islink(place)
        if is_link or (os.path.exists(place) and not os.path.isfile(place)):
            kind = "a symbolic link" if is_link else "no regular file"
            raise OutputError(f"cannot write to {place}: it is {kind}")
        if self._taken(place):
            raise OutputError(f"cannot write to {place}: the run has another use for it")
        with _explained(place):
            temporary = self._temporary[place] = self._scratch.file_for(place)
            os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _MODE))
        return temporary


def _objects_of(response: EngineResponse) -> Iterator[tuple[str, Json]]:
    """Yield file names and objects: the changed resource, patched targets, generated objects."""
    if mutations(response):
        yield f"{file_name(_name(response.object))}-mutated.yaml", response.object
    for patched in patched_targets(response):
        yield f"{file_name(_name(patched.object))}-mutated.yaml", patched.object
    for created in generated(response):
        yield f"{file_name(created.policy.name)}-generated.yaml", created.object


def _name(obj: Json) -> str:
    meta = metadata(obj)
    return str(meta.get("name") or meta.get("generateName") or "unnamed")


def file_name(name: str) -> str:
    """Return a name from user data as one that can't leave its folder or hide in it.

    Another one than is asked for is told.
    """
    plain = re.sub(_UNSAFE, "_", name).encode("utf-8", "replace")
    found = plain[:_LONGEST].decode("utf-8", "ignore")
    if len(plain) > _LONGEST:
        # What is alike so far stays apart.
        found += f"-{zlib.crc32(plain):08x}"
    if found != name:
        print_stderr(safe_line(f"{name}: written as {found}, since a file cannot be called so"))
    return found


@contextlib.contextmanager
def _explained(place: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(f"cannot write to {place}: {error.strerror}") from None
