"""Templates whose placeholders stay as they are, because nothing says to fill them in.

upstream: pkg/cel/policies/gpol/template, `interpolate` is none by default
"""

import re
from collections.abc import Iterator

from kyvsim.cel.nodes import Ident, Node, Select, children
from kyvsim.cel.parser import ExpressionSyntaxError, parse
from kyvsim.engine.compile.compiled import warn
from kyvsim.languages.cel_advice.written import Written
from kyvsim.model.diagnostic import Diagnostic

_PLACEHOLDER = re.compile(r"(?<![$\\(])\(\(([^()\n]+(?:\([^()\n]*\)[^()\n]*)*)\)\)")
"""Two brackets with an expression between; `$((` is arithmetic of a shell."""
_NAMES = frozenset({"object", "oldObject", "request", "variables", "namespaceObject"})


def unfilled_templates(written: Written) -> Iterator[Diagnostic]:
    """KV263: a template with placeholders that nobody fills in."""
    if written.kind != "GeneratingPolicy":
        return
    for index, one in enumerate(written.spec.get("generate") or ()):
        template = one.get("template") or {}
        if template.get("interpolate") == "cel":
            continue
        for found in _PLACEHOLDER.finditer(template.get("value") or ""):
            if _is_meant(found[1], written):
                text = (
                    f"`{found[0]}` stays in the object as it is written: set "
                    "`interpolate: cel` beside the template to fill it in"
                )
                path = ("spec", "generate", index, "template")
                yield warn(written.policy.document, "KV263", text, path)
                break


def _is_meant(text: str, written: Written) -> bool:
    """Return whether a text is an expression that reads a field of what policies know."""
    try:
        pending: list[Node] = [parse(text, written.env.macros)]
    except ExpressionSyntaxError:
        return False
    while pending:
        node = pending.pop()
        pending += children(node)
        owner = node.operand if isinstance(node, Select) else None
        if isinstance(owner, Ident) and owner.name in _NAMES:
            return True
    return False
