"""The exceptions of a rule by the names of the objects that they are for."""

from collections.abc import Sequence

from kyvsim.compile.compiled import CompiledException, FindExceptions
from kyvsim.match import MatchFacts
from kyvsim.match.reach import reach_of_block

_FEW = 8
"""So many are asked one by one as quickly."""


def index_exceptions(exceptions: Sequence[CompiledException]) -> FindExceptions | None:
    """Return what finds those that may cover an object, in their order; None where all may.

    An exception with names, or else with namespaces, is found by them; others always.
    """
    if len(exceptions) < _FEW:
        return None
    by_name: dict[str, list[int]] = {}
    by_namespace: dict[str, list[int]] = {}
    others: list[int] = []
    for number, one in enumerate(exceptions):
        names, namespaces = reach_of_block(one.written)
        index, keys = (by_namespace, namespaces) if names is None else (by_name, names)
        if keys is None:
            others.append(number)
        for key in keys or ():
            index.setdefault(key, []).append(number)
    if len(others) == len(exceptions):
        return None

    def find(facts: MatchFacts) -> Sequence[CompiledException]:
        named = by_name.get(facts.name, [])
        inside = by_namespace.get(facts.namespace_or_own_name, [])
        return [exceptions[number] for number in sorted([*named, *inside, *others])]

    return find
