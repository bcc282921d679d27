"""Which files git says have changed."""

import os
import subprocess


class ChangesError(Exception):
    """Git cannot say what has changed; the text says why."""


def changed_files(ref: str) -> frozenset[str]:
    """Return the real paths of the files that are otherwise than where we left a commit.

    That is: than in the last commit that the working folder's branch and `ref` share, with files
    that git does not know yet. Files that are gone are among them. Raises ChangesError.
    """
    top = _lines("rev-parse", "--show-toplevel", end="\n")[0]
    shared = ("--no-ext-diff", "--name-only", "-z", "--merge-base", "--end-of-options", ref, "--")
    known = _lines("diff", *shared)
    new = _lines("ls-files", "--others", "--exclude-standard", "--full-name", "-z", ":/")
    return frozenset(os.path.realpath(os.path.join(top, one)) for one in (*known, *new))


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
