"""Where a project's configuration lies: the start of every command looks for it."""

import os

USUAL_NAME = ".kyvsim.yaml"
PROJECT = "pyproject.toml"
TABLE = ("tool", "kyvsim")
"""The table of PROJECT that is ours."""


def project_files() -> tuple[str, ...]:
    """Return the configurations of the nearest folder that has one, as seen from here.

    That is the working folder or one above it; one that has two is wrong.
    """
    folder = os.getcwd()
    while True:
        own, project = os.path.join(folder, USUAL_NAME), os.path.join(folder, PROJECT)
        # What is there and is no file is told as such when it is read.
        found = [own] * os.path.lexists(own) + [project] * _has_our_table(project)
        if found:
            return tuple(os.path.relpath(one) for one in found)
        folder, last = os.path.dirname(folder), folder
        if folder == last:
            return ()


def _has_our_table(project: str) -> bool:
    """Return whether a file may have our table: to be sure it is read with a library."""
    if not os.path.isfile(project):
        return False
    try:
        with open(project, "rb") as file:
            return ".".join(TABLE).encode() in file.read()
    except OSError:
        return False
