"""Changes of CEL expressions: constants, operators and quantifiers."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from kyvsim.cel.lexer import Token, tokenize
from kyvsim.kubernetes.objects import Json, replaced
from kyvsim.mutation.change import Change, Kind, Part, Site
from kyvsim.mutation.other_values import other_text

# A constant of a CEL expression is another one.

_QUOTES = ("'", '"')


def cel_constants_changes(site: Site, data: Json) -> Iterator[Change]:
    """Yield the document with one constant of the expression changed."""
    text = site.value
    for token in tokenize(text)[0]:
        now = _cel_constants_other(token)
        if now:
            changed = f"{text[: token.at]}{now}{text[token.at + len(token.text) :]}"
            whole = replaced(data, site.path, changed)
            yield Change(site.path, token.text, now, whole, token.at)


def _cel_constants_other(token: Token) -> str:
    """Return another constant; "" for what is none, or is no plain text."""
    if token.text in {"true", "false"}:
        return "false" if token.text == "true" else "true"
    if token.kind == "int" and token.text.isdecimal():
        return str(int(token.text) + 1)
    if token.kind != "string" or token.text[0] not in _QUOTES or token.text[:3] in {'"""', "'''"}:
        return ""
    quote = token.text[0]
    return f"{quote}{other_text(token.text[1:-1])}{quote}"


CEL_CONSTANTS = Kind("constant in CEL", frozenset({Part.EXPRESSION}), cel_constants_changes)

# An operator or a quantifier of a CEL expression becomes another one.

_SIGNS: Mapping[str, str] = MappingProxyType(
    {
        "==": "!=",
        "!=": "==",
        "<": "<=",
        "<=": "<",
        ">": ">=",
        ">=": ">",
        "&&": "||",
        "||": "&&",
        "!": "",
    }
)
_CALLED: Mapping[str, str] = MappingProxyType({"all": "exists", "exists": "all"})


def cel_operators_changes(site: Site, data: Json) -> Iterator[Change]:
    """Yield the document with one operator of the expression changed."""
    text = site.value
    tokens, _ = tokenize(text)
    for before, token, after in zip([None, *tokens], tokens, [*tokens[1:], None], strict=False):
        now = _cel_operators_other(token, before, after)
        if now is not None:
            changed = f"{text[: token.at]}{now}{text[token.at + len(token.text) :]}"
            whole = replaced(data, site.path, changed)
            yield Change(site.path, token.text, now, whole, token.at)


def _cel_operators_other(token: Token, before: Token | None, after: Token | None) -> str | None:
    if token.kind == "sign":
        return _SIGNS.get(token.text)
    called = token.kind == "name" and after is not None and after.text == "("
    is_method = before is not None and before.text == "."
    return _CALLED.get(token.text) if called and is_method else None


CEL_OPERATORS = Kind("operator in CEL", frozenset({Part.EXPRESSION}), cel_operators_changes)
