"""Which files git says have changed.

The settings of a repository (`.git/config`, its hooks, what it includes) can make git run programs:
monitors of the file system, filters, external diffs, hooks, transports. An unpacked archive brings
such settings. So git is asked in the repository only where its parts are, and compares files in a
folder of ours that has the repository's objects and index, and of its settings only those that say
how files are stored. The user's own settings count as ever.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kyvsim.load.programs import NO_TRANSPORT, program_on_path
from kyvsim.load.scratch import scratch_folder


class ChangesError(Exception):
    """Git cannot say what has changed; the text says why."""


class Changes(NamedTuple):
    """The files of a repository, by their real paths."""

    changed: frozenset[str]
    """Those that are otherwise than they were, new, or gone."""
    unchanged: frozenset[str]
    """Those that are as they were. What git does not follow is neither: nobody knows of it."""


_STORAGE = frozenset(
    {
        "core.autocrlf",
        "core.checkstat",
        "core.eol",
        "core.filemode",
        "core.ignorecase",
        "core.longpaths",
        "core.precomposeunicode",
        "core.symlinks",
        "core.trustctime",
    }
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
        _prepare(folder)
        here = _Place(
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


class _Place(NamedTuple):
    """Where git runs."""

    folder: str | None = None
    """None for the working folder."""
    variables: tuple[tuple[str, str], ...] = ()


_REPOSITORY = _Place()


def _prepare(folder: str) -> None:
    """Make a folder what git takes for the inside of a repository, with the index of this one."""
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


def _clear_flags(place: _Place) -> None:
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
            _output(place, ("update-index", option, "-z", "--stdin"), "\0".join(present))


def _names_in(folder: str, beginning: str) -> list[str]:
    try:
        return [one for one in os.listdir(folder) if one.startswith(beginning)]
    except OSError:
        return []


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as stream:
        stream.write(text)


def _storage_settings() -> Iterator[tuple[str, str]]:
    """Yield the settings of this repository that say how its files are stored."""
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
    """Return the one line that git prints in this repository."""
    return _output(_REPOSITORY, arguments).removesuffix("\n")


def _lines(place: _Place, *arguments: str) -> list[str]:
    return [one for one in _output(place, arguments).split("\0") if one]


def _output(place: _Place, arguments: tuple[str, ...], given: str = "") -> str:
    program = program_on_path("git")
    if program is None:
        raise ChangesError("git is not on the PATH")
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
        raise ChangesError(said[0] if said else _without_words(arguments, done.returncode))
    return os.fsdecode(done.stdout)


def _without_words(arguments: tuple[str, ...], status: int) -> str:
    if arguments[0] == "merge-base" and status == 1:
        return "shares no commit with the branch at hand"
    return f"git {arguments[0]} ended with status {status}"
