"""The JMESPath functions by family, read from their records."""

import json

from kyvsim.jmespath.functions import FAMILIES, family, functions


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
    for title in FAMILIES:
        own = [one for one in family(title) if functions()[one.name] is one]
        rows = [row(one) for one in sorted(own, key=lambda one: one.name)]
        head = f"## {title}\n\n| function | gives | for example |\n| --- | --- | --- |\n"
        parts.append(head + "\n".join(rows) + "\n")
    return "\n".join(parts)
