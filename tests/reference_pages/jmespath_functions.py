"""The JMESPath functions by family, read from their records."""

import importlib
import json
import pkgutil
import re

from kyvsim.expr import functions
from kyvsim.expr.functions.table import FAMILIES, FUNCTIONS


def title(family):
    """Return what a family is, as the docstring of its module says."""
    for module in pkgutil.iter_modules(functions.__path__, f"{functions.__name__}."):
        found = importlib.import_module(module.name)
        if family in (getattr(found, "FUNCTIONS", ()), getattr(found, "STANDARD", ())):
            return re.split(r"[:,(]| as ", found.__doc__.partition("\n")[0])[0].rstrip(" .")
    raise LookupError(family)


def code(text):
    """Return code as a cell of a table, also where it has backticks of its own."""
    fence = "`` {} ``" if "`" in text else "`{}`"
    return fence.format(text.replace("|", "\\|"))


def row(function):
    examples = "<br>".join(
        f"{code(one.expression)} → {code(json.dumps(one.output, ensure_ascii=False))}"
        for one in function.examples
        if one.data is None
    )
    return f"| {code(function.signature)} | {function.note} | {examples} |"


def made():
    """Return a table of the functions of each family, as Markdown."""
    parts = []
    for family in FAMILIES:
        own = [one for one in family if FUNCTIONS[one.name] is one]
        rows = [row(one) for one in sorted(own, key=lambda one: one.name)]
        head = f"## {title(family)}\n\n| function | gives | for example |\n| --- | --- | --- |\n"
        parts.append(head + "\n".join(rows) + "\n")
    return "\n".join(parts)
