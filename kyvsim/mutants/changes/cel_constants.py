"""A constant of a CEL expression is another one."""

from collections.abc import Iterator

from kyvsim.cel.tokens import Token, tokenize
from kyvsim.kube.objects import Json
from kyvsim.kube.trees import replaced
from kyvsim.mutants.change import Change, Kind
from kyvsim.mutants.other_values import other_text
from kyvsim.mutants.site import Part, Site

_QUOTES = ("'", '"')


def changes(site: Site, data: Json) -> Iterator[Change]:
    """Yield the document with one constant of the expression changed."""
    text = site.value
    for token in tokenize(text)[0]:
        now = _other(token)
        if now:
            changed = f"{text[: token.at]}{now}{text[token.at + len(token.text) :]}"
            whole = replaced(data, site.path, changed)
            yield Change(site.path, token.text, now, whole, token.at)


def _other(token: Token) -> str:
    """Return another constant; "" for what is none, or is no plain text."""
    if token.text in {"true", "false"}:
        return "false" if token.text == "true" else "true"
    if token.kind == "int" and token.text.isdecimal():
        return str(int(token.text) + 1)
    if token.kind != "string" or token.text[0] not in _QUOTES or token.text[:3] in {'"""', "'''"}:
        return ""
    quote = token.text[0]
    return f"{quote}{other_text(token.text[1:-1])}{quote}"


KIND = Kind("constant in CEL", frozenset({Part.EXPRESSION}), changes)
