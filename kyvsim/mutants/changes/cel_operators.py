"""An operator or a quantifier of a CEL expression becomes another one."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from kyvsim.cel.tokens import Token, tokenize
from kyvsim.kube.objects import Json
from kyvsim.kube.trees import replaced
from kyvsim.mutants.change import Change, Kind
from kyvsim.mutants.site import Part, Site

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


def changes(site: Site, data: Json) -> Iterator[Change]:
    """Yield the document with one operator of the expression changed."""
    text = site.value
    tokens, _ = tokenize(text)
    for before, token, after in zip([None, *tokens], tokens, [*tokens[1:], None], strict=False):
        now = _other(token, before, after)
        if now is not None:
            changed = f"{text[: token.at]}{now}{text[token.at + len(token.text) :]}"
            whole = replaced(data, site.path, changed)
            yield Change(site.path, token.text, now, whole, token.at)


def _other(token: Token, before: Token | None, after: Token | None) -> str | None:
    if token.kind == "sign":
        return _SIGNS.get(token.text)
    called = token.kind == "name" and after is not None and after.text == "("
    is_method = before is not None and before.text == "."
    return _CALLED.get(token.text) if called and is_method else None


KIND = Kind("operator in CEL", frozenset({Part.EXPRESSION}), changes)
