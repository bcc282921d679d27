"""The table of operators of conditions, read from their records."""

from kyvsim.engine.conditions.operators import OPERATORS


def meaning(operator):
    """Return when a condition with an operator holds, as the docstring of its function says."""
    told = " ".join(operator.holds.__doc__.split("\n\n")[0].split())
    return told.removeprefix("Return whether ").rstrip(".")


def made():
    """Return a table with a row for each operator, as Markdown."""
    rows = [
        f"| `{one.name}` | {meaning(one)} "
        f"| {', '.join(f'`{name}`' for name in one.successors) or ''} |"
        for one in OPERATORS
    ]
    return "\n".join(
        ["| operator | holds where | deprecated; use |", "| --- | --- | --- |", *rows, ""]
    )
