"""Objects that have to be there for rules that change existing ones."""

from collections.abc import Iterable, Iterator

from kyvsim.equivalence.seeds import NAME, NAMESPACE, kinds_meant, smallest
from kyvsim.kubernetes.discovery import KindTable, split_api_version
from kyvsim.kubernetes.objects import Json, metadata, object_key
from kyvsim.kubernetes.wildcard import has_wildcard, matches
from kyvsim.model.policy import Policy, Target


def missing_targets(
    policies: Iterable[Policy], given: Iterable[Json], kinds: KindTable
) -> Iterator[Json]:
    """Yield an object for each target of rules for which none is given: the smallest there is."""
    there = {object_key(one) for one in given}
    for target in dict.fromkeys(one for policy in policies for one in _targets(policy)):
        for obj in _meant(target, kinds):
            key = object_key(obj)
            if not any(_is_meant(target, key.kind, one.kind, one.name) for one in there):
                there.add(key)
                yield obj


def _targets(policy: Policy) -> Iterator[Target]:
    for rule in policy.rules:
        yield from rule.facts.targets


def _is_meant(target: Target, kind: str, other: str, name: str) -> bool:
    return other == kind and (_is_open(target.name) or matches(target.name, name))


def _meant(target: Target, kinds: KindTable) -> Iterator[Json]:
    group, version = split_api_version(target.api_version)
    for kind in kinds_meant(f"{group}/{version}/{target.kind}", kinds):
        obj = smallest(kind, kinds)
        meta = {**metadata(obj), "name": NAME if _is_open(target.name) else target.name}
        if "namespace" in meta:
            open_place = _is_open(target.namespace)
            meta["namespace"] = NAMESPACE if open_place else target.namespace
        yield {**obj, "metadata": meta}


def _is_open(text: str) -> bool:
    """Return whether nothing, a wildcard or a variable stands for a name."""
    return not text or has_wildcard(text) or "{{" in text
