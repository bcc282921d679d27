"""Match and exclude blocks, compiled to predicates over the facts of a request."""

from kyvsim.engine.match.block import (
    compile_exception_match,
    compile_match,
    compile_rule_match,
    matches_by_kind,
)
from kyvsim.engine.match.criteria import (
    KindIndexEntry,
    MatchFacts,
    Predicate,
    facts_after_change,
    kinds_of_block,
    match_facts,
)

__all__ = [
    "KindIndexEntry",
    "MatchFacts",
    "Predicate",
    "compile_exception_match",
    "compile_match",
    "compile_rule_match",
    "facts_after_change",
    "kinds_of_block",
    "match_facts",
    "matches_by_kind",
]
