"""The nodes and strings of a rule, which many checks traverse.

Rules are only equal to themselves, so these caches hold the rules of the last policies.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache

from kyvsim.jmespath.variables import VARIABLE
from kyvsim.kubernetes.objects import Path
from kyvsim.languages.classic.validation.variables import expression_of
from kyvsim.model.policy import Rule
from kyvsim.policy.nodes import Node
from kyvsim.policy.visit import Text, TextKind, texts, walk

_REMEMBERED = 128
"""More than most policies have rules: the checks of a policy follow each other."""


@lru_cache(maxsize=_REMEMBERED)
def nodes_of(rule: Rule) -> tuple[Node, ...]:
    """Return all nodes of a rule, each before its children."""
    return tuple(walk(rule.tree))


@lru_cache(maxsize=_REMEMBERED)
def texts_of(rule: Rule) -> tuple[Text, ...]:
    """Return every key and string of a rule, in the written order."""
    return tuple(texts(rule.tree, nodes_of(rule)))


def texts_of_preconditions(rule: Rule) -> list[str]:
    """Return every key and string of a rule's preconditions, in JMESPath and in CEL."""
    sections = {"preconditions", "celPreconditions"}
    return [one.text for one in texts_of(rule) if sections.intersection(one.path)]


@lru_cache(maxsize=_REMEMBERED)
def joined_texts(rule: Rule) -> str:
    """Return all keys and strings of a rule in one string, to find out quickly what it lacks."""
    return "\0".join([one.text for one in texts_of(rule)])


def expressions_in(found: Iterable[Text]) -> Iterator[tuple[Path, str]]:
    """Yield the JMESPath of strings without defaults, with paths."""
    for path, text, kind in found:
        if kind is TextKind.QUERY:
            yield path, text
        elif "{{" in text and kind is not TextKind.CEL:
            yield from ((path, expression_of(variable)) for _, variable in VARIABLE.findall(text))
