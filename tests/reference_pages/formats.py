"""The table of formats by command, read from their records."""

from kyvsim.report.formats import FORMATS_OF

FIRST = "apply"
"""The command whose formats may be written while it runs."""


def row(command, name, found):
    when = {FIRST: "at the end | " if found.whole else "as it goes | "}.get(command, "")
    return f"| `{name}` | `{found.media}` | `{found.extension}` | {when}{found.about} |"


def made():
    """Return a table for each command, `apply` first, as Markdown."""
    parts = []
    for command, formats in sorted(FORMATS_OF.items(), key=lambda one: (one[0] != FIRST, one[0])):
        columns = ["format", "media type", "file", *(["writes"] if command == FIRST else []), ""]
        head = f"| {' | '.join(columns)} |\n|{' --- |' * len(columns)}\n".replace("|  |", "| |")
        rows = "\n".join(row(command, name, found) for name, found in formats.items())
        parts.append(f"## Of `{command}`\n\n{head}{rows}\n")
    return "\n".join(parts)
