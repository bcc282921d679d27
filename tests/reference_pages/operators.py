"""The table of operators of conditions, read from their records."""

from kyvsim.engine.conditions.operators import OPERATORS


def made():
    """Return a table with a row for each operator, as Markdown."""
    rows = [
        f"| `{one.name}` | {one.meaning} "
        f"| {', '.join(f'`{name}`' for name in one.successors) or ''} |"
        for one in OPERATORS
    ]
    return "\n".join(["| operator | true if | deprecated; use |", "| --- | --- | --- |", *rows, ""])
