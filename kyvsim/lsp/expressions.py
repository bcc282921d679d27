"""What expressions may use: JMESPath between braces, and CEL."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from kyvsim.api.cel import EXPRESSION_KINDS, signatures, variables
from kyvsim.jmespath.functions.table import functions
from kyvsim.lsp.fields import Offer
from kyvsim.lsp.texts import Text

VARIABLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "request.object": "the object as the request would make it",
        "request.oldObject": "the object as it is, where it changes or goes",
        "request.operation": "CREATE, UPDATE, DELETE or CONNECT",
        "request.userInfo": "who asks: username, groups",
        "request.namespace": "the namespace of the object",
        "request.name": "its name",
        "request.roles": "roles of who asks",
        "request.clusterRoles": "cluster roles of who asks",
        "serviceAccountName": "the service account that asks",
        "serviceAccountNamespace": "its namespace",
        "images": "the images of the object, by field and container",
        "element": "the element of the innermost loop",
        "elementIndex": "its index",
        "target": "the object that a mutate rule changes",
        "@": "the value that the pattern is about",
    }
)
"""What is there in `{{ }}` without an entry of a context."""
_MOST: Final = 16
"""How many kinds have expressions, with some to spare."""


def jmespath_offers(text: Text, document: int) -> Iterator[Offer]:
    """Yield names and functions that a template may use."""
    for name in context_names(text, document):
        yield Offer(name, "entry of the context")
    for name, note in VARIABLES.items():
        yield Offer(name, "variable", note)
    for one in functions().values():
        yield Offer(one.name, one.signature, one.note, f"{one.name}(")


def context_names(text: Text, document: int) -> tuple[str, ...]:
    """Return the names of the entries of contexts of a document."""
    found = (
        one.value
        for one in text.of(document)
        if one.name == "name" and len(one.path) > 2 and one.path[-3] == "context"
    )
    return tuple(dict.fromkeys(filter(None, found)))


def cel_kind(kind: str) -> str:
    """Return the kind of policy whose names an expression in a document may use."""
    own = kind.rpartition("/")[2]
    return own if own in EXPRESSION_KINDS else "ValidatingAdmissionPolicy"


@lru_cache(maxsize=_MOST)
def _cel_names(kind: str) -> Mapping[str, Offer]:
    """Return variables and functions of a kind of policy by name."""
    found = {name: Offer(name, kind_) for name, kind_ in variables(kind).items()}
    for name, ways in signatures(kind):
        found.setdefault(name, Offer(name, ways[0], "\n\n".join(f"`{one}`" for one in ways)))
    return MappingProxyType(found)


def cel_offers(text: Text, document: int) -> Iterator[Offer]:
    """Yield what an expression in CEL of a document may use."""
    names = (
        one.value
        for one in text.of(document)
        if one.name == "name" and len(one.path) > 2 and one.path[-3] == "variables"
    )
    for name in filter(None, names):
        yield Offer(f"variables.{name}", "variable of the policy")
    yield from _cel_names(cel_kind(text.kind(document))).values()


def jmespath_note(word: str) -> str:
    """Return what is known of a word of a template, as Markdown; "" for one that is unknown."""
    function = functions().get(word)
    if function is not None:
        examples = (f"- `{one.expression}`" for one in function.examples[:3])
        lines = [f"```text\n{function.signature}\n```", function.note, "\n".join(examples)]
        return "\n\n".join(filter(None, lines))
    known = VARIABLES.get(word)
    return f"`{word}`: {known}" if known else ""


def cel_note(word: str, kind: str) -> str:
    """Return the same of a word in CEL, with all ways to call a function."""
    names = _cel_names(cel_kind(kind))
    offer = names.get(word) or names.get(word.rpartition(".")[2])
    if offer is None:
        return ""
    return offer.note or f"`{offer.label}`: {offer.detail}"
