"""Finding `{{ }}` variables and `$( )` references in texts.

upstream: pkg/engine/variables/regex
"""

import re
from functools import cache

from kyvsim.expr.variables import VARIABLE


@cache
def references() -> re.Pattern[str]:
    """Return the expression for a reference: group 1 is what stands before it, group 2 itself."""
    return re.compile(r"(^|[^\\])(\$\(.[^ ]*\))")


@cache
def plain_variables() -> re.Pattern[str]:
    """Return the expression for a variable without braces inside, escaped or not."""
    return re.compile(r"\{\{[^{}]*\}\}")


def expression_of(variable: str) -> str:
    """Return the expression in a variable, without braces and without the sign `-`."""
    text = variable.replace("{{", "").replace("}}", "").strip()
    return text[1:].strip() if text.startswith("-") else text


def mask_variables(text: str, replacement: str) -> str:
    """Return `text` with every variable replaced."""
    return VARIABLE.sub(lambda found: found[1] + replacement, text) if "{{" in text else text
