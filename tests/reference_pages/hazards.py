"""The table of hazards, read from their docstrings."""

import inspect
import re

from kyvsim.simulator.hazards import HAZARDS


def row(find):
    """Return the row of a hazard: `KH001: what it is.` is how its docstring begins."""
    told = " ".join(inspect.getdoc(find).split("\n\n")[0].split())
    code, about = re.fullmatch(r"(KH\d{3}): (.*)\.", told).groups()
    return f"| {code} | {about} |"


def made():
    """Return a table with a row for each hazard that a run is looked at for, as Markdown."""
    rows = sorted(row(find) for find in HAZARDS)
    return "\n".join(["| code | about |", "| --- | --- |", *rows, ""])
