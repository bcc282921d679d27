"""The kinds of objects that rules look up, as far as their text shows it."""

from collections.abc import Iterable, Iterator

from kyvsim.engine.world import ALL_KINDS
from kyvsim.kubernetes.discovery import (
    kind_of_plural,
    parse_kind_selector,
    parse_path,
    split_api_version,
)
from kyvsim.model.policy import Policy
from kyvsim.policy.rule import GenerateTarget, MutateTarget, RuleNode
from kyvsim.policy.tree import ApiCallEntry, ConfigMapEntry
from kyvsim.policy.visit import walk


def looked_up_kinds(policies: Iterable[Policy]) -> frozenset[str]:
    """Return the kinds that rules declare to look up, and ALL_KINDS if they depend on all.

    Only a prediction: a kind may be a variable, or the rule may never apply.
    """
    return frozenset(
        kind
        for policy in policies
        for rule in policy.rules
        for kind in _declared(rule.tree)
        if "{{" not in kind and "*" not in kind
    )


def _declared(rule: RuleNode) -> Iterator[str]:
    for node in walk(rule):
        match node:
            case ConfigMapEntry():
                yield "ConfigMap"
            case ApiCallEntry(url_path=url) if url:
                yield ALL_KINDS
                if path := parse_path(url.partition("?")[0]):
                    yield kind_of_plural(split_api_version(path.api_version)[0], path.resource)
            case GenerateTarget(clone=clone) if clone and clone.name:
                yield node.kind
            case GenerateTarget(clone_list=copies) if copies:
                yield from (parse_kind_selector(text).kind for text in copies.kinds or ())
            case MutateTarget():
                yield ALL_KINDS
                yield node.kind.partition("/")[0]
