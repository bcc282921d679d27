"""Which files git says have changed."""

import os
import subprocess

from kyvsim.light.named_tuple import NamedTuple


class ChangesError(Exception):
    """Git cannot say what has changed; the text says why."""


class Changes(NamedTuple):
    """The files of a repository, by their real paths."""

    changed: frozenset[str]
    """Those that are otherwise than they were, new, or gone."""
    unchanged: frozenset[str]
    """Those that are as they were. What git does not follow is neither: nobody knows of it."""


def changes_since(ref: str) -> Changes:
    """Return which files are otherwise than where we left a commit.

    That is: than in the last commit that the working folder's branch and `ref` share.
    Raises ChangesError.
    """
    top = os.path.realpath(_lines("rev-parse", "--show-toplevel", end="\n")[0])
    shared = ("--name-only", "-z", "--merge-base", "--end-of-options", ref, "--")
    own = ("--no-ext-diff", "--no-renames", "--no-relative")
    differing = _lines("diff", *own, *shared)
    new = _lines("ls-files", "--others", "--exclude-standard", "--full-name", "-z", ":/")
    changed = frozenset(os.path.realpath(os.path.join(top, one)) for one in (*differing, *new))
    # Git follows no links, so these are real paths; a link itself is known by what it leads to.
    followed = _lines("ls-files", "--full-name", "-z", ":/")
    return Changes(changed, frozenset(os.path.join(top, one) for one in followed) - changed)


def _lines(*arguments: str, end: str = "\0") -> list[str]:
    try:
        done = subprocess.run(  # noqa: S603 — git itself, with arguments of ours
            ("git", *arguments),  # noqa: S607 — that of the user's PATH
            capture_output=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except FileNotFoundError:
        raise ChangesError("git is not on the PATH") from None
    if done.returncode:
        said = os.fsdecode(done.stderr).strip().splitlines()
        raise ChangesError(said[0] if said else f"git ended with status {done.returncode}")
    return [one for one in os.fsdecode(done.stdout).split(end) if one]
