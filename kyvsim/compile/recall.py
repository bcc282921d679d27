"""How a turn ended before, by what its rules look at: objects of one look have the same results."""

from collections.abc import Hashable
from typing import Final

from kyvsim.kube.objects import Json
from kyvsim.model.result import RuleResult
from kyvsim.proof import DoubtError
from kyvsim.proof.look import Look

_KEPT: Final = 256


class Recall:
    """The results of one turn. It gives up where objects hardly ever look the same."""

    __slots__ = ("_asked", "_given", "_known", "_look")

    def __init__(self, look: Look) -> None:
        self._look: Look | None = look
        self._known: dict[Hashable, tuple[RuleResult, ...]] = {}
        self._given = 0
        self._asked: tuple[Json, Hashable] = (None, None)

    def results(self, obj: Json) -> tuple[RuleResult, ...] | None:
        """Return the results for an object; None where none of its look is known."""
        key = self._key(obj)
        found = None if key is None else self._known.get(key)
        if found is None:
            self._asked = obj, key
        else:
            self._given += 1
        return found

    def keep(self, obj: Json, results: tuple[RuleResult, ...]) -> None:
        """Take the results for an object of a look that is not known yet."""
        if len(self._known) >= _KEPT:
            if self._given < _KEPT:
                self._look = None
            self._known.clear()
            self._given = 0
        asked, key = self._asked
        if asked is not obj:
            key = self._key(obj)
        if key is not None:
            self._known[key] = results

    def _key(self, obj: Json) -> Hashable:
        """Return how an object looks; None where that is in doubt, or nobody asks any more."""
        try:
            return self._look(obj) if self._look else None
        except (DoubtError, RecursionError):
            return None
