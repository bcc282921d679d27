"""Manifests that other programs make: charts and kustomizations, rendered."""

import contextlib
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import IO, NamedTuple

from kyvsim.load.files import Source
from kyvsim.load.programs import offline_environment, program_on_path
from kyvsim.load.recognise import KUSTOMIZATIONS
from kyvsim.model.source import HELM, KUSTOMIZE

_SECONDS = 300
"""After this a program is given up: it may wait for a network or an answer."""
_LARGEST = 256 << 20
"""Bytes that a program may print: the largest charts make a few millions."""
_SAID = 4096
"""Bytes of what it says of its end that are shown."""
_INTERVAL = 0.02
"""Seconds between two looks at how much it has printed."""
_MADE_OF = re.compile(r"^---\n# Source: (.+)\n", re.MULTILINE)


class RenderError(Exception):
    """A program that renders is not there, or has ended otherwise than well."""


def rendered_chart(chart: str, values: Iterable[str]) -> Iterator[Source]:
    """Yield the manifests of a Helm chart, by template; raises RenderError.

    They are named after the file of their template, and their lines are those of what it makes.
    """
    _find(chart, "chart")
    given = tuple(values)
    for one in given:
        _find(one, "file of values")
    files = [part for one in given for part in ("--values", _as_argument(one))]
    text = _output(("helm",), ("template", _as_argument(chart), *files))
    parts = _MADE_OF.split(text)
    lines: dict[str, int] = {}
    # What makes nothing at all is told as an empty file is.
    if parts[0].strip() or len(parts) == 1:
        yield Source(f"{HELM}:{chart}", parts[0])
    for template, part in zip(parts[1::2], parts[2::2], strict=True):
        line = lines.get(template, 1)
        yield Source(f"{HELM}:{_template_file(chart, template)}", part, line=line)
        lines[template] = line + part.count("\n")


def rendered_kustomization(folder: str) -> Iterator[Source]:
    """Yield the manifests of a kustomization, named after its file; raises RenderError."""
    _find(folder, "kustomization")
    text = _output(("kustomize", "kubectl"), (_as_argument(folder),))
    files = (os.path.normpath(os.path.join(folder, name)) for name in KUSTOMIZATIONS)
    yield Source(f"{KUSTOMIZE}:{next(filter(os.path.isfile, files), folder)}", text)


def _template_file(chart: str, template: str) -> str:
    """Return the file of a template, which begins with the name that the chart gives itself."""
    _, sign, inside = template.partition("/")
    if not (sign and os.path.isdir(chart)):
        return template
    return os.path.normpath(os.path.join(chart, inside))


def _find(path: str, what: str) -> None:
    """Raise RenderError where a path leads nowhere: the programs would ask a network for it."""
    if not os.path.exists(path):
        raise RenderError(f"{path}: there is no {what} of this name on this machine")


def _as_argument(path: str) -> str:
    """Return a path as a word that no program takes for an option."""
    return os.path.join(os.curdir, path) if path.startswith("-") else path


_WORDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"helm": (), "kustomize": ("build",), "kubectl": ("kustomize",)}
)
"""What makes each program render."""


def _output(programs: Sequence[str], arguments: Sequence[str]) -> str:
    """Return what the first of some programs that is there prints."""
    places = {one: program_on_path(one) for one in programs}
    found, place = next(((one, at) for one, at in places.items() if at), ("", None))
    if place is None:
        raise RenderError(f"no program that renders it is on the PATH: {' or '.join(programs)}")
    words = (*_WORDS[found], *arguments)
    told = " ".join((found, *words))
    done = _run((place, *words), told)
    if done.status:
        said = " ".join(os.fsdecode(done.said).split()) or "it says nothing"
        raise RenderError(f"{told}: {_ending(done.status)}: {said}")
    try:
        return done.printed.decode("utf-8")
    except UnicodeDecodeError:
        raise RenderError(f"{told}: what it prints is not UTF-8") from None


class _Done(NamedTuple):
    """How a program ended; a negative status is the signal that ended it."""

    status: int
    printed: bytes
    said: bytes
    """On standard error."""


def _run(called: Sequence[str], told: str) -> _Done:
    """Run a program, for so long and as long as it prints so much; raise RenderError beyond that.

    It prints into files, so that nothing waits for what it began and left behind, and these are
    ended with it: it has a group of its own.
    """
    with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as said:
        process = subprocess.Popen(  # noqa: S603 — the program that the option is named after
            called,
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=said,
            start_new_session=True,
            env=offline_environment(),
        )
        try:
            _watch(process, (printed, said), told)
        finally:
            _end(process)
        printed.seek(0)
        said.seek(0)
        return _Done(process.returncode, printed.read(), said.read(_SAID))


def _watch(process: "subprocess.Popen[bytes]", files: Sequence[IO[bytes]], told: str) -> None:
    """Return when a program has ended; raise RenderError where it goes too far before."""
    end = time.monotonic() + _SECONDS
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_INTERVAL)
        if any(os.fstat(one.fileno()).st_size > _LARGEST for one in files):
            raise RenderError(f"{told}: it prints more than {_LARGEST >> 20} MiB")
        if process.returncode is not None:
            return
        if time.monotonic() > end:
            raise RenderError(f"{told}: not done after {_SECONDS} s")


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a program, and what it began, where something of it is left."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if os.name == "nt":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _ending(status: int) -> str:
    return f"exit status {status}" if status > 0 else f"ended by signal {-status}"
