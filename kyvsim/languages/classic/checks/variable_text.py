"""Finding `{{ }}` variables in texts.

upstream: pkg/engine/variables/regex
"""

import re

from kyvsim.expr.variables import VARIABLE

PLAIN_VARIABLE = re.compile(r"\{\{[^{}]*\}\}")
"""A variable without braces inside, escaped or not."""


def expression_of(variable: str) -> str:
    """Return the expression in a variable, without braces and without the sign `-`."""
    text = variable.replace("{{", "").replace("}}", "").strip()
    return text[1:].strip() if text.startswith("-") else text


def mask_variables(text: str, replacement: str) -> str:
    """Return `text` with every variable replaced."""
    return VARIABLE.sub(lambda found: found[1] + replacement, text) if "{{" in text else text
