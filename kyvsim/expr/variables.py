"""Where the variables `{{ }}` stand in a text.

upstream: pkg/engine/variables/regex and the first half of `substituteVariablesIfAny` in
pkg/engine/variables/vars.go. Inside of a variable one level of braces is allowed; a backslash
before it makes it plain text; a variable that follows another one directly is seen only after that
one was filled in.
"""

import re
from typing import Final, NamedTuple

from kyvsim.kube.objects import Json

VARIABLE: Final = re.compile(r"(^|[^\\])(\{\{(?:\{[^{}]*\}|[^{}])*+\}\})")
"""A variable: group 1 is what stands before it, group 2 itself."""


_REFERENCE: Final = re.compile(r"[^\x00-\x7f]\$\(")
_LONGEST_SHOWN: Final = 60


class Variable(NamedTuple):
    """One variable of a text."""

    start: int
    """Where its braces open."""
    text: str
    """All of it, with the braces."""
    expression: str
    """The query: no braces, no blanks around."""
    shallow: bool
    """Written `{{- x }}`: variables in its value are not filled in."""


def find_variables(text: str) -> tuple[Variable, ...]:
    """Return the variables of a text that one round of filling in sees, from left to right."""
    return tuple(
        _variable(found.start(2), found[2], remains_of(found[1]))
        for found in VARIABLE.finditer(text)
    )


def remains_of(before: str) -> str:
    """Return what upstream leaves of the character before a variable, as part of the query.

    It drops one byte where it means one character (`v = v[1:]` in pkg/engine/variables/vars.go), so
    that the other bytes of `»` or `é` make every query behind them one that cannot be parsed. Each
    of them counts as the character that Go shows for what is not UTF-8.
    """
    if not before or before.isascii():
        return ""
    return "\ufffd" * (len(before.encode("utf-8", "surrogatepass")) - 1)


def note_on_cut(text: str) -> str:
    """Return how to fix a text in which a variable follows a character beyond ASCII, or ""."""
    for found in VARIABLE.finditer(text):
        if remains_of(found[1]):
            query = _variable(found.start(2), found[2], "").expression
            query = query if len(query) <= _LONGEST_SHOWN and "{{" not in query else "…"
            return (
                f"note: Kyverno cuts a byte off the `{found[1]}` before the variable: put an ASCII"
                " character such as a space between them, or join them in the expression:"
                f" {{{{ join('', ['{found[1]}', to_string({query})]) }}}}"
            )
    found_reference = _REFERENCE.search(text) if "$(" in text else None
    if found_reference is None:
        return ""
    return (
        f"note: Kyverno cuts a byte off the `{found_reference[0][0]}` before the reference: put an"
        " ASCII character such as a space between them"
    )


def plain_pieces(text: str, variables: tuple[Variable, ...]) -> list[str]:
    """Return the plain texts around the variables: one more than there are variables."""
    starts = [variable.start for variable in variables]
    ends = [variable.start + len(variable.text) for variable in variables]
    return [text[end:start] for end, start in zip([0, *ends], [*starts, len(text)], strict=True)]


def unescape(text: str) -> str:
    """Return the text with its escaped braces unescaped."""
    return text.replace("\\{{", "{{")


def is_plain(value: Json) -> bool:
    """Tell whether no text or key anywhere in the value has `{{`, so that filling in is idle."""
    kind = value.__class__
    if kind is str:
        return "{{" not in value
    if kind is dict:
        return not any("{{" in key for key in value) and all(map(is_plain, value.values()))
    if kind is list:
        return all(map(is_plain, value))
    return True


def _variable(start: int, text: str, remains: str) -> Variable:
    expression = (remains + text.replace("{{", "").replace("}}", "")).strip()
    shallow = expression.startswith("-")
    return Variable(start, text, expression[1:].strip() if shallow else expression, shallow)
