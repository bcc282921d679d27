"""How a turn ended before, by what a walk has found: where that is the same, so are the results.

So it is with rules that look at nothing but what their shapes look at, however they end.
"""

from collections.abc import Iterable
from typing import Final

from kyvsim.kube.objects import Json
from kyvsim.model.result import RuleResult
from kyvsim.proof import Mark, Trace

_KEPT: Final = 1024


class Recall:
    """The results of one turn; without marks of shapes that are all it looks at, none are known."""

    __slots__ = ("_asked", "_known", "_of_turn", "_said", "_unsure")

    def __init__(self, marks: Iterable[Mark]) -> None:
        self._of_turn = self._unsure = 0
        for one in marks:
            self._of_turn |= one.places | one.unsure
            self._unsure |= one.unsure
        self._known: dict[tuple[int, ...], tuple[RuleResult, ...]] = {}
        self._said: dict[tuple[str, ...], tuple[RuleResult, ...]] = {}
        self._asked: tuple[Json, tuple[int, ...]] | None = None

    def results(self, obj: Json, trace: Trace) -> tuple[RuleResult, ...] | None:
        """Return the results for an object of which this was found; None where none are known."""
        of_turn, self._asked = self._of_turn, None
        if not of_turn:
            return None
        key = tuple([own for found in trace if (own := found & of_turn)])
        known = self._known.get(key)
        if known is None and not any(own & self._unsure for own in key):
            self._asked = obj, key
        return known

    def keep(self, obj: Json, results: tuple[RuleResult, ...]) -> tuple[RuleResult, ...]:
        """Take the results for the object that was asked for last, where they were not known.

        Returns them, or those that are equal to them and were kept before: who tells of them tells
        of what is the same but once.
        """
        if len(self._said) >= _KEPT or len(self._known) >= _KEPT:
            self._known.clear()
            self._said.clear()
        said = self._said.setdefault(tuple([one.message for one in results]), results)
        kept = said if said == results else results
        if self._asked is not None and self._asked[0] is obj:
            self._known[self._asked[1]] = kept
        return kept
