"""Manifests that other programs make: charts and kustomizations, rendered."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from kyvsim.load.files import Source

_SECONDS = 300
"""After this a program is given up: it may wait for a network or an answer."""
_MADE_OF = re.compile(r"^---\n# Source: (.+)\n", re.MULTILINE)


class RenderError(Exception):
    """A program that renders is not there, or has ended otherwise than well."""


def rendered_chart(chart: str, values: Iterable[str]) -> Iterator[Source]:
    """Yield the manifests of a Helm chart, by template; raises RenderError.

    They are named after their template, and their lines are those of what the template makes.
    """
    _find(chart, "chart")
    files = [part for one in values for part in ("--values", one)]
    text = _output(("helm",), ("template", chart, *files))
    parts = _MADE_OF.split(text)
    lines: dict[str, int] = {}
    # What makes nothing at all is told as an empty file is.
    if parts[0].strip() or len(parts) == 1:
        yield Source(f"helm:{chart}", parts[0])
    for template, part in zip(parts[1::2], parts[2::2], strict=True):
        line = lines.get(template, 1)
        yield Source(f"helm:{template}", part, line=line)
        lines[template] = line + part.count("\n")


def rendered_kustomization(folder: str) -> Iterator[Source]:
    """Yield the manifests of a kustomization; raises RenderError."""
    _find(folder, "kustomization")
    text = _output(("kustomize", "kubectl"), (folder,))
    yield Source(f"kustomize:{folder}", text)


def _find(path: str, what: str) -> None:
    """Raise RenderError where a path leads nowhere: the programs would ask a network for it."""
    if not os.path.exists(path):
        raise RenderError(f"{path}: there is no {what} of this name on this machine")


_WORDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"helm": (), "kustomize": ("build",), "kubectl": ("kustomize",)}
)
"""What makes each program render."""


def _output(programs: Sequence[str], arguments: Sequence[str]) -> str:
    """Return what the first of some programs that is there prints."""
    found = next((one for one in programs if shutil.which(one)), None)
    if found is None:
        raise RenderError(f"{' or '.join(programs)} is wanted to render it, and not on the PATH")
    called = (found, *_WORDS[found], *arguments)
    told = " ".join(called)
    try:
        done = subprocess.run(  # noqa: S603 — the program that the option is named after
            called, capture_output=True, check=False, stdin=subprocess.DEVNULL, timeout=_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise RenderError(f"{told}: not done after {_SECONDS} s") from None
    if done.returncode:
        said = " ".join(os.fsdecode(done.stderr).split()) or "it says nothing"
        raise RenderError(f"{told}: {_ending(done.returncode)}: {said}")
    try:
        return done.stdout.decode("utf-8")
    except UnicodeDecodeError:
        raise RenderError(f"{told}: what it prints is not UTF-8") from None


def _ending(status: int) -> str:
    return f"exit status {status}" if status > 0 else f"ended by signal {-status}"
