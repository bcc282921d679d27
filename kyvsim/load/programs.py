"""Programs that kyvsim runs: git for changed files, helm and kustomize for manifests."""

import contextlib
import os
import re
import signal
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kyvsim.load.files import Source
from kyvsim.load.recognise import KUSTOMIZATIONS
from kyvsim.load.scratch import scratch_folder
from kyvsim.model.source import HELM, KUSTOMIZE

# Programs are run in folders with untrusted content, so they are never taken from such a folder,
# and have no network access, since git transports can run commands.

NO_TRANSPORT: Mapping[str, str] = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
}
"""Prevents git from fetching: there is no transport `none`."""
_CLOSED_PROXY = "http://127.0.0.1:9"
"""A closed port (`discard`), so that requests through this proxy fail."""


def program_on_path(name: str) -> str | None:
    """Return the path of a program; None if it is not on the PATH.

    Relative entries of the PATH, and the working folder on Windows, are not trusted.
    """
    import shutil

    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    program = shutil.which(name, path=os.pathsep.join(filter(os.path.isabs, folders)))
    return program if program is not None and os.path.isabs(program) else None


# The configuration of a repository can make git run programs: file system monitors, filters,
# external diffs, hooks, transports. So in the repository, git only prints paths; files are compared
# in a separate git folder that uses the repository's objects and index, and its storage settings.
# The user's own configuration applies as usual.


class ChangesError(Exception):
    """Git cannot list the changes; the text is the reason."""


class Changes(NamedTuple):
    """The files of a repository, by their real paths."""

    changed: frozenset[str]
    """Changed, new or deleted files."""
    unchanged: frozenset[str]
    """Tracked files without changes; untracked files are in neither set."""


_STORAGE = frozenset(
    {"core.autocrlf", "core.checkstat", "core.eol", "core.filemode", "core.ignorecase"}
    | {"core.longpaths", "core.precomposeunicode", "core.symlinks", "core.trustctime"}
)
"""Settings of a repository about the storage of files; none of them runs a program."""
_SWITCHED_OFF = (
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    "core.pager=cat",
    "core.sshCommand=false",
    "diff.external=",
)
"""Overrides for settings that could run programs."""
_LOCATION_VARIABLES = ("GIT_COMMON_DIR", "GIT_EXTERNAL_DIFF", "GIT_NAMESPACE", "GIT_PREFIX")
_DIFF = ("--no-ext-diff", "--no-textconv", "--no-renames", "--no-relative")
_INFO = ("attributes", "exclude")


def changes_since(ref: str) -> Changes:
    """Return the files changed since the merge base of HEAD and `ref`; raises ChangesError.

    Submodules are in neither set, since git would have to run in them.
    """
    import tempfile

    top = os.path.realpath(_git_line("rev-parse", "--show-toplevel"))
    shared = _git_line("merge-base", "--end-of-options", "HEAD", ref)
    with scratch_folder(tempfile.gettempdir()) as folder:
        os.mkdir(os.path.join(folder, "refs"))
        os.mkdir(os.path.join(folder, "info"))
        settings = {
            "core.repositoryformatversion": "1",
            "extensions.objectformat": _git_line("rev-parse", "--show-object-format"),
        }
        for line in _git_fields(_REPOSITORY, "config", "--local", "--no-includes", "-z", "--list"):
            name, _, value = line.partition("\n")
            if name.lower() in _STORAGE:
                settings[name.lower()] = value or "true"
        texts = {"HEAD": "ref: refs/heads/none\n", "config": ""}
        for name, value in settings.items():
            section, _, key = name.partition(".")
            quoted = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
            texts["config"] += f'[{section}]\n\t{key} = "{quoted}"\n'
        for name, text in texts.items():
            file = os.path.join(folder, name)
            with open(file, "w", encoding="utf-8", errors="surrogateescape") as stream:
                stream.write(text)
        index = _path_of("index")
        own = os.path.dirname(index)
        copies = {index: "index"}
        # The larger part of a split index is in separate files.
        with contextlib.suppress(OSError):
            shared_indexes = [name for name in os.listdir(own) if name.startswith("sharedindex.")]
            copies |= {os.path.join(own, name): name for name in shared_indexes}
        copies |= {_path_of(f"info/{name}"): os.path.join("info", name) for name in _INFO}
        for source, name in copies.items():
            if os.path.isfile(source):
                copy = os.path.join(folder, name)
                try:
                    with open(source, "rb") as read, open(copy, "wb") as written:
                        written.write(read.read())
                    # git re-reads files that were changed in the second of writing the index, whose
                    # recorded size and time may be wrong. It compares with this time.
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
        differing = _git_fields(here, "diff", *_DIFF, *listed)
        new = _git_fields(here, "ls-files", "--others", "--exclude-standard", "-z")
        followed = _git_fields(here, "ls-files", "-z")
    changed = frozenset(os.path.realpath(os.path.join(top, path)) for path in (*differing, *new))
    # git does not follow links, so these are real paths; a link is identified by its target.
    return Changes(changed, frozenset(os.path.join(top, path) for path in followed) - changed)


class _RepositoryPaths(NamedTuple):
    folder: str | None = None
    variables: tuple[tuple[str, str], ...] = ()


_REPOSITORY = _RepositoryPaths()


def _clear_flags(place: _RepositoryPaths) -> None:
    """Clear the flags that make git assume that a file is unchanged.

    They are `--assume-unchanged` and `--skip-worktree`; the latter is kept for files that a sparse
    checkout omits.

    upstream: git-ls-files(1), option `-v`.
    """
    tagged = [(line[0], line[2:]) for line in _git_fields(place, "ls-files", "-v", "-z")]
    flagged = {"--no-assume-unchanged": str.islower, "--no-skip-worktree": "Ss".__contains__}
    for option, has_flag in flagged.items():
        paths = [path for tag, path in tagged if has_flag(tag)]
        present = [one for one in paths if os.path.lexists(os.path.join(place.folder or "", one))]
        if present:
            _git_output(place, ("update-index", option, "-z", "--stdin"), "\0".join(present))


def _path_of(part: str) -> str:
    return _git_line("rev-parse", "--path-format=absolute", "--git-path", part)


def _git_line(*arguments: str) -> str:
    return _git_output(_REPOSITORY, arguments).removesuffix("\n")


def _git_fields(place: _RepositoryPaths, *arguments: str) -> list[str]:
    return [line for line in _git_output(place, arguments).split("\0") if line]


def _git_output(place: _RepositoryPaths, arguments: tuple[str, ...], given: str = "") -> str:
    import subprocess

    program = program_on_path("git")
    if program is None:
        raise ChangesError("git is not in PATH")
    settings = [part for setting in _SWITCHED_OFF for part in ("-c", setting)]
    kept = {name: value for name, value in os.environ.items() if name not in _LOCATION_VARIABLES}
    done = subprocess.run(  # noqa: S603 — git, with our own arguments
        (program, "--no-pager", *settings, *arguments),
        capture_output=True,
        check=False,
        input=os.fsencode(given),
        cwd=place.folder,
        env={**kept, **NO_TRANSPORT, "GIT_OPTIONAL_LOCKS": "0", **dict(place.variables)},
    )
    if done.returncode:
        messages = os.fsdecode(done.stderr).strip().splitlines()
        text = f"git {arguments[0]} ended with status {done.returncode}"
        if arguments[0] == "merge-base" and done.returncode == 1:
            text = "has no common commit with the current branch"
        raise ChangesError(messages[0] if messages else text)
    return os.fsdecode(done.stdout)


_SECONDS = 300
"""Time limit of a program in seconds; it may wait for a network or for input."""
_LARGEST = 256 << 20
"""Maximum size of the output in bytes; the largest charts print a few million."""
_MESSAGE_BYTES = 4096
"""Maximum size of the shown error messages in bytes."""
_INTERVAL = 0.02
"""Seconds between checks of the size of the output."""
_MADE_OF = re.compile(r"^---\n# Source: (.+)\n", re.MULTILINE)


class RenderError(Exception):
    """A renderer is missing, or has failed."""


def rendered_chart(chart: str, values: Iterable[str]) -> Iterator[Source]:
    """Yield the manifests of a Helm chart, by template; raises RenderError.

    They are named after their template; line numbers are those of its output.
    """
    _require_path(chart, "chart")
    given = tuple(values)
    for value in given:
        _require_path(value, "values file")
    files = [part for value in given for part in ("--values", _as_argument(value))]
    parts = _MADE_OF.split(_rendered_output(("helm",), ("template", _as_argument(chart), *files)))
    lines: dict[str, int] = {}
    # An empty output is reported like an empty file.
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
    _require_path(folder, "kustomization")
    text = _rendered_output(("kustomize", "kubectl"), (_as_argument(folder),))
    files = (os.path.normpath(os.path.join(folder, name)) for name in KUSTOMIZATIONS)
    yield Source(f"{KUSTOMIZE}:{next(filter(os.path.isfile, files), folder)}", text)


def _require_path(path: str, what: str) -> None:
    """Raise RenderError for a missing path, since the program would request it from the network."""
    if not os.path.exists(path):
        raise RenderError(f"{path}: no such {what}")


def _as_argument(path: str) -> str:
    """Return a path that cannot be parsed as an option."""
    return os.path.join(os.curdir, path) if path.startswith("-") else path


_WORDS: Mapping[str, tuple[str, ...]] = {
    "helm": (),
    "kustomize": ("build",),
    "kubectl": ("kustomize",),
}
"""The subcommands that render."""


def _rendered_output(programs: Sequence[str], arguments: Sequence[str]) -> str:
    places = ((program, program_on_path(program)) for program in programs)
    program, place = next(((program, at) for program, at in places if at), ("", None))
    if place is None:
        raise RenderError(f"no program to render it is in PATH: {' or '.join(programs)}")
    words = (*_WORDS[program], *arguments)
    command = " ".join((program, *words))
    status, printed, errors = _run((place, *words), command)
    if status:
        message = " ".join(os.fsdecode(errors).split()) or "it printed no message"
        ending = f"exit status {status}" if status > 0 else f"ended by signal {-status}"
        raise RenderError(f"{command}: {ending}: {message}")
    try:
        return printed.decode("utf-8")
    except UnicodeDecodeError:
        raise RenderError(f"{command}: its output is not UTF-8") from None


def _run(called: Sequence[str], command: str) -> tuple[int, bytes, bytes]:
    """Run a program; return its status (negative for a signal), its output and its errors.

    Raises RenderError at the limits of time and output. Output is written to files and the program
    has its own process group, so that its remaining child processes do not block and are killed.
    """
    import subprocess
    import tempfile

    with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as errors:
        # Both use Go's `net/http`, which reads the proxy variables; kustomize fetches remote bases
        # with git. A chart's values can start plugins of helm.
        kept = {name: value for name, value in os.environ.items() if name.upper() != "NO_PROXY"}
        proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY"), _CLOSED_PROXY)
        lower = {name.lower(): proxy for name, proxy in proxies.items()}
        process = subprocess.Popen(  # noqa: S603 — the program that the option names
            called,
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=errors,
            start_new_session=True,
            env={**kept, **proxies, **lower, **NO_TRANSPORT, "HELM_NO_PLUGINS": "1"},
        )
        end = time.monotonic() + _SECONDS
        try:
            while process.returncode is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_INTERVAL)
                if any(os.fstat(file.fileno()).st_size > _LARGEST for file in (printed, errors)):
                    raise RenderError(f"{command}: its output is larger than {_LARGEST >> 20} MiB")
                if process.returncode is None and time.monotonic() > end:
                    raise RenderError(f"{command}: not finished after {_SECONDS} s")
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if os.name == "nt":
                    process.kill()
                else:
                    os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        printed.seek(0)
        errors.seek(0)
        return process.returncode, printed.read(), errors.read(_MESSAGE_BYTES)
