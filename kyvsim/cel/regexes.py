"""Regular expressions as Go has them (RE2)."""

import re
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from kyvsim.cel.errors import CelError

_MAX_MEMORY = 64 << 20
_ESCAPE = re.compile(r"\\Q.*?(?:\\E|\Z)|\\.", re.DOTALL)
_GO_WORDS = MappingProxyType(
    {
        "missing ]": "missing closing ]",
        "missing )": "missing closing )",
        "no argument for repetition operator": "missing argument to repetition operator",
        "bad repetition operator": "invalid nested repetition operator",
        "invalid repetition size": "invalid repeat count",
        "invalid perl operator": "invalid or unsupported Perl syntax",
        "invalid named capture group": "invalid named capture",
    }
)
"""What Go's regexp says where RE2 words it otherwise."""


@lru_cache(maxsize=512)
def compile_regex(pattern: str) -> Any:
    """Return the compiled pattern; raises CelError with Go's message.

    Cached, since a pattern that is computed only exists when it is evaluated.
    """
    import re2  # noqa: PLC0415 — slow to import, rarely needed

    for found in _ESCAPE.finditer(pattern):
        if found[0] == r"\C":  # RE2 knows it, Go does not
            raise CelError(r"error parsing regexp: invalid escape sequence: `\C`")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MAX_MEMORY
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        raise CelError(_go_message(error.args[0])) from None


def _go_message(problem: str | bytes) -> str:
    text = problem.decode("utf-8", "replace") if isinstance(problem, bytes) else problem
    if text.startswith("trailing \\"):
        return "error parsing regexp: trailing backslash at end of expression: ``"
    words, colon, where = text.partition(": ")
    return f"error parsing regexp: {_GO_WORDS.get(words, words)}" + (
        f": `{where}`" if colon else ""
    )
