"""Programs that kyvsim runs: git for changed files, helm and kustomize for manifests."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import IO, NamedTuple

from kyvsim.load.files import Source
from kyvsim.load.recognise import KUSTOMIZATIONS
from kyvsim.load.scratch import scratch_folder
from kyvsim.model.source import HELM, KUSTOMIZE

# Programs that the user asks kyvsim to run: where they are, and what they are kept from.
#
# They work on folders that others wrote. So a program is never taken from such a folder, and none
# of them connects to anything: kyvsim is offline, and transports are a way to run commands.

NO_TRANSPORT: Mapping[str, str] = MappingProxyType(
    {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}
)
"""Variables that keep git from fetching: `none` is a transport that does not exist."""
_NO_PROXY_THERE = "http://127.0.0.1:9"
"""An address at which nothing listens (port 9 is `discard`): what goes through a proxy fails."""


def program_on_path(name: str) -> str | None:
    """Return the path of a program, None where it is not on the PATH.

    Entries of the PATH that are not absolute lead into the working folder: they do not count, nor
    does that folder itself, in which Windows looks first.
    """
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    found = shutil.which(name, path=os.pathsep.join(filter(os.path.isabs, folders)))
    return found if found is not None and os.path.isabs(found) else None


def offline_environment() -> Mapping[str, str]:
    """Return this process's environment without ways to connect, for helm and kustomize.

    Both use Go's `net/http`, which takes its proxies from these variables; kustomize fetches remote
    bases with git. Plugins of helm are programs that a chart's values can name.
    """
    kept = {name: one for name, one in os.environ.items() if name.upper() != "NO_PROXY"}
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY"), _NO_PROXY_THERE)
    lower = {name.lower(): one for name, one in proxies.items()}
    return {**kept, **proxies, **lower, **NO_TRANSPORT, "HELM_NO_PLUGINS": "1"}


# Which files git says have changed.
#
# The settings of a repository (`.git/config`, its hooks, what it includes) can make git run
# programs: monitors of the file system, filters, external diffs, hooks, transports. An unpacked
# archive brings such settings. So git is asked in the repository only where its parts are, and
# compares files in a folder of ours that has the repository's objects and index, and of its
# settings only those that say how files are stored. The user's own settings count as ever.


class ChangesError(Exception):
    """Git cannot say what has changed; the text says why."""


class Changes(NamedTuple):
    """The files of a repository, by their real paths."""

    changed: frozenset[str]
    """Those that are otherwise than they were, new, or gone."""
    unchanged: frozenset[str]
    """Those that are as they were. What git does not follow is neither: nobody knows of it."""


_STORAGE = frozenset(
    {"core.autocrlf", "core.checkstat", "core.eol", "core.filemode", "core.ignorecase"}
    | {"core.longpaths", "core.precomposeunicode", "core.symlinks", "core.trustctime"}
)
"""Settings of a repository that say how its files are stored; none of them names a program."""
_SWITCHED_OFF = (
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    "core.pager=cat",
    "core.sshCommand=false",
    "diff.external=",
)
"""Settings that would run programs, as the user's own may, too: here none is needed."""
_OF_A_PLACE = ("GIT_COMMON_DIR", "GIT_EXTERNAL_DIFF", "GIT_NAMESPACE", "GIT_PREFIX")
_DIFF = ("--no-ext-diff", "--no-textconv", "--no-renames", "--no-relative")
_INFO = ("attributes", "exclude")


def changes_since(ref: str) -> Changes:
    """Return which files are otherwise than where we left a commit.

    That is: than in the last commit that the working folder's branch and `ref` share. What is in
    submodules is neither changed nor unchanged: to know it, git runs in them. Raises ChangesError.
    """
    top = os.path.realpath(_one("rev-parse", "--show-toplevel"))
    shared = _one("merge-base", "--end-of-options", "HEAD", ref)
    with scratch_folder(tempfile.gettempdir()) as folder:
        os.mkdir(os.path.join(folder, "refs"))
        os.mkdir(os.path.join(folder, "info"))
        settings = {
            "core.repositoryformatversion": "1",
            "extensions.objectformat": _one("rev-parse", "--show-object-format"),
            **dict(_storage_settings()),
        }
        _write(os.path.join(folder, "HEAD"), "ref: refs/heads/none\n")
        _write(os.path.join(folder, "config"), "".join(_config_lines(settings)))
        index = _path_of("index")
        own = os.path.dirname(index)
        copies = {index: "index"}
        # A split index has its larger part in files beside it.
        copies |= {os.path.join(own, one): one for one in _names_in(own, "sharedindex.")}
        copies |= {_path_of(f"info/{one}"): os.path.join("info", one) for one in _INFO}
        for source, name in copies.items():
            if os.path.isfile(source):
                copy = os.path.join(folder, name)
                try:
                    shutil.copyfile(source, copy)
                    # git reads files that were changed within the second in which the index was
                    # written, as their size and time may be those that it has noted: by this time.
                    status = os.stat(source)
                    os.utime(copy, ns=(status.st_atime_ns, status.st_mtime_ns))
                except OSError as error:
                    raise ChangesError(f"{source} cannot be read: {error.strerror}") from None
        here = _RepositoryPaths(
            top,
            (
                ("GIT_DIR", folder),
                ("GIT_WORK_TREE", top),
                ("GIT_OBJECT_DIRECTORY", _path_of("objects")),
                ("GIT_INDEX_FILE", os.path.join(folder, "index")),
            ),
        )
        _clear_flags(here)
        listed = ("--name-only", "-z", "--ignore-submodules=all", "--end-of-options", shared, "--")
        differing = _lines(here, "diff", *_DIFF, *listed)
        new = _lines(here, "ls-files", "--others", "--exclude-standard", "-z")
        followed = _lines(here, "ls-files", "-z")
    changed = frozenset(os.path.realpath(os.path.join(top, one)) for one in (*differing, *new))
    # Git follows no links, so these are real paths; a link itself is known by what it leads to.
    return Changes(changed, frozenset(os.path.join(top, one) for one in followed) - changed)


class _RepositoryPaths(NamedTuple):
    """Where git runs."""

    folder: str | None = None
    """None for the working folder."""
    variables: tuple[tuple[str, str], ...] = ()


_REPOSITORY = _RepositoryPaths()


def _clear_flags(place: _RepositoryPaths) -> None:
    """Clear the flags by which git takes a file for unchanged without a look at it.

    They are `--assume-unchanged` and `--skip-worktree`; what the latter leaves out of a sparse
    checkout is absent, and keeps it. upstream: git-ls-files(1), option `-v`.
    """
    tagged = [(one[0], one[2:]) for one in _lines(place, "ls-files", "-v", "-z")]
    flagged = {"--no-assume-unchanged": str.islower, "--no-skip-worktree": "Ss".__contains__}
    for option, has_flag in flagged.items():
        paths = [path for tag, path in tagged if has_flag(tag)]
        present = [one for one in paths if os.path.lexists(os.path.join(place.folder or "", one))]
        if present:
            _changed_output(place, ("update-index", option, "-z", "--stdin"), "\0".join(present))


def _names_in(folder: str, beginning: str) -> list[str]:
    try:
        return [one for one in os.listdir(folder) if one.startswith(beginning)]
    except OSError:
        return []


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as stream:
        stream.write(text)


def _storage_settings() -> Iterator[tuple[str, str]]:
    for one in _lines(_REPOSITORY, "config", "--local", "--no-includes", "-z", "--list"):
        name, _, value = one.partition("\n")
        if name.lower() in _STORAGE:
            yield name.lower(), value or "true"


def _config_lines(settings: Mapping[str, str]) -> Iterator[str]:
    for name, value in settings.items():
        section, _, key = name.partition(".")
        quoted = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        yield f'[{section}]\n\t{key} = "{quoted}"\n'


def _path_of(part: str) -> str:
    return _one("rev-parse", "--path-format=absolute", "--git-path", part)


def _one(*arguments: str) -> str:
    return _changed_output(_REPOSITORY, arguments).removesuffix("\n")


def _lines(place: _RepositoryPaths, *arguments: str) -> list[str]:
    return [one for one in _changed_output(place, arguments).split("\0") if one]


def _changed_output(place: _RepositoryPaths, arguments: tuple[str, ...], given: str = "") -> str:
    program = program_on_path("git")
    if program is None:
        raise ChangesError("git is not in PATH")
    settings = [part for one in _SWITCHED_OFF for part in ("-c", one)]
    kept = {name: one for name, one in os.environ.items() if name not in _OF_A_PLACE}
    done = subprocess.run(  # noqa: S603 — git itself, with arguments of ours
        (program, "--no-pager", *settings, *arguments),
        capture_output=True,
        check=False,
        input=os.fsencode(given),
        cwd=place.folder,
        env={**kept, **NO_TRANSPORT, "GIT_OPTIONAL_LOCKS": "0", **dict(place.variables)},
    )
    if done.returncode:
        said = os.fsdecode(done.stderr).strip().splitlines()
        text = f"git {arguments[0]} ended with status {done.returncode}"
        if arguments[0] == "merge-base" and done.returncode == 1:
            text = "has no common commit with the current branch"
        raise ChangesError(said[0] if said else text)
    return os.fsdecode(done.stdout)


# Manifests that other programs make: charts and kustomizations, rendered.

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
        _find(one, "values file")
    files = [part for one in given for part in ("--values", _as_argument(one))]
    text = _rendered_output(("helm",), ("template", _as_argument(chart), *files))
    parts = _MADE_OF.split(text)
    lines: dict[str, int] = {}
    # An empty output is reported as an empty file is.
    if parts[0].strip() or len(parts) == 1:
        yield Source(f"{HELM}:{chart}", parts[0])
    for template, part in zip(parts[1::2], parts[2::2], strict=True):
        line = lines.get(template, 1)
        _, sign, inside = template.partition("/")
        file = template
        if sign and os.path.isdir(chart):
            file = os.path.normpath(os.path.join(chart, inside))
        yield Source(f"{HELM}:{file}", part, line=line)
        lines[template] = line + part.count("\n")


def rendered_kustomization(folder: str) -> Iterator[Source]:
    """Yield the manifests of a kustomization, named after its file; raises RenderError."""
    _find(folder, "kustomization")
    text = _rendered_output(("kustomize", "kubectl"), (_as_argument(folder),))
    files = (os.path.normpath(os.path.join(folder, name)) for name in KUSTOMIZATIONS)
    yield Source(f"{KUSTOMIZE}:{next(filter(os.path.isfile, files), folder)}", text)


def _find(path: str, what: str) -> None:
    """Raise RenderError where a path leads nowhere: the programs would ask a network for it."""
    if not os.path.exists(path):
        raise RenderError(f"{path}: no such {what}")


def _as_argument(path: str) -> str:
    """Return a path as a word that no program takes for an option."""
    return os.path.join(os.curdir, path) if path.startswith("-") else path


_WORDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"helm": (), "kustomize": ("build",), "kubectl": ("kustomize",)}
)
"""What makes each program render."""


def _rendered_output(programs: Sequence[str], arguments: Sequence[str]) -> str:
    places = {one: program_on_path(one) for one in programs}
    found, place = next(((one, at) for one, at in places.items() if at), ("", None))
    if place is None:
        raise RenderError(f"no program to render it is in PATH: {' or '.join(programs)}")
    words = (*_WORDS[found], *arguments)
    told = " ".join((found, *words))
    status, printed, errors = _run((place, *words), told)
    if status:
        said = " ".join(os.fsdecode(errors).split()) or "it printed no message"
        ending = f"exit status {status}" if status > 0 else f"ended by signal {-status}"
        raise RenderError(f"{told}: {ending}: {said}")
    try:
        return printed.decode("utf-8")
    except UnicodeDecodeError:
        raise RenderError(f"{told}: its output is not UTF-8") from None


def _run(called: Sequence[str], told: str) -> tuple[int, bytes, bytes]:
    """Run a program; return its status (negative for a signal), what it printed and its errors.

    It may take so long, and print so much; raises RenderError beyond that.

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
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if os.name == "nt":
                    process.kill()
                else:
                    os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        printed.seek(0)
        said.seek(0)
        return process.returncode, printed.read(), said.read(_SAID)


def _watch(process: subprocess.Popen[bytes], files: Sequence[IO[bytes]], told: str) -> None:
    """Return when a program has ended; raise RenderError where it goes too far before."""
    end = time.monotonic() + _SECONDS
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_INTERVAL)
        if any(os.fstat(one.fileno()).st_size > _LARGEST for one in files):
            raise RenderError(f"{told}: its output is larger than {_LARGEST >> 20} MiB")
        if process.returncode is not None:
            return
        if time.monotonic() > end:
            raise RenderError(f"{told}: not finished after {_SECONDS} s")
