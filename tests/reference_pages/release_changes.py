"""The changes between supported releases, read from their records."""

from itertools import pairwise

from kyvsim.linting.release_changes import changes_between
from kyvsim.model.release import RELEASES


def made():
    """Return a table for each release, with what it changes for the release before, as Markdown."""
    parts = []
    for old, new in pairwise(RELEASES.values()):
        rows = "\n".join(
            f"| {one.change.impact.value} | {one.change.text} | {one.change.advice} |"
            for one in changes_between(old, new)
        )
        head = "| impact | change | next step |\n| --- | --- | --- |"
        parts.append(f"### From {old} to {new}\n\n{head}\n{rows}\n")
    return "\n".join(parts)
